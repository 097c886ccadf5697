// Plain processes that exchange data at places both know: see mpi.h.  Compiled with a transfer program.
//
// A message is a position of an ordered pair, and each side has a line per position that says where its data
// lies, and a count of the positions whose share it has copied.  Both sides start the same transfers before
// either waits, so that nothing is matched.
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shapes.h"

enum {
  kRanksMax = 8,
  kPositions = 128,
  kTransfersMax = 256,
  kSlots = 1024,
  kFirstBytes = 40,  // payload of a message's first slot, and of each further one
  kNextBytes = 56,
  kLinesBytesMax = 8 << 10,
  kPrivateLinesMax = 512,
  kBulkBytes = 256 << 10,
  kPieceBytes = 16 << 10,
  kPollsBeforeYield = 5,
  kPageBytes = 4 << 10,
  kHugeBytes = 2 << 20,
  kCollapse = 25,  // MADV_COLLAPSE, which older headers lack
};
static const size_t kArenaBytes = (size_t)4 << 30;

typedef enum { kHalves, kStreaming, kReceiver, kSender, kBulk, kLines } Way;
static const char* const kWays[] = {"halves", "streaming", "receiver", "sender", "bulk", "lines"};

typedef struct {
  _Alignas(128) _Atomic uint64_t ready;  // position + 1 once `data` holds for it
  char* data;
} Line;

typedef struct {
  uint64_t bytes, bulk_end;
  char payload[kFirstBytes];
  _Atomic uint64_t flag;  // number of the slot + 1
} Slot;
_Static_assert(sizeof(Slot) == 64, "one cache line");

typedef struct {
  Line sender[kPositions], receiver[kPositions];
  _Alignas(128) _Atomic uint64_t sender_done;    // positions of which the sender's share is copied
  _Alignas(128) _Atomic uint64_t receiver_done;  // and the receiver's
  _Alignas(128) _Atomic uint64_t slots_taken;  // by the receiver, as the next
  _Atomic uint64_t bulk_taken;
  _Alignas(128) Slot slots[kSlots];
  _Alignas(128) char bulk[kBulkBytes];
} Pair;

typedef struct {
  _Alignas(128) _Atomic uint64_t arrived[kRanksMax];  // barriers
  uint64_t words[kRanksMax];                          // of reductions
  Pair pairs[kRanksMax][kRanksMax];                   // [from][to]
} Shared;

// This process's end of an ordered pair.
typedef struct {
  uint64_t position;               // of the next message
  uint64_t slot, bulk;             // next to be written or read
  uint64_t slot_known, bulk_known;  // sender: where its room ends; receiver: what it told the sender last
} End;

typedef struct {
  char* data;
  const Shape* shape;
  size_t units, unit_bytes, at;  // `at`: units that went through the ring
  uint64_t position;
  int peer, is_send, is_copied, is_over;
  Way way;
} Transfer;

static Shared* shared;
static char* arena;
static size_t arena_used;
static int rank, ranks = 2, is_crowded, transfer_count;
static Way way = kHalves;
static End sending[kRanksMax], receiving[kRanksMax];
static Transfer transfers[kTransfersMax];
static uint64_t barriers;

static inline void relax(void) {
  static int polls;
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
  if (is_crowded && ++polls % kPollsBeforeYield == 0) sched_yield();
}

static _Bool has(const _Atomic uint64_t* word, uint64_t value) {
  return atomic_load_explicit(word, memory_order_acquire) == value;
}
static void publish(_Atomic uint64_t* word, uint64_t value) {
  atomic_store_explicit(word, value, memory_order_release);
}

// ---- Directly from buffer to buffer.

static size_t half_of(size_t units) { return units < 128 ? units / 2 : units / 2 & ~(size_t)63; }

// Whether this side, or the other, copies a share of a message.
static _Bool copies(Way chosen, int is_send) {
  return chosen <= kStreaming || (chosen == kSender) == is_send;
}

