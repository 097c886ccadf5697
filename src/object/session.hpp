// MPI_Session: one user of the library among others in the same process (MPI 5.0, 11.3).
//
// The data only: opening and closing is runtime/sessions.cpp, process sets are comm/sessions.cpp.
#pragma once

#include "object/errhandler.hpp"
#include "object/info.hpp"
#include "object/object.hpp"

namespace dunlin {

namespace pt2pt { class BufferPool; }

class Session final : public Object {
 public:
  static constexpr Kind kKind = Kind::session;
  explicit Session(Errhandler& errhandler) noexcept : Object(Kind::session), errhandler(&errhandler) {}
  Ref<Errhandler> errhandler;
  int thread_level = 0;  // MPI_THREAD_...: what was granted
  pt2pt::BufferPool* buffer = nullptr;  // MPI_Session_attach_buffer; owned, see pt2pt/buffered.cpp

 private:
  ~Session() override;
};

}  // namespace dunlin
