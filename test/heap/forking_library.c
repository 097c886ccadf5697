/* A library that forks before main and behind its end, and whose fork handlers allocate; its constructor runs
 * before the preloaded allocator's. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kBytes = 1 << 20 };
static char* volatile block;
static volatile int* word; /* of the program */
static void allocate(void) {
  char* volatile own = malloc(kBytes);
  memset(own, 1, kBytes);
  free(own);
}

static void check(int is_right, const char* what) {
  if (is_right) return;
  if (write(2, what, strlen(what)) < 0) _exit(2);
  _exit(1);
}
static int status_of(pid_t child) {
  int status = -1;
  return waitpid(child, &status, 0) == child ? status : -1;
}

__attribute__((constructor)) static void begin(void) {
  pthread_atfork(allocate, allocate, allocate);
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 64; ++i) allocate();
    _exit(0);
  }
  check(status_of(child) == 0, "a child of a constructor is gone\n");
}

__attribute__((visibility("default"))) void use_memory(volatile int* of_program) {
  word = of_program;
  block = malloc(kBytes);
  memset(block, 5, kBytes);
}

__attribute__((destructor)) static void end(void) {
  const pid_t child = fork();
  if (child == 0) {
    *word = 99;
    _exit(block[kBytes / 2] == 5 ? 0 : 1);
  }
  check(status_of(child) == 0, "a child of a destructor is gone, or does not see a block\n");
  check(*word == 1, "a child of a destructor has written its parent's static data\n");
}
