/* What a process has touched after MPI_Init and a first message to another node: buffers get pages as
 * messages need them, not in huge pages at once.
 * ranks: 2
 * variants: none */
#include <string.h>

#include "check.h"

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  /* Where the network matches, libfabric's rxm takes 19 MB for its own. */
  const char* const engine = getenv("DUNLIN_P2P");
  const long most_kb = engine && strcmp(engine, "offload") == 0 ? 40 << 10 : 8 << 10;
  CHECK(check_touched_kb() > 0 && check_touched_kb() < most_kb, "%ld KiB", check_touched_kb());
  return check_end();
}