static void post(const Transfer* t) {
  if (t->way >= kBulk || (t->way > kStreaming && copies(t->way, t->is_send))) return;
  Pair* pair = t->is_send ? &shared->pairs[rank][t->peer] : &shared->pairs[t->peer][rank];
  Line* mine = (t->is_send ? pair->sender : pair->receiver) + t->position % kPositions;
  mine->data = t->data;
  publish(&mine->ready, t->position + 1);
}

static void advance_direct(Transfer* t) {
  Pair* pair = t->is_send ? &shared->pairs[rank][t->peer] : &shared->pairs[t->peer][rank];
  const Line* other = (t->is_send ? pair->receiver : pair->sender) + t->position % kPositions;
  if (!t->is_copied && copies(t->way, t->is_send)) {
    if (!has(&other->ready, t->position + 1)) return;
    const size_t half = t->way <= kStreaming ? half_of(t->units) : t->is_send ? 0 : t->units;
    void (*copy)(const Shape*, char*, const char*, size_t, size_t) =
        t->way == kStreaming ? stream_shape : copy_shape;
    if (t->is_send)
      copy(t->shape, other->data, t->data, half, t->units);
    else
      copy(t->shape, t->data, other->data, 0, half);
    publish(t->is_send ? &pair->sender_done : &pair->receiver_done, t->position + 1);
  }
  t->is_copied = 1;
  const _Atomic uint64_t* done = t->is_send ? &pair->receiver_done : &pair->sender_done;
  t->is_over = !copies(t->way, !t->is_send) ||
               atomic_load_explicit(done, memory_order_acquire) > t->position;
}

// ---- Through the ring.

static size_t slots_of(size_t bytes) {
  return bytes <= kFirstBytes ? 1 : 1 + (bytes - kFirstBytes + kNextBytes - 1) / kNextBytes;
}

static _Bool has_room(Pair* pair, End* end, size_t slots, size_t bulk) {
  if (end->slot + slots <= end->slot_known && end->bulk + bulk <= end->bulk_known) return 1;
  end->slot_known = atomic_load_explicit(&pair->slots_taken, memory_order_acquire) + kSlots;
  end->bulk_known = atomic_load_explicit(&pair->bulk_taken, memory_order_acquire) + kBulkBytes;
  return end->slot + slots <= end->slot_known && end->bulk + bulk <= end->bulk_known;
}

static void tell_taken(Pair* pair, End* end) {
  if (end->slot - end->slot_known < kSlots / 4 && end->bulk - end->bulk_known < kBulkBytes / 4) return;
  end->slot_known = end->slot;
  end->bulk_known = end->bulk;
  publish(&pair->bulk_taken, end->bulk);
  publish(&pair->slots_taken, end->slot);
}

// Up to 64 bytes by two moves that may overlap: a call of memcpy would show at these sizes.
static inline void copy_short(void* to, const void* from, size_t bytes) {
  typedef struct {
    char bytes[32];
  } Half;
  const char* begin = from;
  char* result = to;
  if (bytes >= sizeof(Half)) {
    const Half last = *(const Half*)(begin + bytes - sizeof(Half));
    *(Half*)result = *(const Half*)begin;
    *(Half*)(result + bytes - sizeof(Half)) = last;
  } else if (bytes >= 8) {
    uint64_t words[4];
    const size_t step = bytes >= 16 ? 8 : 0;
    memcpy(&words[0], begin, 8);
    memcpy(&words[1], begin + step, 8);
    memcpy(&words[2], begin + bytes - 8 - step, 8);
    memcpy(&words[3], begin + bytes - 8, 8);
    memcpy(result, &words[0], 8);
    memcpy(result + step, &words[1], 8);
    memcpy(result + bytes - 8 - step, &words[2], 8);
    memcpy(result + bytes - 8, &words[3], 8);
  } else {
    while (bytes-- > 0) *result++ = *begin++;
  }
}

