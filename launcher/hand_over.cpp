// Jobs over several machines; see hand_over.hpp.
#include "launcher/hand_over.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "boot/launcher_settings.hpp"
#include "launcher/program_file.hpp"
#include "launcher/start.hpp"
#include "launcher/time_limit.hpp"

namespace dunlin::launcher {
namespace {

using Words = std::vector<std::string>;

void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

std::string joined(const Job& job, const char* between_name_and_ranks) {
  std::string text;
  for (const Host& machine : job.machines)
    text += (text.empty() ? "" : ",") + machine.name + between_name_and_ranks + std::to_string(machine.ranks);
  return text;
}

Words options_of_srun(const Job& job) {
  std::string names;
  for (const Host& machine : job.machines) names += (names.empty() ? "" : ",") + machine.name;
  Words words{"--nodelist=" + names, "--nodes=" + std::to_string(job.machines.size()), "--overcommit",
              "--kill-on-bad-exit=1", "--input=0"};
  if (!std::getenv("SLURM_MPI_TYPE")) words.push_back("--mpi=pmi2");
  if (job.tags_output) words.push_back("--label");
  return words;
}

/// The first machines may have one more.  For other shares srun has --distribution=arbitrary, but then it
/// tells ranks wrongly who shares a machine (22.05).
bool has_equal_shares(const Job& job) {
  return job.machines.front().ranks - job.machines.back().ranks <= 1 &&
         std::is_sorted(job.machines.begin(), job.machines.end(),
                        [](const Host& left, const Host& right) { return left.ranks > right.ranks; });
}

Words options_of_prterun(const Job& job) {
  Words words{"--host", joined(job, ":"), "--map-by", "slot:OVERSUBSCRIBE"};
  if (job.binding == Binding::none) append(words, {"--bind-to", "none"});
  if (job.tags_output) append(words, {"--output", "tag"});
  ::setenv("PRTE_ALLOW_RUN_AS_ROOT", "1", 0);
  ::setenv("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  return words;
}

Words options_of_hydra(const Job& job) {
  Words words{"-hosts", joined(job, ":")};
  if (job.tags_output) words.push_back("-l");
  return words;
}

struct Launcher {
  const char* program;
  const char* needs;  // a variable without which it is of no use; "" for none
  bool is_slurm;      // starts one program, with equal shares for all machines
  Words (*options)(const Job&);
};
constexpr Launcher kLaunchers[] = {{"srun", "SLURM_JOB_ID", true, options_of_srun},
                                   {"prterun", "", false, options_of_prterun},
                                   {"mpiexec.hydra", "", false, options_of_hydra}};

Words split(std::string_view text) {
  Words words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

/// Which launcher, and its command so far: the one that the setting names, else the first that is there.
const Launcher* find(Words& command) {
  command = split(boot::remote_launcher());
  for (const Launcher& each : kLaunchers) {
    if (command.empty() && !find_in_path(each.program).empty() && (!*each.needs || std::getenv(each.needs))) {
      command = {each.program};
      return &each;
    }
    if (!command.empty() && command[0].substr(command[0].rfind('/') + 1) == each.program) return &each;
  }
  return nullptr;
}

/// One part with what goes along with it, by env(1), which all launchers can start.
Words words_of(const App& app) {
  Words words{"env"};
  if (!app.directory.empty()) words.push_back("--chdir=" + app.directory);
  for (const std::string& entry : environment_of(app)) {
    const std::string name = entry.substr(0, entry.find('='));
    const bool is_set_here = std::any_of(app.environment.begin(), app.environment.end(),
                                         [&name](const auto& each) { return each.first == name; });
    if (is_set_here || name == "LD_PRELOAD" || name.starts_with("DUNLIN_")) words.push_back(entry);
  }
  append(words, app.command);
  return words;
}

/// Standard error, as all that mpirun says.
int refuse(const char* format, const char* text) {
  std::fputs("mpirun: ", stderr);
  std::fprintf(stderr, format, text);
  std::fputc('\n', stderr);
  return 2;
}

}  // namespace

int hand_over(const Job& job) {
  Words command;
  const Launcher* const launcher = find(command);
  if (!launcher && !command.empty())
    return refuse(
        "DUNLIN_REMOTE_LAUNCHER=%s is not known; it must be srun, prterun or mpiexec.hydra, and options may "
        "follow",
        boot::remote_launcher());
  if (!launcher)
    return refuse(
        "%s needs a launcher for several machines, and there is none: neither srun in an allocation of "
        "Slurm, nor prterun (PRRTE, Open MPI 5), nor mpiexec.hydra (MPICH)",
        joined(job, ":").c_str());
  if (launcher->is_slurm && (job.apps.size() > 1 || !has_equal_shares(job)))
    return refuse(
        "srun starts one program (no \":\") with equal shares of ranks for all machines, not %s; choose "
        "another launcher with DUNLIN_REMOTE_LAUNCHER",
        joined(job, ":").c_str());
  Words words{command[0]};
  append(words, launcher->options(job));
  words.insert(words.end(), command.begin() + 1, command.end());
  for (const App& app : job.apps) {
    if (&app != &job.apps.front()) words.push_back(":");
    append(words, {"-n", std::to_string(app.ranks)});
    append(words, words_of(app));
  }
  std::fprintf(stderr, "mpirun: %d rank%s on %s, started by %s\n", job.size(), job.size() == 1 ? "" : "s",
               joined(job, ":").c_str(), command[0].c_str());
  if (!job.has_input) {
    ::close(STDIN_FILENO);
    ::open("/dev/null", O_RDONLY);  // takes the number that has become free
  }
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  if (job.timeout_s > 0) return run_with_limit(pointers.data(), job.timeout_s);
  ::execvp(pointers[0], pointers.data());
  return refuse("cannot start it: %s", std::strerror(errno));
}

}  // namespace dunlin::launcher
