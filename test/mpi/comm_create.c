/* MPI_Comm_create, MPI_Comm_create_group, MPI_Comm_create_from_group: members and others, several at once. */
#include "comm_check.h"

static MPI_Group every(int start, int stride) {
  MPI_Group world, group;
  int range[1][3];
  range[0][0] = start;
  range[0][1] = check_size - 1;
  range[0][2] = stride;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  if (start >= check_size) {
    MPI_Group_free(&world);
    return MPI_GROUP_EMPTY;
  }
  MPI_Group_range_incl(world, 1, range, &group);
  MPI_Group_free(&world);
  return group;
}

static void create(void) {
  MPI_Comm comm;
  MPI_Group mine = every(check_rank % 2, 2), found;
  int how;
  MPI_Comm_create(MPI_COMM_WORLD, mine, &comm); /* two disjoint groups in one call */
  CHECK(comm != MPI_COMM_NULL, "a member got nothing");
  MPI_Comm_group(comm, &found);
  MPI_Group_compare(mine, found, &how);
  CHECK(how == MPI_IDENT, "%d", how);
  check_intra(comm, "create");
  MPI_Comm_free(&comm);
  MPI_Group_free(&found);
  MPI_Group_free(&mine);

  mine = every(check_size - 1, 1);
  MPI_Comm_create(MPI_COMM_WORLD, mine, &comm);
  CHECK((comm != MPI_COMM_NULL) == (check_rank == check_size - 1), "who is no member got something");
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  MPI_Group_free(&mine);

  MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &comm);
  CHECK(comm == MPI_COMM_NULL, "an empty group got a communicator");
}

static void reversed(void) {
  MPI_Comm comm;
  MPI_Group world, group;
  int range[1][3] = {{0, 0, -1}}, rank;
  range[0][0] = check_size - 1;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_range_incl(world, 1, range, &group);
  MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
  MPI_Comm_rank(comm, &rank);
  CHECK(rank == check_size - 1 - check_rank, "rank %d", rank);
  check_intra(comm, "reversed");
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

static void create_group(void) {
  MPI_Comm comm, again;
  MPI_Group group;
  int start;
  /* Only members call; others are elsewhere meanwhile.  Overlapping groups, one after the other. */
  for (start = 0; start < check_size; ++start) {
    if (check_rank < start) continue;
    group = every(start, 1);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, start, &comm);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, start, &again);
    check_intra(comm, "create_group");
    check_intra(again, "create_group once more under the same tag");
    MPI_Comm_free(&comm);
    MPI_Comm_free(&again);
    MPI_Group_free(&group);
  }
}

static void create_from_group(void) {
  MPI_Comm comm, other;
  MPI_Group group = every(check_rank % 2, 2);
  MPI_Comm_create_from_group(group, "org.example.one", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Comm_create_from_group(group, "org.example.two", MPI_INFO_NULL, MPI_ERRORS_RETURN, &other);
  check_intra(comm, "create_from_group");
  check_intra(other, "create_from_group under another word");
  MPI_Comm_free(&comm);
  MPI_Comm_free(&other);
  MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "org.example", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  CHECK(comm == MPI_COMM_NULL, "an empty group got a communicator");
  MPI_Group_free(&group);
}

static void wrong_groups(void) {
  MPI_Comm alone, comm = MPI_COMM_NULL;
  MPI_Group world;
  int error;
  if (check_size == 1) return;
  MPI_Comm_dup(MPI_COMM_SELF, &alone);
  MPI_Comm_set_errhandler(alone, MPI_ERRORS_RETURN);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  error = MPI_Comm_create(alone, world, &comm);
  CHECK(error == MPI_ERR_GROUP && comm == MPI_COMM_NULL, "error %d", error);
  MPI_Group_free(&world);
  MPI_Comm_free(&alone);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  create();
  reversed();
  create_group();
  create_from_group();
  wrong_groups();
  return check_end();
}
