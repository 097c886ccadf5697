// The PMIx client; see pmix.hpp.
#include "boot/pmix.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "boot/launch_environment.hpp"
#include "boot/pmix_library.hpp"
#include "os/environment.hpp"
#include "os/membarrier.hpp"

namespace dunlin::boot {
namespace {

constexpr int kOutputUs = 100000;

/// That of this process; one job per process.
struct Client {
  const pmix::Library* library = nullptr;
  pmix::Process me{};
};
Client client;

Err check(int status, const char* what) noexcept {
  if (status == pmix::kSuccess) return Err::ok;
  return fail(Err::other, "the PMIx launcher refuses to %s: %s", what, client.library->error_string(status));
}

/// PMIx_Init starts a thread, and of a process that has several the kernel makes two later steps of a start
/// wait until all CPUs have passed a quiet point, 15 to 20 ms each: the first membarrier, and a table of
/// descriptors that grows, as for the heap's.  So both are done before.
void do_what_is_slow_with_threads() noexcept {
  constexpr int kAboveTheHeaps = 1023;
  (void)os::register_for_global_barrier();
  const int any = ::eventfd(0, EFD_CLOEXEC);
  const int high = any < 0 ? -1 : ::fcntl(any, F_DUPFD_CLOEXEC, kAboveTheHeaps);
  if (high >= 0) ::close(high);
  if (any >= 0) ::close(any);
}

std::string name_of(std::string_view key) { return "dunlin." + std::string(key); }

/// What `rank` (or the job: pmix::kAnyRank) has under a name; the caller frees it.
Result<pmix::Value*> ask(std::uint32_t rank, const char* name) noexcept {
  pmix::Process whose = client.me;
  whose.rank = rank;
  pmix::Value* value = nullptr;
  const int status = client.library->get(&whose, name, nullptr, 0, &value);
  if (status == pmix::kSuccess && value) return value;
  return fail(Err::other, "the PMIx launcher has no \"%s\" of rank %u: %s", name, rank,
              client.library->error_string(status));
}

/// A number that the launcher tells of a rank or the job.
Result<int> ask_number(std::uint32_t rank, const char* name) noexcept {
  const Result<pmix::Value*> value = ask(rank, name);
  if (!value) return value.error();
  const bool is_number = value.value()->type == pmix::kUint32;
  const int number = int(value.value()->number);
  std::free(value.value());
  if (is_number) return number;
  return fail(Err::other, "the PMIx launcher's \"%s\" is not a number of 32 bits", name);
}

/// The same as text, be it a number or a name.
Result<std::string> ask_text(std::uint32_t rank, const char* name) noexcept {
  const Result<pmix::Value*> value = ask(rank, name);
  if (!value) return value.error();
  const bool is_text = value.value()->type == pmix::kString && value.value()->text;
  const bool is_number = value.value()->type == pmix::kUint32;
  const std::string text = is_text ? value.value()->text : std::to_string(value.value()->number);
  if (is_text) std::free(value.value()->text);
  std::free(value.value());
  if (is_text || is_number) return text;
  return fail(Err::other, "the PMIx launcher's \"%s\" is neither a name nor a number of 32 bits", name);
}

/// The rank that the environment names, of whichever process: what comes before that in kLaunchPmixRank.
std::string inherited_rank() {
  return std::string(os::environment_text("PMIX_NAMESPACE")) + " " + os::environment_text("PMIX_RANK") + " ";
}

}  // namespace

bool PmixBoot::is_present() noexcept { return *os::environment_text("PMIX_NAMESPACE"); }

bool PmixBoot::is_taken() noexcept {
  const std::string_view taken = os::environment_text(kLaunchPmixRank);
  return taken.starts_with(inherited_rank()) && taken != inherited_rank() + std::to_string(::getpid());
}

Result<std::unique_ptr<Boot>> PmixBoot::open() noexcept {
  const auto library = pmix::library();
  if (!library) return library.error();
  client.library = library.value();
  do_what_is_slow_with_threads();
  if (const Err e = check(client.library->init(&client.me, nullptr, 0), "talk to this process (PMIx_Init)");
      e != Err::ok)
    return e;
  ::setenv(kLaunchPmixRank, (inherited_rank() + std::to_string(::getpid())).c_str(), 1);
  auto boot = std::make_unique<PmixBoot>();
  if (const Err e = boot->find_place(); e != Err::ok) return e;
  return std::unique_ptr<Boot>(std::move(boot));
}

Err PmixBoot::find_place() noexcept {
  const Result<int> size = ask_number(pmix::kAnyRank, "pmix.job.size");
  if (!size) return size.error();
  place_.rank = int(client.me.rank);
  place_.size = size.value();
  if (place_.size < 1 || place_.rank >= place_.size)
    return fail(Err::other, "the PMIx launcher says rank %d of %d", place_.rank, place_.size);
  if (const auto number = ask_number(client.me.rank, "pmix.appnum")) place_.app_number = number.value();
  if (const auto slots = ask_number(pmix::kAnyRank, "pmix.univ.size")) place_.universe_size = slots.value();
  // PRRTE has numbers for the ranks of a node's own, and names for all.
  for (const char* name : {"pmix.nodeid", "pmix.hname"})
    if (find_nodes_by([name](int rank) { return ask_text(std::uint32_t(rank), name); }) == Err::ok)
      return Err::ok;
  return find_nodes_by_host();
}

Err PmixBoot::put(std::string_view key, std::string_view value) noexcept {
  std::string copy(value);
  pmix::Value bytes{.type = pmix::kByteObject, .bytes = {copy.data(), copy.size()}};
  if (const Err e = check(client.library->put(pmix::kGlobal, name_of(key).c_str(), &bytes), "keep a value");
      e != Err::ok)
    return e;
  return check(client.library->commit(), "keep values");
}

Result<std::string> PmixBoot::get(int rank, std::string_view key) noexcept {
  DUNLIN_ASSERT(rank >= 0);
  DUNLIN_ASSERT(rank < size());
  const Result<pmix::Value*> value = ask(std::uint32_t(rank), name_of(key).c_str());
  if (!value) return value.error();
  const bool is_ours = value.value()->type == pmix::kByteObject;
  std::string bytes;
  if (is_ours) {
    bytes.assign(value.value()->bytes.at, value.value()->bytes.size);
    std::free(value.value()->bytes.at);
  }
  std::free(value.value());
  if (is_ours) return bytes;
  return fail(Err::other, "the launcher returned a value that is not what rank %d put", rank);
}

Err PmixBoot::fence() noexcept {
  const pmix::Attribute collect{
      .name = "pmix.collect", .directives = 0, .value = {.type = pmix::kBool, .flag = true}};
  return check(client.library->fence(nullptr, 0, &collect, 1), "wait for all ranks");
}

void PmixBoot::abort(int code, const char* message) noexcept {
  log::warn("%s", message);
  ::usleep(kOutputUs);  // launchers drop output that they have not passed on
  (void)client.library->abort(code, message, nullptr, 0);  // one that is gone has ended the job already
  ::_exit(code & 0xff ? code & 0xff : 1);
}

Err PmixBoot::finalize() noexcept {
  if (is_finalized_) return Err::ok;
  is_finalized_ = true;
  return check(client.library->finalize(nullptr, 0), "let this process go");
}

}  // namespace dunlin::boot