static void send_lines(Transfer* t, Pair* pair, End* end) {
  if (!has_room(pair, end, slots_of(t->units), 0)) return;
  const char* from = t->data;
  uint64_t at = end->slot;
  Slot* slot = &pair->slots[at % kSlots];
  size_t left = t->units, bytes = left < kFirstBytes ? left : kFirstBytes;
  slot->bytes = left;
  copy_short(slot->payload, from, bytes);
  publish(&slot->flag, ++at);
  for (from += bytes, left -= bytes; left >= kNextBytes; from += kNextBytes, left -= kNextBytes) {
    slot = &pair->slots[at % kSlots];
    memcpy(slot, from, kNextBytes);
    publish(&slot->flag, ++at);
  }
  if (left > 0) {
    slot = &pair->slots[at % kSlots];
    copy_short(slot, from, left);
    publish(&slot->flag, ++at);
  }
  end->slot = at;
  t->is_over = 1;
}

static void receive_lines(Transfer* t, Pair* pair, End* end) {
  uint64_t at = end->slot;
  const Slot* slot = &pair->slots[at % kSlots];
  if (!has(&slot->flag, at + 1)) return;
  char* to = t->data;
  size_t left = slot->bytes, bytes = left < kFirstBytes ? left : kFirstBytes;
  copy_short(to, slot->payload, bytes);
  ++at;
  for (to += bytes, left -= bytes; left > 0; to += bytes, left -= bytes, ++at) {
    slot = &pair->slots[at % kSlots];
    bytes = left < kNextBytes ? left : kNextBytes;
    while (!has(&slot->flag, at + 1)) {
    }
    if (bytes == kNextBytes)
      memcpy(to, slot, kNextBytes);
    else
      copy_short(to, slot, bytes);
  }
  end->slot = at;
  tell_taken(pair, end);
  t->is_over = 1;
}

// The next piece of a message: how many units, and where in the bulk ring it begins.
static size_t next_piece(const Transfer* t, uint64_t* bulk) {
  const size_t units_max = kPieceBytes / t->unit_bytes, left = t->units - t->at;
  const size_t units = left < units_max ? left : units_max, bytes = units * t->unit_bytes;
  if (*bulk % kBulkBytes + bytes > kBulkBytes) *bulk += kBulkBytes - *bulk % kBulkBytes;
  return units;
}

static void send_bulk(Transfer* t, Pair* pair, End* end) {
  do {
    uint64_t begin = end->bulk;
    const size_t units = next_piece(t, &begin), bytes = (units * t->unit_bytes + 63) & ~(size_t)63;
    if (!has_room(pair, end, 1, begin + bytes - end->bulk)) return;
    Slot* slot = &pair->slots[end->slot % kSlots];
    pack_shape(t->shape, pair->bulk + begin % kBulkBytes, t->data, t->at, t->at + units);
    slot->bytes = units * t->unit_bytes;
    slot->bulk_end = end->bulk = begin + bytes;
    publish(&slot->flag, ++end->slot);
    t->at += units;
  } while (t->at < t->units);
  t->is_over = 1;
}

static void receive_bulk(Transfer* t, Pair* pair, End* end) {
  do {
    Slot* slot = &pair->slots[end->slot % kSlots];
    if (!has(&slot->flag, end->slot + 1)) return;
    const size_t units = next_piece(t, &end->bulk);
    unpack_shape(t->shape, t->data, pair->bulk + end->bulk % kBulkBytes, t->at, t->at + units);
    end->bulk = slot->bulk_end;
    ++end->slot;
    t->at += units;
    tell_taken(pair, end);
  } while (t->at < t->units);
  t->is_over = 1;
}

static void advance(Transfer* t) {
  if (t->way < kBulk)
    advance_direct(t);
  else if (t->is_send)
    (t->way == kLines ? send_lines : send_bulk)(t, &shared->pairs[rank][t->peer], &sending[t->peer]);
  else
    (t->way == kLines ? receive_lines : receive_bulk)(t, &shared->pairs[t->peer][rank], &receiving[t->peer]);
}

// ---- What programs call.

