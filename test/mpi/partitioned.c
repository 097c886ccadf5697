/* Partitioned communication: random partitions and layouts on both sides against a plain model, the order in
 * which requests meet, empty ones, and every error.  An argument is the first seed. */
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kSeeds = 6, kRounds = 3, kPartitionsMax = 12, kRanksMax = 16 };

static unsigned dice_state;
static int dice(int sides) { /* 0 .. sides - 1, the same on all ranks for one state */
  dice_state = dice_state * 1664525u + 1013904223u;
  return (int)((dice_state >> 8) % (unsigned)sides);
}

/* One pair's traffic: what both ranks know. */
typedef struct {
  int seed, from, to, tag, ints;
  int partitions[2], count[2],
      run[2]; /* of the sender, of the receiver; `run`: ints of an element, 0: no gaps */
} Plan;

static Plan make_plan(int seed, int from, int to) {
  static const int units[] = {0, 1, 1, 2, 5, 40, 700, 3000};
  Plan plan = {.seed = seed, .from = from, .to = to, .tag = seed % 3};
  dice_state = (unsigned)(seed * 7919 + from * 131 + to * 17 + 1);
  for (int i = 0; i < 20; ++i) dice(2);
  int unit = units[dice(8)];
  for (int side = 0; side < 2; ++side) {
    plan.partitions[side] = 1 + dice(kPartitionsMax);
    plan.run[side] = dice(4);
  }
  if (dice(4) == 0) plan.partitions[1] = plan.partitions[0];
  for (int side = 0; side < 2; ++side)
    if (plan.run[side] && unit * plan.partitions[1 - side] % plan.run[side]) unit *= plan.run[side];
  plan.ints = unit * plan.partitions[0] * plan.partitions[1];
  for (int side = 0; side < 2; ++side)
    plan.count[side] = unit * plan.partitions[1 - side] / (plan.run[side] ? plan.run[side] : 1);
  return plan;
}

static MPI_Datatype make_type(int run) {
  MPI_Datatype gaps, type;
  if (run == 0) {
    MPI_Type_dup(MPI_INT, &type);
  } else {
    MPI_Type_vector(run, 1, 2, MPI_INT, &gaps);
    MPI_Type_create_resized(gaps, 0, (2 * run + 1) * (MPI_Aint)sizeof(int), &type);
    MPI_Type_free(&gaps);
  }
  MPI_Type_commit(&type);
  return type;
}

/* Where int number `i` of the data lies. */
static int place(int run, int i) { return run ? i / run * (2 * run + 1) + 2 * (i % run) : i; }
static int room(const Plan* plan) { return 3 * plan->ints + 8; }
static int value(const Plan* plan, int round, int i) {
  return i * 31 + round * 1000003 + plan->seed * 101 + plan->from * 11 + plan->to;
}

typedef struct {
  Plan plan;
  int* data;
  MPI_Request request;
  int order[kPartitionsMax], done;
} Side;

static void check_partition(const Side* side, int round, int partition) {
  const int ints = side->plan.ints / side->plan.partitions[1];
  for (int i = partition * ints; i < (partition + 1) * ints; ++i)
    CHECK(side->data[place(side->plan.run[1], i)] == value(&side->plan, round, i),
          "seed %d round %d int %d of %d: %d", side->plan.seed, round, i, side->plan.ints,
          side->data[place(side->plan.run[1], i)]);
}

/* Makes some of the partitions ready that are not, in the order drawn: one, a list, or a range of neighbours.
 */
static void make_ready(Side* side, int round) {
  const Plan* plan = &side->plan;
  const int left = plan->partitions[0] - side->done, ints = plan->ints / plan->partitions[0];
  int now = 1 + rand() % left, is_range = 1;
  for (int i = 0; i < now; ++i) {
    const int partition = side->order[side->done + i];
    for (int k = partition * ints; k < (partition + 1) * ints; ++k)
      side->data[place(plan->run[0], k)] = value(plan, round, k);
    if (partition != side->order[side->done] + i) is_range = 0;
  }
  const int* first = side->order + side->done;
  if (now == 1)
    MPI_Pready(*first, side->request);
  else if (is_range)
    MPI_Pready_range(*first, *first + now - 1, side->request);
  else
    MPI_Pready_list(now, first, side->request);
  side->done += now;
}

