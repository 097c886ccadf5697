/* variants: none
   Sessions instead of MPI_Init: process sets, groups, communicators from groups, two sessions at once,
   handlers. */
#include <string.h>

#include "check.h"

static void require(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "rank %d: %s\n", check_rank, what);
  exit(1);
}

static void process_sets(MPI_Session session) {
  int n, i, length, has_world = 0, has_self = 0, flag, error;
  char name[MPI_MAX_PSET_NAME_LEN], value[16];
  MPI_Info info;
  MPI_Group group;
  MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n);
  for (i = 0; i < n; ++i) {
    length = 0;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, NULL);
    require(length > 1 && length <= MPI_MAX_PSET_NAME_LEN, "the length of a process set's name");
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name);
    require((int)strlen(name) + 1 == length, "a process set's name has not the length that was told");
    has_world |= strcmp(name, "mpi://WORLD") == 0;
    has_self |= strcmp(name, "mpi://SELF") == 0;
    length = 4;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name);
    require(strlen(name) == 3 && length > 4, "a name was not cut to the room it had");
  }
  require(has_world && has_self, "the two process sets of the standard are not there");
  MPI_Session_get_pset_info(session, "mpi://SELF", &info);
  length = sizeof value;
  MPI_Info_get_string(info, "mpi_size", &length, value, &flag);
  require(flag && strcmp(value, "1") == 0, "mpi_size of mpi://SELF");
  MPI_Info_free(&info);
  error = MPI_Group_from_session_pset(session, "nobody://knows", &group);
  require(error == MPI_ERR_ARG, "a process set that there is not");
}

static MPI_Comm connect(MPI_Session session, const char* word) {
  MPI_Group group;
  MPI_Comm comm;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, word, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Group_free(&group);
  MPI_Comm_rank(comm, &check_rank);
  MPI_Comm_size(comm, &check_size);
  return comm;
}

static void talk(MPI_Comm comm) {
  int sum = -1, mine = check_rank;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
  require(sum == check_size * (check_size - 1) / 2, "the sum of all ranks is wrong");
}

static int calls;
static void handler(MPI_Session* session, int* code, ...) {
  (void)session, (void)code;
  ++calls;
}

static void handlers(MPI_Session session) {
  MPI_Errhandler mine, found;
  int length = 0;
  MPI_Session_create_errhandler(handler, &mine);
  MPI_Session_set_errhandler(session, mine);
  MPI_Session_get_errhandler(session, &found);
  require(found == mine, "the session has another handler");
  MPI_Errhandler_free(&found);
  MPI_Errhandler_free(&mine);
  MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 1000, &length, NULL);
  require(calls == 1, "the session's handler did not hear of an error");
  MPI_Session_call_errhandler(session, MPI_ERR_OTHER);
  require(calls == 2, "MPI_Session_call_errhandler did not call it");
  MPI_Session_get_num_psets(session, MPI_INFO_NULL, NULL);
  require(calls == 3, "the session's handler did not hear of a missing argument");
}

/* Of the environment's attributes, communicators of sessions have the largest tag alone. */
static void attributes(MPI_Comm comm) {
  int *value, flag = 0;
  MPI_Comm_get_attr(comm, MPI_TAG_UB, &value, &flag);
  require(flag && *value >= 32767, "MPI_TAG_UB");
  MPI_Comm_get_attr(comm, MPI_IO, &value, &flag);
  require(!flag, "MPI_IO on a communicator of a session");
  MPI_Comm_get_attr(comm, MPI_WTIME_IS_GLOBAL, &value, &flag);
  require(!flag, "MPI_WTIME_IS_GLOBAL on a communicator of a session");
}

static int comm_calls;
static void comm_handler(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++comm_calls;
}

/* Errors of a call that makes a communicator go to the handler that it is given. */
static void handler_of_the_new(MPI_Session session) {
  MPI_Errhandler mine;
  MPI_Group group;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_create_errhandler(comm_handler, &mine);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "word", MPI_INFO_NULL, mine, NULL);
  require(comm_calls == 1, "the given handler did not hear of a missing argument");
  MPI_Comm_create_from_group(MPI_GROUP_NULL, "word", MPI_INFO_NULL, mine, &comm);
  require(comm_calls == 2 && comm == MPI_COMM_NULL, "the given handler did not hear of a null group");
  MPI_Group_free(&group);
  MPI_Errhandler_free(&mine);
}

int main(void) {
  MPI_Session session, second;
  MPI_Comm comm, other;
  MPI_Info info, used;
  char level[32];
  int flag, length = sizeof level;
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", "MPI_THREAD_FUNNELED");
  require(MPI_Session_init(info, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS, "MPI_Session_init failed");
  MPI_Session_get_info(session, &used);
  MPI_Info_get_string(used, "thread_level", &length, level, &flag);
  require(flag && strcmp(level, "MPI_THREAD_FUNNELED") == 0, "thread_level");
  MPI_Info_free(&used);
  MPI_Info_free(&info);
  process_sets(session);
  comm = connect(session, "org.example.first");
  talk(comm);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second);
  other = connect(second, "org.example.second");
  talk(other);
  talk(comm);
  MPI_Comm_disconnect(&other);
  MPI_Session_finalize(&second);
  require(second == MPI_SESSION_NULL, "finalize left the handle");
  talk(comm);
  attributes(comm);
  handlers(session);
  handler_of_the_new(session);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  MPI_Initialized(&flag);
  require(!flag, "sessions do not initialize the world");
  return 0;
}
