/* Random collectives: all of them, counts around the sizes at which another way begins, layouts with gaps, a
 * program's operators, roots, in place, several at once in all calling modes, on several communicators. Every
 * byte of every buffer is checked.  All ranks draw the same list; the seed is the first argument, or the
 * clock (0), the second how many steps there are (40).  A third argument, `forced`, has each collective use
 * an algorithm that the seed chooses: mpirun's identifier, where the seed is 0.
 *
 * ranks: 1 2 3 5 8
 *
 * variants: none
 */
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum {
  kWidths = 3,
  kLayouts = 5,
  kComms = 4,
  kAtOnceMax = 24,
  kRanksMax = 16,
  kGuard = 64,
  kUntouched = 0xa5
};
enum { NOW, LATER, AGAIN, MODES }; /* blocking, nonblocking, persistent */
enum {
  BARRIER,
  BCAST,
  GATHER,
  GATHERV,
  SCATTER,
  SCATTERV,
  ALLGATHER,
  ALLGATHERV,
  ALLTOALL,
  ALLTOALLV,
  ALLTOALLW,
  REDUCE,
  ALLREDUCE,
  REDUCE_SCATTER,
  REDUCE_SCATTER_BLOCK,
  SCAN,
  EXSCAN,
  KINDS
};
static const char* const kNames[] = {
    "barrier",   "bcast",     "gather",     "gatherv",        "scatter",
    "scatterv",  "allgather", "allgatherv", "alltoall",       "alltoallv",
    "alltoallw", "reduce",    "allreduce",  "reduce_scatter", "reduce_scatter_block",
    "scan",      "exscan"};

/* Data are pairs of unsigned integers of one width.  How MPI is told of a pair in memory: */
typedef struct {
  MPI_Datatype type;
  int per_pair;      /* elements of the type */
  int extent, at[2]; /* of a pair and its two numbers, in numbers */
} Layout;
static const int kWidth[kWidths] = {1, 4, 8};
static Layout layouts[kWidths][kLayouts];

typedef struct {
  const Layout* layout;
  int pairs;
  long at; /* byte of the buffer */
} Block;

/* A buffer, the blocks in it, and what MPI is told of them. */
typedef struct {
  unsigned char *memory, *buffer; /* the buffer lies behind guards */
  size_t bytes;                   /* of the memory */
  int blocks, width;
  Block block[kRanksMax];
  int counts[kRanksMax], places[kRanksMax], byte_places[kRanksMax];
  MPI_Datatype types[kRanksMax];
} Side;

typedef struct {
  int kind, mode, starts, in_place, root, op, width; /* width: 0, 1 or 2 */
  int pairs;                                         /* of a block, or the most of one */
  MPI_Comm comm;
  int rank, size;
  uint64_t key; /* what its data are made of */
  Side send, recv;
  MPI_Request request;
} Operation;

enum { SUM, XOR, MIN, MAX, OWN_SUM, COMPOSE, OPS };
static MPI_Op ops[OPS];
static MPI_Comm comms[kComms];
static unsigned seed, shared_state, own_state;
static int step;

static unsigned draw(unsigned* state, unsigned below) {
  *state = *state * 1664525u + 1013904223u;
  return (unsigned)(((unsigned long long)(*state >> 8) * below) >> 24);
}

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 31) * 0x7fb5d329728ea185u;
  x = (x ^ x >> 27) * 0x81dadef4bc2dd44du;
  return x ^ x >> 33;
}

/* Number `i` of what rank `from` has for rank `to`. */
static uint64_t value(uint64_t key, int from, int to, int i) {
  return mix(key + (uint64_t)from * 0x9e3779b97f4a7c15u + (uint64_t)to * 0xc2b2ae3d27d4eb4fu + (uint64_t)i);
}

/* x -> a x + b, as two numbers: composition keeps an order and does not commute. */
static void combine(int op, uint64_t mask, const uint64_t* left, const uint64_t* right, uint64_t* to) {
  uint64_t made[2];
  for (int i = 0; i < 2; ++i) {
    const uint64_t l = left[i] & mask, r = right[i] & mask;
    made[i] = op == XOR ? l ^ r : op == MIN ? (l < r ? l : r) : op == MAX ? (l > r ? l : r) : l + r;
  }
  if (op == COMPOSE) {
    made[0] = left[0] * right[0];
    made[1] = left[0] * right[1] + left[1];
  }
  for (int i = 0; i < 2; ++i) to[i] = made[i] & mask;
}

