// What plain libfabric reaches between two processes of this machine, with no MPI: half round trips of
// messages, tagged messages and RDMA writes, and whole RDMA reads.  The limit that bench/network prints
// beside the library's own figures on the same provider.
//
// usage: network PROVIDER OPERATION [HOST HOST]   provider as libfabric names it (tcp); operation
// message|tagged|write|read; a host is the process whose network namespace a side enters
//
// Both processes spin on their completion queue, each on a CPU of its own.  A write carries remote completion
// data, which the target waits for.  What comes lands beside what is sent, as in bench/programs/pingpong.c:
// data that is sent on where it has just come lies in the caches.  Prints samples as bench/programs do.
#include <fcntl.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kBytesMax = 4 << 20, kRounds = 3 };
static const double kSecondsOfASample = 0.03;

typedef enum { kMessage, kTagged, kWrite, kRead } Operation;
static const char* const kOperations[] = {"message", "tagged", "write", "read"};

typedef struct {
  struct fid_ep* endpoint;
  struct fid_cq* queue;
  struct fid_domain* domain;
  struct fid_mr* region;
  fi_addr_t peer;
  void* descriptor;
  char *data, *room;      // kBytesMax each, what is sent and what comes; registered together
  uint64_t address, key;  // of the peer's data, or of its room, whichever the operation reaches
  size_t inject_bytes;
  uint64_t sent, received;        // completions so far
  uint64_t wanted;                // of those received: what was waited for so far
  struct fi_context2 scratch[2];  // of the operation under way, and of the receive
} End;

static void must(long code, const char* what) {
  if (code == 0) return;
  fprintf(stderr, "%s: %s\n", what, fi_strerror((int)-code));
  exit(1);
}

static void progress(End* end) {
  struct fi_cq_data_entry entries[8];
  const ssize_t count = fi_cq_read(end->queue, entries, 8);
  if (count != -FI_EAGAIN && count < 0) must(count, "completion queue");
  for (ssize_t i = 0; i < count; ++i) {
    const int comes = (entries[i].flags & (FI_RECV | FI_REMOTE_CQ_DATA)) != 0;
    ++*(comes ? &end->received : &end->sent);
  }
}

static void post_receive(End* end, Operation operation, size_t bytes) {
  ssize_t code;
  do {
    code = operation == kTagged
               ? fi_trecv(end->endpoint, end->room, bytes, end->descriptor, end->peer, 1, 0, &end->scratch[1])
               : fi_recv(end->endpoint, end->room, bytes, end->descriptor, end->peer, &end->scratch[1]);
    if (code == -FI_EAGAIN) progress(end);
  } while (code == -FI_EAGAIN);
  must(code, "receive");
}

// Starts, and counts as sent what completes without an entry.
static void post_send(End* end, Operation operation, size_t bytes) {
  const int injects = operation != kRead && bytes <= end->inject_bytes;
  struct fid_ep* const ep = end->endpoint;
  void* const d = end->descriptor;
  ssize_t code;
  do {
    switch (operation) {
      case kMessage:
        code = injects ? fi_inject(ep, end->data, bytes, end->peer)
                       : fi_send(ep, end->data, bytes, d, end->peer, &end->scratch[0]);
        break;
      case kTagged:
        code = injects ? fi_tinject(ep, end->data, bytes, end->peer, 1)
                       : fi_tsend(ep, end->data, bytes, d, end->peer, 1, &end->scratch[0]);
        break;
      case kWrite:
        code = injects ? fi_inject_writedata(ep, end->data, bytes, 1, end->peer, end->address, end->key)
                       : fi_writedata(ep, end->data, bytes, d, 1, end->peer, end->address, end->key,
                                      &end->scratch[0]);
        break;
      default:
        code = fi_read(ep, end->room, bytes, d, end->peer, end->address, end->key, &end->scratch[0]);
    }
    if (code == -FI_EAGAIN) progress(end);
  } while (code == -FI_EAGAIN);
  must(code, kOperations[operation]);
  if (injects) ++end->sent;
}

static void wait_until(End* end, const uint64_t* count, uint64_t wanted) {
  while (*count < wanted) progress(end);
}

// One half round trip of each side; of reads, one read by side 0 while side 1 does nothing but progress.
static void exchange(End* end, int side, Operation operation, size_t bytes) {
  const int has_receives = operation == kMessage || operation == kTagged;
  if (has_receives) post_receive(end, operation, bytes);
  for (int turn = 0; turn < 2; ++turn) {
    if (turn == side) {
      const uint64_t wanted = end->sent + 1;
      post_send(end, operation, bytes);
      wait_until(end, &end->sent, wanted);
    } else {
      wait_until(end, &end->received, ++end->wanted);
    }
  }
}

// As the library chooses: for "tcp" libfabric 1.17's other provider of it, but not to match.
static struct fi_info* info_of(struct fi_info* hints, const char* provider, Operation operation) {
  struct fi_info* info = NULL;
  if (strcmp(provider, "tcp") == 0 && operation != kTagged) {
    hints->fabric_attr->prov_name = strdup("net");
    if (fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info) == 0) return info;
    free(hints->fabric_attr->prov_name);
  }
  hints->fabric_attr->prov_name = strdup(provider);
  must(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info), provider);
  return info;
}

