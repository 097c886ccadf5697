// Starting ranks; see start.hpp.
#include "launcher/start.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/assert.hpp"
#include "boot/launch_environment.hpp"
#include "boot/launcher_settings.hpp"
#include "launcher/guard.hpp"
#include "launcher/program_file.hpp"
#include "os/text_file.hpp"

extern char** environ;

namespace dunlin::launcher {
namespace {

rlimit original_limit{};  // of open descriptors; set by raise_descriptor_limit
bool is_limit_raised = false;

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

/// Variables of launchers around us, which would tell a rank about another job.
bool is_of_another_launcher(std::string_view name) {
  static constexpr std::string_view kNames[] = {"PMI_FD",
                                                "PMI_RANK",
                                                "PMI_SIZE",
                                                "PMI_PORT",
                                                "PMI_ID",
                                                "PMI_SPAWNED",
                                                "MPI_LOCALRANKID",
                                                "MPI_LOCALNRANKS",
                                                "PMIX_RANK",
                                                "PMIX_NAMESPACE",
                                                "OMPI_COMM_WORLD_LOCAL_RANK",
                                                "OMPI_COMM_WORLD_LOCAL_SIZE"};
  return name.starts_with(boot::kLaunchPrefix) ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

void set(std::vector<std::string>& environment, const std::string& name, const std::string& value) {
  std::erase_if(environment, [&name](const std::string& entry) { return name_of(entry) == name; });
  environment.push_back(name + '=' + value);
}

std::string value_of(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment)
    if (name_of(entry) == name) return entry.substr(std::min(name.size() + 1, entry.size()));
  return {};
}

/// A library of ours beside this program, or "" when it is not there or cannot be named in LD_PRELOAD.
std::string library(const char* name) {
  char self[4096];
  const ssize_t bytes = ::readlink("/proc/self/exe", self, sizeof self - 1);
  if (bytes <= 0) return {};
  std::string path(self, std::size_t(bytes));
  for (int levels = 0; levels < 2; ++levels) path.erase(std::min(path.rfind('/'), path.size()));
  path += std::string("/lib/") + name;
  const bool is_nameable = path.find_first_of(": ") == std::string::npos;
  return is_nameable && ::access(path.c_str(), R_OK) == 0 ? path : "";
}

/// A program without a slash that is not in PATH but lies in the directory is meant too: "mpirun -n 2 a.out".
std::string program_of(const App& app) {
  const std::string& name = app.command[0];
  if (name.find('/') != std::string::npos) return name;
  if (const std::string file = find_in_path(name); !file.empty()) return file;
  const std::string directory = app.directory.empty() ? "." : app.directory;
  return ::access((directory + '/' + name).c_str(), X_OK) == 0 ? "./" + name : name;
}

/// As mpirun reaches it, which stays where it is.
std::string path_of(const App& app, const std::string& program) {
  const bool is_inside = program[0] != '/' && !app.directory.empty();
  return is_inside ? app.directory + '/' + program : program;
}

/// Whether a program stands preloaded libraries: a sanitizer's must come first.
bool can_preload(const App& app) { return !is_sanitized(path_of(app, program_of(app))); }

/// Behind what the user has there.
void preload(std::vector<std::string>& environment, const std::string& library) {
  const std::string others = value_of(environment, "LD_PRELOAD");
  if (!library.empty()) set(environment, "LD_PRELOAD", others.empty() ? library : others + ':' + library);
}

/// Everything the child needs, made before it exists: between vfork and exec it may only make system calls.
struct Child {
  const char* program;
  bool is_machine_code;  // execvpe would give what the kernel refuses to a shell
  char* const* arguments;
  char* const* environment;
  const char* directory;  // null: stay
  const char* entering;   // what to say when that fails
  const int* files;
  const cpu_set_t* mask;  // null: not bound
  std::size_t mask_bytes;
  pid_t parent;
  sigset_t signals;  // those that guard and worker handle
  // Set by the child, which shares our memory until exec: volatile, since the compiler knows of one process
  // only.
  volatile int error;
  const char* volatile step;
};

constexpr const char* kCannotStart = "cannot start it";

[[noreturn]] void give_up(Child& child, const char* step) noexcept {
  child.error = errno;
  child.step = step;
  ::_exit(127);
}

/// In the child.  Order: die with mpirun before anything else, so that no moment is left unguarded.
[[noreturn]] void become_rank(Child& child) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != child.parent) ::_exit(127);  // mpirun died before the line above
  ::setpgid(0, 0);
  // What a terminal has sent to mpirun's group until now was not meant for the rank: ignoring discards it.
  // A terminal sends no SIGTERM: that one was meant for the rank, or mpirun has got it, too.
  for (int signal = 1; signal < NSIG; ++signal) {
    if (sigismember(&child.signals, signal) != 1 || signal == SIGTERM) continue;
    ::signal(signal, SIG_IGN);
    ::signal(signal, SIG_DFL);
  }
  for (int i = 0; i < 3; ++i) {
    // Our descriptors are above 2 or in their place already, so no dup2 overwrites one that is still needed.
    if (child.files[i] != i && ::dup2(child.files[i], i) < 0)
      give_up(child, "cannot give it its descriptors");
  }
  if (child.mask) ::sched_setaffinity(0, child.mask_bytes, child.mask);  // a refusal costs speed only
  if (is_limit_raised) ::setrlimit(RLIMIT_NOFILE, &original_limit);
  if (child.directory && ::chdir(child.directory) != 0) give_up(child, child.entering);
  sigset_t none;
  sigemptyset(&none);
  ::signal(SIGPIPE, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (child.is_machine_code)
    ::execve(child.program, child.arguments, child.environment);
  else
    ::execvpe(child.program, child.arguments, child.environment);
  give_up(child, kCannotStart);
}

/// vfork alone in a function, so that the compiler keeps nothing of a larger frame across its double return.
[[gnu::noinline]] pid_t launch(Child& child) noexcept {
  const pid_t pid = ::vfork();
  if (pid == 0) become_rank(child);
  return pid;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts)
    pointers.push_back(const_cast<char*>(text.c_str()));  // exec takes char*
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> variables_of(const RankSetup& setup) {
  const auto inode_of = [](int fd) {
    struct stat status {};
    ::fstat(fd, &status);
    return std::to_string(status.st_ino);
  };
  const std::string rank = std::to_string(setup.rank), size = std::to_string(setup.size);
  const auto entry = [](const char* name, const std::string& value) { return name + ('=' + value); };
  return {entry("PMI_RANK", rank),
          entry("PMI_SIZE", size),
          entry("PMI_FD", std::to_string(setup.pmi_fd)),
          entry("MPI_LOCALRANKID", rank),
          entry("MPI_LOCALNRANKS", size),
          entry("OMPI_COMM_WORLD_LOCAL_RANK", rank),
          entry("OMPI_COMM_WORLD_LOCAL_SIZE", size),
          entry(boot::kLaunchLocalRank, rank),
          entry(boot::kLaunchLocalSize, size),
          entry(boot::kLaunchRank, rank),
          entry(boot::kLaunchSize, size),
          entry(boot::kLaunchApp, std::to_string(setup.app)),
          entry(boot::kLaunchPid, std::to_string(::getpid())),
          entry(boot::kLaunchNodeFd, std::to_string(setup.node_fd)),
          entry(boot::kLaunchLifeFd, std::to_string(setup.life_fd)),
          entry(boot::kLaunchLifeInode, inode_of(setup.life_fd)),
          entry(boot::kLaunchPmiInode, inode_of(setup.pmi_fd))};
}

}  // namespace

