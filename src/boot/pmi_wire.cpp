// The wire of PMI; see pmi_wire.hpp.
#include "boot/pmi_wire.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/assert.hpp"
#include "base/log.hpp"

namespace dunlin::boot {
namespace {

constexpr std::size_t kBytesMax = std::size_t{1} << 20;  // a longer command is a broken peer, not a message
constexpr std::size_t kLengthBytes = 6;                  // in front of a frame

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

Err WireSocket::send(std::string_view words) noexcept {
  DUNLIN_ASSERT(words.find_first_of("\n;") == std::string_view::npos);
  if (!is_open()) return fail(Err::other, "there is no connection to the launcher");
  std::string text(words);
  if (form_ == WireForm::frames) {
    std::replace(text.begin(), text.end(), ' ', ';');
    std::string length = std::to_string(text.size() + 1);
    length.resize(kLengthBytes, ' ');
    text = length + text + ';';
  } else {
    text += '\n';
  }
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
  return form_ == WireForm::frames ? receive_frame() : receive_line();
}

Result<std::string_view> WireSocket::receive_line() noexcept {
  for (std::size_t searched = 0;;) {
    const std::size_t end = received_.find('\n', searched);
    if (end != std::string::npos) {
      used_ = end + 1;
      return std::string_view(received_).substr(0, end);
    }
    searched = received_.size();
    if (searched > kBytesMax) return fail(Err::other, "the launcher sent a line without end");
    if (const Err e = read_more(); e != Err::ok) return e;
  }
}

Result<std::string_view> WireSocket::receive_frame() noexcept {
  while (received_.size() < kLengthBytes)
    if (const Err e = read_more(); e != Err::ok) return e;
  const std::size_t bytes = std::strtoul(received_.substr(0, kLengthBytes).c_str(), nullptr, 10);
  if (bytes == 0 || bytes > kBytesMax)
    return fail(Err::other, "the launcher sent what is not PMI-2: \"%.*s\"", int(kLengthBytes),
                received_.data());
  while (received_.size() < kLengthBytes + bytes)
    if (const Err e = read_more(); e != Err::ok) return e;
  used_ = kLengthBytes + bytes;
  const auto begin = received_.begin() + kLengthBytes;
  std::replace(begin, begin + std::ptrdiff_t(bytes), ';', ' ');
  const std::string_view words = std::string_view(received_).substr(kLengthBytes, bytes);
  return words.substr(0, words.find_last_not_of(' ') + 1);
}

void WireSocket::await_sender() noexcept {
  pollfd readable = {.fd = fd_, .events = POLLIN, .revents = 0};
  if (::poll(&readable, 1, kLateSeconds * 1000) == 0)
    log::warn("has waited %d s for %s", kLateSeconds, std::exchange(late_, {}).c_str());
}

Err WireSocket::read_more() noexcept {
  if (!late_.empty()) await_sender();
  char block[4096];
  ssize_t got;
  do {
    got = ::read(fd_, block, sizeof block);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return fail(Err::other, "cannot receive from the launcher: %s", std::strerror(errno));
  if (got == 0) return fail(Err::other, "the launcher has closed the connection");
  received_.append(block, std::size_t(got));
  return Err::ok;
}

Result<std::string_view> WireSocket::ask(std::string_view words, std::string_view answer) noexcept {
  if (const Err e = send(words); e != Err::ok) return e;
  Result<std::string_view> got = receive();
  if (!got) return got;
  const std::string_view command = wire_field(*got, "cmd");
  const int rc = wire_number(*got, "rc", 0);
  if (command == answer && rc == 0) return got;
  return fail(Err::other, "the launcher answered \"%.*s\" to \"%.*s\"", int(got->size()), got->data(),
              int(words.size()), words.data());
}

}  // namespace dunlin::boot
