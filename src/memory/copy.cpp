// hot path: one load of the kernel table and two compares before a copy.
#include "memory/copy.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/assert.hpp"
#include "base/variable.hpp"
#include "memory/copy_kernels.hpp"
#include "os/text_file.hpp"

namespace dunlin::memory {
namespace {

// Presets: AMD Zen 5, 2 virtual processors, 2 MiB L2, 32 MiB L3; docs/memory.md, "Copying well".
IntVariable string_bytes_min{"COPY_STRING_BYTES_MIN", 32 << 10, "bytes",
                             "copies of this size and more use the processor's block move", 0};
IntVariable stream_bytes_min{
    "COPY_STREAM_BYTES_MIN", 0, "bytes",
    "transfers of this size and more bypass the cache; 0: three quarters of the last cache", 0};
// Two sides that copy 32 KiB are slower than one (AMD Zen 5: near .55 against .39 us half round trip,
// far 1.28 against .70; `Sendrecv` half as fast); at 64 KiB near .64 against .72, far 1.17 against 1.02.
IntVariable share_bytes_min{"COPY_SHARE_BYTES_MIN", 64 << 10, "bytes",
                            "copies of this size and more are shared by both waiting sides", 0};
IntVariable share_chunk_bytes{"COPY_SHARE_CHUNK_BYTES", 64 << 10, "bytes",
                              "largest chunk that one side of a shared copy takes at a time", 4096};

constexpr std::size_t kStreamedBytesMin = 4096;  // shorter pieces: the fence costs more than it saves

const CopyKernels kernels = detect_copy_kernels();

/// Bytes of the last cache as /sys tells them (the C library's figure is that of all sockets on some
/// processors).
std::size_t last_cache_bytes() noexcept {
  constexpr std::size_t kUnknown = std::size_t{8} << 20;
  for (const char* index : {"index3", "index2"}) {
    const std::string text =
        os::read_one_line(std::string("/sys/devices/system/cpu/cpu0/cache/") + index + "/size");
    const auto kilobytes = std::size_t(std::strtoul(text.c_str(), nullptr, 10));
    if (kilobytes) return kilobytes << 10;
  }
  return kUnknown;
}

/// Before a chunk is stored through a mapping of the peer's memory.  Where that lies in small pages that were
/// never met here, a fault by a load maps 16 of them, writable, and a fault by a store only one: 1 MiB takes
/// 70 us by one load in each 64 KiB and 250 without (AMD Zen 5, virtual machine).  Where they were met, the
/// first store would fetch this line too.
void load_before_stores(const std::byte* to, std::size_t bytes) noexcept {
  constexpr std::uintptr_t kWindow = 64 << 10;  // the kernel's fault_around_bytes
  const std::byte* const end = to + bytes;
  for (; to < end; to += kWindow - reinterpret_cast<std::uintptr_t>(to) % kWindow)
    asm volatile("" : : "r"(*to));
}

}  // namespace

const char* copy_kernels() noexcept { return kernels.name; }

std::size_t stream_copy_bytes_min() noexcept {
  const auto set = std::size_t(stream_bytes_min.get());
  static const std::size_t share = last_cache_bytes() / 4 * 3;
  return set ? set : share;
}

std::size_t shared_copy_bytes_min() noexcept { return std::size_t(share_bytes_min.get()); }

CopyHint hint_for(std::size_t bytes) noexcept {
  return bytes >= stream_copy_bytes_min() ? CopyHint::off_cache : CopyHint::cached;
}

void copy(std::byte* to, const std::byte* from, std::size_t bytes, CopyHint hint) noexcept {
  DUNLIN_DEBUG_ASSERT(to + bytes <= from || from + bytes <= to || bytes == 0);
  if (hint == CopyHint::off_cache && bytes >= kStreamedBytesMin)
    kernels.streaming(to, from, bytes);
  else if (hint == CopyHint::to_peer || bytes >= std::size_t(string_bytes_min.get()))
    kernels.string(to, from, bytes);
  else
    kernels.plain(to, from, bytes);
}

std::size_t shared_copy_chunk_bytes(std::size_t bytes) noexcept {
  if (bytes < shared_copy_bytes_min()) return 0;
  // Small ones in two halves (whole lines), larger ones in chunks.
  const std::size_t half = (bytes / 2 + 63) / 64 * 64;
  return std::min(half, std::size_t(share_chunk_bytes.get()));
}

std::uint32_t SharedCopy::copy_chunks(std::byte* to, const std::byte* from, std::size_t bytes,
                                      std::size_t chunk_bytes, Side side, CopyHint hint) noexcept {
  DUNLIN_ASSERT(chunk_bytes > 0);
  const auto chunks = std::uint32_t((bytes + chunk_bytes - 1) / chunk_bytes);
  std::uint32_t taken = 0;
  // Relaxed: a claim only counts; the bytes it stands for are published by `count`.  Front and back never
  // meet before the last chunk, because together they take `chunks` in all.
  while (claimed.load(std::memory_order_relaxed) < chunks &&
         claimed.fetch_add(1, std::memory_order_relaxed) < chunks) {
    const std::uint32_t chunk = side == Side::front ? taken : chunks - 1 - taken;
    ++taken;
    const std::size_t offset = std::size_t{chunk} * chunk_bytes;
    const std::size_t part = std::min(chunk_bytes, bytes - offset);
    if (side == Side::back) load_before_stores(to + offset, part);
    copy(to + offset, from + offset, part, hint);
  }
  return taken;
}

void SharedCopy::count(std::uint32_t chunks) noexcept {
  // S1 (pairs with S2 in is_done): the bytes are visible before they are counted.
  if (chunks) copied.fetch_add(chunks, std::memory_order_release);
}

bool SharedCopy::is_done(std::size_t bytes, std::size_t chunk_bytes) const noexcept {
  const auto chunks = std::uint32_t((bytes + chunk_bytes - 1) / chunk_bytes);
  return copied.load(std::memory_order_acquire) >= chunks;  // S2
}

bool try_copy_mapped(PeerMemory& peer, std::span<const Piece> local, std::span<const RemotePiece> remote,
                     Direction direction) noexcept {
  std::size_t total = 0;
  for (const RemotePiece& each : remote) total += each.bytes;
  const CopyHint hint = hint_for(total);
  std::size_t here = 0;       // index into local
  std::size_t here_done = 0;  // bytes of local[here] that were copied
  Mapping last;
  for (const RemotePiece& piece : remote) {
    if (piece.bytes == 0) continue;
    const Mapping mapping = peer.map(piece.at, piece.bytes);
    if (!mapping) return false;
    for (std::size_t done = 0; done < piece.bytes;) {
      while (here < local.size() && here_done == local[here].bytes) ++here, here_done = 0;
      DUNLIN_ASSERT(here < local.size());  // the totals are equal
      const std::size_t part = std::min(piece.bytes - done, local[here].bytes - here_done);
      std::byte* ours = local[here].at + here_done;
      if (direction == Direction::from_peer) {
        copy(ours, mapping.at + done, part, hint);
      } else {
        load_before_stores(mapping.at + done, part);
        copy(mapping.at + done, ours, part, hint);
      }
      done += part;
      here_done += part;
    }
    if (last && last.generation != mapping.generation) return false;
    last = mapping;
  }
  return !last || peer.is_still_valid(last);
}

}  // namespace dunlin::memory
