// Two phases (R. Thakur, W. Gropp, E. Lusk: "Data sieving and collective I/O in ROMIO", Frontiers 1999), with
// shared memory in place of messages.
//
// The part of the file that all ranks access is cut into windows, which ranks take in turn.  Writing, every
// rank copies its pieces of a round's windows straight from the program's buffer into the shared buffers of
// their ranks, as the view lays them out; after a barrier each rank writes its window.  Reading is the same
// backwards.  Each rank has two buffers, so that one barrier a round is enough: who fills a buffer again
// knows by the barrier between that its last contents have been used.
//
// A bit for each byte of a window says which bytes somebody has written, so that holes stay as they are in
// the file: nothing is read before it is written, and nobody has to be locked out.
//
// Cost for n bytes of p ranks: 3 n / p bytes copied by each rank, one of it by the kernel, and a barrier for
// every p windows.
#include "io/collective.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "base/variable.hpp"
#include "coll/agree.hpp"
#include "coll/functions.hpp"
#include "datatype/copy.hpp"
#include "datatype/layout.hpp"
#include "rma/functions.hpp"

namespace dunlin::io {
namespace {

WordVariable way{"FILE_COLLECTIVE", "auto", "auto|independent|two_phase",
                 "collective accesses to files: each rank for itself, or all together"};
IntVariable window_bytes{"FILE_COLLECTIVE_BYTES",
                         1 << 20,
                         "bytes",
                         "how much of a file one rank handles at once in a collective access",
                         4096,
                         64 << 20};
IntVariable piece_bytes{
    "FILE_COLLECTIVE_PIECE_BYTES", 1536, "bytes",
    "collective accesses go together where the pieces of the file are at most this long on average", 0};

std::int64_t window_size() noexcept { return window_bytes.get() & -std::int64_t{64}; }

/// What each rank tells of its access.
struct Part {
  std::int64_t low, high;  // offsets
  std::int64_t bytes;
  std::int64_t run_bytes;  // on average
  std::int64_t can_join;   // offsets grow, and nothing has to be atomic
  std::int64_t can_map;    // it would write short pieces well alone
};

Part part_of(const OpenFile& file, const Access& access) noexcept {
  const auto bytes = std::int64_t(access.memory.bytes());
  const Datatype& type = access.file.type();
  const std::int64_t runs = std::max(type.layout().runs, std::int64_t{1});
  return {access.file.offset_of(access.position),
          access.file.end_of(access.position, bytes),
          bytes,
          access.file.is_contiguous() ? bytes : type.size() / runs,
          access.file.is_monotonic() && !access.is_atomic,
          file.storage.can_map()};
}

/// The part of the file that all access, and whether together: the same on all ranks.
struct Plan {
  std::int64_t low = INT64_MAX, high = 0;
  bool is_together = false;

  Plan(const std::vector<Part>& all, Direction direction) noexcept {
    std::int64_t bytes = 0, spans = 0, longest = 0;
    bool can_join = true, can_map = true;
    for (const Part& part : all) {
      if (part.bytes == 0) continue;
      low = std::min(low, part.low);
      high = std::max(high, part.high);
      bytes += part.bytes;
      spans += part.high - part.low;
      longest = std::max(longest, part.run_bytes);
      can_join = can_join && part.can_join;
      can_map = can_map && part.can_map;
    }
    if (way.index() == 1 || all.size() < 2 || bytes == 0 || !can_join) return;
    if (way.index() == 2) {
      is_together = true;
      return;
    }
    constexpr std::int64_t kDensity = 8;  // of what is read, at least an eighth is wanted
    // Writing alone, every rank maps the pages of all: of 4 ranks that is as fast, of 8 half as fast.
    constexpr std::int64_t kRanksAlone = 6;
    const bool is_interleaved = spans > high - low;
    const bool is_dense = bytes >= (high - low) / kDensity;
    const bool is_worth_it = longest <= piece_bytes.get();
    is_together = is_interleaved && is_dense && is_worth_it &&
                  (direction == Direction::read || !can_map || spans >= kRanksAlone * (high - low));
  }
};

/// One window's memory, which all ranks reach.
struct Window {
  struct Head {
    std::int64_t there;   // reading: how many bytes the file had
    std::int64_t reason;  // reading: errno
  };
  static std::size_t bytes() noexcept {
    return 64 + std::size_t(window_size()) + std::size_t(window_size()) / 8;
  }
  Head* head;
  std::byte* data;
  std::uint64_t* written;  // a bit for each byte

