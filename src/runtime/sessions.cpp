// MPI_Session_init and MPI_Session_finalize: the library runs as long as anybody uses it (MPI 5.0, 11.3).
#include "object/life.hpp"
#include "object/memory_kinds.hpp"
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
Result<int> level_of(const Info* info) noexcept {
  const std::string* asked = info ? info->find("thread_level") : nullptr;
  if (!asked) return MPI_THREAD_MULTIPLE;
  for (const Level& level : kLevels)
    if (*asked == level.name) return level.value;
  return fail(
      Err::info_value,
      "the info key thread_level is \"%.40s\"; it must be MPI_THREAD_SINGLE, _FUNNELED, _SERIALIZED or "
      "_MULTIPLE",
      asked->c_str());
}

}  // namespace

Err session_init(Info* info, Errhandler& errhandler, Session** session) noexcept {
  if (errhandler.function && errhandler.type != Errhandler::Type::session_function)
    return fail(Err::errhandler,
                "errhandler was made for another kind of object; use MPI_Session_create_errhandler");
  const Result<int> level = level_of(info);
  if (!level) return level.error();
  // Each session has a level of its own: where this one is left to several threads, even by turns, others may
  // use another meanwhile.
  const bool is_single = level.value() == MPI_THREAD_SINGLE;
  if (Err e = Instance::acquire(is_single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE); e != Err::ok) return e;
  *session = new Session(errhandler);
  (*session)->thread_level = level.value();
  return Err::ok;
}

Err session_finalize(Session& session) noexcept {
  void* memory = nullptr;
  std::int64_t bytes = 0;
  if (Err e = pt2pt::session_detach_buffer(session, &memory, &bytes); e != Err::ok) return e;
  const Err error = Instance::release(true);
  if (error == Err::ok) session.release();  // else its handler still has to hear of it
  return error;
}

Err session_get_info(Session& session, Info** info_used) noexcept {
  *info_used = new Info;
  for (const Level& level : kLevels)
    if (level.value == session.thread_level) (*info_used)->set("thread_level", level.name);
  show_memory_kinds(**info_used);
  return Err::ok;
}

}  // namespace dunlin::runtime