static void open_end(End* end, const char* provider, Operation operation, int link) {
  struct fi_info* const hints = fi_allocinfo();
  hints->caps = FI_MSG | FI_TAGGED | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  struct fi_info* const info = info_of(hints, provider, operation);
  struct fid_fabric* fabric;
  struct fid_av* table;
  struct fi_av_attr table_like = {.count = 2};
  struct fi_cq_attr queue_like = {.format = FI_CQ_FORMAT_DATA};
  must(fi_fabric(info->fabric_attr, &fabric, NULL), "fabric");
  must(fi_domain(fabric, info, &end->domain, NULL), "domain");
  must(fi_av_open(end->domain, &table_like, &table, NULL), "addresses");
  must(fi_cq_open(end->domain, &queue_like, &end->queue, NULL), "queue");
  must(fi_endpoint(end->domain, info, &end->endpoint, NULL), "endpoint");
  must(fi_ep_bind(end->endpoint, &table->fid, 0), "bind");
  must(fi_ep_bind(end->endpoint, &end->queue->fid, FI_TRANSMIT | FI_RECV), "bind");
  must(fi_enable(end->endpoint), "enable");
  end->inject_bytes = info->tx_attr->inject_size;
  end->data = aligned_alloc(4096, 2 * kBytesMax);
  memset(end->data, 1, 2 * kBytesMax);
  end->room = end->data + kBytesMax;
  const uint64_t access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  must(fi_mr_reg(end->domain, end->data, 2 * kBytesMax, access, 0, 1, 0, &end->region, NULL), "register");
  end->descriptor = fi_mr_desc(end->region);
  struct {
    uint64_t address, key;
    size_t name_bytes;
    char name[256];
  } mine = {0}, theirs;
  mine.address = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)end->data : 0;
  mine.address += operation == kWrite ? kBytesMax : 0;
  mine.key = fi_mr_key(end->region);
  mine.name_bytes = sizeof mine.name;
  must(fi_getname(&end->endpoint->fid, mine.name, &mine.name_bytes), "name");
  if (write(link, &mine, sizeof mine) != sizeof mine ||
      recv(link, &theirs, sizeof theirs, MSG_WAITALL) != sizeof theirs)
    exit(1);
  end->address = theirs.address;
  end->key = theirs.key;
  if (fi_av_insert(table, theirs.name, 1, &end->peer, 0, NULL) != 1) exit(1);
  if (end->peer != 0) exit(1);
  fi_freeinfo(hints);
  fi_freeinfo(info);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// Both sides agree how often, by the leader's clock.
static double sample(End* end, int side, int link, Operation operation, size_t bytes, long iterations) {
  char byte = 0;
  const double start = now();
  if (operation == kRead && side == 1) {  // serves reads until the other is through
    while (recv(link, &byte, 1, MSG_DONTWAIT) != 1) progress(end);
    if (write(link, &byte, 1) != 1) exit(1);
  } else if (operation == kRead) {
    for (long i = 0; i < iterations; ++i) {
      const uint64_t wanted = end->sent + 1;
      post_send(end, operation, bytes);
      wait_until(end, &end->sent, wanted);
    }
    const double stop = now();
    if (write(link, &byte, 1) != 1 || recv(link, &byte, 1, MSG_WAITALL) != 1) exit(1);
    return (stop - start) / (double)iterations;
  } else {
    for (long i = 0; i < iterations; ++i) exchange(end, side, operation, bytes);
  }
  return (now() - start) / 2 / (double)iterations;
}

static void measure(End* end, int side, int link, Operation operation, size_t bytes) {
  double each = sample(end, side, link, operation, bytes, 20);  // tells how many fit
  for (int round = 0; round < kRounds; ++round) {
    long iterations = 1 + (long)(kSecondsOfASample / (2 * each));
    if (side == 0 && write(link, &iterations, sizeof iterations) != sizeof iterations) exit(1);
    if (side == 1 && recv(link, &iterations, sizeof iterations, MSG_WAITALL) != sizeof iterations) exit(1);
    each = sample(end, side, link, operation, bytes, iterations);
    if (side == 1) continue;
    printf("sample bench=network series=clean x=%zu value=%.6g unit=us ranks=2 probe=0,0 check=ok\n", bytes,
           each * 1e6);
    fflush(stdout);
  }
}

static void enter_host(const char* process) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%s/ns/net", process);
  const int place = open(path, O_RDONLY);
  if (place < 0 || setns(place, CLONE_NEWNET) != 0) {
    perror(path);
    exit(1);
  }
  close(place);
}

static void pin(int side) {
  cpu_set_t all, mine;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) return;
  for (int cpu = 0, found = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all) && found++ == side) CPU_SET(cpu, &mine);
  (void)sched_setaffinity(0, sizeof mine, &mine);
}

int main(int count, char** words) {
  int link[2], operation = kMessage;
  while (count > 2 && operation <= kRead && strcmp(words[2], kOperations[operation]) != 0) ++operation;
  if (count < 3 || operation > kRead) {
    fprintf(stderr, "usage: network PROVIDER message|tagged|write|read [HOST HOST]\n");
    return 1;
  }
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, link) != 0) return 1;
  const int side = fork() == 0;
  if (side == 1) prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (count > 4) enter_host(words[3 + side]);
  pin(side);
  End end = {0};
  open_end(&end, words[1], (Operation)operation, link[side]);
  static const size_t kSizes[] = {8, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};
  for (size_t i = 0; i < sizeof kSizes / sizeof *kSizes; ++i)
    measure(&end, side, link[side], (Operation)operation, kSizes[i]);
  return 0;
}
