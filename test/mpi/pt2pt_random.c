/* Random traffic: sizes of every way, layouts with gaps, kinds of memory, send modes, ways to receive,
   wildcards, cancelled requests, late receivers and forks, all mixed.  Every byte, every status and the order
   of the messages of each sender and tag are checked.  All ranks draw the same list of messages; the seed is
   the first argument, or the clock (0).  The second argument is how many threads of each rank do all this at
   once, each with its own messages and communicators (1). */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kMessages = 600, kTags = 3, kComms = 4, kOutstandingMax = 24, kNever = 77, kUntouched = 0xa5 };
enum { kThreadsMax = 4 };
/* How the receives of a communicator name their messages.  Data begin with the message's number. */
enum { kNamed, kAnySource, kAnyTag, kAnyBoth };

typedef struct {
  int source, dest, tag, comm, bytes, mode;
  int has_gaps[2], is_mpi_memory[2]; /* at the sender, at the receiver */
} Message;

typedef struct {
  MPI_Request request;
  unsigned char* data;
  int number; /* of the message that a named receive gets */
  int comm, has_gaps, is_mpi_memory, bytes_max, is_receive, place;
} Operation;

static MPI_Datatype every_other; /* a byte and a gap */
static unsigned seed;
static int message_count; /* of each thread */
/* What a thread starts with. */
typedef struct {
  int thread;
  MPI_Comm comms[kComms];
} Part;
/* Of each thread: */
static _Thread_local Message messages[kMessages];
static _Thread_local Operation running[2 * kMessages];
static _Thread_local int running_count, is_all_posted;
static _Thread_local MPI_Comm comms[kComms];
static _Thread_local unsigned shared_state, own_state;
/* What each receive got, in the order of posting. */
static _Thread_local int received[kMessages], received_count;

static unsigned draw(unsigned* state, unsigned below) {
  *state = *state * 1664525u + 1013904223u;
  return (unsigned)(((unsigned long long)(*state >> 8) * below) >> 24);
}

static void draw_messages(void) {
  static const int bytes_max[] = {4, 40, 64, 600, 5000, 20000, 70000, 300000};
  for (int i = 0; i < message_count; ++i) {
    Message* m = &messages[i];
    m->source = (int)draw(&shared_state, (unsigned)check_size);
    m->dest = (int)draw(&shared_state, (unsigned)check_size);
    m->tag = (int)draw(&shared_state, kTags);
    m->comm = (int)draw(&shared_state, kComms);
    m->bytes = 4 + (int)draw(&shared_state, (unsigned)bytes_max[draw(&shared_state, 8)]);
    m->mode = (int)draw(&shared_state, 4);
    for (int side = 0; side < 2; ++side) {
      m->has_gaps[side] = draw(&shared_state, 4) == 0;
      m->is_mpi_memory[side] = draw(&shared_state, 2) == 0;
    }
  }
}

static unsigned char content(int number, int i) {
  if (i < 4) return (unsigned char)(number >> (8 * i));
  return (unsigned char)(number * 31 + i * 7 + (i >> 8));
}

static Operation* begin(int is_receive, int number, int bytes, int has_gaps, int is_mpi_memory) {
  Operation* o = &running[running_count++];
  const size_t room = (size_t)bytes * (has_gaps ? 2 : 1);
  *o = (Operation){.request = MPI_REQUEST_NULL,
                   .number = number,
                   .comm = messages[number].comm,
                   .has_gaps = has_gaps,
                   .is_mpi_memory = is_mpi_memory,
                   .bytes_max = bytes,
                   .is_receive = is_receive};
  if (is_mpi_memory)
    MPI_Alloc_mem((MPI_Aint)room, MPI_INFO_NULL, &o->data);
  else
    o->data = malloc(room);
  memset(o->data, kUntouched, room);
  return o;
}

