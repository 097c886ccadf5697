/* Collectives with one argument spoiled at random: never a hang, a crash or a success, always a sentence that
 * names the argument.  The seed is printed; ARGUMENTS_SEED and ARGUMENTS_ROUNDS repeat and lengthen a run.
 * ranks: 1 3
 * variants: none
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"

enum { RANKS = 8, CALLS = 24 };

struct arguments {
  void *sendbuf, *recvbuf;
  int *sendcounts, *recvcounts, *sdispls, *rdispls, count, root;
  MPI_Datatype sendtype, recvtype, *sendtypes, *recvtypes;
  MPI_Op op;
  MPI_Comm comm;
};

/* Which arguments a call has, a letter each: see `spoil`. */
static const char* const kHas[CALLS / 2] = {
    "bntCr",     /* Bcast */
    "abntoC",    /* Allreduce */
    "abntoCr",   /* Reduce */
    "abntoC",    /* Scan */
    "abnstC",    /* Allgather */
    "abnstcdC",  /* Allgatherv */
    "abnstC",    /* Alltoall */
    "abstCcdSD", /* Alltoallv */
    "abcdSDuvC", /* Alltoallw */
    "abnstcdCr", /* Gatherv */
    "abnstSDCr", /* Scatterv */
    "abtocC",    /* Reduce_scatter */
};

static int call(int which, const struct arguments* a, MPI_Request* r) {
  switch (which) {
    case 0:
      return MPI_Bcast(a->recvbuf, a->count, a->recvtype, a->root, a->comm);
    case 1:
      return MPI_Allreduce(a->sendbuf, a->recvbuf, a->count, a->recvtype, a->op, a->comm);
    case 2:
      return MPI_Reduce(a->sendbuf, a->recvbuf, a->count, a->recvtype, a->op, a->root, a->comm);
    case 3:
      return MPI_Scan(a->sendbuf, a->recvbuf, a->count, a->recvtype, a->op, a->comm);
    case 4:
      return MPI_Allgather(a->sendbuf, a->count, a->sendtype, a->recvbuf, a->count, a->recvtype, a->comm);
    case 5:
      return MPI_Allgatherv(a->sendbuf, a->count, a->sendtype, a->recvbuf, a->recvcounts, a->rdispls,
                            a->recvtype, a->comm);
    case 6:
      return MPI_Alltoall(a->sendbuf, a->count, a->sendtype, a->recvbuf, a->count, a->recvtype, a->comm);
    case 7:
      return MPI_Alltoallv(a->sendbuf, a->sendcounts, a->sdispls, a->sendtype, a->recvbuf, a->recvcounts,
                           a->rdispls, a->recvtype, a->comm);
    case 8:
      return MPI_Alltoallw(a->sendbuf, a->sendcounts, a->sdispls, a->sendtypes, a->recvbuf, a->recvcounts,
                           a->rdispls, a->recvtypes, a->comm);
    case 9:
      return MPI_Gatherv(a->sendbuf, a->count, a->sendtype, a->recvbuf, a->recvcounts, a->rdispls,
                         a->recvtype, a->root, a->comm);
    case 10:
      return MPI_Scatterv(a->sendbuf, a->sendcounts, a->sdispls, a->sendtype, a->recvbuf, a->count,
                          a->recvtype, a->root, a->comm);
    case 11:
      return MPI_Reduce_scatter(a->sendbuf, a->recvbuf, a->recvcounts, a->recvtype, a->op, a->comm);
    case 12:
      return MPI_Ibcast(a->recvbuf, a->count, a->recvtype, a->root, a->comm, r);
    case 13:
      return MPI_Iallreduce(a->sendbuf, a->recvbuf, a->count, a->recvtype, a->op, a->comm, r);
    case 14:
      return MPI_Ireduce(a->sendbuf, a->recvbuf, a->count, a->recvtype, a->op, a->root, a->comm, r);
    case 15:
      return MPI_Iscan(a->sendbuf, a->recvbuf, a->count, a->recvtype, a->op, a->comm, r);
    case 16:
      return MPI_Iallgather(a->sendbuf, a->count, a->sendtype, a->recvbuf, a->count, a->recvtype, a->comm, r);
    case 17:
      return MPI_Iallgatherv(a->sendbuf, a->count, a->sendtype, a->recvbuf, a->recvcounts, a->rdispls,
                             a->recvtype, a->comm, r);
    case 18:
      return MPI_Ialltoall(a->sendbuf, a->count, a->sendtype, a->recvbuf, a->count, a->recvtype, a->comm, r);
    case 19:
      return MPI_Ialltoallv(a->sendbuf, a->sendcounts, a->sdispls, a->sendtype, a->recvbuf, a->recvcounts,
                            a->rdispls, a->recvtype, a->comm, r);
    case 20:
      return MPI_Alltoallw_init(a->sendbuf, a->sendcounts, a->sdispls, a->sendtypes, a->recvbuf,
                                a->recvcounts, a->rdispls, a->recvtypes, a->comm, MPI_INFO_NULL, r);
    case 21:
      return MPI_Gatherv_init(a->sendbuf, a->count, a->sendtype, a->recvbuf, a->recvcounts, a->rdispls,
                              a->recvtype, a->root, a->comm, MPI_INFO_NULL, r);
    case 22:
      return MPI_Iscatterv(a->sendbuf, a->sendcounts, a->sdispls, a->sendtype, a->recvbuf, a->count,
                           a->recvtype, a->root, a->comm, r);
    default:
      return MPI_Ireduce_scatter(a->sendbuf, a->recvbuf, a->recvcounts, a->recvtype, a->op, a->comm, r);
  }
}

