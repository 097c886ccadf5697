// The command line of mpirun; see options.hpp.
#include "launcher/options.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/variable.hpp"
#include "launcher/hosts.hpp"
#include "launcher/start.hpp"

namespace dunlin::launcher {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

constexpr double kTimeoutSecondsMax = 1e9;  // 31 years

constexpr char kUsage[] =
    "Starts the ranks of an MPI job on this machine; with --hosts, has a launcher for\n"
    "several machines start them:\n"
    "  mpirun -n RANKS [OPTIONS] PROGRAM [ARGUMENTS]\n"
    "         [: -n RANKS [OPTIONS] PROGRAM [ARGUMENTS]]...\n\n"
    "Options may be written with one dash or two, and with a blank or \"=\" before the\n"
    "value.\n";

/// Reads the options of one part of the command line (between ":"), and those of the job on the way.
struct Parser {
  Job& job;
  App app;
  Hosts hosts;
  long ranks = 0, ranks_per_machine = 0;  // 0: not said
  Variables& set_for_all;
  std::string_view option;   // as it was written
  bool is_answered = false;  // --help or --version: there is nothing to start

  /// Says what is wrong with the option; false, for the caller to pass on.
  [[gnu::format(printf, 2, 3)]] bool refuse(const char* format, ...) const;

