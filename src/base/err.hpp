// Errors inside the library: an MPI error class by value, with a sentence of detail beside it.
//
// The function that detects an error calls `fail`, which records the sentence once in a per-thread slot;
// callers only pass the `Err` on.  The C bindings hand class and sentence to the error handler.  Thread
// safety: the slot is per thread.
#pragma once

#include <utility>

namespace dunlin {

/// MPI error classes; the values are those of the standard ABI (MPI 5.0, A.1.1), checked in bindings/c.
// clang-format off: one name a line would be two pages
enum class [[nodiscard]] Err : int {
  ok = 0, buffer = 1, count = 2, type = 3, tag = 4, comm = 5, rank = 6, request = 7, root = 8, group = 9,
  op = 10, topology = 11, dims = 12, arg = 13, unknown = 14, truncate = 15, other = 16, intern = 17,
  pending = 18, in_status = 19, access = 20, amode = 21, assertion = 22, bad_file = 23, base = 24,
  conversion = 25, disp = 26, dup_datarep = 27, file_exists = 28, file_in_use = 29, file = 30,
  info_key = 31, info_nokey = 32, info_value = 33, info = 34, io = 35, keyval = 36, locktype = 37,
  name = 38, no_mem = 39, not_same = 40, no_space = 41, no_such_file = 42, port = 43, quota = 44,
  read_only = 45, rma_attach = 46, rma_conflict = 47, rma_range = 48, rma_shared = 49, rma_sync = 50,
  service = 51, size = 52, spawn = 53, unsupported_datarep = 54, unsupported_operation = 55, win = 56,
  rma_flavor = 57, proc_aborted = 58, value_too_large = 59, session = 60, errhandler = 61, abi = 62,
};
// clang-format on

/// Records one sentence (printf-like, without a full stop at the end) and returns `error`.
/// User-defined codes (MPI_Add_error_code) travel as an `Err` of that value.
[[gnu::noinline, gnu::cold, gnu::format(printf, 2, 3)]] Err fail(Err error, const char* format, ...) noexcept;

/// The sentence recorded last by this thread for `error`, or "" when none was.  Valid until the next `fail`
/// here.
const char* error_detail(Err error) noexcept;

/// Forgets the recorded sentence, so that it is not shown for a later error of the same class.
void clear_error_detail() noexcept;

/// A value or an error.  `T` must be default constructible.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) noexcept : value_(std::move(value)) {}
  Result(Err error) noexcept : error_(error) {}
  bool is_ok() const noexcept { return error_ == Err::ok; }
  explicit operator bool() const noexcept { return is_ok(); }
  Err error() const noexcept { return error_; }
  T& value() noexcept { return value_; }
  const T& value() const noexcept { return value_; }
  T& operator*() noexcept { return value_; }
  T* operator->() noexcept { return &value_; }

 private:
  T value_{};
  Err error_ = Err::ok;
};

}  // namespace dunlin
