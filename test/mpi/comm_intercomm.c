/* Inter-communicators: create, dup, idup, split, create, merge, from groups; the two halves of world talk. */
#include "comm_check.h"

static MPI_Comm half; /* ranks below and above the middle */
static int is_low, low_size;

static MPI_Comm connect_halves(int tag) {
  MPI_Comm inter;
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_low ? low_size : 0, tag, &inter);
  return inter;
}

static void sizes_and_groups(MPI_Comm inter) {
  int size, remote_size, rank, how;
  MPI_Group mine, halfs, remote, both;
  MPI_Comm_size(inter, &size);
  MPI_Comm_remote_size(inter, &remote_size);
  MPI_Comm_rank(inter, &rank);
  CHECK(size == (is_low ? low_size : check_size - low_size), "size %d", size);
  CHECK(size + remote_size == check_size, "remote size %d", remote_size);
  CHECK(rank == (is_low ? check_rank : check_rank - low_size), "rank %d", rank);
  MPI_Comm_group(inter, &mine);
  MPI_Comm_group(half, &halfs);
  MPI_Comm_remote_group(inter, &remote);
  MPI_Group_compare(mine, halfs, &how);
  CHECK(how == MPI_IDENT, "%d", how);
  MPI_Group_intersection(mine, remote, &both);
  CHECK(both == MPI_GROUP_EMPTY, "the groups overlap");
  MPI_Group_free(&mine);
  MPI_Group_free(&halfs);
  MPI_Group_free(&remote);
}

static void merged(MPI_Comm inter) {
  MPI_Comm comm;
  int rank, expected;
  MPI_Intercomm_merge(inter, !is_low, &comm);
  MPI_Comm_rank(comm, &rank);
  CHECK(rank == check_rank, "low first: rank %d", rank);
  check_intra(comm, "merge, low first");
  MPI_Comm_free(&comm);
  MPI_Intercomm_merge(inter, is_low, &comm);
  MPI_Comm_rank(comm, &rank);
  expected = is_low ? check_rank + check_size - low_size : check_rank - low_size;
  CHECK(rank == expected, "high first: rank %d instead of %d", rank, expected);
  check_intra(comm, "merge, high first");
  MPI_Comm_free(&comm);
  MPI_Intercomm_merge(inter, 0, &comm); /* any order, but one */
  check_intra(comm, "merge, no wish");
  MPI_Comm_free(&comm);
}

static void duplicated(MPI_Comm inter) {
  MPI_Comm dup, idups[5];
  MPI_Request requests[5];
  int how, i;
  MPI_Comm_dup(inter, &dup);
  MPI_Comm_compare(inter, dup, &how);
  CHECK(how == MPI_CONGRUENT, "%d", how);
  MPI_Comm_compare(inter, half, &how);
  CHECK(how == MPI_UNEQUAL, "%d", how);
  check_inter(dup, "dup of an inter-communicator");
  for (i = 0; i < 5; ++i) MPI_Comm_idup(dup, &idups[i], &requests[i]);
  MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
  for (i = 0; i < 5; ++i) check_inter(idups[i], "idup of an inter-communicator");
  for (i = 0; i < 5; ++i) MPI_Comm_free(&idups[i]);
  MPI_Barrier(dup);
  MPI_Comm_free(&dup);
}

static void divided(MPI_Comm inter) {
  MPI_Comm part;
  MPI_Group group, first;
  int rank, size, remote_size, zero = 0;
  MPI_Comm_rank(inter, &rank);
  MPI_Comm_size(inter, &size);
  MPI_Comm_remote_size(inter, &remote_size);
  /* Even ranks with even, odd with odd, in reverse; where the other half has no odd rank, nothing. */
  MPI_Comm_split(inter, rank % 2, -rank, &part);
  CHECK((part == MPI_COMM_NULL) == (rank % 2 == 1 && remote_size == 1), "colour %d of %d and %d", rank % 2,
        size, remote_size);
  if (part != MPI_COMM_NULL) {
    check_inter(part, "split of an inter-communicator");
    MPI_Barrier(part);
    MPI_Comm_free(&part);
  }
  MPI_Comm_split(inter, is_low ? 1 : 2, 0, &part);
  CHECK(part == MPI_COMM_NULL, "a colour that the other half does not have");
  MPI_Comm_group(inter, &group);
  MPI_Group_incl(group, 1, &zero, &first);
  MPI_Comm_create(inter, first, &part);
  CHECK((part != MPI_COMM_NULL) == (rank == 0), "create");
  if (part != MPI_COMM_NULL) {
    check_inter(part, "create from an inter-communicator");
    MPI_Comm_free(&part);
  }
  MPI_Group_free(&first);
  MPI_Group_free(&group);
}

static void from_groups(void) {
  MPI_Comm inter;
  MPI_Group world, mine, other;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Comm_group(half, &mine);
  MPI_Group_difference(world, mine, &other);
  MPI_Intercomm_create_from_groups(mine, 0, other, 0, "org.example.halves", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                   &inter);
  check_inter(inter, "from groups");
  MPI_Comm_free(&inter);
  MPI_Group_free(&other);
  MPI_Group_free(&mine);
  MPI_Group_free(&world);
}

/* The leaders need not be rank 0, and the peers may be an inter-communicator. */
static void other_leaders(MPI_Comm inter) {
  MPI_Comm again;
  int size, remote_size;
  MPI_Comm_size(inter, &size);
  MPI_Comm_remote_size(inter, &remote_size);
  MPI_Intercomm_create(half, size - 1, inter, remote_size - 1, 4, &again);
  check_inter(again, "over an inter-communicator");
  MPI_Comm_free(&again);
}

int main(int argc, char** argv) {
  MPI_Comm inter, second;
  check_start(&argc, &argv);
  if (check_size > 1) {
    low_size = check_size / 2;
    is_low = check_rank < low_size;
    MPI_Comm_split(MPI_COMM_WORLD, is_low, 0, &half);
    inter = connect_halves(5);
    second = connect_halves(5);
    sizes_and_groups(inter);
    check_inter(inter, "create");
    check_inter(second, "create once more under the same tag");
    MPI_Comm_disconnect(&second);
    merged(inter);
    duplicated(inter);
    divided(inter);
    other_leaders(inter);
    from_groups();
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
  }
  return check_end();
}
