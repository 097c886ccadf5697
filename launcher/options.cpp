// The command line of mpirun; see options.hpp.
#include "launcher/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace dunlin::launcher {
namespace {

/// What the options of one part between ":" say.
struct Part {
  App app;
  std::vector<std::pair<std::string, std::string>> set, set_for_all;
  std::vector<std::string> exported;  // NAME or NAME=VALUE
  std::string binding;
  std::string host;
  bool asks_version = false;
  bool is_always_so = false;
};

/// Options that MPI launchers have always spelt with one dash.  CLI11 reads "-np" as "-n p", so they get
/// the second.
constexpr std::array<std::string_view, 13> kOneDash = {
    "-np",    "-env",  "-genv", "-wdir",    "-wd",           "-bind-to", "-host",
    "-hosts", "-help", "-bind", "-genvall", "-prepend-rank", "-timeout"};

std::string with_two_dashes(const std::string& word) {
  return std::find(kOneDash.begin(), kOneDash.end(), word) != kOneDash.end() ? '-' + word : word;
}

void define_options(CLI::App& parser, Part& part, Job& job) {
  parser.prefix_command();
  parser.add_option("-n,--np", part.app.ranks, "number of ranks of this program (1)");
  parser.add_option("--env", part.set, "NAME VALUE: set a variable for this program")
      ->allow_extra_args(false);
  parser.add_option("--genv", part.set_for_all, "NAME VALUE: set a variable for all programs")
      ->allow_extra_args(false);
  parser
      .add_option("-x", part.exported, "NAME=VALUE: as --env; NAME alone changes nothing: all are passed on")
      ->allow_extra_args(false);
  parser.add_option("--wdir,--wd", part.app.directory, "directory in which this program runs");
  parser.add_option(
      "--bind,--bind-to", part.binding,
      "share (each rank its equal share of the allowed processors), core, hwthread, l3, numa or none");
  parser.add_flag("--show-binding,--report-bindings", job.shows_binding, "print the processors of each rank");
  parser.add_flag("--tag-output,--prepend-rank,-l", job.tags_output,
                  "put \"[rank] \" before each line of output");
  parser.add_option("--timeout", job.timeout_s, "end the job after so many seconds, with exit code 124")
      ->check(CLI::NonNegativeNumber);
  parser.add_option("--host,--hosts", part.host,
                    "only localhost: this mpirun starts ranks on its own machine");
  parser.add_flag("--oversubscribe,--allow-run-as-root,--genvall", part.is_always_so,
                  "accepted and needed by nobody: always so");
  parser.add_flag("--version", part.asks_version, "print the version");
}

bool is_local(const std::string& host) {
  return host.empty() || host == "localhost" || host == "127.0.0.1" || host.rfind("localhost:", 0) == 0;
}

bool try_set_binding(const std::string& word, Job& job) {
  if (word.empty()) return true;
  static constexpr std::pair<const char*, Binding> kWords[] = {
      {"share", Binding::share}, {"core", Binding::core}, {"hwthread", Binding::hwthread},
      {"l3", Binding::l3},       {"numa", Binding::numa}, {"none", Binding::none}};
  for (const auto& [name, binding] : kWords) {
    if (word != name) continue;
    job.binding = binding;
    job.is_binding_asked = binding != Binding::none;
    return true;
  }
  std::fprintf(stderr, "mpirun: --bind %s is not known: share, core, hwthread, l3, numa or none\n",
               word.c_str());
  return false;
}

/// Moves what was parsed into the job.
bool try_add_part(Part& part, const std::vector<std::string>& rest, Job& job,
                  std::vector<std::pair<std::string, std::string>>& for_all) {
  if (rest.empty()) {
    std::fprintf(
        stderr,
        "mpirun: no program given; usage: mpirun -n RANKS PROGRAM [ARGUMENTS]  (--help tells more)\n");
    return false;
  }
  if (rest[0].size() > 1 && rest[0][0] == '-') {
    std::fprintf(stderr, "mpirun: unknown option %s  (--help lists them)\n", rest[0].c_str());
    return false;
  }
  if (!is_local(part.host)) {
    std::fprintf(stderr,
                 "mpirun: cannot start ranks on %s: this mpirun starts them on its own machine only; use the "
                 "launcher of your resource manager\n",
                 part.host.c_str());
    return false;
  }
  if (part.app.ranks < 1) {
    std::fprintf(stderr, "mpirun: -n %d: a program needs at least one rank\n", part.app.ranks);
    return false;
  }
  if (!try_set_binding(part.binding, job)) return false;
  part.app.command = rest;
  for_all.insert(for_all.end(), part.set_for_all.begin(), part.set_for_all.end());
  part.app.environment = part.set;
  for (const std::string& text : part.exported)
    if (const std::size_t equals = text.find('='); equals != std::string::npos)
      part.app.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  job.apps.push_back(std::move(part.app));
  return true;
}

/// Parses the words of one part, the program's own arguments excepted.
bool try_parse_part(const std::vector<std::string>& words, Job& job, int& exit_code,
                    std::vector<std::pair<std::string, std::string>>& for_all) {
  CLI::App parser{
      "Starts the ranks of an MPI job on this machine:\n"
      "mpirun -n RANKS [OPTIONS] PROGRAM [ARGUMENTS] [: -n RANKS [OPTIONS] PROGRAM [ARGUMENTS]]...",
      "mpirun"};
  Part part;
  define_options(parser, part, job);
  exit_code = 2;
  try {
    std::vector<std::string> backwards;  // as CLI11 takes them
    for (auto word = words.rbegin(); word != words.rend(); ++word)
      backwards.push_back(with_two_dashes(*word));
    parser.parse(backwards);
  } catch (const CLI::CallForHelp&) {
    std::fputs(parser.help().c_str(), stdout);
    exit_code = 0;
    return false;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "mpirun: %s  (--help lists the options)\n", error.what());
    return false;
  }
  if (part.asks_version) {
    std::printf("mpirun of Dunlin %s\n", DUNLIN_VERSION);
    exit_code = 0;
    return false;
  }
  const auto rest =
      std::ptrdiff_t(parser.remaining_size());  // the program's own words stay as they were given
  return try_add_part(part, {words.end() - rest, words.end()}, job, for_all);
}

}  // namespace

bool try_parse_command_line(int argc, char** argv, Job& job, int& exit_code) {
  std::vector<std::pair<std::string, std::string>> for_all;
  std::vector<std::string> words;
  for (int i = 1; i <= argc; ++i) {
    if (i < argc && std::strcmp(argv[i], ":") != 0) {
      words.push_back(argv[i]);
      continue;
    }
    if (!try_parse_part(words, job, exit_code, for_all)) return false;
    words.clear();
  }
  for (App& app : job.apps) app.environment.insert(app.environment.begin(), for_all.begin(), for_all.end());
  return true;
}

}  // namespace dunlin::launcher
