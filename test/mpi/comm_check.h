/* For the programs comm_*.c: whether a communicator carries messages between the ranks it should, and only
 * those. */
#pragma once

#include "check.h"

/* Every rank tells its world rank to the next one round the circle, with the tag all communicators use. */
static inline void check_intra(MPI_Comm comm, const char* what) {
  int rank, size, world, token[2], got[2] = {-1, -1}, left, world_left;
  MPI_Group group, world_group;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  token[0] = rank;
  token[1] = world;
  left = (rank + size - 1) % size;
  MPI_Sendrecv(token, 2, MPI_INT, (rank + 1) % size, 7, got, 2, MPI_INT, left, 7, comm, MPI_STATUS_IGNORE);
  MPI_Comm_group(comm, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world_group);
  MPI_Group_translate_ranks(group, 1, &left, world_group, &world_left);
  CHECK(got[0] == left && got[1] == world_left,
        "%s: rank %d heard of rank %d, world rank %d instead of %d, %d", what, rank, got[0], got[1], left,
        world_left);
  MPI_Barrier(comm);
  MPI_Group_free(&group);
  MPI_Group_free(&world_group);
}

/* Rank 0 of each group asks all ranks of the other who they are. */
static inline void check_inter(MPI_Comm comm, const char* what) {
  int flag, rank, remote_size, world, i, world_there;
  MPI_Group remote, world_group;
  MPI_Comm_test_inter(comm, &flag);
  CHECK(flag, "%s is no inter-communicator", what);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_remote_size(comm, &remote_size);
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  MPI_Comm_remote_group(comm, &remote);
  MPI_Comm_group(MPI_COMM_WORLD, &world_group);
  if (rank != 0) MPI_Send(&world, 1, MPI_INT, 0, 9, comm);
  if (rank == 0) {
    int mine = world;
    MPI_Request request;
    MPI_Isend(&mine, 1, MPI_INT, 0, 9, comm, &request);
    for (i = 0; i < remote_size; ++i) {
      int there = -1;
      MPI_Recv(&there, 1, MPI_INT, i, 9, comm, MPI_STATUS_IGNORE);
      MPI_Group_translate_ranks(remote, 1, &i, world_group, &world_there);
      CHECK(there == world_there, "%s: remote rank %d says world rank %d, its group says %d", what, i, there,
            world_there);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Group_free(&remote);
  MPI_Group_free(&world_group);
}
