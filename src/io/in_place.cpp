#include "io/in_place.hpp"

#include <sys/uio.h>

#include <algorithm>

#include "base/variable.hpp"
#include "protocol/messaging.hpp"
#include "rma/functions.hpp"

namespace dunlin::io {
namespace {

IntVariable piece_bytes_min{"FILE_IN_PLACE_BYTES", 1024, "bytes",
                            "collective accesses of a node go straight between the buffers of all ranks and "
                            "the file where pieces are "
                            "at least this long on average",
                            1};
IntVariable density{
    "FILE_IN_PLACE_PERCENT", 75, "%", "and at least this part of what they lie in is wanted", 1, 100};
IntVariable pieces_each{"FILE_IN_PLACE_PIECES", 32, "", "and each rank has so many on average", 1};

constexpr std::int64_t kPieceBytesMax = 8192;  // longer ones are as fast one by one
constexpr std::int64_t kPartBytes = 16 << 20;  // of a round, by each rank
constexpr std::size_t kPieces = 256;           // moved at once

}  // namespace

bool InPlace::suits(const OpenFile& file, std::span<const Part> parts, Direction direction) noexcept {
  constexpr double kRanksAlone = 1.5;  // else hardly a piece lies between those of others
  const Choice choice = direction == Direction::read ? file.hints.cb_read : file.hints.cb_write;
  if (choice != Choice::automatic || file.nodes->domains() > 1) return false;
  std::int64_t low = INT64_MAX, high = 0, bytes = 0, pieces = 0, ranks = 0;
  double spans = 0;  // may be more than 2^63
  for (const Part& part : parts) {
    if (part.bytes == 0) continue;
    if (part.at == 0 || !part.can_join) return false;
    if (part.run_bytes < piece_bytes_min.get() || part.run_bytes > kPieceBytesMax) return false;
    low = std::min(low, part.low);
    high = std::max(high, part.high);
    bytes += part.bytes;
    pieces += part.bytes / part.run_bytes;
    spans += double(part.high - part.low);
    ++ranks;
  }
  const double span = double(high) - double(low);
  const bool has_room = high < INT64_MAX / 2;  // a round may end behind it
  return has_room && ranks > 1 && pieces >= ranks * pieces_each.get() && spans >= kRanksAlone * span &&
         double(bytes) * 100 >= span * double(density.get());
}

InPlace::InPlace(OpenFile& file, const Access& access, std::span<const Part> parts) noexcept
    : file_(file),
      access_(access),
      memory_bytes_(std::int64_t(access.memory.bytes())),
      window_bytes_(Roles::of(file).window_bytes),
      low_(INT64_MAX),
      high_(0),
      exposed_(access.memory.at, access.memory.bytes()) {
  double listed = 0;  // for each byte of the file, by the rank that lists most
  buffers_.resize(parts.size());
  protocol::Peers& peers = file.comm->messaging->peers;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    MPI_Aint size = 0;
    std::int64_t unit = 0;
    void* lists = nullptr;
    (void)rma::win_shared_query(*file.buffers, int(rank), &size, &unit, &lists);
    list_memory_.push_back(static_cast<std::byte*>(lists));
    const Part& part = parts[rank];
    if (part.bytes == 0) continue;
    low_ = std::min(low_, part.low);
    high_ = std::max(high_, part.high);
    listed = std::max(listed, double(part.bytes) / double(part.run_bytes) / double(part.high - part.low));
    Buffer& buffer = buffers_[rank];
    buffer.at = access.memory.at;
    if (int(rank) == file.comm->rank) continue;
    buffer.memory = peers.memory_of(peers.of(file.comm->target_members[rank]));
    if (buffer.memory) buffer.mapping = buffer.memory->map(part.at, std::size_t(part.bytes));
    buffer.at = buffer.mapping.at;
    is_good_ = is_good_ && buffer.mapping;
  }
  low_ -= low_ % file.hints.striping_unit;
  const auto ranks = std::int64_t(parts.size());
  const double fitting = double(capacity()) / 2 / listed;  // pieces need not lie evenly
  const std::int64_t most = std::min(ranks * kPartBytes, high_ - low_);
  const std::int64_t unit = ranks * file.hints.striping_unit;
  round_bytes_ = (std::int64_t(std::min(fitting, double(most))) / unit + 1) * unit;
}

