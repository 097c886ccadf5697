// What every Boot does the same way; see boot.hpp.
#include "boot/boot.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

#include "base/assert.hpp"
#include "base/variable.hpp"
#include "os/host_identity.hpp"

namespace dunlin::boot {
namespace {

constexpr char kAddressKey[] = "address";

WordVariable emulated_nodes{
    "NODES", "", "",
    "treats the ranks of one machine as if they were on several nodes, for tests: the number of nodes, which "
    "get equal blocks of ranks, or the node of each rank (0,1,1,2), repeated to the last rank"};

WordVariable engine{
    "P2P", "matching", "matching|offload",
    "who matches messages with receives: this library, or the network, which then carries all "
    "messages, also on one machine"};

/// Equal blocks, the first ones with a rank more.
std::vector<int> in_blocks(int nodes, int ranks) {
  std::vector<int> node_of_rank;
  for (int node = 0; node < std::min(nodes, ranks); ++node)
    node_of_rank.insert(node_of_rank.end(), std::size_t(ranks / nodes + (node < ranks % nodes)), node);
  return node_of_rank;
}

/// Empty where the text is nothing of the kind.
std::vector<int> parse_nodes(std::string_view text, int ranks) {
  std::vector<int> numbers;
  for (const char* at = text.data();;) {
    int number = 0;
    const auto [end, error] = std::from_chars(at, text.data() + text.size(), number);
    if (error != std::errc{} || number < 0) return {};
    numbers.push_back(number);
    if (end == text.data() + text.size()) break;
    if (*end != ',') return {};
    at = end + 1;
  }
  if (numbers.size() == 1) return numbers[0] == 0 ? std::vector<int>() : in_blocks(numbers[0], ranks);
  std::vector<int> node_of_rank;
  for (int rank = 0; rank < ranks; ++rank)
    node_of_rank.push_back(numbers[std::size_t(rank) % numbers.size()]);
  return node_of_rank;
}

}  // namespace

void Place::set_map(NodeMap nodes) {
  DUNLIN_ASSERT(nodes.ranks() == size);
  map = std::move(nodes);
  node = map.node_of(rank);
  node_peers = map.ranks_of(node);
  node_rank = int(std::lower_bound(node_peers.begin(), node_peers.end(), rank) - node_peers.begin());
  DUNLIN_ASSERT(node_peers[std::size_t(node_rank)] == rank);
}

bool Boot::matches_in_network() const noexcept { return engine.index() == 1 && size() > 1; }

Err Boot::publish(std::span<const std::byte> address) noexcept {
  return put(kAddressKey, {reinterpret_cast<const char*>(address.data()), address.size()});
}

Result<std::string> Boot::lookup(int rank) noexcept { return get(rank, kAddressKey); }

Err Boot::refuse_restart() noexcept {
  return fail(Err::other,
              "%s has let this process go, in MPI_Finalize or at its exit: in a job of several nodes "
              "no session can begin behind it; keep one open meanwhile",
              name());
}

Err Boot::find_nodes_by(const std::function<Result<std::string>(int)>& text_of) noexcept {
  std::map<std::string, int> numbers;
  std::vector<int> node_of_rank;
  for (int rank = 0; rank < size(); ++rank) {
    const Result<std::string> text = text_of(rank);
    if (!text) return text.error();
    node_of_rank.push_back(numbers.emplace(text.value(), rank).first->second);
  }
  place_.set_map(NodeMap(node_of_rank));
  return Err::ok;
}

Err Boot::find_nodes_by_host() noexcept {
  if (const Err e = put("host", os::host_identity()); e != Err::ok) return e;
  if (const Err e = fence(); e != Err::ok) return e;
  return find_nodes_by([this](int rank) { return get(rank, "host"); });
}

Err Boot::redraw_nodes() noexcept {
  machine_peers_ = place_.node_peers;
  const bool are_emulated = *emulated_nodes.get() && size() > 1;
  if (!are_emulated && !matches_in_network()) return Err::ok;
  if (are_emulated && nodes() > 1)
    return fail(Err::other, "DUNLIN_NODES=%s is for jobs on one machine, but this one has %d",
                emulated_nodes.get(), nodes());
  const std::vector<int> node_of_rank = drawn_nodes(size());
  if (node_of_rank.empty())
    return fail(Err::other,
                "DUNLIN_NODES=%s is neither a number of nodes nor the node of each rank, such as 0,0,1,1",
                emulated_nodes.get());
  place_.set_map(NodeMap(node_of_rank));
  return Err::ok;
}

std::vector<int> drawn_nodes(int ranks) {
  std::vector<int> node_of_rank(static_cast<std::size_t>(ranks));
  if (*emulated_nodes.get() && ranks > 1) node_of_rank = parse_nodes(emulated_nodes.get(), ranks);
  if (engine.index() == 1) std::iota(node_of_rank.begin(), node_of_rank.end(), 0);
  return node_of_rank;
}

}  // namespace dunlin::boot
