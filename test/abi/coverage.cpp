// Keeps `dunlin-info --coverage` true: calls every function of the standard with nothing for arguments and
// compares.
//
// Called before MPI_Init with errors returned (DUNLIN_INITIAL_ERRHANDLER), where a real call must refuse its
// arguments or the moment, and one that is not built yet must say MPI_ERR_UNSUPPORTED_OPERATION.  Neither may
// crash.
#include <mpi.h>

#include <cstdio>
#include <cstring>

#include "../../tools/info/coverage.hpp"

namespace {

int wrong = 0;
int calls = 0;

void check(const char* name, int code) {
  ++calls;
  for (const auto& row : kCoverage) {
    if (std::strcmp(row.name, name) != 0) continue;
    const bool is_refused = code == MPI_ERR_UNSUPPORTED_OPERATION;
    if (row.is_real != is_refused) return;
    std::printf("%s is listed as %s, but returns %d\n", name, row.is_real ? "real" : "not built", code);
    ++wrong;
    return;
  }
  std::printf("%s is not in the table of dunlin-info\n", name);
  ++wrong;
}

}  // namespace

int main() {
  const MPI_Comm comm = nullptr;
#define CALL(name, arguments) check(#name, name arguments);
#include "calls.inc"
  std::printf("%d calls, %d wrong\n", calls, wrong);
  return wrong != 0 || calls < 600;
}