static void start(const void* data, int count, const Shape* shape, int peer, int is_send) {
  Transfer* t = &transfers[transfer_count++];
  End* end = is_send ? &sending[peer] : &receiving[peer];
  t->data = (char*)data;
  t->shape = shape;
  t->peer = peer;
  t->is_send = is_send;
  t->way = way;
  t->at = 0;
  t->is_copied = 0;
  t->units = units_of(shape, (size_t)count, &t->unit_bytes);
  t->is_over = 0;
  const size_t bytes = t->units * t->unit_bytes;
  if (t->data < arena || t->data >= arena + kArenaBytes)
    t->way = way == kLines || bytes <= kPrivateLinesMax ? kLines : kBulk;
  if (bytes == 0) t->way = kLines;
  if (t->way == kLines && (bytes > kLinesBytesMax || t->unit_bytes != 1)) t->way = kBulk;
  t->position = end->position++;
  post(t);
}

static void wait_for_one(Transfer* t) {
  for (;; relax()) {
    if (!t->is_over) advance(t);
    if (t->is_over) break;
  }
  transfer_count = 0;
}

static void wait_all(void) {
  for (int first = 0; first < transfer_count;) {
    unsigned held_up = 0;  // a bit per peer and direction of which a message waits to be copied
    for (int i = first; i < transfer_count; ++i) {
      Transfer* t = &transfers[i];
      const unsigned bit = 1u << (2 * t->peer + t->is_send);
      if (!t->is_over && !(held_up & bit)) advance(t);
      if (!t->is_over && !t->is_copied) held_up |= bit;
    }
    const int before = first;
    while (first < transfer_count && transfers[first].is_over) ++first;
    if (first == before) relax();
  }
  transfer_count = 0;
}

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  (void)tag, (void)comm, (void)request;
  start(data, count, type, to, 1);
  return 0;
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  (void)tag, (void)comm, (void)request;
  start(data, count, type, from, 0);
  return 0;
}

int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  (void)count, (void)requests, (void)statuses;
  wait_all();
  return 0;
}

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  (void)tag, (void)comm;
  start(data, count, type, to, 1);
  wait_for_one(transfers);
  return 0;
}

int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status* status) {
  (void)tag, (void)comm, (void)status;
  start(data, count, type, from, 0);
  wait_for_one(transfers);
  return 0;
}

int MPI_Sendrecv(const void* sent, int sent_count, MPI_Datatype sent_type, int to, int sent_tag,
                 void* received, int received_count, MPI_Datatype received_type, int from, int received_tag,
                 MPI_Comm comm, MPI_Status* status) {
  (void)sent_tag, (void)received_tag, (void)comm, (void)status;
  start(received, received_count, received_type, from, 0);
  start(sent, sent_count, sent_type, to, 1);
  wait_all();
  return 0;
}

int MPI_Barrier(MPI_Comm comm) {
  (void)comm;
  publish(&shared->arrived[rank], ++barriers);
  for (int other = 0; other < ranks; ++other)
    while (atomic_load_explicit(&shared->arrived[other], memory_order_acquire) < barriers) relax();
  return 0;
}

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  (void)count;
  if (rank == root) memcpy(&shared->words[root], data, type->block);
  MPI_Barrier(comm);
  memcpy(data, &shared->words[root], type->block);
  return MPI_Barrier(comm);
}

int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  (void)count;
  memcpy(&shared->words[rank], from, type->block);
  MPI_Barrier(comm);
  double result = 0;
  int number;
  for (int other = 0; other < ranks; ++other) {
    double value;
    memcpy(&value, &shared->words[other], sizeof value);
    memcpy(&number, &shared->words[other], sizeof number);
    if (type == MPI_INT) value = number;
    result = op == MPI_SUM ? result + value : other == 0 || value > result ? value : result;
  }
  number = (int)result;
  memcpy(to, type == MPI_INT ? (const void*)&number : &result, type->block);
  return MPI_Barrier(comm);
}

int MPI_Reduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
  (void)root;
  return MPI_Allreduce(from, to, count, type, op, comm);
}

// ---- Start and end.

static void fail(const char* what) {
  perror(what);
  exit(1);
}

