/* What joining a network costs at start: this library asks the kernel for its interfaces a few times, not once
 * for each offer of libfabric.  With an argument, the path of a libfabric whose providers are files of their own
 * and which the environment has put first, neither does a process without devices for verbs read the kernel's
 * symbols, nor does it touch more than 8 MiB.
 * ranks: none
 * variants: none */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kAsksMost = 3, kSkipped = 77 }; /* for the door, for what it reaches, and for the offers */

static int asks, symbols_read;

/* In the place of the C library's, for all that is loaded. */
__attribute__((visibility("default"))) int getifaddrs(struct ifaddrs** all) {
  static int (*next)(struct ifaddrs**);
  Dl_info caller, library;
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "getifaddrs");
  if (dladdr(__builtin_return_address(0), &caller) && dladdr(dlsym(RTLD_DEFAULT, "MPI_Init"), &library))
    asks += caller.dli_fbase == library.dli_fbase;
  return next(all);
}

__attribute__((visibility("default"))) FILE* fopen(const char* path, const char* mode) {
  static FILE* (*next)(const char*, const char*);
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "fopen");
  symbols_read += strcmp(path, "/proc/kallsyms") == 0;
  return next(path, mode);
}

static long touched_kb(void) {
  char line[256];
  long all = 0, kb = 0;
  FILE* file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "RssAnon: %ld", &kb) == 1 || sscanf(line, "RssShmem: %ld", &kb) == 1) all += kb;
  if (file) fclose(file);
  return all;
}

int main(int argc, char** argv) {
  if (argc > 1 && access(argv[1], R_OK) != 0) return kSkipped;
  check_start(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(asks > 0 && asks <= kAsksMost, "asked for interfaces %d times", asks);
  if (argc > 1) {
    CHECK(touched_kb() > 0 && touched_kb() < 8 << 10, "%ld KiB", touched_kb());
    if (access("/sys/class/infiniband_verbs", F_OK) != 0)
      CHECK(symbols_read == 0, "the kernel's symbols were read %d times", symbols_read);
  }
  return check_end();
}