static void check_received(Operation* o, MPI_Status* status) {
  const int step = o->has_gaps ? 2 : 1;
  int bytes = 0, number = 0;
  MPI_Get_count(status, MPI_BYTE, &bytes);
  for (int i = 0; i < 4; ++i) number |= o->data[i * step] << (8 * i);
  CHECK(number >= 0 && number < message_count, "seed %u: message %d", seed, number);
  const Message* m = &messages[number];
  if (o->comm == kNamed) CHECK(number == o->number, "seed %u: %d instead of %d", seed, number, o->number);
  CHECK(m->dest == check_rank && m->comm == o->comm, "seed %u: message %d is not for us", seed, number);
  CHECK(bytes == m->bytes && status->MPI_SOURCE == m->source && status->MPI_TAG == m->tag,
        "seed %u: message %d: %d bytes from %d, tag %d", seed, number, bytes, status->MPI_SOURCE,
        status->MPI_TAG);
  for (int i = 0; i < o->bytes_max * step; ++i) {
    const int is_data = i % step == 0 && i / step < bytes;
    const int expected = is_data ? content(number, i / step) : kUntouched;
    CHECK(o->data[i] == expected, "seed %u: message %d of %d bytes: byte %d", seed, number, bytes, i);
  }
  received[o->place] = number;
}

static void end(int index, MPI_Status* status) {
  Operation* o = &running[index];
  if (o->is_receive) check_received(o, status);
  if (o->is_mpi_memory)
    MPI_Free_mem(o->data);
  else
    free(o->data);
  *o = running[--running_count];
}

/* Until all receives are posted, one from any source may go to a later message of another rank instead of
   this one, whose sender then must not wait for it. */
static int may_be_awaited(const Operation* o) {
  return is_all_posted || o->is_receive || o->comm == kNamed || o->comm == kAnyTag;
}

static int awaited_count(void) {
  int count = 0;
  for (int i = 0; i < running_count; ++i) count += may_be_awaited(&running[i]);
  return count;
}

/* Ends operations, in one of the ways to do so, until few enough run. */
static void end_some(int most) {
  while (awaited_count() > most) {
    MPI_Request requests[2 * kMessages];
    MPI_Status status;
    int index = (int)draw(&own_state, (unsigned)running_count), flag = 1;
    for (int i = 0; i < running_count; ++i) requests[i] = running[i].request;
    switch (draw(&own_state, 3)) {
      case 0: MPI_Waitany(running_count, requests, &index, &status); break;
      case 1: MPI_Testany(running_count, requests, &index, &flag, &status); break;
      default:
        if (may_be_awaited(&running[index]))
          MPI_Wait(&requests[index], &status);
        else
          MPI_Test(&requests[index], &flag, &status);
    }
    if (flag) end(index, &status);
  }
}

static void send(int number) {
  const Message* m = &messages[number];
  Operation* o = begin(0, number, m->bytes, m->has_gaps[0], m->is_mpi_memory[0]);
  const MPI_Datatype type = o->has_gaps ? every_other : MPI_BYTE;
  for (int i = 0; i < m->bytes; ++i) o->data[o->has_gaps ? 2 * i : i] = content(number, i);
  switch (m->mode) {
    case 0: MPI_Issend(o->data, m->bytes, type, m->dest, m->tag, comms[m->comm], &o->request); break;
    case 1: MPI_Ibsend(o->data, m->bytes, type, m->dest, m->tag, comms[m->comm], &o->request); break;
    default: MPI_Isend(o->data, m->bytes, type, m->dest, m->tag, comms[m->comm], &o->request);
  }
}

static void receive(int number) {
  const Message* m = &messages[number];
  const int source = m->comm == kAnySource || m->comm == kAnyBoth ? MPI_ANY_SOURCE : m->source;
  const int tag = m->comm == kAnyTag || m->comm == kAnyBoth ? MPI_ANY_TAG : m->tag;
  const int bytes_max = m->comm == kNamed ? m->bytes + (int)draw(&own_state, 9) : 300004;
  Operation* o = begin(1, number, bytes_max, m->has_gaps[1], m->is_mpi_memory[1]);
  const MPI_Datatype type = o->has_gaps ? every_other : MPI_BYTE;
  MPI_Status status;
  MPI_Message found;
  o->place = received_count++;
  switch (draw(&own_state, 5)) {
    case 0:
      MPI_Recv(o->data, bytes_max, type, source, tag, comms[m->comm], &status);
      end(running_count - 1, &status);
      break;
    case 1:
      MPI_Mprobe(source, tag, comms[m->comm], &found, &status);
      MPI_Imrecv(o->data, bytes_max, type, &found, &o->request);
      break;
    default: MPI_Irecv(o->data, bytes_max, type, source, tag, comms[m->comm], &o->request);
  }
}