static void start_round(Side* out, Side* in, int round) {
  MPI_Request both[2 * kRanksMax];
  int count = 0;
  for (int i = 0; i < check_size; ++i) {
    Side* side = &out[i];
    const int partitions = side->plan.partitions[0];
    memset(side->data, 0x55, sizeof(int) * (size_t)room(&side->plan));
    for (int k = 0; k < partitions; ++k) side->order[k] = k;
    for (int k = partitions - 1; k > 0 && round % 3; --k) {
      const int other = rand() % (k + 1), kept = side->order[k];
      side->order[k] = side->order[other];
      side->order[other] = kept;
    }
    side->done = 0;
    memset(in[i].data, 0xff, sizeof(int) * (size_t)room(&in[i].plan));
  }
  if (rand() % 3 == 0) usleep((useconds_t)(rand() % 2000));
  for (int i = 0; i < check_size; ++i) {
    both[count++] = out[i].request;
    if (rand() % 2)
      MPI_Start(&in[i].request);
    else
      both[count++] = in[i].request;
  }
  MPI_Startall(count, both);
}

static void finish_round(Side* out, Side* in, int round) {
  for (int i = 0; i < check_size; ++i) {
    MPI_Status status;
    int flag = 0, count = -1;
    const Plan* plan = &in[i].plan;
    if (rand() % 3 == 0)
      for (int k = 0; k < plan->partitions[1]; ++k)
        for (flag = 0; !flag;) MPI_Parrived(in[i].request, k, &flag);
    if (rand() % 2)
      MPI_Wait(&in[i].request, &status);
    else
      for (flag = 0; !flag;) MPI_Test(&in[i].request, &flag, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == plan->ints && status.MPI_SOURCE == plan->from && status.MPI_TAG == plan->tag,
          "seed %d: count %d of %d, source %d, tag %d", plan->seed, count, plan->ints, status.MPI_SOURCE,
          status.MPI_TAG);
    for (int k = 0; k < plan->partitions[1]; ++k) check_partition(&in[i], round, k);
    int next = 0; /* the gaps are as they were */
    for (int k = 0; k < plan->ints; ++k) {
      const int at = place(plan->run[1], k);
      while (next < at) CHECK(in[i].data[next++] == -1, "seed %d: gap %d", plan->seed, next - 1);
      next = at + 1;
    }
    while (next < room(plan)) CHECK(in[i].data[next++] == -1, "seed %d: behind, %d", plan->seed, next - 1);
  }
  for (int i = 0; i < check_size; ++i) MPI_Wait(&out[i].request, MPI_STATUS_IGNORE);
}

static void random_traffic(int seed, MPI_Comm comm) {
  Side out[kRanksMax], in[kRanksMax];
  for (int i = 0; i < check_size; ++i) {
    out[i].plan = make_plan(seed, check_rank, i);
    in[i].plan = make_plan(seed, i, check_rank);
    out[i].data = malloc(sizeof(int) * (size_t)room(&out[i].plan));
    in[i].data = malloc(sizeof(int) * (size_t)room(&in[i].plan));
  }
  for (int turn = 0; turn < 2; ++turn)
    for (int i = 0; i < check_size; ++i) {
      const int is_send = (seed + check_rank + turn) % 2;
      Side* side = is_send ? &out[i] : &in[i];
      const Plan* plan = &side->plan;
      MPI_Datatype type = make_type(plan->run[!is_send]);
      if (is_send)
        MPI_Psend_init(side->data, plan->partitions[0], plan->count[0], type, i, plan->tag, comm,
                       MPI_INFO_NULL, &side->request);
      else
        MPI_Precv_init(side->data, plan->partitions[1], plan->count[1], type, i, plan->tag, comm,
                       MPI_INFO_NULL, &side->request);
      MPI_Type_free(&type);
    }
  for (int round = 0; round < kRounds; ++round) {
    start_round(out, in, round);
    for (int left = check_size; left > 0;) {
      Side* side = &out[rand() % check_size];
      if (side->done == side->plan.partitions[0]) continue;
      make_ready(side, round);
      if (side->done == side->plan.partitions[0]) --left;
      Side* awaited = &in[rand() % check_size];
      const int partition = rand() % awaited->plan.partitions[1];
      int flag = 0;
      MPI_Parrived(awaited->request, partition, &flag);
      if (flag) check_partition(awaited, round, partition);
    }
    finish_round(out, in, round);
  }
  for (int i = 0; i < check_size; ++i) {
    MPI_Request_free(&out[i].request);
    MPI_Request_free(&in[i].request);
    free(out[i].data);
    free(in[i].data);
  }
}