static uint64_t get(const unsigned char* at, int width) {
  uint32_t four;
  uint64_t eight;
  if (width == 1) return *at;
  if (width == 4) return memcpy(&four, at, 4), four;
  return memcpy(&eight, at, 8), eight;
}

static void put(unsigned char* at, int width, uint64_t number) {
  const uint32_t four = (uint32_t)number;
  if (width == 1) *at = (unsigned char)number;
  if (width == 4) memcpy(at, &four, 4);
  if (width == 8) memcpy(at, &number, 8);
}

static uint64_t mask_of(int width) { return width == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * width) - 1; }

static void combine_all(int op, unsigned char* in, unsigned char* inout, int count, MPI_Datatype type) {
  for (int w = 0; w < kWidths; ++w)
    for (int l = 0; l < kLayouts; ++l) {
      const Layout* layout = &layouts[w][l];
      if (layout->type != type || layout->per_pair != 1) continue;
      const long width = kWidth[w];
      for (long i = 0; i < count; ++i) {
        unsigned char *left[2], *right[2];
        uint64_t numbers[2][2];
        for (int k = 0; k < 2; ++k) {
          left[k] = in + (i * layout->extent + layout->at[k]) * width;
          right[k] = inout + (i * layout->extent + layout->at[k]) * width;
          numbers[0][k] = get(left[k], kWidth[w]);
          numbers[1][k] = get(right[k], kWidth[w]);
        }
        combine(op, mask_of(kWidth[w]), numbers[0], numbers[1], numbers[1]);
        for (int k = 0; k < 2; ++k) put(right[k], kWidth[w], numbers[1][k]);
      }
      return;
    }
  CHECK(0, "seed %u: an operator was called with a type that is not its own", seed);
}

static void own_sum(void* in, void* inout, int* count, MPI_Datatype* type) {
  combine_all(OWN_SUM, in, inout, *count, *type);
}
static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
  combine_all(COMPOSE, in, inout, *count, *type);
}

static void make_layouts(void) {
  const MPI_Datatype numbers[kWidths] = {MPI_UINT8_T, MPI_UINT32_T, MPI_UINT64_T};
  for (int w = 0; w < kWidths; ++w) {
    const MPI_Datatype base = numbers[w];
    const MPI_Aint width = kWidth[w];
    MPI_Datatype made, resized;
    layouts[w][0] = (Layout){base, 2, 2, {0, 1}};
    MPI_Type_contiguous(2, base, &made);
    layouts[w][1] = (Layout){made, 1, 2, {0, 1}};
    MPI_Type_vector(2, 1, 3, base, &made);
    MPI_Type_create_resized(made, 0, 5 * width, &resized);
    MPI_Type_free(&made);
    layouts[w][2] = (Layout){resized, 1, 5, {0, 3}};
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){2 * width, 0}, (MPI_Datatype[]){base, base}, &made);
    MPI_Type_create_resized(made, 0, 4 * width, &resized);
    MPI_Type_free(&made);
    layouts[w][3] = (Layout){resized, 1, 4, {2, 0}};
    MPI_Type_create_hindexed(2, (int[]){1, 1}, (MPI_Aint[]){-width, width}, base, &made);
    layouts[w][4] = (Layout){made, 1, 3, {-1, 1}};
    for (int l = 1; l < kLayouts; ++l) MPI_Type_commit(&layouts[w][l].type);
  }
}

static int is_reduction(int kind) { return kind >= REDUCE; }
static int has_root(int kind) { return (kind >= BCAST && kind <= SCATTERV) || kind == REDUCE; }

/* The one that this rank draws for one side of one operation; a reduction has one everywhere. */
static const Layout* layout_of(const Operation* o, int side, int peer) {
  if (is_reduction(o->kind))
    return &layouts[o->width][o->op < OWN_SUM ? 0 : 1 + mix(o->key) % (kLayouts - 1)];
  const uint64_t random = mix(o->key ^ (uint64_t)(1 + side + 2 * o->rank + 64 * (peer + 1)));
  return &layouts[o->width][random % 8 < 3 ? 0 : random / 8 % kLayouts];
}

