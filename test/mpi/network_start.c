/* What joining a network costs at start: this library asks the kernel for its interfaces a few times, not
 * once for each offer of libfabric.  With an argument, the path of a libfabric whose providers are files of
 * their own and which the environment has put first, neither does a process without such devices read the
 * kernel's symbols or look for these files, nor does it touch more than 8 MiB.  Children inherit no setting
 * that libfabric was given.  What the kernel does slowly for a process that has threads is done before the
 * first, which under PMIx is its library's.
 * ranks: none
 * variants: none */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <ifaddrs.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

enum { kAsksMost = 3 }; /* for the door, for what it reaches, and for the offers */
enum { kDescriptors = 1024, kGetRegistrations = 1 << 9 }; /* MEMBARRIER_CMD_GET_REGISTRATIONS of Linux 6.3 */

static int asks, symbols_read, files_sought, threads;
static long descriptors, registrations; /* when the first thread began */

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

__attribute__((visibility("default"))) void* dlopen(const char* path, int flags) {
  static void* (*next)(const char*, int);
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "dlopen");
  files_sought += path && strstr(path, "-fi.so") != NULL;
  return next(path, flags);
}

/* Of /proc/self/status. */
static long status_of(const char* name) {
  char line[256];
  long value = 0;
  const size_t length = strlen(name);
  FILE* file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file))
    if (strncmp(line, name, length) == 0 && line[length] == ':') value = atol(line + length + 1);
  if (file) fclose(file);
  return value;
}

__attribute__((visibility("default"))) int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                                          void* (*run)(void*), void* argument) {
  static int (*next)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "pthread_create");
  if (threads++ == 0) {
    descriptors = status_of("FDSize");
    registrations = syscall(SYS_membarrier, kGetRegistrations, 0, 0);
  }
  return next(thread, attributes, run, argument);
}

static int settings_of_libfabric(void) {
  int found = 0;
  for (char** each = environ; *each; ++each) found += strncmp(*each, "FI_", 3) == 0;
  return found;
}

int main(int argc, char** argv) {
  const int settings = settings_of_libfabric();
  check_start(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(asks > 0 && asks <= kAsksMost, "asked for interfaces %d times", asks);
  CHECK(settings_of_libfabric() == settings, "children would inherit what was chosen for this process");
  if (argc > 1) {
    const long touched_kb = status_of("RssAnon") + status_of("RssShmem");
    CHECK(touched_kb > 0 && touched_kb < 8 << 10, "%ld KiB", touched_kb);
    if (access("/sys/class/infiniband_verbs", F_OK) != 0) {
      CHECK(symbols_read == 0, "the kernel's symbols were read %d times", symbols_read);
      CHECK(files_sought == 0, "%d files of providers were looked for", files_sought);
    }
  }
  CHECK(threads > 0 || !getenv("PMIX_NAMESPACE"), "%d threads", threads);
  if (threads > 0) {
    CHECK(descriptors >= kDescriptors, "room for %ld descriptors before the first thread", descriptors);
    CHECK(registrations < 0 || (registrations & MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED),
          "it has declared %ld", registrations);
  }
  return check_end();
}
