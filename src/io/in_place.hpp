// Collective accesses to pieces of a page or so, of ranks that map each other's memory: each rank takes a
// part of the file, and reads or writes the pieces of all ranks there, straight in the programs' buffers.
//
// Pieces of several ranks that follow each other in the file are one call of the kernel with a list.  A call
// for each would cost more than its bytes, and writing, the kernel lets one process at a time into a file. In
// rounds, whose lists lie in the memory for windows (io/together.hpp):
//
//   1. every rank lists its pieces of the round: where in the file, where in its buffer, how long;
//   2. all have done so;
//   3. each rank merges the lists in its part of the round, and moves what they name.
//
// At the end all tell each other whether everything has been moved.  Where not (the file ends, an error, a
// list too long, memory that cannot be mapped or that a fork has moved), each rank does its whole access
// again, alone, and has its own outcome.
//
// Cost for n bytes in pieces of s: n / p bytes moved by each rank, n / (p * 256 * s) calls, two lists of 24
// bytes a piece, a barrier each round.
//
// Made by io/collective.cpp, which has the steps that wait.  Thread safety: made in the program's call; one
// step at a time, by any thread, without a lock.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/file.hpp"
#include "io/together.hpp"
#include "peer/lasting_mapping.hpp"

namespace dunlin::io {

class InPlace {
 public:
  /// Whether it is worth it; the same on all ranks.
  static bool suits(const OpenFile& file, std::span<const Part> parts, Direction direction) noexcept;
  InPlace(OpenFile& file, const Access& access, std::span<const Part> parts) noexcept;

  std::int64_t rounds() const noexcept { return (high_ - low_ - 1) / round_bytes_ + 1; }
  void list(std::int64_t round) noexcept;
  void move(std::int64_t round) noexcept;
  /// After the last round: whether this rank has moved everything in its part.
  bool is_done() const noexcept;

 private:
  struct Listed {
    std::int64_t offset;  // in the file
    std::int64_t at;      // in the rank's buffer
    std::int64_t bytes;
  };
  /// The buffer of a rank, as it lies here.
  struct Buffer {
    std::byte* at = nullptr;
    peer::PeerMemory* memory = nullptr;  // null: this rank's own, or nothing
    peer::Mapping mapping;
  };
  /// What comes next of a rank's list.
  struct Next {
    std::int64_t offset;
    std::size_t rank;
    const Listed *first, *end;
  };
  Window list_of(std::int64_t round, std::size_t rank) const noexcept;
  std::int64_t capacity() const noexcept { return window_bytes_ / std::int64_t(sizeof(Listed)); }
  std::vector<Next> begin_lists(std::int64_t round, std::int64_t from, std::int64_t to) noexcept;
  bool move_between(std::int64_t from, std::int64_t to, std::vector<Next>& lists) noexcept;

  OpenFile& file_;
  const Access& access_;
  const std::int64_t memory_bytes_, window_bytes_;
  std::int64_t low_, high_;              // of the file, all ranks'
  std::int64_t round_bytes_;             // of the file
  std::vector<std::byte*> list_memory_;  // by rank
  std::vector<Buffer> buffers_;          // by rank
  peer::Exposed exposed_;                // this rank's
  bool is_good_ = true;
};

}  // namespace dunlin::io
