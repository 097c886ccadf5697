#include "progress/long_wait.hpp"

#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/big_lock.hpp"
#include "base/log.hpp"
#include "base/variable.hpp"
#include "os/caller.hpp"
#include "os/clock.hpp"

namespace dunlin::progress {
namespace {

IntVariable held_back_report{"HELD_BACK_REPORT", 10, "s",
                             "a send says so when it has waited so long because its receiver holds too many "
                             "messages that nobody has received",
                             1};
IntVariable wait_report{"WAIT_REPORT", 0, "s", "a wait longer than this prints what it waits for; 0: never",
                        0};

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kNoteNs = kSecond / 2;  // without movement, until a wait is noted

/// "MPI_Recv" of "PMPI_Recv"; the two are one function.
const char* name_of_call(const os::Caller& caller) noexcept {
  return caller.function[0] == 'P' ? caller.function + 1 : caller.function;
}

WaitReason explained(LongWait::Explain explain, const void* argument) noexcept {
  WaitReason reason;
  if (explain) explain(argument, reason);
  return reason;
}

/// A path that others can open, too.
void print_path(const os::Caller& caller, char (&path)[256]) noexcept {
  char absolute[PATH_MAX];
  const char* found = caller.file;
  if (caller.is_program) {
    const ssize_t bytes = ::readlink("/proc/self/exe", absolute, sizeof absolute - 1);
    if (bytes > 0) absolute[bytes] = 0, found = absolute;
  } else if (::realpath(caller.file, absolute)) {
    found = absolute;
  }
  std::snprintf(path, sizeof path, "%.255s", found);
}

/// Of the call that this thread is in.
boot::WaitRecord record_of(LongWait::Explain explain, const void* argument) noexcept {
  const os::Caller caller = os::find_caller();
  boot::WaitRecord record;
  record.address = caller.address;
  record.outer_address = caller.outer_address;
  std::snprintf(record.call, sizeof record.call, "%s", name_of_call(caller));
  print_path(caller, record.file);
  print_path({.is_program = true}, record.program);
  record.reason = explained(explain, argument);
  return record;
}

/// "from rank 3, tag 7, MPI_COMM_WORLD": what of it there is.
void print_details(const WaitReason& reason, char* text, std::size_t bytes_max) noexcept {
  std::size_t used = 0;
  text[0] = 0;
  const auto add = [&](const char* format, auto... values) noexcept {
    if (used < bytes_max)
      used += std::size_t(std::snprintf(text + used, bytes_max - used, format, values...));
  };
  if (reason.peer >= 0) add(", rank %d of the job", reason.peer);
  if (reason.peer == WaitReason::kAny) add("%s", ", any rank");
  if (reason.tag >= 0) add(", tag %d", reason.tag);
  if (reason.tag == WaitReason::kAny) add("%s", ", any tag");
  if (reason.number > 0) add(", collective %d", reason.number);
  if (reason.comm[0]) add(", %s", reason.comm);
  if (reason.hint[0]) add("; %s", reason.hint);
}

/// In a handler of signals, too.
void say(const char* call, std::int64_t since_ns, const WaitReason& reason, const char* from) noexcept {
  char details[384];
  print_details(reason, details, sizeof details);
  const std::int64_t waited_s = (os::now_ns() - since_ns) / kSecond;
  log::warn("%s has waited %lld s for %s%s%s", call[0] ? call : "this rank", static_cast<long long>(waited_s),
            reason.what, details, from);
}

}  // namespace

void tell(const boot::WaitRecord& record) noexcept {
  char from[320] = "";
  if (record.address != 0)
    std::snprintf(from, sizeof from, "; called at 0x%llx of %s",
                  static_cast<unsigned long long>(record.address), record.file);
  say(record.call, record.since_ns, record.reason, from);
}

void LongWait::slept() noexcept {
  const std::int64_t now = os::now_ns();
  if (since_ns_ == 0) since_ns_ = now;
  if (quiet_since_ns_ == 0) quiet_since_ns_ = now;
  if (board_ && !is_noted_ && now - quiet_since_ns_ >= kNoteNs) note();
  const std::int64_t report_ns = wait_report.get() > 0 ? wait_report.get() * kSecond : INT64_MAX;
  if (!has_reported_hold_ &&
      (now - since_ns_ >= report_ns || now - since_ns_ >= held_back_report.get() * kSecond))
    report();
}

WaitReason LongWait::reason() const noexcept { return explained(explain_, argument_); }

void LongWait::note() noexcept {
  boot::WaitRecord record = record_of(explain_, argument_);
  record.since_ns = since_ns_;
  place_ = board_->note(record, BigLock::has_threads());
  is_noted_ = true;
}

void LongWait::forget() noexcept {
  board_->forget(place_);
  is_noted_ = false;
}

/// Once a wait; and again when it turns out, which takes a second of looking on, that the peer holds it up.
void LongWait::report() noexcept {
  const WaitReason reason = this->reason();
  const std::int64_t waited_s = (os::now_ns() - since_ns_) / kSecond;
  if (!reason.is_held_back && (has_reported_ || wait_report.get() == 0 || waited_s < wait_report.get()))
    return;
  has_reported_ = true;
  has_reported_hold_ = reason.is_held_back;
  say(name_of_call(os::find_caller()), since_ns_, reason, "");
}

/// What other threads test meanwhile counts with what the first one does.
void LongWait::tested(bool has_moved, Explain explain, const void* argument) noexcept {
  if (!board_->has_noted_test()) {
    if (!has_moved) board_->note_test(record_of(explain, argument));
  } else if (has_moved) {
    board_->forget_test();
  } else {
    board_->count_test();
  }
}

}  // namespace dunlin::progress
