#include "runtime/crash_report.hpp"

#include <execinfo.h>
#include <signal.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cstring>

#include "base/log.hpp"
#include "base/variable.hpp"
#include "object/object.hpp"
#include "os/caller.hpp"

namespace dunlin::runtime {
namespace {

IntVariable crash_report{
    "CRASH_REPORT",
    1,
    "",
    "print signal, address and calls of a rank that crashes (0: leave the signals alone)",
    0,
    1};

struct Name {
  int signal;
  const char* text;  // strsignal may allocate
};
constexpr Name kCrashes[] = {{SIGSEGV, "Segmentation fault"},
                             {SIGBUS, "Bus error"},
                             {SIGFPE, "Arithmetic error"},
                             {SIGILL, "Illegal instruction"},
                             {SIGABRT, "Aborted"}};

constexpr int kFramesMax = 16;
constexpr int kOwnFrames = 2;  // the handler, and what the kernel returns to

struct Frames {
  void* at[kFramesMax];
  int count = 0;
  int skipped = 0;
};

/// By the unwinder itself: `backtrace` would load a library at a bad moment.
_Unwind_Reason_Code note_frame(_Unwind_Context* context, void* argument) noexcept {
  auto& frames = *static_cast<Frames*>(argument);
  if (frames.skipped++ < kOwnFrames) return _URC_NO_REASON;
  void* const at = reinterpret_cast<void*>(_Unwind_GetIP(context));
  if (at) frames.at[frames.count++] = at;
  return at && frames.count < kFramesMax ? _URC_NO_REASON : _URC_END_OF_STACK;
}

struct HandleName {
  Kind kind;
  const char* text;
};
constexpr HandleName kHandles[] = {{Kind::comm, "a communicator"}, {Kind::group, "a group"},
                                   {Kind::datatype, "a datatype"}, {Kind::op, "an operator"},
                                   {Kind::request, "a request"},   {Kind::message, "a message"},
                                   {Kind::info, "an info object"}, {Kind::errhandler, "an error handler"},
                                   {Kind::session, "a session"},   {Kind::win, "a window"},
                                   {Kind::file, "a file"}};

/// What a handle was checked for that cannot even be read; nullptr: it was no handle, or nobody can tell. The
/// check (from_handle) compares a word of the object with the tag of its kind, and where the processor's
/// instructions hold numbers of that size, the tag stands in or right behind the one that failed.
const char* failed_handle(const void* instruction) noexcept {
  constexpr std::size_t kWithin = 16;
  for (const HandleName& each : kHandles)
    if (::memmem(instruction, kWithin, &each.kind, sizeof each.kind)) return each.text;
  return nullptr;
}

/// Why a call of MPI has crashed.
void explain_fault(const char* call, std::uintptr_t address, const void* instruction) noexcept {
  if (call[0] == 'P') ++call;
  // A check reads at the place of the tag, behind the virtual table's.  The kernel does not tell addresses
  // that no processor has.
  constexpr std::uintptr_t kTagAt = sizeof(void*);
  if (const char* kind = failed_handle(instruction); kind && address != 0)
    log::warn("%s was given %p as %s, but there is none at that address", call,
              reinterpret_cast<void*>(address - kTagAt), kind);
  else if (kind)
    log::warn("%s was given an address as %s, but there is none", call, kind);
  else
    log::warn("%s was using that address: one of its arguments is no valid buffer or handle", call);
}

/// Installed for one call only: the next signal of the kind has the usual effect.
void report(int signal, siginfo_t* info, void*) noexcept {
  static std::atomic<bool> is_reported{false};  // relaxed: elects one thread, no data
  if (!is_reported.exchange(true, std::memory_order_relaxed)) {
    const char* name = "?";
    for (const Name& each : kCrashes)
      if (each.signal == signal) name = each.text;
    if (info->si_code > 0)
      log::warn("signal %d (%s) at address 0x%zx; its calls, the innermost first:", signal, name,
                reinterpret_cast<std::uintptr_t>(info->si_addr));
    else if (info->si_pid == ::getpid())
      log::warn("signal %d (%s), raised by the program itself; its calls, the innermost first:", signal,
                name);
    else
      log::warn("signal %d (%s), sent by process %d; its calls, the innermost first:", signal, name,
                info->si_pid);
    const os::Caller caller = os::find_caller(kOwnFrames + 1);
    Frames frames;
    _Unwind_Backtrace(note_frame, &frames);
    if (signal == SIGSEGV && info->si_code > 0 && caller.function[0] && frames.count > 0)
      explain_fault(caller.function, reinterpret_cast<std::uintptr_t>(info->si_addr), frames.at[0]);
    ::backtrace_symbols_fd(frames.at, frames.count, STDERR_FILENO);
  }
  // A fault comes again when we return; what was sent has to be sent again.
  if (info->si_code <= 0) ::raise(signal);
}

/// A stack overflow leaves no room for the handler on the stack.
void give_handlers_a_stack() noexcept {
  alignas(16) static char memory[65536];
  stack_t stack{};
  if (::sigaltstack(nullptr, &stack) != 0 || !(stack.ss_flags & SS_DISABLE)) return;
  stack = {memory, 0, sizeof memory};
  ::sigaltstack(&stack, nullptr);
}

}  // namespace

void report_crashes() noexcept {
  if (crash_report.get() == 0) return;
  give_handlers_a_stack();
  struct sigaction mine {};
  mine.sa_sigaction = report;
  mine.sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER | SA_ONSTACK;
  for (const Name& each : kCrashes) {
    struct sigaction old;
    if (::sigaction(each.signal, nullptr, &old) == 0 && old.sa_handler == SIG_DFL)
      ::sigaction(each.signal, &mine, nullptr);
  }
}

}  // namespace dunlin::runtime
