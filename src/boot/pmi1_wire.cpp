// The PMI-1 wire protocol; see pmi1_wire.hpp.
#include "boot/pmi1_wire.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/assert.hpp"

namespace dunlin::boot {
namespace {

constexpr std::size_t kLineBytesMax = std::size_t{1} << 20;  // a longer line is a broken peer, not a message

bool is_plain(char c) noexcept {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || (c >= '0' && c <= '9') || (c != '\0' && std::strchr("_-.:/+", c));
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::string_view wire_field(std::string_view line, std::string_view name) noexcept {
  DUNLIN_ASSERT(!name.empty());
  while (!line.empty()) {
    const std::size_t end = line.find(' ');
    const std::string_view word = line.substr(0, end);
    if (word.size() > name.size() && word[name.size()] == '=' && word.starts_with(name))
      return word.substr(name.size() + 1);
    line = end == std::string_view::npos ? std::string_view{} : line.substr(end + 1);
  }
  return {};
}

int wire_number(std::string_view line, std::string_view name, int otherwise) noexcept {
  const std::string_view text = wire_field(line, name);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty() ? number : otherwise;
}

std::string encode_word(std::string_view bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string word;
  word.reserve(bytes.size() + bytes.size() / 2);
  for (const char c : bytes) {
    if (is_plain(c)) {
      word += c;
    } else {
      const unsigned byte = static_cast<unsigned char>(c);
      word += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return word;
}

Result<std::string> decode_word(std::string_view word) {
  std::string bytes;
  bytes.reserve(word.size());
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '%') {
      bytes += word[i];
      continue;
    }
    const int high = i + 2 < word.size() ? hex_digit(word[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(word[i + 2]) : -1;
    if (low < 0) return fail(Err::other, "the launcher returned a value that is not what a rank put");
    bytes += char(high << 4 | low);
    i += 2;
  }
  return bytes;
}

WireSocket::~WireSocket() { close(); }

void WireSocket::adopt(int fd) noexcept {
  DUNLIN_ASSERT(!is_open());
  fd_ = fd;
}

void WireSocket::close() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Err WireSocket::send(std::string_view line) noexcept {
  DUNLIN_ASSERT(line.find('\n') == std::string_view::npos);
  if (!is_open()) return fail(Err::other, "there is no connection to the launcher");
  const std::string text = std::string(line) + '\n';
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t sent = ::send(fd_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return fail(Err::other, "cannot send to the launcher: %s", std::strerror(errno));
    at += std::size_t(sent);
  }
  return Err::ok;
}

Result<std::string_view> WireSocket::receive() noexcept {
  received_.erase(0, used_);
  used_ = 0;
  for (std::size_t searched = 0;;) {
    const std::size_t end = received_.find('\n', searched);
    if (end != std::string::npos) {
      used_ = end + 1;
      return std::string_view(received_).substr(0, end);
    }
    searched = received_.size();
    if (searched > kLineBytesMax) return fail(Err::other, "the launcher sent a line without end");
    char block[4096];
    const ssize_t got = ::read(fd_, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Err::other, "cannot receive from the launcher: %s", std::strerror(errno));
    if (got == 0) return fail(Err::other, "the launcher has closed the connection");
    received_.append(block, std::size_t(got));
  }
}

Result<std::string_view> WireSocket::ask(std::string_view line, std::string_view answer) noexcept {
  if (const Err e = send(line); e != Err::ok) return e;
  Result<std::string_view> got = receive();
  if (!got) return got;
  const std::string_view command = wire_field(*got, "cmd");
  const int rc = wire_number(*got, "rc", 0);
  if (command == answer && rc == 0) return got;
  return fail(Err::other, "the launcher answered \"%.*s\" to \"%.*s\"", int(got->size()), got->data(),
              int(line.size()), line.data());
}

}  // namespace dunlin::boot