/* Requests meet by tag, in the order of their calls, also where one is freed; others' messages go past them.
 */
static void meet_in_order(MPI_Comm comm) {
  enum { kRequests = 6 };
  const int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
  static const int tags[kRequests] = {5, 7, 5, 5, 7, 9}, receive_tags[kRequests] = {9, 7, 5, 7, 5, 5};
  static const int partner[kRequests] = {5, 1, 0, 4, 2, 3}; /* of the receives */
  MPI_Request send[kRequests], receive[kRequests], plain[2];
  int out[kRequests], in[kRequests], word = check_rank, heard = -1, flag = 0;
  for (int turn = 0; turn < 2; ++turn)
    for (int i = 0; i < kRequests; ++i) {
      out[i] = 100 * check_rank + i;
      in[i] = -1;
      if (turn == check_rank % 2)
        MPI_Psend_init(&out[i], 1, 1, MPI_INT, to, tags[i], comm, MPI_INFO_NULL, &send[i]);
      else
        MPI_Precv_init(&in[i], 1, 1, MPI_INT, from, receive_tags[i], comm, MPI_INFO_NULL, &receive[i]);
    }
  MPI_Barrier(comm);
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag, "a partitioned send is no message");
  MPI_Barrier(comm);
  MPI_Request_free(&send[2]); /* both sides of a pair, before they were started */
  MPI_Request_free(&receive[4]);
  MPI_Irecv(&heard, 1, MPI_INT, from, 5, comm, &plain[0]);
  for (int i = kRequests - 1; i >= 0; --i) {
    if (i != 2) MPI_Start(&send[i]), MPI_Pready(0, send[i]);
    if (i != 4) MPI_Start(&receive[i]);
  }
  MPI_Isend(&word, 1, MPI_INT, to, 5, comm, &plain[1]);
  MPI_Waitall(2, plain, MPI_STATUSES_IGNORE);
  CHECK(heard == from, "%d", heard);
  for (int i = 0; i < kRequests; ++i) {
    if (i == 4) continue;
    MPI_Request_get_status(receive[i], &flag, MPI_STATUS_IGNORE);
    MPI_Wait(&receive[i], MPI_STATUS_IGNORE);
    CHECK(in[i] == 100 * from + partner[i], "receive %d: %d", i, in[i]);
    MPI_Request_free(&receive[i]);
  }
  for (int i = 0; i < kRequests; ++i)
    if (i != 2) MPI_Wait(&send[i], MPI_STATUS_IGNORE), MPI_Request_free(&send[i]);
}