  bool set_number(long& number, const std::string& text);
  bool set_timeout(const std::string& text);
  bool set_binding(std::string text);
  bool set_input(const std::string& text);
  bool set_output(const std::string& text);
  bool set_initial_errhandler(const std::string& name);
  bool map_by(std::string_view text);
  bool add_hosts(const std::string& list);
  bool add_host_file(const std::string& path);
  bool set_variable(Variables& variables, const std::string& name, const std::string& value);
  bool export_variable(const std::string& text);
  bool help();
};

bool Parser::refuse(const char* format, ...) const {
  std::fprintf(stderr, "mpirun: %s%.*s", option.empty() ? "" : "option ", int(option.size()), option.data());
  if (!option.empty()) std::fputs(": ", stderr);
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
  return false;
}

/// One option: its names without dashes, how many values follow, and what it does.  Options without help are
/// there for scripts of other launchers and change nothing here.
struct Option {
  std::string_view names;
  std::string_view values;
  std::string_view help;
  bool (*obey)(Parser&, const std::string* values);
};

bool ignore(Parser&, const std::string*) { return true; }

constexpr Option kOptions[] = {
    {"n np c", "RANKS", "number of ranks of this program (default: 1)",
     [](Parser& p, const std::string* v) { return p.set_number(p.ranks, v[0]); }},
    {"N ppn perhost npernode", "RANKS", "ranks on each machine; on one machine the same as -n",
     [](Parser& p, const std::string* v) { return p.set_number(p.ranks_per_machine, v[0]); }},
    {"H host hosts", "LIST",
     "machines as NAME or NAME:RANKS, separated by commas; if one of them is not this machine, srun (in an "
     "allocation), prterun or mpiexec.hydra starts the job",
     [](Parser& p, const std::string* v) { return p.add_hosts(v[0]); }},
    {"f hostfile machinefile default-hostfile", "FILE",
     "machines from a file, one a line: NAME, NAME:RANKS or NAME slots=RANKS",
     [](Parser& p, const std::string* v) { return p.add_host_file(v[0]); }},
    {"env", "NAME VALUE", "set an environment variable of this program",
     [](Parser& p, const std::string* v) { return p.set_variable(p.app.environment, v[0], v[1]); }},
    {"genv", "NAME VALUE", "set an environment variable of all programs",
     [](Parser& p, const std::string* v) { return p.set_variable(p.set_for_all, v[0], v[1]); }},
    {"x", "NAME=VALUE",
     "like --env; NAME alone has no effect, since programs get mpirun's whole environment anyway",
     [](Parser& p, const std::string* v) { return p.export_variable(v[0]); }},
    {"wdir wd", "FOLDER", "folder in which this program runs",
     [](Parser& p, const std::string* v) { return p.app.directory = v[0], true; }},
    {"bind bind-to", "WHAT",
     "what each rank is bound to: share (default: an equal part of the CPUs), core, hwthread, l3, "
     "numa, package or none",
     [](Parser& p, const std::string* v) { return p.set_binding(v[0]); }},
    {"show-binding report-bindings display-map display-allocation print-rank-map", "",
     "print the CPUs of each rank", [](Parser& p, const std::string*) { return p.job.shows_binding = true; }},
    {"l tag-output prepend-rank", "", "put \"[rank] \" before each line of output",
     [](Parser& p, const std::string*) { return p.job.tags_output = true; }},
    {"timeout", "SECONDS",
     "end the job after so many seconds, with exit code 124 (also MPIEXEC_TIMEOUT in the environment)",
     [](Parser& p, const std::string* v) { return p.set_timeout(v[0]); }},
    {"stdin s", "RANK", "who reads standard input: 0 (default) or none",
     [](Parser& p, const std::string* v) { return p.set_input(v[0]); }},
    {"initial-errhandler", "NAME",
     "what an error does before the program sets an error handler: mpi_errors_are_fatal (default), "
     "mpi_errors_abort or mpi_errors_return",
     [](Parser& p, const std::string* v) { return p.set_initial_errhandler(v[0]); }},
    {"V version", "", "print the version",
     [](Parser& p, const std::string*) {
       std::printf("mpirun of Dunlin %s\n", DUNLIN_VERSION);
       return p.is_answered = true;
     }},
    {"h help", "", "print this help", [](Parser& p, const std::string*) { return p.help(); }},
    {"map-by", "WHAT", "", [](Parser& p, const std::string* v) { return p.map_by(v[0]); }},
    {"output", "WHAT", "", [](Parser& p, const std::string* v) { return p.set_output(v[0]); }},
    {"v verbose q quiet oversubscribe nooversubscribe allow-run-as-root use-hwthread-cpus genvall envall rr "
     "print-all-exitcodes",
     "", "", ignore},
    {"genvlist envlist rank-by launcher bootstrap rmk iface usize display", "VALUE", "", ignore},
    {"mca gmca prtemca pmixmca omca", "NAME VALUE", "", ignore},
};

/// "n np" as people write it: "-n, --np".
std::string with_dashes(std::string_view names) {
  std::string text;
  for (std::string_view rest = names; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    text +=
        (text.empty() ? "" : ", ") + std::string(end == 1 ? "-" : "--") + std::string(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return text;
}

/// `text` in lines that fit a terminal, each behind eight blanks.
std::string folded(std::string_view text) {
  constexpr std::size_t kIndent = 8, kColumns = 78;
  std::string lines;
  while (!text.empty()) {
    const std::size_t end =
        text.size() <= kColumns - kIndent ? text.size() : text.rfind(' ', kColumns - kIndent);
    lines += std::string(kIndent, ' ') + std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool Parser::help() {
  std::fputs(kUsage, stdout);
  std::string accepted;
  for (const Option& each : kOptions) {
    const std::string names = with_dashes(each.names);
    if (each.help.empty())
      accepted += (accepted.empty() ? "" : ", ") + names;
    else
      std::printf("  %s%s%.*s\n%s", names.c_str(), each.values.empty() ? "" : " ", int(each.values.size()),
                  each.values.data(), folded(each.help).c_str());
  }
  std::printf("\nAccepted for scripts of other launchers:\n%s", folded(accepted).c_str());
  return is_answered = true;
}

/// The end of a sentence that begins with a number.
std::string too_many() {
  return " ranks are too many: the limits of this system (ulimit -Hn, pid_max) allow " +
         std::to_string(ranks_max());
}

bool Parser::set_number(long& number, const std::string& text) {
  char* end = nullptr;
  errno = 0;
  number = std::strtol(text.c_str(), &end, 10);
  if (!text.empty() && !*end && errno == ERANGE && number > 0)
    return refuse("%s%s", text.c_str(), too_many().c_str());
  if (text.empty() || *end || errno != 0 || number < 1)
    return refuse("\"%s\" is not a number of ranks; it must be a whole number, at least 1", text.c_str());
  return true;
}

bool Parser::set_timeout(const std::string& text) {
  char* end = nullptr;
  job.timeout_s = std::strtod(text.c_str(), &end);
  if (!text.empty() && !*end && job.timeout_s >= 0 && job.timeout_s <= kTimeoutSecondsMax) return true;
  return refuse("\"%s\" is not a number of seconds from 0 (no limit) to 1e9", text.c_str());
}

bool Parser::set_binding(std::string text) {
  text.erase(std::min(text.find(':'), text.size()));  // ":overload-allowed" and its like: always so
  static constexpr std::pair<const char*, Binding> kWords[] = {
      {"share", Binding::share}, {"core", Binding::core},       {"hwthread", Binding::hwthread},
      {"l3", Binding::l3},       {"l3cache", Binding::l3},      {"numa", Binding::numa},
      {"none", Binding::none},   {"package", Binding::package}, {"socket", Binding::package}};
  for (const auto& [name, binding] : kWords) {
    if (text != name) continue;
    job.binding = binding;
    job.is_binding_asked = binding != Binding::none;
    return true;
  }
  return refuse("\"%s\" is none of share, core, hwthread, l3, numa, package, none", text.c_str());
}

bool Parser::set_input(const std::string& text) {
  job.has_input = text != "none";
  return text == "0" || text == "none" ||
         refuse("\"%s\" cannot read standard input; rank 0 can, or none", text.c_str());
}

bool Parser::set_output(const std::string& text) {
  job.tags_output = text.starts_with("tag") || text.starts_with("rank");
  return job.tags_output ||
         refuse("\"%s\" is not supported; \"tag\" is, and \"mpirun ... > FILE\" writes to a file",
                text.c_str());
}

/// The library reads it as a setting.
bool Parser::set_initial_errhandler(const std::string& name) {
  set_for_all.emplace_back("DUNLIN_INITIAL_ERRHANDLER", name);
  return name == "mpi_errors_are_fatal" || name == "mpi_errors_abort" || name == "mpi_errors_return" ||
         refuse("\"%s\" is none of mpi_errors_are_fatal, mpi_errors_abort, mpi_errors_return", name.c_str());
}

/// "ppr:4:node" is a number of ranks; other words ask for an order that equal shares have anyway.
bool Parser::map_by(std::string_view text) {
  if (!text.starts_with("ppr:")) return true;
  text.remove_prefix(4);
  const std::size_t end = std::min(text.find(':'), text.size());
  const bool is_of_machine = text.substr(end).starts_with(":node");
  return !is_of_machine || set_number(ranks_per_machine, std::string(text.substr(0, end)));
}

bool Parser::add_hosts(const std::string& list) {
  return hosts.try_add_list(list) ||
         refuse("\"%s\" is no list of machines; write NAME or NAME:RANKS, separated by commas", list.c_str());
}

bool Parser::add_host_file(const std::string& path) {
  if (hosts.try_add_file(path)) return true;
  if (errno == EINVAL)
    return refuse("%s has a number of ranks that is not a whole number of at least 1", path.c_str());
  return refuse("cannot read %s: %s", path.c_str(), std::strerror(errno));
}

bool Parser::set_variable(Variables& variables, const std::string& name, const std::string& value) {
  if (name.empty() || name.find('=') != name.npos)
    return refuse("\"%s\" names no variable; give NAME VALUE", name.c_str());
  variables.emplace_back(name, value);
  return true;
}

bool Parser::export_variable(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (text.empty() || equals == 0) return refuse("\"%s\" names no variable; give NAME=VALUE", text.c_str());
  if (equals != std::string::npos)
    app.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  return true;
}

const Option* find(std::string_view name) {
  for (const Option& each : kOptions)
    for (std::string_view rest = each.names; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      if (rest.substr(0, end) == name) return &each;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  return nullptr;
}

/// Obeys the option at `words[at]` and moves `at` behind its values.
bool try_obey(Parser& parser, const std::vector<std::string>& words, std::size_t& at) {
  const std::string& word = words[at++];
  const std::size_t dashes = word.starts_with("--") ? 2 : 1;
  const std::size_t equals = std::min(word.find('='), word.size());
  parser.option = std::string_view(word).substr(0, equals);
  const Option* const option = find(parser.option.substr(dashes));
  if (!option) return parser.refuse("unknown; mpirun --help lists all");
  const std::size_t values =
      option->values.empty() ? 0
                             : 1 + std::size_t(std::count(option->values.begin(), option->values.end(), ' '));
  std::vector<std::string> given;
  if (equals < word.size()) given.push_back(word.substr(equals + 1));
  while (given.size() < values && at < words.size()) given.push_back(words[at++]);
  if (given.size() == values) return option->obey(parser, given.data());
  if (values == 0) return parser.refuse("it takes no value");
  return parser.refuse("%.*s must follow", int(option->values.size()), option->values.data());
}

/// Where no number was given: what lists of machines ask for, else one.
long ranks_of_part(const Parser& parser) {
  if (parser.ranks > 0) return parser.ranks;
  if (parser.ranks_per_machine > 0)
    return parser.ranks_per_machine * std::max(1L, long(parser.hosts.all.size()));
  return std::max(1L, parser.hosts.ranks());
}

/// How many ranks this part has, and on which machines.
bool try_count_ranks(Parser& parser) {
  parser.option = {};
  const long ranks = ranks_of_part(parser);
  if (parser.hosts.are_elsewhere) {
    for (const Host& host : parser.hosts.share_out(ranks, parser.ranks_per_machine)) {
      if (!parser.job.machines.empty() && parser.job.machines.back().name == host.name)
        parser.job.machines.back().ranks += host.ranks;
      else
        parser.job.machines.push_back(host);
    }
    parser.app.ranks = int(ranks);
    return true;
  }
  if (parser.ranks_per_machine > 0 && ranks > parser.ranks_per_machine)
    return parser.refuse("%ld ranks, %ld on each machine, need several machines; name them with --hosts",
                         ranks, parser.ranks_per_machine);
  if (const long most = ranks_max(); parser.job.size() + ranks > most)
    return parser.refuse("%ld%s", parser.job.size() + ranks, too_many().c_str());
  parser.app.ranks = int(ranks);
  return true;
}

/// Reads one part; 0 to go on, else mpirun ends: kAnswered or kWrongUsage.
enum class Outcome { go_on, answered, wrong };
Outcome parse_part(const std::vector<std::string>& words, Job& job, Variables& set_for_all) {
  Parser parser{job, {}, {}, 0, 0, set_for_all, {}, false};
  std::size_t at = 0;
  while (at < words.size() && words[at].size() > 1 && words[at][0] == '-' && words[at] != "--") {
    if (!try_obey(parser, words, at)) return Outcome::wrong;
    if (parser.is_answered) return Outcome::answered;
  }
  if (at < words.size() && words[at] == "--") ++at;
  parser.app.command.assign(words.begin() + std::ptrdiff_t(at), words.end());
  parser.option = {};
  if (parser.app.command.empty() || parser.app.command[0].empty()) {
    parser.refuse("no program given; usage: mpirun -n RANKS PROGRAM [ARGUMENTS]  (--help tells more)");
    return Outcome::wrong;
  }
  if (!try_count_ranks(parser)) return Outcome::wrong;
  job.apps.push_back(std::move(parser.app));
  return Outcome::go_on;
}

/// Settings of mpirun itself that the command line gives to programs: they hold for it and the whole job.
void take_own_settings(const Job& job, Variables& set_for_all) {
  Variables given = set_for_all;
  for (const App& app : job.apps) given.insert(given.end(), app.environment.begin(), app.environment.end());
  for (const auto& [name, value] : given)
    for (const char* own : {"DEADLOCK", "PROFILE", "REMOTE_LAUNCHER"})
      if (name == std::string("DUNLIN_") + own && Variable::find(own)->try_set(value.c_str()))
        set_for_all.emplace_back(name, value);
}

}  // namespace

bool try_parse_command_line(int argc, char** argv, Job& job, int& exit_code) {
  Variables set_for_all;
  if (const char* seconds = std::getenv("MPIEXEC_TIMEOUT"); seconds && *seconds) {
    Parser parser{job, {}, {}, 0, 0, set_for_all, "MPIEXEC_TIMEOUT", false};
    if (!parser.set_timeout(seconds)) return exit_code = 2, false;
  }
  std::vector<std::string> words;
  for (int i = 1; i <= argc; ++i) {
    if (i < argc && std::strcmp(argv[i], ":") != 0) {
      words.push_back(argv[i]);
      continue;
    }
    const Outcome outcome = parse_part(words, job, set_for_all);
    exit_code = outcome == Outcome::wrong ? 2 : 0;
    if (outcome != Outcome::go_on) return false;
    words.clear();
  }
  take_own_settings(job, set_for_all);
  for (App& app : job.apps)
    app.environment.insert(app.environment.begin(), set_for_all.begin(), set_for_all.end());
  return true;
}

}  // namespace dunlin::launcher
