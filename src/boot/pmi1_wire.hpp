// The PMI-1 wire protocol: lines of "name=value" words, "cmd=..." first, over a stream socket.  Used by
// both ends: the client (boot/pmi1.cpp) and mpirun's server (launcher/pmi_server.cpp).  docs/launcher.md
// lists the commands.
#pragma once

#include <string>
#include <string_view>

#include "base/err.hpp"

namespace dunlin::boot {

/// The value of `name` in a line of the protocol; empty when it is not there.  "value" and "msg" run to the
/// end of their word like all others: what may contain blanks is encoded by `encode_word`.
std::string_view wire_field(std::string_view line, std::string_view name) noexcept;

/// A whole number of a line, or `otherwise`.
int wire_number(std::string_view line, std::string_view name, int otherwise) noexcept;

/// Any bytes as one word of letters, digits and a few signs that every PMI-1 server passes on unchanged;
/// other bytes become "%" and two hexadecimal digits.
std::string encode_word(std::string_view bytes);
/// The inverse; an error when `word` was not made by encode_word.
Result<std::string> decode_word(std::string_view word);

/// One end of a conversation, blocking.  Owns the descriptor.
class WireSocket {
 public:
  explicit WireSocket(int fd = -1) noexcept : fd_(fd) {}
  WireSocket(const WireSocket&) = delete;
  WireSocket& operator=(const WireSocket&) = delete;
  ~WireSocket();

  bool is_open() const noexcept { return fd_ >= 0; }
  void adopt(int fd) noexcept;
  void close() noexcept;
  /// Sends one line; a newline is added.
  Err send(std::string_view line) noexcept;
  /// The next line without its newline; it is valid until the next call.
  Result<std::string_view> receive() noexcept;
  /// Sends, receives, and checks that the answer is "cmd=<answer>" and carries no rc but 0.
  Result<std::string_view> ask(std::string_view line, std::string_view answer) noexcept;

 private:
  int fd_ = -1;
  std::string received_;
  std::size_t used_ = 0;  // bytes of received_ that belong to lines handed out
};

}  // namespace dunlin::boot
