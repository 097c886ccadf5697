// dunlin-info: what this installation is, can do and is set to.  Run by people; `--list` is for scripts.
//
// The table of calls is generated (coverage.hpp); settings are the variables that the library itself defines,
// which is why the library's objects are linked in.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/variable.hpp"
#include "boot/boot.hpp"
#include "coll/hierarchy.hpp"
#include "coll/select.hpp"
#include "coverage.hpp"
#include "os/answer.hpp"
#include "os/cpus.hpp"
#include "os/topology.hpp"
#include "peer/describe.hpp"

namespace {

constexpr int kLineColumns = 100;

struct Chapter {
  std::string where;
  int real = 0;
  std::vector<const char*> real_names, missing_names;
};

std::vector<Chapter> chapters() {
  std::vector<Chapter> found;
  for (const auto& call : kCoverage) {
    const auto is_same = [&](const Chapter& chapter) { return chapter.where == call.where; };
    auto place = std::find_if(found.begin(), found.end(), is_same);
    if (place == found.end()) place = found.insert(found.end(), Chapter{call.where, 0, {}, {}});
    (call.is_real ? place->real_names : place->missing_names).push_back(call.name);
  }
  // By number of the chapter: "3.10" after "3.9".
  std::sort(found.begin(), found.end(), [](const Chapter& left, const Chapter& right) {
    return strverscmp(left.where.c_str(), right.where.c_str()) < 0;
  });
  return found;
}

void print_names(const char* title, const std::vector<const char*>& names) {
  if (names.empty()) return;
  int column = std::printf("    %s", title);
  for (const char* name : names) {
    const int width = int(std::strlen(name)) + 1;
    if (column + width > kLineColumns) column = std::printf("\n      ") - 1;
    column += std::printf(" %s", name);
  }
  std::printf("\n");
}

void print_coverage() {
  std::size_t real = 0, all = 0;
  for (const Chapter& chapter : chapters()) {
    const std::size_t total = chapter.real_names.size() + chapter.missing_names.size();
    std::printf("%s: %zu of %zu\n", chapter.where.c_str(), chapter.real_names.size(), total);
    print_names("works:", chapter.real_names);
    print_names("not yet:", chapter.missing_names);
    real += chapter.real_names.size();
    all += total;
  }
  std::printf(
      "\nTogether %zu of %zu calls work.  The others return MPI_ERR_UNSUPPORTED_OPERATION\n"
      "through the error handler of their communicator.\n",
      real, all);
  std::size_t real_in_fortran = 0, all_in_fortran = 0;
  for (const auto& call : kCoverage) {
    all_in_fortran += call.in_fortran;
    real_in_fortran += call.in_fortran && call.is_real;
  }
  if (DUNLIN_HAS_FORTRAN)
    std::printf("Fortran (mpif.h, mpi, mpi_f08) has %zu of them, of which %zu work.\n", all_in_fortran,
                real_in_fortran);
  else
    std::printf("Fortran: not there, because no Fortran compiler was when this was built.\n");
}

void print_list() {
  for (const auto& call : kCoverage) std::printf("%s %s\n", call.is_real ? "real" : "missing", call.name);
}

const char* source_name(const dunlin::Variable& variable) {
  switch (variable.source()) {
    case dunlin::Variable::Source::environment:
      return "environment";
    case dunlin::Variable::Source::program:
      return "program";
    default:
      return "built-in default";
  }
}

void print_setting(const dunlin::Variable& variable) {
  char value[256], preset[256];
  variable.print_value(value, sizeof value);
  variable.print_default(preset, sizeof preset);
  std::printf("DUNLIN_%s = %s", variable.name(), *value ? value : "(empty)");
  if (*variable.unit()) std::printf(" (%s)", variable.unit());
  std::printf("\n    %s\n    default %s, now from the %s\n", variable.meaning(), *preset ? preset : "(empty)",
              source_name(variable));
}

void print_settings(bool only_changed) {
  for (auto* each = dunlin::Variable::first(); each; each = each->next())
    if (!only_changed || each->source() != dunlin::Variable::Source::builtin) print_setting(*each);
}

long long value_of(const char* setting) {
  return static_cast<const dunlin::IntVariable*>(dunlin::Variable::find(setting))->get();
}
long long kibibytes_of(const char* setting) { return value_of(setting) >> 10; }

/// Which way data takes between two ranks of a node (protocol/choose.hpp).
void print_sizes() {
  std::printf(
      "By size:\n  from %lld KiB      in place where a buffer maps: both sides copy (with gaps: from half)\n",
      kibibytes_of("SHARED_COPY_BYTES"));
  std::printf("  up to %lld KiB     through the channel (cico) where none maps\n",
              kibibytes_of("EAGER_BYTES"));
  std::printf("  beyond           in the order of preference above\n");
}

void print_transport() {
  std::printf("Large messages inside a node, in the order of preference:\n");
  for (const auto& mechanism : dunlin::peer::describe_mechanisms()) {
    std::printf("  %-12s %s", mechanism.name.c_str(), mechanism.works ? "works" : "does not work");
    const std::string& more = mechanism.works ? mechanism.used_for : mechanism.why_not;
    std::printf("%s%s\n", more.empty() ? "" : ": ", more.c_str());
  }
  print_sizes();
  std::printf("Shared heap: %s\nCopying: %s\n", dunlin::peer::describe_heap().c_str(),
              dunlin::peer::describe_copying().c_str());
  std::printf(
      "Not shown, as each two ranks find it while they talk: whether they are far, and whether copies by\n"
      "the kernel are slower than the channel.  DUNLIN_DISTANCE and DUNLIN_SHM_COPY set it.\n");
}

// Asked for with --collectives.
constexpr std::size_t kRanksMax = 1 << 24, kBytesMax = std::size_t{1} << 38;

/// Where so many ranks of this machine would run, each with its share of the CPUs.
std::vector<dunlin::coll::MemberPlace> places_of(const std::vector<int>& node_of_rank,
                                                 const std::vector<int>& cpus) {
  const std::size_t ranks = node_of_rank.size();
  dunlin::os::NearRanks near;
  if (ranks <= cpus.size() || ranks % cpus.size() == 0) {
    const auto topology = dunlin::os::read_topology(cpus);
    near = dunlin::os::near_ranks(topology, dunlin::os::share_cpus(topology, int(ranks)));
  }
  std::vector<dunlin::coll::MemberPlace> places;
  std::unordered_map<int, int> on_node;
  for (const int node : node_of_rank) {
    const int index = on_node[node]++;
    const int memory = near.memory > 0 ? index / near.memory : 0;
    const int cache = near.cache > 0 ? index / near.cache : 0;
    places.push_back({node, memory, cache});
  }
  return places;
}

/// What collectives of so many ranks of this machine would do with blocks (or operands) of so many bytes:
/// by the facts of MPI_COMM_WORLD (comm/region.cpp).
int print_collectives(int ranks, std::size_t bytes) {
  if (ranks == 1) return std::printf("One rank has nothing to choose.\n"), 0;
  const std::vector<int> node_of_rank = dunlin::boot::drawn_nodes(ranks);
  if (node_of_rank.empty()) {
    std::fprintf(stderr, "dunlin-info: --collectives: DUNLIN_NODES names no nodes\n");
    return 2;
  }
  const std::vector<int> cpus = dunlin::os::allowed_cpus();
  const auto in_one_region = value_of("COLL_SHARED_RANKS");
  const dunlin::coll::Hierarchy hierarchy(places_of(node_of_rank, cpus),
                                          in_one_region > 1 ? int(in_one_region) : ranks);
  const bool has_domains = ranks > 2 && hierarchy.domains() > 1 && hierarchy.domains() < ranks;
  const int nodes = int(std::unordered_set<int>(node_of_rank.begin(), node_of_rank.end()).size());
  dunlin::coll::Facts facts{.ranks = ranks, .bytes = bytes};
  facts.share_memory = !has_domains && nodes == 1 && ranks >= 2 && ranks <= in_one_region;
  facts.share_cpus = ranks > std::min(int(cpus.size()), dunlin::os::cpu_quota());
  const std::string between = has_domains ? "in " + std::to_string(hierarchy.domains()) + " domains"
                              : facts.share_memory ? "which share memory"
                                                   : "which do collectives by messages";
  std::printf("%d ranks of %s, %s, blocks of %zu bytes:\n", ranks,
              nodes == 1 ? "this node" : (std::to_string(nodes) + " nodes").c_str(), between.c_str(), bytes);
  for (const auto& each : dunlin::coll::decisions(facts, has_domains ? &hierarchy : nullptr))
    std::printf("  %-15s %-18s %s\n", each.collective, each.algorithm, each.why.c_str());
  std::printf(
      "shared: put into memory that all share; direct: straight from buffer to buffer; hierarchical: so "
      "inside\n"
      "each of several domains, by messages between them; else by messages\n");
  return 0;
}

/// False, with a sentence, where a word is no number of `what` from `least` to `most`.
bool read_number(const std::string& word, const char* what, std::size_t least, std::size_t most,
                 std::size_t& number) {
  const char* const end = word.data() + word.size();
  const auto [read_to, error] = std::from_chars(word.data(), end, number);
  if (error == std::errc{} && read_to == end && number >= least && number <= most) return true;
  std::fprintf(stderr, "dunlin-info: --collectives: the number of %s must be from %zu to %zu, and is '%s'\n",
               what, least, most, word.c_str());
  return false;
}

int answer_collectives(const std::vector<std::string>& words) {
  std::size_t ranks = 0, bytes = 0;
  if (!read_number(words[0], "ranks", 1, kRanksMax, ranks)) return 2;
  if (!read_number(words[1], "bytes", 0, kBytesMax, bytes)) return 2;
  return print_collectives(int(ranks), bytes);
}

void print_version() {
  std::printf("Dunlin %s, MPI 5.0 with the standard ABI 1.0 (libmpi_abi.so.1)\n", DUNLIN_VERSION);
}

void print_overview() {
  print_version();
  std::size_t real = 0, all = 0, settings = 0, changed = 0;
  for (const auto& call : kCoverage) real += call.is_real, ++all;
  for (auto* each = dunlin::Variable::first(); each; each = each->next()) {
    ++settings;
    changed += each->source() != dunlin::Variable::Source::builtin;
  }
  std::printf("\n  %zu of the standard's %zu C functions work (--coverage lists them)\n", real, all);
  std::printf("  %zu settings, %zu changed by the environment (--settings explains them)\n", settings,
              changed);
  std::printf("  --collectives RANKS BYTES prints which algorithms collectives use, and why\n");
  std::printf("  --transport tries the ways of moving bytes on this machine\n");
  if (changed > 0) {
    std::printf("\nChanged:\n");
    print_settings(true);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Shows what this installation of Dunlin is, can do and is set to."};
  bool version = false, coverage = false, list = false, settings = false, transport = false;
  app.add_flag("--version", version, "version of the library, the standard and the ABI");
  app.add_flag("--coverage", coverage, "which calls of MPI work, by chapter of the standard");
  app.add_flag("--list", list, "the same for scripts, one line 'real MPI_Xxx' or 'missing MPI_Xxx' each");
  app.add_flag("--settings", settings, "every setting with meaning, unit, default, value and its source");
  app.add_flag("--transport", transport, "which ways of moving bytes work on this machine, found by trying");
  std::vector<std::string> collectives;  // ranks, bytes
  const CLI::Option* const are_collectives_asked =
      app.add_option("--collectives", collectives,
                     "which algorithms collectives of so many ranks of this machine use for blocks of so "
                     "many bytes, with the settings of the environment, and what decided")
          ->expected(2)
          ->type_name("RANKS BYTES");
  CLI11_PARSE(app, argc, argv);
  if (version) print_version();
  if (coverage) print_coverage();
  if (list) print_list();
  if (settings) print_settings(false);
  if (transport) print_transport();
  if (*are_collectives_asked)
    if (const int code = answer_collectives(collectives); code != 0) return code;
  if (argc == 1) print_overview();
  return dunlin::os::end_answer("dunlin-info");
}
