// The wire of PMI: commands of "name=value" words, "cmd=..." first, over a stream socket.  PMI-1 has a line
// for each, words with blanks between; PMI-2 has six characters of length in front, and ";" behind each word.
// Here words have blanks between, whatever the socket's form.  Used by both ends: the client (boot/pmi.cpp)
// and mpirun's server, which speaks PMI-1 (launcher/pmi_server.cpp).  docs/launcher.md lists the commands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/err.hpp"

namespace dunlin::boot {

/// The value of `name` in a command; empty when it is not there.  "value" and "msg" run to the
/// end of their word like all others: what may contain blanks is encoded by `encode_word`.
std::string_view wire_field(std::string_view line, std::string_view name) noexcept;

/// A whole number of a command, or `otherwise`.
int wire_number(std::string_view line, std::string_view name, int otherwise) noexcept;

/// Any bytes as one word of letters, digits and a few signs that every server passes on unchanged;
/// other bytes become "%" and two hexadecimal digits.
std::string encode_word(std::string_view bytes);
/// The inverse; an error when `word` was not made by encode_word.
Result<std::string> decode_word(std::string_view word);

enum class WireForm : std::uint8_t { lines, frames };

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
  /// What follows, either way, has this form; it begins with lines.
  void set_form(WireForm form) noexcept { form_ = form; }
  /// Printed once, where something takes `kLateSeconds` to come; empty: nothing.
  void set_late(std::string sentence) noexcept { late_ = std::move(sentence); }
  /// Sends one command.
  Err send(std::string_view words) noexcept;
  /// The words of the next command; they are valid until the next call.
  Result<std::string_view> receive() noexcept;
  /// Sends, receives, and checks that the answer is "cmd=<answer>" and carries no rc but 0.
  Result<std::string_view> ask(std::string_view words, std::string_view answer) noexcept;

 private:
  Result<std::string_view> receive_line() noexcept;
  Result<std::string_view> receive_frame() noexcept;
  Err read_more() noexcept;
  void await_sender() noexcept;

  static constexpr int kLateSeconds = 20;  // as long as another node may be silent
  WireForm form_ = WireForm::lines;
  int fd_ = -1;
  std::string received_;
  std::string late_;
  std::size_t used_ = 0;  // bytes of received_ that belong to commands handed out
};

}  // namespace dunlin::boot
