#include "rma/accumulate.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>

#include "base/assert.hpp"

namespace dunlin::rma {
namespace {

using op::Operator;

template <class Word>
Word load(const std::byte* from) noexcept {
  Word value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// `change(element, i)` answers what the i-th element was.
template <class Word, class Change>
void for_each_word(const Piece& run, std::byte* before, const Change& change) noexcept {
  auto* const words = reinterpret_cast<Word*>(run.address);
  const std::size_t count = run.bytes / sizeof(Word);
  for (std::size_t i = 0; i < count; ++i) {
    const Word old = change(words[i], i * sizeof(Word));
    if (before) std::memcpy(before + i * sizeof(Word), &old, sizeof old);
  }
}

/// hot path: one instruction an element, but for the operators that need a loop around one.  Sequentially
/// consistent: the standard orders accumulates of one origin, and this costs nothing more on x86-64.
template <class Word>
void combine_words(const Op& op, const Datatype& type, const Piece& run, const std::byte* operand,
                   std::byte* before) noexcept {
  const auto at = [&](std::size_t offset) noexcept { return load<Word>(operand + offset); };
  switch (op.operation()) {
    case Operator::sum:
      return for_each_word<Word>(run, before, [&](Word& word, std::size_t i) noexcept {
        return __atomic_fetch_add(&word, at(i), __ATOMIC_SEQ_CST);
      });
    case Operator::band:
      return for_each_word<Word>(run, before, [&](Word& word, std::size_t i) noexcept {
        return __atomic_fetch_and(&word, at(i), __ATOMIC_SEQ_CST);
      });
    case Operator::bor:
      return for_each_word<Word>(run, before, [&](Word& word, std::size_t i) noexcept {
        return __atomic_fetch_or(&word, at(i), __ATOMIC_SEQ_CST);
      });
    case Operator::bxor:
      return for_each_word<Word>(run, before, [&](Word& word, std::size_t i) noexcept {
        return __atomic_fetch_xor(&word, at(i), __ATOMIC_SEQ_CST);
      });
    case Operator::no_op:
      return for_each_word<Word>(run, before, [](Word& word, std::size_t) noexcept {
        return __atomic_load_n(&word, __ATOMIC_SEQ_CST);
      });
    case Operator::replace:
      return for_each_word<Word>(run, before, [&](Word& word, std::size_t i) noexcept {
        if (before) return __atomic_exchange_n(&word, at(i), __ATOMIC_SEQ_CST);
        __atomic_store_n(&word, at(i), __ATOMIC_RELEASE);
        return Word{};
      });
    default:
      return for_each_word<Word>(run, before, [&](Word& word, std::size_t i) noexcept {
        Word old = __atomic_load_n(&word, __ATOMIC_RELAXED);
        Word made;
        do {
          op.combine3(operand + i, &old, &made, 1, type);
        } while (!__atomic_compare_exchange_n(&word, &old, made, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
        return old;
      });
  }
}

/// Whether the processor does it; then it is done.
bool try_combine_words(const Op& op, const Datatype& type, const Piece& run, const std::byte* operand,
                       std::byte* before) noexcept {
  const std::size_t bytes = word_bytes_at(run.address, type.basic());
  if (bytes == 0) return false;
  if (bytes == 4)
    combine_words<std::uint32_t>(op, type, run, operand, before);
  else
    combine_words<std::uint64_t>(op, type, run, operand, before);
  return true;
}

/// A pair with a gap (MPI_DOUBLE_INT) as memory and as packed bytes.
class Pair {
 public:
  explicit Pair(const Datatype& type) noexcept : type_(type) {}
  std::byte* memory() noexcept { return memory_; }
  void read(const std::byte* packed) noexcept {
    Cursor(type_, 1, memory_).unpack(packed, std::size_t(type_.size()));
  }
  void write(std::byte* packed) noexcept {
    Cursor(type_, 1, memory_).pack(packed, std::size_t(type_.size()));
  }

 private:
  const Datatype& type_;
  alignas(16) std::byte memory_[32] = {};
};

/// `use(part)` for each part of a run whose elements begin in one stripe.
template <class Use>
void for_each_stripe(const Elements& elements, Piece run, const Use& use) noexcept {
  const auto size = std::size_t(elements.type.size());
  while (run.bytes > 0) {
    const std::uint64_t left =
        ElementLocks::kStripeBytes - elements.offset_of(run.address) % ElementLocks::kStripeBytes;
    const std::size_t bytes = std::min<std::size_t>((left + size - 1) & -size, run.bytes);
    use(Piece{run.address, bytes});
    run = {run.address + bytes, run.bytes - bytes};
  }
}

/// Moves between packed bytes and the element that begins at `runs`, `done` bytes into the first of them.
class Scattered {
 public:
  Scattered(std::span<const Piece> runs, std::size_t done, std::size_t bytes) noexcept
      : runs_(runs), done_(done), bytes_(bytes) {}
  void read(std::byte* packed) const noexcept {
    each([&](const Piece& piece, std::size_t at) { std::memcpy(packed + at, piece.address, piece.bytes); });
  }
  void write(const std::byte* packed) const noexcept {
    each([&](const Piece& piece, std::size_t at) { std::memcpy(piece.address, packed + at, piece.bytes); });
  }

 private:
  template <class Use>
  void each(const Use& use) const noexcept {
    std::size_t skipped = done_;
    for (std::size_t at = 0, i = 0; at < bytes_; ++i) {
      DUNLIN_ASSERT(i < runs_.size());
      const std::size_t bytes = std::min(runs_[i].bytes - skipped, bytes_ - at);
      use(Piece{runs_[i].address + skipped, bytes}, at);
      at += bytes;
      skipped = 0;
    }
  }
  const std::span<const Piece> runs_;
  const std::size_t done_, bytes_;
};

/// Elements whose kernels want them as they lie in memory, with their gap: one by one.
void combine_pairs(const Elements& elements, const Op& op, const std::byte* operand,
                   std::byte* before) noexcept {
  const auto size = std::size_t(elements.type.size());
  std::span<const Piece> runs = elements.runs;
  std::size_t done = 0;  // bytes of the first of them
  Pair given(elements.type), kept(elements.type);
  alignas(16) std::byte packed[32];
  while (!runs.empty()) {
    const Scattered element(runs, done, size);
    {
      const std::lock_guard hold(elements.lock_of(runs.front().address + done));
      element.read(packed);
      if (before) std::memcpy(before, packed, size);
      if (op.operation() == Operator::replace) {
        element.write(operand);
      } else if (op.operation() != Operator::no_op) {
        given.read(operand);
        kept.read(packed);
        op.combine(given.memory(), kept.memory(), 1, elements.type);
        kept.write(packed);
        element.write(packed);
      }
    }
    if (operand) operand += size;
    if (before) before += size;
    for (done += size; !runs.empty() && done >= runs.front().bytes; runs = runs.subspan(1))
      done -= runs.front().bytes;
  }
}

}  // namespace

void Elements::combine(const Op& op, const std::byte* operand, std::byte* before) const noexcept {
  if (!type.is_contiguous()) return combine_pairs(*this, op, operand, before);
  // A power of two, as of all types without gaps: a division would cost more than the operation.
  const auto size = std::size_t(type.size());
  DUNLIN_ASSERT((size & (size - 1)) == 0);
  for (const Piece& run : runs) {
    DUNLIN_ASSERT((run.bytes & (size - 1)) == 0);
    if (try_combine_words(op, type, run, operand, before)) {
      if (operand) operand += run.bytes;
      if (before) before += run.bytes;
      continue;
    }
    for_each_stripe(*this, run, [&](const Piece& part) noexcept {
      combine_under_lock(op, part, operand, before);
      if (operand) operand += part.bytes;
      if (before) before += part.bytes;
    });
  }
}

void Elements::compare_and_swap(const std::byte* expected, const std::byte* value,
                                std::byte* before) const noexcept {
  DUNLIN_ASSERT(runs.size() == 1);
  const Piece& run = runs.front();
  if (const std::size_t bytes = word_bytes_at(run.address, type.basic()); bytes > 0)
    return swap_word(bytes, run.address, expected, value, before);
  const std::lock_guard hold(lock_of(run.address));
  const bool is_equal = std::memcmp(run.address, expected, run.bytes) == 0;
  std::memcpy(before, run.address, run.bytes);
  if (is_equal) std::memcpy(run.address, value, run.bytes);
}

std::size_t next_runs(Cursor& cursor, std::span<Piece> runs, std::size_t element_bytes,
                      std::size_t bytes_max) noexcept {
  const std::size_t begin = cursor.position();
  std::size_t count = cursor.pieces(runs, bytes_max / element_bytes * element_bytes);
  std::size_t surplus = (cursor.position() - begin) % element_bytes;  // of an element that is cut
  cursor.seek(cursor.position() - surplus);
  while (surplus > 0) {
    Piece& last = runs[count - 1];
    const std::size_t part = last.bytes < surplus ? last.bytes : surplus;
    last.bytes -= part;
    surplus -= part;
    if (last.bytes == 0) --count;
  }
  return count;
}

}  // namespace dunlin::rma