std::vector<std::string> environment_of(const App& app) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry; ++entry)
    if (!is_of_another_launcher(name_of(*entry))) environment.push_back(*entry);
  for (const auto& [name, value] : app.environment) set(environment, name, value);
  if (!can_preload(app)) return environment;
  if (boot::is_profiled()) preload(environment, library("libdunlin_profile.so"));
  if (value_of(environment, "DUNLIN_HEAP") != "private") preload(environment, library("libdunlin_heap.so"));
  return environment;
}

Starter::Starter(const Job& job) : job_(job) {
  for (const App& app : job.apps) {
    const std::string program = program_of(app);
    programs_.push_back(program);
    is_machine_code_.push_back(program.find('/') != program.npos && is_machine_code(path_of(app, program)));
    environments_.push_back(environment_of(app));
  }
}

Started Starter::start(const RankSetup& setup) const {
  DUNLIN_ASSERT(setup.app >= 0 && setup.app < int(job_.apps.size()));
  DUNLIN_ASSERT(setup.rank >= 0 && setup.rank < setup.size);
  const App& app = job_.apps[std::size_t(setup.app)];
  const std::vector<char*> arguments = pointers_to(app.command);
  const std::vector<std::string> own = variables_of(setup);
  std::vector<char*> environment = pointers_to(environments_[std::size_t(setup.app)]);
  environment.pop_back();
  const std::vector<char*> own_pointers = pointers_to(own);
  environment.insert(environment.end(), own_pointers.begin(), own_pointers.end());

  const std::string& program = programs_[std::size_t(setup.app)];
  const std::string entering = "cannot enter folder " + app.directory;
  Child child{program.c_str(),
              is_machine_code_[std::size_t(setup.app)],
              arguments.data(),
              environment.data(),
              nullptr,
              entering.c_str(),
              setup.files,
              nullptr,
              0,
              ::getpid(),
              handled_signals(),
              0,
              ""};
  if (!app.directory.empty()) child.directory = app.directory.c_str();
  cpu_set_t* mask = nullptr;
  if (setup.cpus && !setup.cpus->empty()) {
    const std::size_t count = std::size_t(setup.cpus->back()) + 1;  // ascending
    mask = CPU_ALLOC(count);
    child.mask_bytes = CPU_ALLOC_SIZE(count);
    CPU_ZERO_S(child.mask_bytes, mask);
    for (const int cpu : *setup.cpus) CPU_SET_S(std::size_t(cpu), child.mask_bytes, mask);
    child.mask = mask;
  }
  const pid_t pid = launch(child);
  if (mask) CPU_FREE(mask);
  if (pid < 0) {
    const char* const hint = errno == EAGAIN ? " (ulimit -u, or a control group's limit on processes)" : "";
    return {-1, errno, std::string("cannot make a process: ") + std::strerror(errno) + hint};
  }
  if (child.error == 0) return {pid, 0, ""};
  const std::string why = child.step == kCannotStart ? why_not_started(path_of(app, program), child.error)
                                                     : std::strerror(child.error);
  return {pid, child.error, std::string(child.step) + ": " + why};
}

long ranks_max() {
  constexpr long kDescriptorsOfRank = 3, kOwnDescriptors = 16;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const long processes = std::atol(os::read_text_file("/proc/sys/kernel/pid_max").c_str());
  const long most = files.rlim_max == RLIM_INFINITY ? INT_MAX : std::min<long>(long(files.rlim_max), INT_MAX);
  const long by_files = std::max(1L, (most - kOwnDescriptors) / kDescriptorsOfRank);
  return processes > 0 ? std::min(by_files, processes) : by_files;
}

void raise_descriptor_limit() {
  if (::getrlimit(RLIMIT_NOFILE, &original_limit) != 0) return;
  const rlimit raised{original_limit.rlim_max, original_limit.rlim_max};
  is_limit_raised = ::setrlimit(RLIMIT_NOFILE, &raised) == 0;
}

}  // namespace dunlin::launcher
