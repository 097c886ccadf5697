// New ranks for graphs: each node gets a part of the graph that is grown from one vertex, in it each memory
// node, and each cache.  See reorder.hpp.
//
// A part takes next the vertex that leaves least weight between it and the rest: greedy graph growing
// (G. Karypis and V. Kumar, A fast and high quality multilevel scheme for partitioning irregular graphs,
// 1998).  Parts of a grid become squares, since of equal vertices the one that has been beside the part for
// longest comes first.
#include <array>
#include <queue>
#include <tuple>

#include "base/assert.hpp"
#include "comm/reorder.hpp"
#include "comm/topology.hpp"

namespace dunlin::comm {
namespace {

using Places = std::span<const coll::MemberPlace>;

class Placement {
 public:
  Placement(Places places, std::span<const Edge> edges)
      : places_(places), vertices_(places.size()), ranks_(places.size()), begins_(places.size() + 1) {
    for (const Edge& edge : edges) ++begins_[std::size_t(edge.from)], ++begins_[std::size_t(edge.to)];
    std::size_t sum = 0;
    for (std::size_t& begin : begins_) begin = sum += begin;
    arcs_.resize(sum);
    for (const Edge& edge : edges) {  // `begins_` hold the ends of vertices until they are full
      arcs_[--begins_[std::size_t(edge.from)]] = {edge.to, edge.weight};
      arcs_[--begins_[std::size_t(edge.to)]] = {edge.from, edge.weight};
    }
  }

  std::vector<int> find() {
    const std::vector<int> all = first_ranks(int(places_.size()));
    divide(all, all, 0);
    return ranks_;
  }

 private:
  struct Arc {
    int to;
    std::int64_t weight;
  };
  struct Vertex {
    int part = 0;
    std::int64_t inside = 0;   // weight to the part that grows
    std::int64_t outside = 0;  // weight to others that could still join it
    int since = 0;             // how many the part had when it came beside this one
    std::int64_t gain() const noexcept { return inside - outside; }
  };

  Vertex& at(int vertex) noexcept { return vertices_[std::size_t(vertex)]; }
  std::span<const Arc> arcs_of(int vertex) const noexcept {
    const std::size_t begin = begins_[std::size_t(vertex)];
    return std::span(arcs_).subspan(begin, begins_[std::size_t(vertex) + 1] - begin);
  }

  /// Gives these vertices to these ranks, as many; both ascend.
  void divide(std::vector<int> vertices, const std::vector<int>& members, int level) {
    DUNLIN_ASSERT(vertices.size() == members.size());
    if (level == kLevelCount) {
      for (std::size_t i = 0; i < vertices.size(); ++i) ranks_[std::size_t(vertices[i])] = members[i];
      return;
    }
    const std::vector<std::vector<int>> groups = groups_of(places_, members, kLevels[level]);
    if (groups.size() == 1) return divide(std::move(vertices), members, level + 1);
    const int rest = ++parts_;
    for (const int vertex : vertices) at(vertex).part = rest;
    for (const int vertex : vertices) {
      at(vertex).outside = 0;
      for (const Arc& arc : arcs_of(vertex))
        if (at(arc.to).part == rest && arc.to != vertex) at(vertex).outside += arc.weight;
    }
    for (const std::vector<int>& group : groups) divide(grow(vertices, rest, group.size()), group, level + 1);
  }

  /// Takes a part of `size` out of `vertices`, which are those of the part `rest`.
  std::vector<int> grow(std::vector<int>& vertices, int rest, std::size_t size) {
    const int part = ++parts_;
    for (const int vertex : vertices) at(vertex).inside = 0;
    std::priority_queue<std::tuple<std::int64_t, int, int>> beside;  // gain, -since, -vertex: some outdated
    for (int taken = 0; taken < int(size);) {
      int next = -1;
      while (next < 0 && !beside.empty()) {
        const auto [gain, since, vertex] = beside.top();
        beside.pop();
        if (at(-vertex).part == rest && at(-vertex).gain() == gain) next = -vertex;
      }
      if (next < 0) next = first_of(vertices, rest);
      at(next).part = part;
      ++taken;
      for (const Arc& arc : arcs_of(next)) {
        Vertex& other = at(arc.to);
        if (other.part != rest) continue;
        if (other.inside == 0) other.since = taken;
        other.inside += arc.weight;
        other.outside -= arc.weight;
        if (other.inside > 0) beside.emplace(other.gain(), -other.since, -arc.to);
      }
    }
    std::vector<int> grown;
    for (const int vertex : vertices)
      if (at(vertex).part == part) grown.push_back(vertex);
    std::erase_if(vertices, [&](int vertex) { return at(vertex).part == part; });
    return grown;
  }

  /// At the rim: with least weight to others, but some.
  int first_of(const std::vector<int>& vertices, int rest) noexcept {
    int best = -1;
    for (const int vertex : vertices) {
      if (at(vertex).part != rest) continue;
      const std::int64_t outside = at(vertex).outside;
      if (best < 0 || (outside > 0 && (at(best).outside == 0 || outside < at(best).outside))) best = vertex;
    }
    DUNLIN_ASSERT(best >= 0);
    return best;
  }

  const Places places_;
  std::vector<Vertex> vertices_;
  std::vector<int> ranks_;  // by vertex
  std::vector<std::size_t> begins_;
  std::vector<Arc> arcs_;
  int parts_ = 0;
};

/// Weight between nodes, inside these between memory nodes, inside these between caches.
std::array<std::int64_t, kLevelCount> cut(Places places, std::span<const Edge> edges,
                                          const std::vector<int>& ranks) {
  std::array<std::int64_t, kLevelCount> weights{};
  for (const Edge& edge : edges) {
    const coll::MemberPlace& from = places[std::size_t(ranks[std::size_t(edge.from)])];
    const coll::MemberPlace& to = places[std::size_t(ranks[std::size_t(edge.to)])];
    int level = 0;
    while (level < kLevelCount && from.*kLevels[level] == to.*kLevels[level]) ++level;
    if (level < kLevelCount) weights[std::size_t(level)] += edge.weight;
  }
  return weights;
}

}  // namespace

std::vector<int> ranks_of_graph(Places places, std::span<const Edge> edges) {
  const std::vector<int> old = first_ranks(int(places.size()));
  if (!is_order_of_use(places)) return old;
  std::vector<int> found = Placement(places, edges).find();
  return cut(places, edges, found) < cut(places, edges, old) ? found : old;
}

bool is_order_of_use(Places places) {
  std::vector<std::vector<int>> groups{first_ranks(int(places.size()))};
  for (const Level level : kLevels) {
    std::vector<std::vector<int>> finer;
    for (const std::vector<int>& group : groups)
      for (std::vector<int>& each : groups_of(places, group, level)) finer.push_back(std::move(each));
    if (finer.size() > 1 && finer.size() < places.size()) return true;
    groups = std::move(finer);
  }
  return false;
}

}  // namespace dunlin::comm
