// Which rank runs on which node; see node_map.hpp.
#include "boot/node_map.hpp"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "base/assert.hpp"

namespace dunlin::boot {
namespace {

constexpr int kNobody = -1;

bool try_take(std::string_view& text, std::string_view literal) noexcept {
  if (!text.starts_with(literal)) return false;
  text.remove_prefix(literal.size());
  return true;
}

bool try_take_number(std::string_view& text, int& number) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return false;
  text.remove_prefix(std::size_t(end - text.data()));
  return true;
}

}  // namespace

NodeMap::NodeMap(int ranks) : ranks_(ranks), nodes_(1) {
  DUNLIN_ASSERT(ranks > 0);
  add_block(0, 1, ranks);
}

NodeMap::NodeMap(std::span<const int> node_of_rank) : ranks_(int(node_of_rank.size())) {
  DUNLIN_ASSERT(!node_of_rank.empty());
  std::unordered_map<int, int> numbers;  // as they were given -> as they are counted here
  for (std::size_t begin = 0, end = 0; begin < node_of_rank.size(); begin = end) {
    while (end < node_of_rank.size() && node_of_rank[end] == node_of_rank[begin]) ++end;
    const int node = numbers.emplace(node_of_rank[begin], int(numbers.size())).first->second;
    add_block(node, 1, int(end - begin));
  }
  nodes_ = int(numbers.size());
}

/// Behind the others; or one more of the last ones, where that says the same.
void NodeMap::add_block(int first_node, int nodes, int ranks_per_node) {
  Block* const last = blocks_.empty() ? nullptr : &blocks_.back();
  if (last && last->ranks_per_node == ranks_per_node && last->first_node + last->nodes == first_node)
    last->nodes += nodes;
  else
    blocks_.push_back({first_node, nodes, ranks_per_node, period_});
  period_ += std::int64_t{nodes} * ranks_per_node;
}

bool NodeMap::try_assign(std::string_view mapping, int ranks) {
  DUNLIN_ASSERT(ranks > 0);
  NodeMap made;
  made.blocks_.clear();
  made.period_ = 0;
  made.ranks_ = ranks;
  if (!try_take(mapping, "(vector")) return false;
  while (try_take(mapping, ",(")) {
    int first_node = 0, nodes = 0, ranks_per_node = 0;
    if (!try_take_number(mapping, first_node) || !try_take(mapping, ",")) return false;
    if (!try_take_number(mapping, nodes) || !try_take(mapping, ",")) return false;
    if (!try_take_number(mapping, ranks_per_node) || !try_take(mapping, ")")) return false;
    if (nodes == 0 || ranks_per_node == 0) return false;  // would never place anybody
    if (made.period_ < ranks) made.add_block(first_node, nodes, ranks_per_node);
  }
  if (mapping != ")" || made.blocks_.empty()) return false;
  int nodes_end = 0;
  made.for_each_run([&](int, int, int node) { nodes_end = std::max(nodes_end, node + 1); });
  if (nodes_end > ranks) return false;
  made.nodes_ = nodes_end;
  const std::vector<int> first_ranks = made.first_ranks();
  if (std::find(first_ranks.begin(), first_ranks.end(), kNobody) != first_ranks.end()) return false;
  *this = std::move(made);
  return true;
}

int NodeMap::node_of(int rank) const noexcept {
  DUNLIN_ASSERT(rank >= 0);
  DUNLIN_ASSERT(rank < ranks_);
  const std::int64_t at = rank % period_;
  const auto after =
      std::upper_bound(blocks_.begin(), blocks_.end(), at,
                       [](std::int64_t wanted, const Block& block) { return wanted < block.first_rank; });
  const Block& block = *(after - 1);
  return block.first_node + int((at - block.first_rank) / block.ranks_per_node);
}

int NodeMap::place_of(int rank) const noexcept {
  const int node = node_of(rank);
  const std::int64_t rounds = rank / period_, at = rank % period_;
  std::int64_t place = 0;
  for (const Block& block : blocks_) {
    if (node < block.first_node || node >= block.first_node + block.nodes) continue;
    const std::int64_t before = std::int64_t{node - block.first_node} * block.ranks_per_node;
    const std::int64_t first = block.first_rank + before;
    place += rounds * block.ranks_per_node + std::clamp<std::int64_t>(at - first, 0, block.ranks_per_node);
  }
  return int(place);
}

/// Calls `visit(first_rank, last_rank, node)` for every run of ranks on one node, in rank order.
template <class Visit>
void NodeMap::for_each_run(Visit visit) const {
  for (int rank = 0; rank < ranks_;) {
    for (const Block& block : blocks_) {
      for (int i = 0; i < block.nodes && rank < ranks_; ++i) {
        const int last = rank + std::min(block.ranks_per_node, ranks_ - rank) - 1;
        visit(rank, last, block.first_node + i);
        rank = last + 1;
      }
    }
  }
}

std::vector<int> NodeMap::ranks_of(int node) const {
  DUNLIN_ASSERT(node >= 0);
  DUNLIN_ASSERT(node < nodes_);
  std::vector<int> ranks;
  for_each_run([&](int first, int last, int here) {
    for (int rank = first; here == node && rank <= last; ++rank) ranks.push_back(rank);
  });
  return ranks;
}

std::vector<int> NodeMap::first_ranks() const {
  std::vector<int> ranks(std::size_t(nodes_), kNobody);
  for_each_run([&](int first, int, int node) {
    if (ranks[std::size_t(node)] == kNobody) ranks[std::size_t(node)] = first;
  });
  return ranks;
}

std::string NodeMap::text() const {
  std::string text = "(vector";
  for (const Block& block : blocks_)
    text += ",(" + std::to_string(block.first_node) + ',' + std::to_string(block.nodes) + ',' +
            std::to_string(block.ranks_per_node) + ')';
  return text + ')';
}

}  // namespace dunlin::boot