static void read_options(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (strncmp(argv[i], "--ranks=", 8) == 0) ranks = atoi(argv[i] + 8);
    for (int known = 0; strncmp(argv[i], "--way=", 6) == 0 && known <= kLines; ++known)
      if (strcmp(argv[i] + 6, kWays[known]) == 0) way = (Way)known;
  }
  if (ranks < 1 || ranks > kRanksMax) {
    fprintf(stderr, "limits: --ranks is 1 to %d\n", kRanksMax);
    exit(1);
  }
}

// Large pages want the address and the place in the file alike in their lower bits.
static void* map_shared(size_t bytes) {
  char* room = mmap(NULL, bytes + kHugeBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const int file = memfd_create("limits", MFD_CLOEXEC);
  if (room == MAP_FAILED || file < 0 || ftruncate(file, (off_t)bytes) != 0) fail("limits: memory");
  room += kHugeBytes - (uintptr_t)room % kHugeBytes;
  void* result = mmap(room, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, 0);
  if (result == MAP_FAILED) fail("limits: mmap");
  close(file);
  return result;
}

// Rank r runs on the r-th CPU of those allowed, counted round.
static void pin(void) {
  cpu_set_t allowed, mine;
  sched_getaffinity(0, sizeof allowed, &allowed);
  int left = rank % CPU_COUNT(&allowed), cpu = 0;
  while (!CPU_ISSET(cpu, &allowed) || left-- > 0) ++cpu;
  is_crowded = ranks > CPU_COUNT(&allowed);
  CPU_ZERO(&mine);
  CPU_SET(cpu, &mine);
  sched_setaffinity(0, sizeof mine, &mine);
}

int MPI_Init_thread(int* argc, char*** argv, int level, int* provided) {
  *provided = level;
  read_options(*argc, *argv);
  shared = map_shared(sizeof *shared);
  arena = map_shared(kArenaBytes);
  const pid_t parent = getpid();
  for (int child = 1; child < ranks && rank == 0; ++child) {
    const pid_t forked = fork();
    if (forked < 0) fail("limits: fork");
    if (forked == 0) rank = child;
  }
  if (rank != 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)) _exit(1);
  pin();
  return 0;
}

int MPI_Finalize(void) {
  if (rank != 0) _exit(0);
  int worst = 0, status;
  while (wait(&status) > 0) worst |= status;
  return worst == 0 ? 0 : MPI_Abort(MPI_COMM_WORLD, 1);
}

int MPI_Abort(MPI_Comm comm, int code) {
  (void)comm;
  fprintf(stderr, "limits: rank %d ends the program\n", rank);
  _exit(code);
}

int MPI_Comm_rank(MPI_Comm comm, int* result) {
  (void)comm;
  *result = rank;
  return 0;
}

int MPI_Comm_size(MPI_Comm comm, int* result) {
  (void)comm;
  *result = ranks;
  return 0;
}

int MPI_Alloc_mem(MPI_Aint bytes, MPI_Info info, void* result) {
  (void)info;
  const size_t share = kArenaBytes / (size_t)ranks / kHugeBytes * kHugeBytes;
  if (arena_used + (size_t)bytes > share) return MPI_Abort(MPI_COMM_WORLD, 1);
  char* begin = arena + share * (size_t)rank + arena_used;
  begin += (kHugeBytes - (uintptr_t)begin % kHugeBytes) % kHugeBytes;
  for (char* page = begin; page < begin + bytes; page += kHugeBytes) {
    *(volatile char*)page = 0;
    madvise(page, kHugeBytes, kCollapse);  // small pages do, where there are no others
  }
  memcpy(result, &begin, sizeof begin);
  MPI_Barrier(MPI_COMM_WORLD);
  const size_t end = (size_t)(begin + bytes - arena) - share * (size_t)rank;
  for (int other = 0; other < ranks; ++other)
    for (size_t at = arena_used; at < end; at += kPageBytes)
      (void)*(volatile char*)(arena + share * (size_t)other + at);
  arena_used = end;
  return MPI_Barrier(MPI_COMM_WORLD);
}