  explicit Window(std::byte* at) noexcept
      : head(reinterpret_cast<Head*>(at)),
        data(at + 64),
        written(reinterpret_cast<std::uint64_t*>(at + 64 + window_size())) {}

  /// Bytes [from, to) have been written.  Other ranks may own other bits of the same words.
  void mark(std::int64_t from, std::int64_t to) const noexcept {
    while (from < to) {
      const std::int64_t word = from / 64, end = std::min(to, (word + 1) * 64);
      const std::uint64_t ones =
          end - from == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (end - from)) - 1;
      const std::atomic_ref<std::uint64_t> bits(written[word]);
      // Relaxed: the barrier orders it before the look at all bits.
      if (~ones == 0)
        bits.store(ones, std::memory_order_relaxed);
      else
        bits.fetch_or(ones << (from % 64), std::memory_order_relaxed);
      from = end;
    }
  }
  /// The first byte from `from` on that is written, or is not; `end` where there is none.
  std::int64_t find(bool is_written, std::int64_t from, std::int64_t end) const noexcept {
    while (from < end) {
      const std::uint64_t word = is_written ? written[from / 64] : ~written[from / 64];
      const std::uint64_t rest = word >> (from % 64);
      if (rest != 0) return std::min(from + std::countr_zero(rest), end);
      from = (from / 64 + 1) * 64;
    }
    return end;
  }
};

class Together {
 public:
  Together(OpenFile& file, const Access& access, const Plan& plan) noexcept
      : file_(file),
        comm_(*file.comm),
        access_(access),
        memory_bytes_(std::int64_t(access.memory.bytes())),
        low_(plan.low & -std::int64_t{4096}),
        high_(plan.high),
        bytes_(window_size()) {
    for (int rank = 0; rank < comm_.size; ++rank) {
      MPI_Aint size = 0;
      std::int64_t unit = 0;
      void* at = nullptr;
      (void)rma::win_shared_query(*file.buffers, rank, &size, &unit, &at);
      buffers_.push_back(static_cast<std::byte*>(at));
    }
  }

  Err run() noexcept {
    const std::int64_t windows = (high_ - low_ + bytes_ - 1) / bytes_;
    for (std::int64_t round = 0; round * comm_.size < windows; ++round) {
      const bool is_write = access_.direction == Direction::write;
      is_write ? fill(round) : read_mine(round);
      if (const Err e = coll::barrier(comm_); e != Err::ok) return e;
      is_write ? write_mine(round) : pick(round);
    }
    return Err::ok;
  }
  const Outcome& outcome() const noexcept { return outcome_; }

 private:
  struct Range {
    std::int64_t low, high;
  };
  Range range(std::int64_t round, int rank) const noexcept {
    const std::int64_t low = low_ + (round * comm_.size + rank) * bytes_;
    return {low, std::min(low + bytes_, high_)};
  }
  Window window(std::int64_t round, int rank) const noexcept {
    return Window(buffers_[std::size_t(rank)] + std::size_t(round % 2) * Window::bytes());
  }
  /// This rank's positions in a range of the file, beginning with that of its first byte.
  Range positions(Range range) const noexcept {
    const auto at = [this](std::int64_t offset) {
      return std::clamp(access_.file.position_at(offset), access_.position, access_.position + memory_bytes_);
    };
    if (range.low >= range.high || memory_bytes_ == 0) return {0, 0};
    return {at(range.low), at(range.high)};
  }
  /// No two ranks begin with the same window.
  int member(int step) const noexcept { return (comm_.rank + step) % comm_.size; }

