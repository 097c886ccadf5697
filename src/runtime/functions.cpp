#include "runtime/functions.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/log.hpp"
#include "object/life.hpp"
#include "os/standard_streams.hpp"
#include "runtime/instance.hpp"

namespace dunlin::runtime {
namespace {

bool is_world_open = false;  // between MPI_Init and MPI_Finalize
int granted_level = MPI_THREAD_SINGLE;
pthread_t main_thread;

}  // namespace

Err init(int* argc, char*** argv) noexcept {
  int provided = 0;
  return init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
}

Err init_thread(int*, char***, int required, int* provided) noexcept {
  if (is_world_open || Life::is_finalized)
    return fail(Err::other,
                "MPI was initialized before; it can be initialized only once (sessions have no such limit)");
  const int level = std::clamp(required, MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE);
  if (Err error = Instance::acquire(level); error != Err::ok) return error;
  is_world_open = true;
  granted_level = level;
  main_thread = pthread_self();
  *provided = level;
  return Err::ok;
}

Err initialized(int* flag) noexcept { return *flag = is_world_open || Life::is_finalized, Err::ok; }
Err finalized(int* flag) noexcept { return *flag = Life::is_finalized, Err::ok; }

Err finalize() noexcept {
  if (!is_world_open) return fail(Err::other, "MPI_Finalize was called without MPI_Init");
  const Err left = Instance::current()->leave_world();
  const std::string why = left == Err::ok ? "" : error_detail(left);  // what follows may fail, too
  const Err released = Instance::release(false);
  is_world_open = false;
  Life::is_finalized = true;
  return left == Err::ok ? released : fail(left, "%s", why.c_str());
}

Err query_thread(int* provided) noexcept { return *provided = granted_level, Err::ok; }
Err is_thread_main(int* flag) noexcept {
  return *flag = pthread_equal(main_thread, pthread_self()) != 0, Err::ok;
}

void end_job(int errorcode, const char* sentence) noexcept {
  os::flush_standard_streams();
  Instance::current()->boot().abort(errorcode, sentence);
  log::die("%s, and the launcher let it live", sentence);  // not reached: Boot::abort does not return
}

Err abort(Comm& comm, int errorcode) noexcept {
  char sentence[256];
  std::snprintf(sentence, sizeof sentence, "called MPI_Abort with error code %d on %s", errorcode,
                comm.name[0] ? comm.name : "a communicator without a name");
  end_job(errorcode, sentence);
}

}  // namespace dunlin::runtime