static MPI_Datatype freed, uncommitted;
static MPI_Comm freed_comm;

static MPI_Datatype bad_type(int choice) {
  const MPI_Datatype bad[] = {MPI_DATATYPE_NULL, (MPI_Datatype)0, freed, uncommitted,
                              (MPI_Datatype)MPI_COMM_WORLD};
  return bad[choice % 5];
}

/* Spoils one argument of the arrays' last block, or of all. */
static void spoil(struct arguments* a, char what, int choice, int last) {
  const MPI_Comm comms[] = {MPI_COMM_NULL, (MPI_Comm)0, freed_comm, (MPI_Comm)MPI_INT};
  const MPI_Op ops[] = {MPI_OP_NULL, (MPI_Op)0, (MPI_Op)MPI_INT, MPI_MINLOC};
  switch (what) {
    case 'a':
      a->sendbuf = NULL;
      break;
    case 'b':
      a->recvbuf = choice % 2 ? NULL : MPI_IN_PLACE;
      break;
    case 'n':
      a->count = -1 - choice;
      break;
    case 's':
      a->sendtype = bad_type(choice);
      break;
    case 't':
      a->recvtype = bad_type(choice);
      break;
    case 'o':
      a->op = ops[choice % 4];
      break;
    case 'r':
      a->root = choice % 2 ? -5 : last + 1;
      break;
    case 'C':
      a->comm = comms[choice % 4];
      break;
    case 'c':
      if (choice % 2)
        a->recvcounts = NULL;
      else
        a->recvcounts[last] = -1 - choice;
      break;
    case 'S':
      if (choice % 2)
        a->sendcounts = NULL;
      else
        a->sendcounts[last] = -1 - choice;
      break;
    case 'd':
      a->rdispls = NULL;
      break;
    case 'D':
      a->sdispls = NULL;
      break;
    case 'u':
      if (choice % 2)
        a->sendtypes = NULL;
      else
        a->sendtypes[last] = bad_type(choice);
      break;
    default:
      if (choice % 2)
        a->recvtypes = NULL;
      else
        a->recvtypes[last] = bad_type(choice);
      break;
  }
}

static void one(int which, char what, int choice, MPI_Comm comm, int rank, int ranks) {
  int in[RANKS] = {0}, out[RANKS], sendcounts[RANKS], recvcounts[RANKS], sdispls[RANKS], rdispls[RANKS];
  MPI_Datatype sendtypes[RANKS], recvtypes[RANKS];
  MPI_Request request = MPI_REQUEST_NULL;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  for (int i = 0; i < RANKS; ++i) {
    sendcounts[i] = recvcounts[i] = 1;
    sdispls[i] = rdispls[i] = 0;
    sendtypes[i] = recvtypes[i] = MPI_INT;
  }
  struct arguments a = {in,   out,     sendcounts, recvcounts, sdispls,   rdispls, 1,
                        rank, MPI_INT, MPI_INT,    sendtypes,  recvtypes, MPI_SUM, comm};
  spoil(&a, what, choice, ranks - 1);
  if (which % (CALLS / 2) == 10 && what == 'b') a.recvbuf = NULL; /* a scatter's root may receive in place */
  const int code = call(which, &a, &request);
  CHECK(code != MPI_SUCCESS && request == MPI_REQUEST_NULL, "call %d, '%c' %d: no error", which, what,
        choice);
  MPI_Error_string(code, text, &length);
  CHECK(strstr(text, "argument ") || strstr(text, "is not defined for"), "call %d, '%c' %d: %s", which, what,
        choice, text);
}

int main(int argc, char** argv) {
  const char *seed_text = getenv("ARGUMENTS_SEED"), *rounds_text = getenv("ARGUMENTS_ROUNDS");
  unsigned seed = seed_text ? (unsigned)atoi(seed_text) : (unsigned)time(NULL);
  const int rounds = rounds_text ? atoi(rounds_text) : 2000;
  MPI_Comm comm;
  check_start(&argc, &argv);
  if (check_rank == 0) printf("seed %u, %d rounds\n", seed, rounds);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &freed_comm);
  MPI_Comm stale = freed_comm;
  MPI_Comm_free(&freed_comm);
  freed_comm = stale;
  MPI_Type_contiguous(2, MPI_INT, &freed);
  MPI_Datatype stale_type = freed;
  MPI_Type_contiguous(3, MPI_INT, &uncommitted);
  MPI_Type_free(&freed);
  freed = stale_type;
  srand(seed);
  for (int i = 0; i < rounds; ++i) {
    const int which = rand() % CALLS;
    const char* has = kHas[which % (CALLS / 2)];
    const char what = has[rand() % (int)strlen(has)];
    one(which, what, rand() % 60, comm, check_rank, check_size);
  }
  MPI_Type_free(&uncommitted);
  MPI_Comm_free(&comm);
  return check_end();
}