  void fill(std::int64_t round) noexcept {
    for (int step = 0; step < comm_.size; ++step) {
      const Range of_file = range(round, member(step)), mine = positions(of_file);
      if (mine.low == mine.high) continue;
      const Window to = window(round, member(step));
      copy_between(access_.memory.source(), std::size_t(mine.low - access_.position),
                   access_.file.target(to.data - of_file.low), std::size_t(mine.low),
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

  void write_mine(std::int64_t round) noexcept {
    const Range of_file = range(round, comm_.rank);
    if (of_file.low >= of_file.high) return;
    const Window mine = window(round, comm_.rank);
    const std::int64_t end = of_file.high - of_file.low;
    for (std::int64_t from = mine.find(true, 0, end); from < end && outcome_.reason == 0;) {
      const std::int64_t to = mine.find(false, from, end);
      move_run(mine.data + from, of_file.low + from, to - from);
      from = mine.find(true, to, end);
    }
    std::memset(mine.written, 0, std::size_t(bytes_) / 8);
  }

  void read_mine(std::int64_t round) noexcept {
    const Range of_file = range(round, comm_.rank);
    if (of_file.low >= of_file.high) return;
    const Window mine = window(round, comm_.rank);
    const Outcome read = move_run(mine.data, of_file.low, of_file.high - of_file.low);
    *mine.head = {read.bytes, read.reason};
  }

  void pick(std::int64_t round) noexcept {
    for (int step = 0; step < comm_.size; ++step) {
      const Range of_file = range(round, member(step));
      const Range wanted = positions(of_file);
      if (wanted.low == wanted.high) continue;
      const Window from = window(round, member(step));
      const Range found = positions({of_file.low, of_file.low + from.head->there});
      if (found.low < found.high)
        copy_between(access_.file.source(from.data - of_file.low), std::size_t(found.low),
                     access_.memory.target(), std::size_t(found.low - access_.position),
                     std::size_t(found.high - found.low));
      outcome_.bytes += found.high - found.low;
      if (from.head->reason != 0) outcome_.reason = int(from.head->reason);
      if (from.head->reason != 0) outcome_.offset = of_file.low + from.head->there;
    }
  }

  /// One run of the file.
  Outcome move_run(std::byte* at, std::int64_t offset, std::int64_t bytes) noexcept {
    const Tiling bytes_of_file(0, *from_handle<Datatype>(MPI_BYTE));
    const Outcome moved = file_.storage.move(
        {access_.direction, coll::Block::of_bytes(at, std::size_t(bytes)), bytes_of_file, offset, false});
    if (access_.direction == Direction::write && moved.reason != 0) {
      outcome_.reason = moved.reason;
      outcome_.offset = moved.offset;
    }
    return moved;
  }

  OpenFile& file_;
  Comm& comm_;
  const Access& access_;
  const std::int64_t memory_bytes_;
  const std::int64_t low_, high_;  // of the file, all ranks'
  const std::int64_t bytes_;       // of a window
  std::vector<std::byte*> buffers_;
  Outcome outcome_;
};

/// Made by the first access that needs them.  Where ranks cannot share memory, false on all.
bool has_buffers(OpenFile& file) noexcept {
  if (file.buffers || file.has_no_buffers) return bool(file.buffers);
  Win* made = nullptr;
  void* memory = nullptr;
  const auto bytes = MPI_Aint(2 * Window::bytes());
  const Err error = rma::win_allocate(bytes, 1, nullptr, *file.comm, &memory, &made);
  file.has_no_buffers = error != Err::ok;
  if (error == Err::ok) file.buffers = Ref<Win>::adopt(made);
  return error == Err::ok;
}

}  // namespace

Outcome move_together(OpenFile& file, const Access& access) noexcept {
  if (file.comm->size == 1) return file.storage.move(access);
  const Plan plan(coll::gather_all(*file.comm, part_of(file, access)), access.direction);
  if (!plan.is_together || !has_buffers(file)) return file.storage.move(access);
  Together together(file, access, plan);
  Outcome outcome;
  if (together.run() == Err::ok) outcome = together.outcome();
  if (access.direction == Direction::read) return outcome;
  // What one rank could not write may be any rank's.
  for (const Outcome& each : coll::gather_all(*file.comm, outcome))
    if (each.reason != 0) outcome = {outcome.bytes, each.reason, each.offset};
  return outcome;
}

}  // namespace dunlin::io