/* A receive that nothing comes for, or a send that nobody receives. */
static void cancel_one(void) {
  const int peer = (int)draw(&own_state, (unsigned)check_size), bytes = 1 << draw(&own_state, 18);
  unsigned char* data = calloc((size_t)bytes, 1);
  MPI_Request request;
  MPI_Status status;
  int flag = 0;
  if (draw(&own_state, 2) == 0)
    MPI_Irecv(data, bytes, MPI_BYTE, peer, kNever, comms[kNamed], &request);
  else
    MPI_Issend(data, bytes, MPI_BYTE, peer, kNever + 1, comms[kNamed], &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag, "seed %u: %d bytes were not cancelled", seed, bytes);
  free(data);
}

/* Of each sender, tag and communicator, receives got messages in the order in which they were posted. */
static void check_order(void) {
  int* newest = calloc((size_t)(check_size * kTags * kComms), sizeof *newest);
  for (int i = 0; i < received_count; ++i) {
    const Message* m = &messages[received[i]];
    int* before = &newest[(m->source * kTags + m->tag) * kComms + m->comm];
    CHECK(received[i] >= *before, "seed %u: message %d came after %d", seed, received[i], *before - 1);
    *before = received[i] + 1;
  }
  free(newest);
}

/* What peers have mapped of this rank is no longer its memory afterwards. */
static void fork_one(void) {
  const pid_t child = fork();
  if (child == 0) {
    usleep(draw(&own_state, 3000));
    _exit(0);
  }
  CHECK(child > 0, "seed %u: fork", seed);
  if (draw(&own_state, 2) == 0) waitpid(child, NULL, 0);
}

/* In the order of the list on every rank: nobody waits for one whose sender waits for a later one. */
static void* run(void* argument) {
  const Part* part = argument;
  shared_state = seed + (unsigned)part->thread;
  own_state = seed * 2654435761u + (unsigned)(check_rank * kThreadsMax + part->thread);
  memcpy(comms, part->comms, sizeof comms);
  draw_messages();
  for (int i = 0; i < message_count; ++i) {
    end_some(kOutstandingMax);
    if (messages[i].source == check_rank) send(i);
    if (messages[i].dest == check_rank) receive(i);
    if (draw(&own_state, 40) == 0) cancel_one();
    if (draw(&own_state, 200) == 0)
      for (const double start = MPI_Wtime(); MPI_Wtime() - start < 0.001;) {} /* late */
    if (draw(&own_state, 200) == 0) fork_one();
  }
  is_all_posted = 1;
  end_some(0);
  check_order();
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = argc > 2 ? atoi(argv[2]) : 1;
  CHECK(threads >= 1 && threads <= kThreadsMax, "%d threads", threads);
  check_start_threads(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
  if (seed == 0) seed = (unsigned)time(NULL);
  MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
  if (check_rank == 0) printf("seed %u\n", seed), fflush(stdout);
  message_count = kMessages / threads;
  MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
  MPI_Type_create_resized(MPI_BYTE, 0, 2, &every_other);
  MPI_Type_commit(&every_other);
  Part parts[kThreadsMax];
  pthread_t ids[kThreadsMax];
  for (int t = 0; t < threads; ++t) {
    parts[t].thread = t;
    for (int i = 0; i < kComms; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &parts[t].comms[i]);
  }
  for (int t = 1; t < threads; ++t) pthread_create(&ids[t], NULL, &run, &parts[t]);
  run(&parts[0]);
  for (int t = 1; t < threads; ++t) pthread_join(ids[t], NULL);
  void* detached;
  int detached_bytes;
  MPI_Buffer_detach(&detached, &detached_bytes);
  MPI_Type_free(&every_other);
  for (int t = 0; t < threads; ++t)
    for (int i = 0; i < kComms; ++i) MPI_Comm_free(&parts[t].comms[i]);
  while (waitpid(-1, NULL, WNOHANG) > 0) {}
  return check_end();
}
