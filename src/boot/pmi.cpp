// The PMI client; see pmi.hpp.
#include "boot/pmi.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "os/environment.hpp"

namespace dunlin::boot {
namespace {

constexpr int kLastWordsUs = 100000;
constexpr int kLookAgainUs = 1000;
constexpr int kPmi2ValueBytesMax = 1024;           // by its description
constexpr std::size_t kServerLineBytesMax = 1024;  // Slurm 22.05 cuts longer ones in two, whatever it says

/// "host:port" from PMI_PORT.  The launcher chose the name, so it must resolve; ours is never looked up.
int connect_to(const char* address) noexcept {
  const char* colon = std::strrchr(address, ':');
  if (!colon) return -1;
  const std::string host(address, std::size_t(colon - address));
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(host.c_str(), colon + 1, &hints, &found) != 0) return -1;
  int fd = -1;
  for (const addrinfo* each = found; each && fd < 0; each = each->ai_next) {
    fd = ::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol);
    if (fd >= 0 && ::connect(fd, each->ai_addr, each->ai_addrlen) != 0) {
      ::close(fd);
      fd = -1;
    }
  }
  ::freeaddrinfo(found);
  return fd;
}

/// Ends this process by a signal, unless it is the first of a container, which gets none.  Hydra looks for
/// processes that have ended only when an output of one closes, and the kernel closes those a moment before
/// the process can be waited for; so a child, which does nothing but system calls, holds them until its
/// parent has ended.
void die_seen() noexcept {
  const pid_t parent = ::getpid();
  if (::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0) {
    while (::syscall(SYS_getppid) == parent) ::usleep(kLookAgainUs);
    ::usleep(kLookAgainUs);  // its last thread may have a step to go
    ::_exit(0);
  }
  ::kill(parent, SIGKILL);
}

std::string key_of(int rank, std::string_view key) {
  return "dunlin." + std::to_string(rank) + '.' + std::string(key);
}

}  // namespace

void PmiStore::set_space(const PmiCommands& commands, const std::string& name, int value_bytes_max) noexcept {
  commands_ = &commands;
  space_ = name.empty() ? "" : std::string(" ") + commands.space + '=' + name;
  value_bytes_max_ = value_bytes_max;
}

Err PmiStore::put(int rank, std::string_view key, std::string_view value) noexcept {
  constexpr std::size_t kHeaderBytes = 16;  // "<pieces>:" and the terminating NUL that some servers count
  const std::string start = std::string("cmd=") + commands_->put + space_ + " key=" + key_of(rank, key);
  const std::size_t around_bytes = std::max(start.size(), sizeof "cmd=get_result rc=0 msg=success") + 32;
  DUNLIN_ASSERT(value_bytes_max_ > int(kHeaderBytes));
  DUNLIN_ASSERT(around_bytes < kServerLineBytesMax);
  const std::string word = encode_word(value);
  const std::size_t piece_bytes =
      std::min(std::size_t(value_bytes_max_) - kHeaderBytes, kServerLineBytesMax - around_bytes);
  const std::size_t pieces = std::max<std::size_t>(1, (word.size() + piece_bytes - 1) / piece_bytes);
  for (std::size_t i = 0; i < pieces; ++i) {
    std::string line = start;
    line += i == 0 ? " value=" + std::to_string(pieces) + ':' : '.' + std::to_string(i) + " value=";
    line += word.substr(i * piece_bytes, piece_bytes);
    if (const auto got = socket_.ask(line, commands_->put_result); !got) return got.error();
  }
  return Err::ok;
}

Result<std::string_view> PmiStore::ask_for(std::string_view name) noexcept {
  const std::string question = std::string("cmd=") + commands_->get + space_ + " key=" + std::string(name);
  return socket_.ask(question, commands_->get_result);
}

Result<std::string> PmiStore::get_raw(std::string_view name) noexcept {
  auto got = ask_for(name);
  if (!got) return got.error();
  if (wire_field(*got, "found") == "FALSE")
    return fail(Err::other, "the launcher knows nothing under \"%.*s\"", int(name.size()), name.data());
  return std::string(wire_field(*got, "value"));
}

