/* PMIx's library, as a rank sees it that DUNLIN_PMIX sends here: the real one does everything.  At its end a
 * rank tells how many values it has put, and how often it has waited for all others.  For cluster_test.py. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORTED __attribute__((visibility("default")))

static int puts_made, fences;

static void* real(const char* name) {
  static void* library;
  if (!library) library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
  void* const found = library ? dlsym(library, name) : NULL;
  if (!found) abort();
  return found;
}

#define FORWARD(result, name, parameters, arguments) \
  EXPORTED result name parameters {                  \
    result(*next) parameters;                        \
    *(void**)&next = real(#name);                    \
    return next arguments;                           \
  }

FORWARD(int, PMIx_Init, (void* me, void* attributes, size_t count), (me, attributes, count))
FORWARD(int, PMIx_Commit, (void), ())
FORWARD(int, PMIx_Get, (void* process, char* key, void* attributes, size_t count, void** value),
        (process, key, attributes, count, value))
FORWARD(int, PMIx_Abort, (int code, char* message, void* processes, size_t count),
        (code, message, processes, count))
FORWARD(const char*, PMIx_Error_string, (int status), (status))

EXPORTED int PMIx_Put(uint8_t scope, char* key, void* value) {
  int (*next)(uint8_t, char*, void*);
  *(void**)&next = real("PMIx_Put");
  ++puts_made;
  return next(scope, key, value);
}

EXPORTED int PMIx_Fence(void* processes, size_t process_count, void* attributes, size_t count) {
  int (*next)(void*, size_t, void*, size_t);
  *(void**)&next = real("PMIx_Fence");
  ++fences;
  return next(processes, process_count, attributes, count);
}

EXPORTED int PMIx_Finalize(void* attributes, size_t count) {
  int (*next)(void*, size_t);
  *(void**)&next = real("PMIx_Finalize");
  printf("PMIx: %d values put, %d fences\n", puts_made, fences);
  return next(attributes, count);
}