static void write_block(unsigned char* memory, const Side* side, int b, uint64_t key, int from, int to) {
  const Block* block = &side->block[b];
  unsigned char* const at = memory + kGuard + block->at;
  for (int i = 0; i < 2 * block->pairs; ++i)
    put(at + ((long)(i / 2) * block->layout->extent + block->layout->at[i % 2]) * side->width, side->width,
        value(key, from, to, i));
}

/* Block `b` has `pairs[b]`; they follow each other, or lie in reverse order with a gap of a pair. */
static void make_side(Side* side, Operation* o, int which, int blocks, const int* pairs, int are_apart) {
  long at = 0;
  side->blocks = blocks;
  side->width = kWidth[o->width];
  for (int k = 0; k < blocks; ++k) {
    const int b = are_apart ? blocks - 1 - k : k;
    const Layout* layout = layout_of(o, which, o->kind == ALLTOALLW ? b : -1);
    const long pair_bytes = (long)layout->extent * side->width;
    side->block[b] = (Block){layout, pairs[b], at};
    side->counts[b] = pairs[b] * layout->per_pair;
    side->types[b] = layout->type;
    side->byte_places[b] = (int)at;
    side->places[b] = (int)(at / pair_bytes) * layout->per_pair;
    at += (pairs[b] + are_apart) * pair_bytes;
    if (o->kind == ALLTOALLW) at = (at + 7) / 8 * 8;
  }
  side->bytes = (size_t)at + 2 * kGuard;
  side->memory = malloc(side->bytes);
  side->buffer = side->memory + kGuard;
}

/* Pairs of a block that only its ends need know, from `a` to `b` (or of `a`). */
static int varied(const Operation* o, int a, int b) {
  const uint64_t random = mix(o->key * 31 + (uint64_t)(a * 64 + b));
  const int choices[] = {0, o->pairs, o->pairs, o->pairs / 2, (int)(random / 8 % (unsigned)(o->pairs + 1)),
                         1};
  return choices[random % 6];
}

/* What `peer` and this rank exchange. */
static int pairs_of(const Operation* o, int is_send, int peer) {
  switch (o->kind) {
    case GATHERV:
    case SCATTERV:
    case ALLGATHERV:
    case REDUCE_SCATTER:
      return varied(o, peer, 0);
    case ALLTOALLV:
    case ALLTOALLW: {
      const int a = is_send ? o->rank : peer, b = is_send ? peer : o->rank;
      return o->in_place && a > b ? varied(o, b, a) : varied(o, a, b);
    }
    default:
      return o->pairs;
  }
}

static void make_sides(Operation* o) {
  const int kind = o->kind;
  const int is_root = o->rank == o->root;
  const int are_apart =
      kind == GATHERV || kind == SCATTERV || kind == ALLGATHERV || kind == ALLTOALLV || kind == ALLTOALLW;
  int out[kRanksMax], in[kRanksMax], own = pairs_of(o, 1, o->rank), total = 0;
  for (int peer = 0; peer < o->size; ++peer) {
    out[peer] = pairs_of(o, 1, peer);
    in[peer] = pairs_of(o, 0, peer);
    total += out[peer];
  }
  const int sends_all = kind == SCATTER || kind == SCATTERV || (kind >= ALLTOALL && kind <= ALLTOALLW);
  const int gets_all = kind >= GATHER && kind <= ALLTOALLW && kind != SCATTER && kind != SCATTERV;
  if (kind == REDUCE_SCATTER || kind == REDUCE_SCATTER_BLOCK) {
    make_side(&o->send, o, 0, 1, &total, 0);
    make_side(&o->recv, o, 0, 1, o->in_place ? &total : &own, 0);
    return;
  }
  if (kind == BARRIER) own = 0;
  if (sends_all)
    make_side(&o->send, o, 0, kind > SCATTERV || is_root ? o->size : 0, out, are_apart);
  else
    make_side(&o->send, o, 0, 1, &own, 0);
  if (gets_all)
    make_side(&o->recv, o, 1, kind > SCATTERV || is_root ? o->size : 0, in, are_apart);
  else
    make_side(&o->recv, o, is_reduction(kind) ? 0 : 1, 1, &own, 0);
}

