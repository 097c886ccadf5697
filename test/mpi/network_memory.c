/* What a process has touched after MPI_Init and a first message to another node: buffers get pages as
 * messages need them, not in huge pages at once.
 * ranks: 2
 * variants: none */
#include <string.h>

#include "check.h"

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
  check_start(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  /* Where the network matches, libfabric's rxm takes 19 MB for its own. */
  const char* const engine = getenv("DUNLIN_P2P");
  const long most_kb = engine && strcmp(engine, "offload") == 0 ? 40 << 10 : 8 << 10;
  CHECK(touched_kb() > 0 && touched_kb() < most_kb, "%ld KiB", touched_kb());
  return check_end();
}
