// PMI process mappings; see process_mapping.hpp.
#include "boot/process_mapping.hpp"

#include <algorithm>
#include <charconv>

#include "base/assert.hpp"

namespace dunlin::boot {
namespace {

struct Block {
  int first_node, nodes, ranks_per_node;
};

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

bool try_parse(std::string_view text, std::vector<Block>& blocks) {
  if (!try_take(text, "(vector")) return false;
  while (try_take(text, ",(")) {
    Block block{};
    if (!try_take_number(text, block.first_node) || !try_take(text, ",")) return false;
    if (!try_take_number(text, block.nodes) || !try_take(text, ",")) return false;
    if (!try_take_number(text, block.ranks_per_node) || !try_take(text, ")")) return false;
    if (block.nodes == 0 || block.ranks_per_node == 0) return false;  // would never place anybody
    blocks.push_back(block);
  }
  return text == ")" && !blocks.empty();
}

/// Calls `visit(first_rank, last_rank, node)` for every run of ranks on one node, in rank order.
template <class Visit>
void for_each_run(const std::vector<Block>& blocks, int size, Visit visit) {
  for (int rank = 0; rank < size;) {
    for (const Block& block : blocks) {
      for (int i = 0; i < block.nodes && rank < size; ++i) {
        const int last = rank + std::min(block.ranks_per_node, size - rank) - 1;
        visit(rank, last, block.first_node + i);
        rank = last + 1;
      }
    }
  }
}

}  // namespace

bool try_apply_mapping(std::string_view mapping, Place& place) {
  DUNLIN_ASSERT(place.rank >= 0 && place.rank < place.size);
  std::vector<Block> blocks;
  if (!try_parse(mapping, blocks)) return false;
  place.nodes = 0;
  for_each_run(blocks, place.size, [&](int first, int last, int node) {
    if (first <= place.rank && place.rank <= last) place.node = node;
    place.nodes = std::max(place.nodes, node + 1);
  });
  place.node_peers.clear();
  for_each_run(blocks, place.size, [&](int first, int last, int node) {
    for (int rank = first; node == place.node && rank <= last; ++rank) place.node_peers.push_back(rank);
  });
  const auto self = std::find(place.node_peers.begin(), place.node_peers.end(), place.rank);
  DUNLIN_ASSERT(self != place.node_peers.end());
  place.node_rank = int(self - place.node_peers.begin());
  return true;
}

std::string mapping_of_one_node(int size) {
  DUNLIN_ASSERT(size > 0);
  return "(vector,(0,1," + std::to_string(size) + "))";
}

}  // namespace dunlin::boot