Result<std::string> PmiStore::get(int rank, std::string_view key) noexcept {
  Result<std::string> first = get_raw(key_of(rank, key));
  if (!first) return first;
  const std::size_t colon = first->find(':');
  const int pieces = wire_number("n=" + first->substr(0, colon), "n", 0);
  if (colon == std::string::npos || pieces < 1)
    return fail(Err::other, "rank %d put nothing under \"%.*s\"", rank, int(key.size()), key.data());
  std::string word = first->substr(colon + 1);
  for (int i = 1; i < pieces; ++i) {
    Result<std::string> piece = get_raw(key_of(rank, key) + '.' + std::to_string(i));
    if (!piece) return piece;
    word += *piece;
  }
  return decode_word(word);
}

Err PmiStore::fence() noexcept {
  const Err error = socket_.ask(std::string("cmd=") + commands_->fence, commands_->fence_result).error();
  if (error != Err::ok || commands_ != &kPmi2) return error;
  // PMI-2 lets a rank pass before others come (Hydra 4.0 does), and holds up what it asks for.  Of a key that
  // nobody puts only this can be known to it: all have come, and none has put it.
  return ask_for("dunlin.fence." + std::to_string(++fences_)).error();
}

Result<std::unique_ptr<Boot>> PmiBoot::open() noexcept {
  auto boot = std::make_unique<PmiBoot>();
  if (const Err e = boot->connect(); e != Err::ok) return e;
  if (const Err e = boot->greet(); e != Err::ok) return e;
  const Place& place = boot->place_;
  if (place.size < 1 || place.rank < 0 || place.rank >= place.size)
    return fail(Err::other, "the %s launcher says rank %d of %d", boot->name(), place.rank, place.size);
  boot->store_.socket().set_late("the others of the job's " + std::to_string(place.size) +
                                 " ranks to begin MPI (MPI_Init, MPI_Session_init), as all have to; " +
                                 boot->name() + " does not tell which have not");
  if (const Err e = boot->find_nodes(); e != Err::ok) return e;
  return std::unique_ptr<Boot>(std::move(boot));
}

Err PmiBoot::connect() noexcept {
  WireSocket& socket = store_.socket();
  if (const int fd = os::environment_number("PMI_FD", -1); fd >= 0) {
    struct stat status;
    const bool is_open = ::fstat(fd, &status) == 0;
    if (!is_open || !S_ISSOCK(status.st_mode))  // perhaps a file of the program's, which is not ours to write
      return fail(Err::other,
                  "PMI_FD=%d is %s in this process: a program started by a rank must have PMI_FD "
                  "removed from its environment, and a wrapper must let the descriptor through",
                  fd, is_open ? "no socket" : "not open");
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    socket.adopt(fd);
    place_.rank = os::environment_number("PMI_RANK", -1);
    place_.size = os::environment_number("PMI_SIZE", -1);
    return Err::ok;
  }
  const char* address = os::environment_text("PMI_PORT");
  const int fd = connect_to(address);
  if (fd < 0) return fail(Err::other, "cannot connect to the launcher at PMI_PORT=%s", address);
  socket.adopt(fd);
  const std::string hello = "cmd=initack pmiid=" + std::to_string(os::environment_number("PMI_ID", 0));
  if (const auto got = socket.ask(hello, "initack"); !got) return got.error();
  for (const char* name : {"size", "rank", "debug"}) {  // three lines follow, in this order
    auto line = socket.receive();
    if (!line) return line.error();
    const int number = wire_number(*line, name, -1);
    if (std::strcmp(name, "size") == 0) place_.size = number;
    if (std::strcmp(name, "rank") == 0) place_.rank = number;
  }
  return Err::ok;
}

/// Agrees on the version.  That of a launcher holds for all ranks.
Err PmiBoot::greet() noexcept {
  WireSocket& socket = store_.socket();
  auto answer = socket.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
  if (answer && wire_number(*answer, "pmi_version", 1) == 1) return greet_1();
  if (!answer && !socket.ask("cmd=init pmi_version=2 pmi_subversion=0", "response_to_init"))
    return answer.error();
  return greet_2();
}

