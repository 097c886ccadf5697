#include "test/simulate/memory.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "peer/registration_cache.hpp"

namespace dunlin::test {
namespace {

using peer::Piece;
using peer::RemotePiece;

/// How one rank sees the memory of another.
class SimulatedMemory final : public peer::PeerMemory, private peer::Registrar {
 public:
  SimulatedMemory(RankMemory& owner, RankMemory& user) noexcept
      : owner_(owner), user_(user), cache_(*this, {}) {}
  const char* name() const noexcept override { return "simulated"; }
  bool can_map() const noexcept override { return owner_.weather().maps; }
  bool can_copy_anywhere() const noexcept override { return owner_.weather().reads; }
  peer::Mapping map(std::uint64_t at, std::size_t bytes) noexcept override {
    if (peer::Registration* const range = cache_.acquire(at, bytes)) cache_.release(range);
    return owner_.map(at, bytes);
  }
  peer::Held hold(std::uint64_t at, std::size_t bytes) noexcept override { return owner_.hold(at, bytes); }
  bool is_still_valid(const peer::Mapping& mapping) const noexcept override {
    user_.has_copied();
    return owner_.is_still_valid(mapping);
  }
  bool try_read(std::span<const Piece> to, std::span<const RemotePiece> from,
                std::uint64_t) noexcept override {
    std::vector<Piece> there;
    for (const RemotePiece& each : from) there.push_back({reinterpret_cast<std::byte*>(each.at), each.bytes});
    return try_copy(to, there);
  }
  bool try_write(std::span<const RemotePiece> to, std::span<const Piece> from,
                 std::uint64_t) noexcept override {
    std::vector<Piece> there;
    for (const RemotePiece& each : to) there.push_back({reinterpret_cast<std::byte*>(each.at), each.bytes});
    return try_copy(there, from);
  }

 private:
  bool try_copy(std::span<const Piece> to, std::span<const Piece> from) noexcept {
    if (to.empty() || !owner_.can_copy(to.front())) return false;
    std::size_t i = 0, done = 0;  // of `from`
    for (const Piece& piece : to)
      for (std::size_t written = 0; written < piece.bytes;) {
        DUNLIN_ASSERT(i < from.size());
        const std::size_t bytes = std::min(piece.bytes - written, from[i].bytes - done);
        std::memcpy(piece.at + written, from[i].at + done, bytes);
        owner_.note_by_kernel(bytes);
        written += bytes;
        done += bytes;
        if (done == from[i].bytes) ++i, done = 0;
      }
    return true;
  }

  bool try_register(std::uint64_t, std::uint64_t, std::uint64_t&) noexcept override {
    owner_.note_attached();
    return true;
  }
  void unregister(std::uint64_t, std::uint64_t, std::uint64_t) noexcept override {}

  RankMemory& owner_;
  RankMemory& user_;
  peer::RegistrationCache cache_;
};

}  // namespace

void RankMemory::add_buffer(const void* at, std::size_t bytes) {
  const bool is_shared = weather_.maps && !is_bare_ && network_.chance(weather_.shared);
  buffers_[reinterpret_cast<std::uintptr_t>(at)] = {bytes, is_shared};
}

void RankMemory::remove_buffer(const void* at) {
  const std::size_t removed = buffers_.erase(reinterpret_cast<std::uintptr_t>(at));
  DUNLIN_ASSERT(removed == 1);
}

RankMemory::Buffer* RankMemory::find(const void* at) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  auto after = buffers_.upper_bound(address);
  if (after == buffers_.begin()) return nullptr;
  auto& [start, buffer] = *--after;
  return address < start + buffer.bytes ? &buffer : nullptr;
}

std::unique_ptr<peer::PeerMemory> RankMemory::connect(int peer) noexcept {
  if (!weather_.maps && !weather_.reads) return nullptr;
  return std::make_unique<SimulatedMemory>(*all_[std::size_t(peer)], *this);
}

bool RankMemory::is_shared(const void* at, std::size_t) noexcept {
  const Buffer* const buffer = find(at);
  return buffer ? buffer->is_shared : weather_.maps;
}

peer::Mapping RankMemory::map(std::uint64_t at, std::size_t bytes) noexcept {
  auto* const here = reinterpret_cast<std::byte*>(at);
  network_.interrupt();
  if (!is_shared(here, bytes) || network_.chance(weather_.decline)) return {};
  const std::uint64_t generation = generation_;
  if (find(here) && network_.chance(weather_.fork)) return {fork(here, bytes), generation, &open_windows_};
  return {here, generation, &open_windows_};
}

/// This rank forks while a peer maps `bytes` at `mapped`; what the peer finds there from now on.
std::byte* RankMemory::fork(const std::byte* mapped, std::size_t bytes) noexcept {
  generation_ += 2;
  for (auto& [at, buffer] : buffers_) buffer.is_shared = false;
  std::vector<std::byte>& stale = stale_.emplace_back(mapped, mapped + bytes);
  if (!weather_.freezes)
    for (std::byte& each : stale) each ^= std::byte{0xff};
  return stale.data();
}

bool RankMemory::can_copy(const Piece& to) noexcept {
  network_.interrupt();
  if (weather_.reads && !network_.chance(weather_.decline)) return true;
  if (weather_.reads && to.bytes > 0) *to.at = std::byte{0x5a};  // a copy that fails may have begun
  return false;
}

}  // namespace dunlin::test
