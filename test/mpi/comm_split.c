/* MPI_Comm_split and MPI_Comm_split_type: colours, keys and their ties, MPI_UNDEFINED, the ranks of a node.
 */
#include "comm_check.h"

static void colors_and_keys(void) {
  MPI_Comm comm;
  int rank, size, members, i;
  /* Even and odd ranks, each in reverse order. */
  MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, -check_rank, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  members = (check_size + (check_rank % 2 ? 0 : 1)) / 2;
  CHECK(size == members, "size %d instead of %d", size, members);
  CHECK(rank == members - 1 - check_rank / 2, "rank %d", rank);
  check_intra(comm, "split by parity");
  MPI_Comm_free(&comm);
  /* Equal keys keep the old order. */
  MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &comm);
  MPI_Comm_rank(comm, &rank);
  CHECK(rank == check_rank, "rank %d", rank);
  MPI_Comm_compare(comm, MPI_COMM_WORLD, &i);
  CHECK(i == MPI_CONGRUENT, "%d", i);
  MPI_Comm_free(&comm);
  /* Everybody alone; large colours. */
  MPI_Comm_split(MPI_COMM_WORLD, 2147483647 - check_rank, 0, &comm);
  MPI_Comm_size(comm, &size);
  CHECK(size == 1, "size %d", size);
  check_intra(comm, "split into single ranks");
  MPI_Comm_free(&comm);
}

static void undefined_gets_nothing(void) {
  MPI_Comm comm;
  int size, error;
  MPI_Comm_split(MPI_COMM_WORLD, check_rank == 0 ? MPI_UNDEFINED : 3, 0, &comm);
  CHECK((comm == MPI_COMM_NULL) == (check_rank == 0),
        "who asked for nothing got something, or the other way round");
  if (comm != MPI_COMM_NULL) {
    MPI_Comm_size(comm, &size);
    CHECK(size == check_size - 1, "size %d", size);
    check_intra(comm, "split without rank 0");
    MPI_Comm_free(&comm);
  }
  MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, &comm);
  CHECK(comm == MPI_COMM_NULL, "all asked for nothing");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  error = MPI_Comm_split(MPI_COMM_WORLD, -5, 0, &comm);
  CHECK(error == MPI_ERR_ARG, "a negative colour gave %d", error);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Splits of splits until everybody is alone: no message of one may reach another. */
static void nested(void) {
  MPI_Comm comm, half;
  int rank, size, depth = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (;;) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (size == 1) break;
    MPI_Comm_split(comm, rank < size / 2, rank, &half);
    check_intra(half, "half of a half");
    MPI_Comm_free(&comm);
    comm = half;
    CHECK(++depth < 10, "too deep");
  }
  MPI_Comm_free(&comm);
}

static void by_type(void) {
  MPI_Comm node, comm;
  MPI_Info info;
  int how, size;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  CHECK(node != MPI_COMM_NULL, "no communicator of the node");
  check_intra(node, "the node");
  MPI_Comm_split_type(node, MPI_COMM_TYPE_SHARED, -check_rank, MPI_INFO_NULL, &comm);
  MPI_Comm_compare(node, comm, &how);
  MPI_Comm_size(node, &size);
  CHECK(how == (size == 1 ? MPI_CONGRUENT : MPI_SIMILAR), "%d", how);
  MPI_Comm_free(&comm);
  MPI_Comm_split_type(node, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &comm);
  CHECK(comm == MPI_COMM_NULL, "a node was split further, by what?");
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &comm);
  MPI_Comm_compare(node, comm, &how);
  CHECK(how == MPI_CONGRUENT, "%d", how);
  MPI_Comm_free(&comm);
  MPI_Info_set(info, "mpi_hw_resource_type", "nobody://knows");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &comm);
  CHECK(comm == MPI_COMM_NULL, "split by an unknown resource");
  MPI_Info_free(&info);
  MPI_Comm_split_type(MPI_COMM_WORLD, check_rank % 2 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                      &comm);
  CHECK((comm == MPI_COMM_NULL) == (check_rank % 2), "MPI_UNDEFINED");
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  MPI_Comm_free(&node);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  colors_and_keys();
  undefined_gets_nothing();
  nested();
  by_type();
  return check_end();
}