/* What is in the send buffer, and in place in the other, before: `memory` is an image of that side. */
static void write_before(unsigned char* memory, const Operation* o, int is_send, uint64_t key) {
  const Side* side = is_send ? &o->send : &o->recv;
  const int kind = o->kind, is_root = o->rank == o->root, gathers = kind < ALLTOALL;
  memset(memory, kUntouched, side->bytes);
  if (is_send)
    for (int b = 0; b < side->blocks; ++b) write_block(memory, side, b, key, o->rank, b);
  else if (kind == BCAST && is_root)
    write_block(memory, side, 0, key, o->root, 0);
  else if (o->in_place && is_reduction(kind) && (kind != REDUCE || is_root))
    write_block(memory, side, 0, key, o->rank, 0);
  else if (o->in_place && !is_reduction(kind) &&
           (kind == GATHER || kind == GATHERV ? is_root : kind >= ALLGATHER))
    for (int b = 0; b < side->blocks; ++b)
      if (!gathers || b == o->rank) write_block(memory, side, b, key, o->rank, gathers ? 0 : b);
}

/* The combined operands of ranks 0 to `last`, from pair `first` on. */
static void write_combined(unsigned char* memory, const Operation* o, uint64_t key, int last, int first,
                           int pairs) {
  const Block* block = &o->recv.block[0];
  const int width = o->recv.width;
  for (int i = 0; i < pairs; ++i) {
    uint64_t sum[2], next[2];
    for (int from = 0; from <= last; ++from) {
      for (int k = 0; k < 2; ++k) next[k] = value(key, from, 0, 2 * (first + i) + k) & mask_of(width);
      if (from == 0)
        memcpy(sum, next, sizeof sum);
      else
        combine(o->op, mask_of(width), sum, next, sum);
    }
    for (int k = 0; k < 2; ++k)
      put(memory + kGuard + ((long)i * block->layout->extent + block->layout->at[k]) * width, width, sum[k]);
  }
}

/* What is in the receive buffer after. */
static void write_after(unsigned char* memory, const Operation* o, uint64_t key) {
  const int kind = o->kind, is_root = o->rank == o->root;
  int first = 0;
  write_before(memory, o, 0, key);
  if (kind == BARRIER) return;
  if (kind == BCAST) return write_block(memory, &o->recv, 0, key, o->root, 0);
  if (kind == SCATTER || kind == SCATTERV) {
    if (!o->in_place || !is_root) write_block(memory, &o->recv, 0, key, o->root, o->rank);
    return;
  }
  if (!is_reduction(kind)) {
    const int gathers = kind < ALLTOALL;
    for (int b = 0; b < o->recv.blocks; ++b) write_block(memory, &o->recv, b, key, b, gathers ? 0 : o->rank);
    return;
  }
  if (kind == REDUCE && !is_root) return;
  if (kind == EXSCAN && o->rank == 0) return;
  const int last = kind == SCAN ? o->rank : kind == EXSCAN ? o->rank - 1 : o->size - 1;
  const int is_scattered = kind == REDUCE_SCATTER || kind == REDUCE_SCATTER_BLOCK;
  for (int peer = 0; peer < o->rank && is_scattered; ++peer) first += pairs_of(o, 1, peer);
  write_combined(memory, o, key, last, first, is_scattered ? pairs_of(o, 1, o->rank) : o->pairs);
}

/* Numbers that the standard leaves open: of what was combined in place and belongs to others. */
static void take_open(unsigned char* expected, const Operation* o) {
  const Block* block = &o->recv.block[0];
  int from = block->pairs;
  if (o->kind == EXSCAN && o->rank == 0) from = 0;
  if (o->kind == REDUCE_SCATTER || o->kind == REDUCE_SCATTER_BLOCK) from = pairs_of(o, 1, o->rank);
  for (long i = from; i < block->pairs; ++i)
    for (int k = 0; k < 2; ++k) {
      const long at = kGuard + (i * block->layout->extent + block->layout->at[k]) * o->recv.width;
      memcpy(expected + at, o->recv.memory + at, (size_t)o->recv.width);
    }
}