/* No partitions, no elements, nobody; a request that is freed while it is under way. */
static void nothing(MPI_Comm comm) {
  const int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
  static const int shapes[][2] = {{0, 0}, {0, 3}, {3, 0}, {4, 4}, {2, 5}};
  MPI_Request requests[2];
  MPI_Status status;
  int data[2] = {1, 2}, flag;
  for (int i = 0; i < 5; ++i) {
    MPI_Psend_init(data, shapes[i][0], 0, MPI_INT, to, i, comm, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(data, shapes[i][1], 0, MPI_INT, from, i, comm, MPI_INFO_NULL, &requests[1]);
    for (int round = 0; round < 2; ++round) {
      MPI_Startall(2, requests);
      if (shapes[i][0] > 0) MPI_Pready_range(0, shapes[i][0] - 1, requests[0]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
  }
  MPI_Psend_init(data, 2, 1, MPI_INT, MPI_PROC_NULL, 3, comm, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(data, 2, 1, MPI_INT, MPI_PROC_NULL, 3, comm, MPI_INFO_NULL, &requests[1]);
  MPI_Startall(2, requests);
  MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
  CHECK(!flag, "no partition is ready");
  MPI_Pready_range(0, 1, requests[0]);
  MPI_Parrived(requests[1], 1, &flag);
  CHECK(flag);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Wait(&requests[1], &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL, "%d", status.MPI_SOURCE);
  MPI_Parrived(requests[1], 0, &flag);
  CHECK(flag, "an inactive request has come");
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Parrived(MPI_REQUEST_NULL, 0, &flag);
  CHECK(flag, "the null request has come");
  MPI_Psend_init(data, 2, 1, MPI_INT, to, 4, comm, MPI_INFO_NULL, &requests[0]);
  int in[2] = {-1, -1};
  MPI_Precv_init(in, 1, 2, MPI_INT, from, 4, comm, MPI_INFO_NULL, &requests[1]);
  MPI_Startall(2, requests);
  MPI_Pready_range(0, 1, requests[0]);
  MPI_Request_free(&requests[0]);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  CHECK(in[0] == 1 && in[1] == 2, "%d %d", in[0], in[1]);
  MPI_Barrier(comm);  // the freed send reads `data` until its receiver has it
  MPI_Request_free(&requests[1]);
}

static void expect(int error, int wanted, const char* words, int line) {
  int class;
  MPI_Error_class(error, &class);
  CHECK(class == wanted && strstr(check_text(error), words), "line %d: class %d, not %d: %s", line, class,
        wanted, check_text(error));
}
#define EXPECT(call, wanted, words) expect(call, wanted, words, __LINE__)

static void errors(MPI_Comm comm) {
  int data[8] = {0}, flag = 0;
  MPI_Request send, receive, plain, none = MPI_REQUEST_NULL;
  EXPECT(MPI_Psend_init(data, -1, 1, MPI_INT, check_rank, 0, comm, MPI_INFO_NULL, &send), MPI_ERR_ARG,
         "partitions");
  EXPECT(MPI_Psend_init(data, 1, -1, MPI_INT, check_rank, 0, comm, MPI_INFO_NULL, &send), MPI_ERR_COUNT,
         "count");
  EXPECT(MPI_Psend_init(data, 1, 1, MPI_INT, check_size, 0, comm, MPI_INFO_NULL, &send), MPI_ERR_RANK,
         "dest");
  EXPECT(MPI_Precv_init(data, -1, 1, MPI_INT, check_rank, 0, comm, MPI_INFO_NULL, &send), MPI_ERR_ARG,
         "partitions");
  EXPECT(MPI_Precv_init(data, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, MPI_INFO_NULL, &receive), MPI_ERR_RANK,
         "MPI_ANY_SOURCE");
  EXPECT(MPI_Precv_init(data, 1, 1, MPI_INT, check_rank, MPI_ANY_TAG, comm, MPI_INFO_NULL, &receive),
         MPI_ERR_TAG, "MPI_ANY_TAG");
  EXPECT(MPI_Psend_init(data, 1, 1, MPI_INT, check_rank, 0, comm, (MPI_Info)MPI_COMM_WORLD, &send),
         MPI_ERR_INFO, "info");
  CHECK_CALL(MPI_Psend_init(data, 4, 1, MPI_INT, check_rank, 0, comm, MPI_INFO_NULL, &send));
  CHECK_CALL(MPI_Precv_init(data + 4, 2, 2, MPI_INT, check_rank, 0, comm, MPI_INFO_NULL, &receive));
  CHECK_CALL(MPI_Send_init(data, 1, MPI_INT, check_rank, 0, comm, &plain));
  EXPECT(MPI_Pready(0, send), MPI_ERR_REQUEST, "not active");
  CHECK_CALL(MPI_Start(&send));
  CHECK_CALL(MPI_Start(&receive));
  EXPECT(MPI_Start(&send), MPI_ERR_REQUEST, "started before");
  EXPECT(MPI_Cancel(&send), MPI_ERR_REQUEST, "cannot be cancelled");
  EXPECT(MPI_Pready(0, none), MPI_ERR_REQUEST, "request");
  EXPECT(MPI_Pready(0, receive), MPI_ERR_REQUEST, "no partitioned send");
  EXPECT(MPI_Pready(0, plain), MPI_ERR_REQUEST, "no partitioned send");
  EXPECT(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST, "no partitioned receive");
  EXPECT(MPI_Parrived(plain, 0, &flag), MPI_ERR_REQUEST, "no partitioned receive");
  EXPECT(MPI_Parrived(receive, 2, &flag), MPI_ERR_ARG, "partition 2");
  EXPECT(MPI_Parrived(receive, -1, &flag), MPI_ERR_ARG, "partition -1");
  EXPECT(MPI_Pready(4, send), MPI_ERR_ARG, "partition 4");
  EXPECT(MPI_Pready(-1, send), MPI_ERR_ARG, "partition -1");
  EXPECT(MPI_Pready_range(2, 1, send), MPI_ERR_ARG, "partition_low");
  EXPECT(MPI_Pready_range(2, 4, send), MPI_ERR_ARG, "partition 4");
  EXPECT(MPI_Pready_list(2, (int[]){3, 9}, send), MPI_ERR_ARG, "partition 9");
  EXPECT(MPI_Pready_list(3, (int[]){2, 3, 2}, send), MPI_ERR_ARG, "partition 2 stands twice");
  EXPECT(MPI_Pready_list(-1, data, send), MPI_ERR_COUNT, "length");
  CHECK_CALL(MPI_Pready_range(2, 3, send)); /* the wrong ones above have made none ready */
  EXPECT(MPI_Pready(2, send), MPI_ERR_ARG, "made ready before");
  CHECK_CALL(MPI_Parrived(receive, 0, &flag));
  CHECK(!flag);
  while (!flag) CHECK_CALL(MPI_Parrived(receive, 1, &flag));
  CHECK_CALL(MPI_Pready_list(2, (int[]){1, 0}, send));
  CHECK_CALL(MPI_Wait(&send, MPI_STATUS_IGNORE));
  CHECK_CALL(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  MPI_Request_free(&plain);
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
  for (int sent = 1; sent <= 3; sent += 2) {
    int error_class;
    CHECK_CALL(MPI_Psend_init(data, 2, sent, MPI_INT, check_rank, 0, comm, MPI_INFO_NULL, &send));
    CHECK_CALL(MPI_Precv_init(data + 4, 1, 4, MPI_INT, check_rank, 0, comm, MPI_INFO_NULL, &receive));
    CHECK_CALL(MPI_Start(&send));
    CHECK_CALL(MPI_Start(&receive));
    CHECK_CALL(MPI_Pready_range(0, 1, send));
    const int error = MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Error_class(error, &error_class);
    EXPECT(error, sent > 2 ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT,
           sent > 2 ? "24 bytes in all" : "8 bytes in all");
    CHECK_CALL(MPI_Wait(&send, MPI_STATUS_IGNORE));
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
  }
}

int main(int argc, char** argv) {
  MPI_Comm comm;
  check_start(&argc, &argv);
  const int first = argc > 1 ? atoi(argv[1]) : 1;
  CHECK(check_size <= kRanksMax);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int seed = first; seed < first + kSeeds; ++seed) {
    srand((unsigned)(seed * 1000 + check_rank));
    random_traffic(seed, seed % 2 ? comm : MPI_COMM_WORLD);
  }
  meet_in_order(comm);
  nothing(comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  errors(comm);
  MPI_Comm_free(&comm);
  return check_end();
}
