// MPI_Message: a message that MPI_Mprobe took out of matching, to be received later (MPI 5.0, 3.8.2).
#pragma once

#include "match/matcher.hpp"
#include "object/comm.hpp"

namespace dunlin {

class Message final : public Object {
 public:
  static constexpr Kind kKind = Kind::message;
  Message(match::Unexpected& unexpected, Comm& comm) noexcept
      : Object(Kind::message), unexpected(&unexpected), comm(&comm) {}
  match::Unexpected* const unexpected;
  const Ref<Comm> comm;

 private:
  ~Message() override = default;
};

}  // namespace dunlin