static void check_side(const Operation* o, int is_send, int start) {
  const Side* side = is_send ? &o->send : &o->recv;
  const uint64_t key = o->key + (uint64_t)start;
  unsigned char* const expected = malloc(side->bytes);
  if (is_send) write_before(expected, o, 1, key);
  if (!is_send) write_after(expected, o, key);
  if (!is_send && is_reduction(o->kind)) take_open(expected, o);
  size_t at = 0;
  if (memcmp(expected, side->memory, side->bytes) != 0)
    while (expected[at] == side->memory[at]) ++at;
  else
    at = side->bytes;
  CHECK(at == side->bytes,
        "seed %u, step %d: %s, mode %d, start %d, rank %d of %d, root %d, in place %d, operator %d, %d pairs "
        "of "
        "%d bytes: byte %ld of the %s buffer is %d, not %d",
        seed, step, kNames[o->kind], o->mode, start, o->rank, o->size, o->root, o->in_place, o->op, o->pairs,
        kWidth[o->width], (long)at - kGuard, is_send ? "send" : "receive", side->memory[at], expected[at]);
  free(expected);
}

/* Calls it, begins it or makes it. */
static void call(Operation* o) {
#define CALL(name, nonblocking, ...)                                                     \
  do {                                                                                   \
    if (o->mode == NOW) name(__VA_ARGS__, o->comm);                                      \
    if (o->mode == LATER) nonblocking(__VA_ARGS__, o->comm, &o->request);                \
    if (o->mode == AGAIN) name##_init(__VA_ARGS__, o->comm, MPI_INFO_NULL, &o->request); \
  } while (0)
  const int kind = o->kind, is_root = o->rank == o->root;
  const int is_bare = o->in_place && (is_root || !has_root(kind));
  const int scatters = kind == SCATTER || kind == SCATTERV;
  const void* const from = is_bare && !scatters ? MPI_IN_PLACE : o->send.buffer;
  void* const to = is_bare && scatters ? MPI_IN_PLACE : o->recv.buffer;
  Side *s = &o->send, *r = &o->recv;
  const MPI_Datatype st = layout_of(o, 0, -1)->type, rt = layout_of(o, 1, -1)->type;
  const int sn = o->pairs * layout_of(o, 0, -1)->per_pair, rn = o->pairs * layout_of(o, 1, -1)->per_pair;
  const MPI_Op op = ops[o->op];
  int parts[kRanksMax];
  for (int peer = 0; peer < o->size; ++peer)
    parts[peer] = pairs_of(o, 1, peer) * layout_of(o, 0, -1)->per_pair;
  if (kind == BARRIER) {
    if (o->mode == NOW) MPI_Barrier(o->comm);
    if (o->mode == LATER) MPI_Ibarrier(o->comm, &o->request);
    if (o->mode == AGAIN) MPI_Barrier_init(o->comm, MPI_INFO_NULL, &o->request);
  }
  if (kind == BCAST) CALL(MPI_Bcast, MPI_Ibcast, to, rn, rt, o->root);
  if (kind == GATHER) CALL(MPI_Gather, MPI_Igather, from, sn, st, to, rn, rt, o->root);
  if (kind == GATHERV)
    CALL(MPI_Gatherv, MPI_Igatherv, from, s->counts[0], st, to, r->counts, r->places, rt, o->root);
  if (kind == SCATTER) CALL(MPI_Scatter, MPI_Iscatter, from, sn, st, to, rn, rt, o->root);
  if (kind == SCATTERV)
    CALL(MPI_Scatterv, MPI_Iscatterv, from, s->counts, s->places, st, to, r->counts[0], rt, o->root);
  if (kind == ALLGATHER) CALL(MPI_Allgather, MPI_Iallgather, from, sn, st, to, rn, rt);
  if (kind == ALLGATHERV)
    CALL(MPI_Allgatherv, MPI_Iallgatherv, from, s->counts[0], st, to, r->counts, r->places, rt);
  if (kind == ALLTOALL) CALL(MPI_Alltoall, MPI_Ialltoall, from, sn, st, to, rn, rt);
  if (kind == ALLTOALLV)
    CALL(MPI_Alltoallv, MPI_Ialltoallv, from, s->counts, s->places, st, to, r->counts, r->places, rt);
  if (kind == ALLTOALLW)
    CALL(MPI_Alltoallw, MPI_Ialltoallw, from, s->counts, s->byte_places, s->types, to, r->counts,
         r->byte_places, r->types);
  if (kind == REDUCE) CALL(MPI_Reduce, MPI_Ireduce, from, to, sn, st, op, o->root);
  if (kind == ALLREDUCE) CALL(MPI_Allreduce, MPI_Iallreduce, from, to, sn, st, op);
  if (kind == REDUCE_SCATTER) CALL(MPI_Reduce_scatter, MPI_Ireduce_scatter, from, to, parts, st, op);
  if (kind == REDUCE_SCATTER_BLOCK)
    CALL(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, from, to, sn, st, op);
  if (kind == SCAN) CALL(MPI_Scan, MPI_Iscan, from, to, sn, st, op);
  if (kind == EXSCAN) CALL(MPI_Exscan, MPI_Iexscan, from, to, sn, st, op);
#undef CALL
}

