// What page tables for the memory of many peers cost one process, without a limit and under limits
// (docs/memory.md, "Cost of scale").  A peer is a sparse file of 64 GiB here, of which one small page in
// every 2 MiB of the live part is touched: the page tables are those of all of it, the memory is not.
//
// usage: page_tables [peers [GiB live in each]]
#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/variable.hpp"
#include "bench/memory/processes.hpp"
#include "heap/mapped_file.hpp"
#include "peer/peer_tables.hpp"
#include "test/page_tables_kb.h"

namespace {

using dunlin::peer::PeerTables;

constexpr std::size_t kUnitBytes = std::size_t{2} << 20;
constexpr std::size_t kFileBytes = std::size_t{64} << 30;

struct Mapped {
  std::byte* at;
  std::unique_ptr<PeerTables> tables;
};

void measure(std::size_t peers, std::size_t units, std::size_t limit_mib) {
  setenv("DUNLIN_HEAP_PEER_TABLES_BYTES_MAX", (std::to_string(limit_mib) + "m").c_str(), 1);
  dunlin::Variable::read_all_again();
  const long idle_kb = page_tables_kb();
  std::vector<Mapped> mapped(peers);
  for (Mapped& each : mapped) {
    const int file = memfd_create("peer", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, off_t(kFileBytes)) != 0) std::abort();
    each.at = dunlin::heap::map_file_aligned(file, kFileBytes, PROT_NONE);
    close(file);
    if (!each.at) std::abort();
    each.tables = std::make_unique<PeerTables>(each.at, kFileBytes);
  }
  const long mapped_kb = page_tables_kb() - idle_kb;
  long most_kb = 0;
  std::vector<double> passes[2];
  double worst_us = 0;
  for (auto& pass : passes)
    for (Mapped& each : mapped) {
      const double start = bench::now_us();
      for (std::size_t unit = 0; unit < units; ++unit) {
        const double before = bench::now_us();
        each.tables->touch(unit * kUnitBytes, 8);
        worst_us = std::max(worst_us, bench::now_us() - before);
        *reinterpret_cast<volatile std::uint64_t*>(each.at + unit * kUnitBytes) = unit;
      }
      pass.push_back((bench::now_us() - start) / double(units));
      most_kb = std::max(most_kb, page_tables_kb() - idle_kb);
    }
  std::printf("%9zu %12ld %12ld %10.2f %10.2f %12.0f\n", limit_mib, mapped_kb, most_kb,
              bench::median(passes[0]), bench::median(passes[1]), worst_us);
  for (Mapped& each : mapped) {
    each.tables->stop();
    munmap(each.at, kFileBytes);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::size_t peers = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 127;
  const std::size_t gib = count > 2 ? std::strtoul(arguments[2], nullptr, 10) : 4;
  std::printf(
      "page tables of one process for %zu peers with %zu GiB in small pages each; us to touch 2 MiB at one "
      "place\n"
      "limit MiB    mapped kB      most kB   1st pass   2nd pass  worst count\n",
      peers, gib);
  const std::size_t units = gib << 30 >> 21;
  for (const std::size_t limit_mib :
       {std::size_t{1} << 20, std::size_t{128}, std::size_t{32}, std::size_t{8}})
    measure(peers, units, limit_mib);
}
