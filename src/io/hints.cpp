#include "io/hints.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/variable.hpp"

namespace dunlin::io {
namespace {

WordVariable way{"FILE_COLLECTIVE", "auto", "auto|two_phase|independent",
                 "collective accesses to files without hints: all together, or each rank for itself"};
IntVariable buffer_bytes{"FILE_COLLECTIVE_BYTES",
                         256 << 10,
                         "bytes",
                         "how much of a file one rank handles at once in a collective access without hints",
                         4096,
                         64 << 20};

constexpr const char* kWords[] = {"automatic", "enable", "disable"};  // in the order of Choice

void take_choice(const Info& info, const char* key, Choice* choice) noexcept {
  const std::string* const given = info.find(key);
  for (int i = 0; given && i < 3; ++i)
    if (*given == kWords[i]) *choice = Choice(i);
}

/// A whole number from `low` on, at most `high`.
template <class Number>
void take_number(const Info& info, const char* key, Number low, Number high, Number* number,
                 int base = 10) noexcept {
  const std::string* const given = info.find(key);
  if (!given) return;
  Number value = 0;
  const char* const end = given->data() + given->size();
  const auto [rest, error] = std::from_chars(given->data(), end, value, base);
  if (error == std::errc() && rest == end && value >= low) *number = std::min(value, high);
}

void show_choice(Info& info, const char* key, Choice choice) noexcept { info.set(key, kWords[int(choice)]); }

}  // namespace

Hints::Hints() noexcept {
  cb_read = cb_write = Choice(way.index());
  cb_buffer_size = buffer_bytes.get();
}

void Hints::take(const Info& info) noexcept {
  // The standard's word for both directions (MPI 5.0, 14.2.8).
  if (const std::string* const given = info.find("collective_buffering"))
    if (*given == "true" || *given == "false")
      cb_read = cb_write = *given == "true" ? Choice::enable : Choice::disable;
  take_choice(info, "romio_cb_read", &cb_read);
  take_choice(info, "romio_cb_write", &cb_write);
  take_choice(info, "romio_ds_read", &ds_read);
  take_choice(info, "romio_ds_write", &ds_write);
  constexpr std::int64_t kBytesMax = 64 << 20;
  take_number<std::int64_t>(info, "cb_nodes", 1, INT32_MAX, &cb_nodes);
  take_number<std::int64_t>(info, "cb_buffer_size", 4096, kBytesMax, &cb_buffer_size);
  take_number<std::int64_t>(info, "striping_unit", 4096, kBytesMax, &striping_unit);
  striping_unit &= -std::int64_t{64};  // of io/window.hpp
  take_number<unsigned>(info, "file_perm", 0, 0777, &file_perm, 8);
}

void Hints::show(Info& info) const noexcept {
  char permissions[8] = "";
  std::to_chars(permissions, permissions + sizeof permissions - 1, file_perm, 8);
  show_choice(info, "romio_cb_read", cb_read);
  show_choice(info, "romio_cb_write", cb_write);
  show_choice(info, "romio_ds_read", ds_read);
  show_choice(info, "romio_ds_write", ds_write);
  info.set("cb_buffer_size", std::to_string(cb_buffer_size));
  info.set("striping_unit", std::to_string(striping_unit));
  info.set("file_perm", permissions);
  if (info.find("collective_buffering"))
    info.set("collective_buffering",
             cb_read == Choice::disable && cb_write == Choice::disable ? "false" : "true");
}

}  // namespace dunlin::io