/* How many pairs a block has: none, few, or about as many as make another way begin. */
static int draw_pairs(const Operation* o, int width, int is_short) {
  static const int borders[] = {512, 2048, 4096, 16384, 32768, 65536, 147456, 1 << 20};
  const int which = (int)draw(&shared_state, 14), random = (int)draw(&shared_state, 6);
  const int beside = random == 0 ? -1 : random == 1 ? 1 : 0;
  const int few = (int)draw(&shared_state, 40);
  if (which < 1) return 0;
  if (which < 3) return 1;
  if (which < 6 || is_short) return few;
  const int pairs = borders[which - 6] / (2 * width) + beside;
  const int has_blocks =
      o->kind == REDUCE_SCATTER || o->kind == REDUCE_SCATTER_BLOCK || !is_reduction(o->kind);
  const int most = (2 << 20) / (2 * width) / (has_blocks && o->kind != BCAST ? o->size : 1);
  return pairs < most ? pairs : most;
}

static void draw_operation(Operation* o, int index, int is_short) {
  const int which = (int)draw(&shared_state, kComms);
  const int commutes = (int)draw(&shared_state, 3) != 0;
  *o = (Operation){.kind = (int)draw(&shared_state, KINDS), .comm = comms[which]};
  MPI_Comm_rank(o->comm, &o->rank);
  MPI_Comm_size(o->comm, &o->size);
  o->request = MPI_REQUEST_NULL;
  o->mode = (int)draw(&shared_state, MODES);
  o->starts = 1 + (int)draw(&shared_state, 3);
  if (o->mode != AGAIN) o->starts = 1;
  o->in_place = draw(&shared_state, 3) == 0;
  if (o->kind == BARRIER || o->kind == BCAST) o->in_place = 0;
  o->root = (int)(draw(&shared_state, 1 << 20) % (unsigned)o->size);
  o->op = (int)draw(&shared_state, COMPOSE);
  if (!commutes) o->op = COMPOSE;
  o->width = (int)draw(&shared_state, kWidths);
  o->pairs = draw_pairs(o, kWidth[o->width], is_short);
  o->key =
      mix(((uint64_t)seed << 32) + (uint64_t)(step * 128 + index * 4 + (which == 3 ? check_rank % 2 : 0)));
  make_sides(o);
}

static void start(Operation* o, int round) {
  write_before(o->send.memory, o, 1, o->key + (uint64_t)round);
  write_before(o->recv.memory, o, 0, o->key + (uint64_t)round);
  if (draw(&own_state, 16) == 0) usleep(draw(&own_state, 400));
  if (o->mode == AGAIN) MPI_Start(&o->request);
  if (o->mode != AGAIN) call(o);
}

/* In whatever order this rank draws. */
static void await(Operation* all, int n) {
  MPI_Request requests[kAtOnceMax];
  const int manner = (int)draw(&own_state, 3);
  int flag = 0;
  for (int i = 0; i < n; ++i) requests[i] = all[i].request;
  if (manner == 0) MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
  while (manner == 1 && !flag) MPI_Testall(n, requests, &flag, MPI_STATUSES_IGNORE);
  for (int first = (int)draw(&own_state, (unsigned)n), i = 0; manner == 2 && i < n; ++i)
    MPI_Wait(&requests[(first + n - i) % n], MPI_STATUS_IGNORE);
  for (int i = 0; i < n; ++i) all[i].request = requests[i];
}

