// MPI_Session_init and MPI_Session_finalize: the library runs as long as anybody uses it (MPI 5.0, 11.3).
#include <algorithm>
#include <iterator>

#include "pt2pt/functions.hpp"
#include "runtime/functions.hpp"
#include "runtime/instance.hpp"

namespace dunlin::runtime {
namespace {

struct Level {
  const char* name;
  int value;
};
constexpr Level kLevels[] = {{"MPI_THREAD_SINGLE", MPI_THREAD_SINGLE},
                             {"MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED},
                             {"MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED},
                             {"MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE}};

/// What the program asks for; threads must not be surprised, so whoever asks for nothing gets all.
int level_of(const Info* info) noexcept {
  const std::string* asked = info ? info->find("thread_level") : nullptr;
  const auto found = std::find_if(std::begin(kLevels), std::end(kLevels),
                                  [&](const Level& l) { return asked && *asked == l.name; });
  return found == std::end(kLevels) ? MPI_THREAD_MULTIPLE : found->value;
}

}  // namespace

Err session_init(Info* info, Errhandler& errhandler, Session** session) noexcept {
  if (errhandler.function && errhandler.type != Errhandler::Type::session_function)
    return fail(Err::errhandler,
                "errhandler was made for another kind of object; use MPI_Session_create_errhandler");
  const int level = level_of(info);
  if (Err e = Instance::acquire(level); e != Err::ok) return e;
  *session = new Session(errhandler);
  (*session)->thread_level = level;
  return Err::ok;
}

Err session_finalize(Session& session) noexcept {
  void* memory = nullptr;
  std::int64_t bytes = 0;
  if (Err e = pt2pt::session_detach_buffer(session, &memory, &bytes); e != Err::ok) return e;
  const Err error = Instance::release();
  if (error == Err::ok) session.release();  // else its handler still has to hear of it
  return error;
}

Err session_get_info(Session& session, Info** info_used) noexcept {
  *info_used = new Info;
  for (const Level& level : kLevels)
    if (level.value == session.thread_level) (*info_used)->set("thread_level", level.name);
  (*info_used)->set("mpi_memory_alloc_kinds", "mpi,system");
  return Err::ok;
}

}  // namespace dunlin::runtime
