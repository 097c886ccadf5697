#include "io/together.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "datatype/copy.hpp"
#include "rma/functions.hpp"

namespace dunlin::io {

Roles Roles::of(const OpenFile& file) noexcept {
  constexpr std::int64_t kSeveralNodes = 64;  // each node has a copy of all their windows
  const Hints& hints = file.hints;
  const std::int64_t nodes = file.nodes->domains(), most = nodes * file.nodes->leaders_max();
  const std::int64_t good = nodes == 1 ? most : std::max(kSeveralNodes, nodes);
  const std::int64_t unit = hints.striping_unit;
  return {file.nodes.get(), int(std::min(hints.cb_nodes > 0 ? hints.cb_nodes : good, most)),
          std::max(hints.cb_buffer_size / unit, std::int64_t{1}) * unit};
}

Together::Together(OpenFile& file, const Access& access, std::span<const Part> parts) noexcept
    : file_(file),
      access_(access),
      memory_bytes_(std::int64_t(access.memory.bytes())),
      roles_(Roles::of(file)),
      node_(file.nodes->domain_of(file.comm->rank)),
      rank_(file.comm->rank),
      low_(INT64_MAX),
      high_(0),
      of_nodes_(std::size_t(file.nodes->domains()), Range{INT64_MAX, 0}) {
  for (int rank = 0; rank < file.comm->size; ++rank) {
    const Part& part = parts[std::size_t(rank)];
    if (part.bytes == 0) continue;
    Range& node = of_nodes_[std::size_t(file.nodes->domain_of(rank))];
    node = {std::min(node.low, part.low), std::max(node.high, part.high)};
    low_ = std::min(low_, part.low);
    high_ = std::max(high_, part.high);
  }
  low_ -= low_ % file.hints.striping_unit;
  find_windows(parts);
  for (int aggregator = 0; aggregator < aggregators(); ++aggregator)
    if (roles_.rank_of(aggregator) == rank_) mine_ = aggregator;
  for (std::size_t place = 0; place < file.nodes->members(node_).size(); ++place) {
    MPI_Aint size = 0;
    std::int64_t unit = 0;
    void* at = nullptr;
    (void)rma::win_shared_query(*file.buffers, int(place), &size, &unit, &at);
    memory_.push_back(static_cast<std::byte*>(at));
  }
  if (file.nodes->domains() > 1) arrived_.reset(new std::byte[Window::memory_bytes(roles_.window_bytes)]);
}

std::int64_t Together::rounds() const noexcept { return (windows() - 1) / aggregators() + 1; }

/// Those between the parts of the ranks may be many more.
void Together::find_windows(std::span<const Part> parts) noexcept {
  std::vector<Stretch> each;
  for (const Part& part : parts)
    if (part.bytes > 0)
      each.push_back(
          {(part.low - low_) / roles_.window_bytes, (part.high - 1 - low_) / roles_.window_bytes + 1, 0});
  std::sort(each.begin(), each.end(), [](const Stretch& a, const Stretch& b) { return a.first < b.first; });
  for (const Stretch& next : each) {
    if (!stretches_.empty() && next.first <= stretches_.back().end)
      stretches_.back().end = std::max(stretches_.back().end, next.end);
    else
      stretches_.push_back({next.first, next.end, stretches_.empty() ? 0 : windows()});
  }
  DUNLIN_ASSERT(!stretches_.empty());
}

/// The window of an aggregator.
Together::Range Together::range(std::int64_t round, int aggregator) const noexcept {
  const std::int64_t number = round * aggregators() + aggregator;
  if (number >= windows()) return {high_, high_};
  const auto next = std::partition_point(stretches_.begin(), stretches_.end(),
                                         [&](const Stretch& each) { return each.before <= number; });
  const Stretch& stretch = *std::prev(next);
  const std::int64_t low = low_ + (stretch.first + number - stretch.before) * roles_.window_bytes;
  return {low, low + std::min(roles_.window_bytes, high_ - low)};
}

/// This node's copy of it.
Window Together::copy(std::int64_t round, int aggregator) const noexcept {
  const int slot = 2 * roles_.slot(node_, aggregator) + int(round % 2);
  std::byte* const memory = memory_[std::size_t(roles_.holder_place(node_, aggregator))];
  return {memory + std::size_t(slot) * Window::memory_bytes(roles_.window_bytes), roles_.window_bytes};
}

/// This rank's positions in a range of the file, beginning with that of its first byte.
Together::Range Together::positions(Range range) const noexcept {
  const auto at = [this](std::int64_t offset) {
    return std::clamp(access_.file.position_at(offset), access_.position, access_.position + memory_bytes_);
  };
  if (range.is_empty() || memory_bytes_ == 0) return {0, 0};
  return {at(range.low), at(range.high)};
}

/// What the ranks of a node access of a window, as offsets in it, in whole words of bits.
Together::Range Together::wanted(int node, std::int64_t round, int aggregator) const noexcept {
  const Range window = range(round, aggregator), both = window.both(of_nodes_[std::size_t(node)]);
  if (both.is_empty()) return {0, 0};
  return {(both.low - window.low) & -Window::kUnit,
          (both.high - window.low + Window::kUnit - 1) & -Window::kUnit};
}

void Together::fill(std::int64_t round) noexcept {
  for (int step = 0; step < aggregators(); ++step) {
    const int aggregator = (rank_ + step) % aggregators();  // no two ranks begin with the same
    const Range of_file = range(round, aggregator), mine = positions(of_file);
    if (mine.is_empty()) continue;
    const Window to = copy(round, aggregator);
    copy_between(access_.memory.source(), std::size_t(mine.low - access_.position),
                 access_.file.target(to.data() - of_file.low), std::size_t(mine.low),
                 std::size_t(mine.high - mine.low));
    Cursor runs = access_.file.runs(mine.low);
    Piece pieces[128];
    for (std::int64_t at = mine.low; at < mine.high; at = std::int64_t(runs.position())) {
      const std::size_t n = runs.pieces(pieces, std::size_t(mine.high - at));
      for (std::size_t i = 0; i < n; ++i) {
        const auto offset = reinterpret_cast<std::int64_t>(pieces[i].address) - of_file.low;
        to.mark(offset, offset + std::int64_t(pieces[i].bytes));
      }
    }
  }
  outcome_.bytes = memory_bytes_;
}

void Together::write_mine(std::int64_t round) noexcept {
  if (mine_ < 0 || range(round, mine_).is_empty()) return;
  const Range of_file = range(round, mine_);
  const Window window = copy(round, mine_);
  const std::int64_t end = of_file.high - of_file.low;
  std::int64_t runs = 0, bytes = 0, first = 0, last = 0;
  Window::for_each_run(window.bits(), end, [&](std::int64_t from, std::int64_t to) {
    if (runs++ == 0) first = from;
    bytes += to - from;
    last = to;
    return true;
  });
  const bool is_done =
      file_.storage.wants_window(Direction::write, runs, bytes, last - first) &&
      file_.storage.try_change(of_file.low + first, of_file.low + last, false, [&](std::byte* changed) {
        Window::for_each_run(window.bits(), end, [&](std::int64_t from, std::int64_t to) {
          std::memcpy(changed + from - first, window.data() + from, std::size_t(to - from));
          return true;
        });
      });
  if (!is_done)
    Window::for_each_run(window.bits(), end, [&](std::int64_t from, std::int64_t to) {
      return move_run(window.data() + from, of_file.low + from, to - from).reason == 0;
    });
  std::memset(window.bits(), 0, std::size_t(roles_.window_bytes) / 8);
}

void Together::read_mine(std::int64_t round) noexcept {
  if (mine_ < 0 || range(round, mine_).is_empty()) return;
  const Range of_file = range(round, mine_);
  const Window window = copy(round, mine_);
  const Outcome read = move_run(window.data(), of_file.low, of_file.high - of_file.low);
  window.head() = {read.bytes, read.reason};
}

void Together::pick(std::int64_t round) noexcept {
  for (int step = 0; step < aggregators(); ++step) {
    const int aggregator = (rank_ + step) % aggregators();
    const Range of_file = range(round, aggregator), mine = positions(of_file);
    if (mine.is_empty()) continue;
    const Window from = copy(round, aggregator);
    const Window::Head head = from.head();
    if (head.reason != 0) {
      read_alone(mine);
      continue;
    }
    const Range found = positions({of_file.low, of_file.low + head.there});
    if (!found.is_empty()) {
      copy_between(access_.file.source(from.data() - of_file.low), std::size_t(found.low),
                   access_.memory.target(), std::size_t(found.low - access_.position),
                   std::size_t(found.high - found.low));
      outcome_.bytes += found.high - found.low;
    }
  }
}

/// What an aggregator could not read may lie between this rank's pieces.
void Together::read_alone(Range mine) noexcept {
  const auto bytes = std::size_t(mine.high - mine.low);
  const std::unique_ptr<std::byte[]> data(new std::byte[bytes]);
  const coll::Block memory = coll::Block::of_bytes(data.get(), bytes);
  const Outcome read = file_.storage.move({Direction::read, memory, access_.file, mine.low, false});
  copy_between(memory.source(), 0, access_.memory.target(), std::size_t(mine.low - access_.position),
               std::size_t(read.bytes));
  outcome_.bytes += read.bytes;
  note(read);
}

void Together::note(const Outcome& outcome) noexcept {
  if (outcome.reason == 0 || (outcome_.reason != 0 && outcome_.offset <= outcome.offset)) return;
  outcome_.reason = outcome.reason;
  outcome_.offset = outcome.offset;
}

Outcome Together::outcome() const noexcept {
  if (outcome_.reason == 0) return outcome_;
  const Range before = positions({low_, outcome_.offset});
  return {before.high - before.low, outcome_.reason, outcome_.offset};
}

/// In step k with the nodes that are k before and k behind: then nobody waits for who waits for it.
coll::Task Together::exchange(coll::Cx cx, Together* self, std::int64_t round) {
  const Roles& roles = self->roles_;
  const int nodes = roles.nodes->domains(), node = self->node_;
  const bool is_write = self->is_write();
  for (int step = 1; step < nodes; ++step) {
    const int ahead = (node + step) % nodes, behind = (node - step + nodes) % nodes;
    // Writing, copies go to the node ahead, whose aggregators' they are; reading, they come from it.
    for (int a = ahead; a < self->aggregators(); a += nodes) {
      if (roles.holder(node, a) != cx.rank) continue;
      self->post(cx, is_write, self->copy(round, a), self->wanted(node, round, a), roles.rank_of(a));
    }
    const bool is_mine = self->mine_ >= 0;
    const auto theirs = is_mine ? self->wanted(behind, round, self->mine_) : Range{0, 0};
    if (is_mine) {
      const Window arrived(self->arrived_.get(), roles.window_bytes);
      const Window window = is_write ? arrived : self->copy(round, self->mine_);
      self->post(cx, !is_write, window, theirs, roles.holder(behind, self->mine_));
    }
    co_await cx.all();
    if (!is_write) continue;
    if (is_mine) self->merge(round, theirs);
    for (int a = ahead; a < self->aggregators(); a += nodes)
      if (roles.holder(node, a) == cx.rank)
        std::memset(self->copy(round, a).bits(), 0, std::size_t(roles.window_bytes) / 8);
  }
  co_return Err::ok;
}

/// A range of a window: its head reading, its bits writing, and its data.
void Together::post(const coll::Cx& cx, bool is_send, const Window& window, Range range,
                    int rank) const noexcept {
  if (range.is_empty()) return;
  const auto one = [&](const void* at, std::int64_t bytes) {
    auto* const bytes_at = static_cast<std::byte*>(const_cast<void*>(at));
    if (is_send)
      cx.post_send(Source{bytes_at, std::size_t(bytes), nullptr, 0}, rank);
    else
      cx.post_recv(Target{bytes_at, std::size_t(bytes), nullptr, 0}, rank);
  };
  if (is_write())
    one(window.bits() + range.low / 64, (range.high - range.low) / 8);
  else
    one(&window.head(), sizeof(Window::Head));
  one(window.data() + range.low, range.high - range.low);
}

/// What has arrived goes into this rank's window.
void Together::merge(std::int64_t round, Range range) noexcept {
  if (range.is_empty()) return;
  const Window from(arrived_.get(), roles_.window_bytes), to = copy(round, mine_);
  Window::for_each_run(
      from.bits() + range.low / 64, range.high - range.low, [&](std::int64_t begin, std::int64_t end) {
        std::memcpy(to.data() + range.low + begin, from.data() + range.low + begin, std::size_t(end - begin));
        to.mark(range.low + begin, range.low + end);
        return true;
      });
}

/// One run of the file.
Outcome Together::move_run(std::byte* at, std::int64_t offset, std::int64_t bytes) noexcept {
  const Tiling bytes_of_file(0, *from_handle<Datatype>(MPI_BYTE));
  const Outcome moved = file_.storage.move(
      {access_.direction, coll::Block::of_bytes(at, std::size_t(bytes)), bytes_of_file, offset, false});
  if (is_write()) note(moved);
  return moved;
}

}  // namespace dunlin::io