static void run_step(void) {
  static Operation all[kAtOnceMax];
  const int are_many = draw(&shared_state, 6) == 0; /* more than there are places for, and short */
  const int n = are_many ? kAtOnceMax : 1 + (int)draw(&shared_state, 5);
  for (int i = 0; i < n; ++i) {
    draw_operation(&all[i], i, are_many);
    if (all[i].mode == AGAIN) call(&all[i]);
  }
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < n; ++i)
      if (round < all[i].starts) start(&all[i], round);
    await(all, n);
    for (int i = 0; i < n; ++i) {
      if (round >= all[i].starts) continue;
      check_side(&all[i], 1, round);
      check_side(&all[i], 0, round);
    }
  }
  for (int i = 0; i < n; ++i) {
    if (all[i].mode == AGAIN) MPI_Request_free(&all[i].request);
    CHECK(all[i].request == MPI_REQUEST_NULL, "seed %u, step %d: a request is left", seed, step);
    free(all[i].send.memory);
    free(all[i].recv.memory);
  }
}

/* Settings are read when the library is loaded: the program begins again with them. */
static void force_algorithms(char** argv) {
  static const char* const words[][7] = {
      {"BARRIER", "dissemination", "hierarchical", "shared"},
      {"BCAST", "binomial", "scatter_allgather", "hierarchical", "shared", "direct"},
      {"GATHER", "binomial", "linear", "hierarchical", "shared", "direct"},
      {"SCATTER", "binomial", "linear", "hierarchical", "shared", "direct"},
      {"ALLGATHER", "bruck", "ring", "hierarchical", "shared", "direct"},
      {"ALLTOALL", "bruck", "pairwise", "hierarchical", "shared", "direct"},
      {"REDUCE", "binomial", "hierarchical", "shared", "direct"},
      {"ALLREDUCE", "recursive_doubling", "rabenseifner", "ring", "hierarchical", "shared", "direct"},
      {"SCAN", "recursive_doubling", "hierarchical", "shared", "direct"},
      {"REDUCE_SCATTER", "by_reduce", "pairwise", "hierarchical", "shared", "direct"}};
  if (getenv("DUNLIN_COLL_BARRIER")) return;
  char number[20];
  seed = (unsigned)strtoul(argv[1], NULL, 10);
  if (seed == 0) seed = (unsigned)getppid();
  snprintf(number, sizeof number, "%u", seed);
  for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) {
    char name[40];
    unsigned known = 1;
    while (known < 7 && words[i][known]) ++known;
    snprintf(name, sizeof name, "DUNLIN_COLL_%s", words[i][0]);
    setenv(name, words[i][1 + mix(seed + ((uint64_t)i << 32)) % (known - 1)], 1);
  }
  execv("/proc/self/exe", (char*[]){argv[0], number, argv[2], argv[3], NULL});
  perror("execv");
  exit(1);
}

int main(int argc, char** argv) {
  if (argc > 3 && strcmp(argv[3], "forced") == 0) force_algorithms(argv);
  const int steps = argc > 2 ? atoi(argv[2]) : 40;
  check_start(&argc, &argv);
  CHECK(check_size <= kRanksMax, "too many ranks");
  seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
  if (seed == 0) seed = (unsigned)time(NULL);
  MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
  if (check_rank == 0) printf("seed %u\n", seed), fflush(stdout);
  shared_state = seed;
  own_state = seed * 31u + (unsigned)check_rank;
  make_layouts();
  const MPI_Op predefined[] = {MPI_SUM, MPI_BXOR, MPI_MIN, MPI_MAX};
  memcpy(ops, predefined, sizeof predefined);
  MPI_Op_create(own_sum, 1, &ops[OWN_SUM]);
  MPI_Op_create(compose, 0, &ops[COMPOSE]);
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &comms[2]);
  MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, 0, &comms[3]);
  for (step = 0; step < steps; ++step) run_step();
  for (int i = 1; i < kComms; ++i) MPI_Comm_free(&comms[i]);
  MPI_Op_free(&ops[OWN_SUM]);
  MPI_Op_free(&ops[COMPOSE]);
  for (int w = 0; w < kWidths; ++w)
    for (int l = 1; l < kLayouts; ++l) MPI_Type_free(&layouts[w][l].type);
  return check_end();
}