Err PmiBoot::greet_1() noexcept {
  WireSocket& socket = store_.socket();
  auto maxes = socket.ask("cmd=get_maxes", "maxes");
  if (!maxes) return maxes.error();
  const int value_bytes_max = wire_number(*maxes, "vallen_max", 0);
  if (value_bytes_max < 64)
    return fail(Err::other, "the PMI-1 launcher stores only %d bytes under a key", value_bytes_max);
  auto name = socket.ask("cmd=get_my_kvsname", "my_kvsname");
  if (!name) return name.error();
  store_.set_space(kPmi1, std::string(wire_field(*name, "kvsname")), value_bytes_max);
  if (auto got = socket.ask("cmd=get_appnum", "appnum"))
    place_.app_number = std::max(0, wire_number(*got, "appnum", 0));  // Slurm says -1
  if (auto got = socket.ask("cmd=get_universe_size", "universe_size"))
    place_.universe_size = wire_number(*got, "size", -1);
  return Err::ok;
}

Err PmiBoot::greet_2() noexcept {
  WireSocket& socket = store_.socket();
  socket.set_form(WireForm::frames);
  const std::string job = os::environment_text("PMI_JOBID");
  store_.set_space(kPmi2, job, kPmi2ValueBytesMax);
  std::string hello = "cmd=fullinit pmijobid=" + job + " pmirank=" + std::to_string(place_.rank);
  auto got = socket.ask(hello + " threaded=FALSE", "fullinit-response");
  if (!got) return got.error();
  place_.rank = wire_number(*got, "rank", -1);
  place_.size = wire_number(*got, "size", -1);
  place_.app_number = std::max(0, wire_number(*got, "appnum", 0));
  if (const auto size = job_attribute("universeSize"))
    place_.universe_size = wire_number("size=" + size.value(), "size", -1);
  return Err::ok;
}

/// Of PMI-2.
Result<std::string> PmiBoot::job_attribute(std::string_view name) noexcept {
  auto got = store_.socket().ask("cmd=info-getjobattr key=" + std::string(name), "info-getjobattr-response");
  if (!got) return got.error();
  return std::string(wire_field(*got, "value"));  // empty: it knows none
}

Err PmiBoot::find_nodes() noexcept {
  constexpr char kMapping[] = "PMI_process_mapping";
  NodeMap map;
  if (place_.size == 1) return Err::ok;
  const auto mapping = is_2() ? job_attribute(kMapping) : store_.get_raw(kMapping);
  if (!mapping || !map.try_assign(mapping.value(), place_.size)) return find_nodes_by_host();
  place_.set_map(std::move(map));
  return Err::ok;
}

Err PmiBoot::put(std::string_view key, std::string_view value) noexcept {
  return store_.put(rank(), key, value);
}

Result<std::string> PmiBoot::get(int rank, std::string_view key) noexcept {
  DUNLIN_ASSERT(rank >= 0 && rank < size());
  return store_.get(rank, key);
}

Err PmiBoot::fence() noexcept { return store_.fence(); }

void PmiBoot::abort(int code, const char* message) noexcept {
  log::warn("%s", message);
  // A launcher that has let this process go takes no word from it, and lets the others wait behind an exit
  // code (Hydra); behind a signal it ends them.
  if (is_finalized_) die_seen();
  // Hydra drops output that it has not passed on when it is told to abort (4.0.2: always, without this
  // pause).
  ::usleep(kLastWordsUs);
  const std::string line = is_2() ? "cmd=abort isworld=TRUE" : "cmd=abort exitcode=" + std::to_string(code);
  (void)store_.socket().send(line);  // a launcher that is gone has ended the job already
  ::_exit(code & 0xff ? code & 0xff : 1);
}

Err PmiBoot::finalize() noexcept {
  if (is_finalized_) return Err::ok;
  is_finalized_ = true;
  const auto got = store_.socket().ask("cmd=finalize", store_.commands().finalize_result);
  store_.socket().close();
  return got.error();
}

}  // namespace dunlin::boot