/// Between its head and its bits, which others need to stay as they are.
Window InPlace::list_of(std::int64_t round, std::size_t rank) const noexcept {
  return {list_memory_[rank] + std::size_t(round % 2) * Window::memory_bytes(window_bytes_), window_bytes_};
}

void InPlace::list(std::int64_t round) noexcept {
  const Window window = list_of(round, std::size_t(file_.comm->rank));
  auto* const list = reinterpret_cast<Listed*>(window.data());
  const std::int64_t low = low_ + round * round_bytes_, begin = access_.position;
  const auto position = [&](std::int64_t offset) {
    return std::clamp(access_.file.position_at(offset), begin, begin + memory_bytes_);
  };
  const std::int64_t first = memory_bytes_ > 0 ? position(low) : begin;
  const std::int64_t end = memory_bytes_ > 0 ? position(std::min(low + round_bytes_, high_)) : begin;
  std::int64_t count = 0;
  if (first < end) {
    Cursor runs = access_.file.runs(first);
    Piece pieces[kPieces];
    for (std::int64_t at = first; at < end && count >= 0;) {
      const std::size_t n = runs.pieces(pieces, std::size_t(end - at));
      if (count + std::int64_t(n) > capacity()) {
        count = -1;
        break;
      }
      for (std::size_t i = 0; i < n; ++i) {
        const auto bytes = std::int64_t(pieces[i].bytes);
        list[count++] = {std::int64_t(reinterpret_cast<std::uintptr_t>(pieces[i].address)), at - begin,
                         bytes};
        at += bytes;
      }
    }
  }
  window.head().there = count;
}

/// Of each rank what lies at least in part in [from, to).
std::vector<InPlace::Next> InPlace::begin_lists(std::int64_t round, std::int64_t from,
                                                std::int64_t to) noexcept {
  std::vector<Next> lists;
  for (std::size_t rank = 0; rank < buffers_.size(); ++rank) {
    const Window window = list_of(round, rank);
    const std::int64_t count = window.head().there;
    is_good_ = is_good_ && count >= 0;
    if (count <= 0) continue;
    const auto* const list = reinterpret_cast<const Listed*>(window.data());
    const Listed* const end = list + count;
    const Listed* const first =
        std::partition_point(list, end, [&](const Listed& each) { return each.offset + each.bytes <= from; });
    if (first < end && first->offset < to) lists.push_back({std::max(first->offset, from), rank, first, end});
  }
  return lists;
}

void InPlace::move(std::int64_t round) noexcept {
  const std::int64_t part = round_bytes_ / std::int64_t(buffers_.size());
  const std::int64_t from = low_ + round * round_bytes_ + file_.comm->rank * part;
  const std::int64_t to = std::min(from + part, high_);
  if (from >= to) return;
  std::vector<Next> lists = begin_lists(round, from, to);
  is_good_ = is_good_ && move_between(from, to, lists);
}

bool InPlace::move_between(std::int64_t from, std::int64_t to, std::vector<Next>& lists) noexcept {
  iovec pieces[kPieces];
  int count = 0;
  std::int64_t begin = from, end = from;  // of what is listed in `pieces`
  const auto is_later = [](const Next& a, const Next& b) { return a.offset > b.offset; };
  const auto move_listed = [&] {
    return count == 0 || file_.storage.move_listed(access_.direction, {pieces, std::size_t(count)}, begin);
  };
  std::make_heap(lists.begin(), lists.end(), is_later);
  while (!lists.empty()) {
    std::pop_heap(lists.begin(), lists.end(), is_later);
    Next& next = lists.back();
    const Listed& listed = *next.first;
    const std::int64_t bytes = std::min(listed.offset + listed.bytes, to) - next.offset;
    if (count == int(kPieces) || next.offset != end) {
      if (!move_listed()) return false;
      count = 0;
      begin = next.offset;
    }
    pieces[count++] = {buffers_[next.rank].at + listed.at + (next.offset - listed.offset),
                       std::size_t(bytes)};
    end = next.offset + bytes;
    if (++next.first == next.end || next.first->offset >= to) {
      lists.pop_back();
    } else {
      next.offset = next.first->offset;
      std::push_heap(lists.begin(), lists.end(), is_later);
    }
  }
  return move_listed();
}

bool InPlace::is_done() const noexcept {
  return is_good_ && std::all_of(buffers_.begin(), buffers_.end(), [](const Buffer& buffer) {
           return !buffer.memory || buffer.memory->is_still_valid(buffer.mapping);
         });
}

}  // namespace dunlin::io
