// A peer's shared heap (and moved static data), mapped here: plain loads and stores reach its large buffers.
//
// docs/memory.md, "Generations".  Cost: attaching maps 64 GiB of address space once a peer and generation
// (about 20 us, 4 KiB of page tables); `map` is a range check, two loads, a bit a 2 MiB (peer_tables.hpp)
// and, once the peer has forked, a look at one bit a page.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "heap/heap.hpp"
#include "heap/mapped_file.hpp"
#include "peer/copy_mapped.hpp"
#include "peer/count.hpp"
#include "peer/peer_tables.hpp"
#include "peer/provider.hpp"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // Linux 5.14; older headers lack it
#endif

namespace dunlin::peer {
namespace {

/// The peer's regions of one generation, mapped.  Constant once made, but for `holders`: readers need no
/// lock.
struct Attachment {
  struct Range {
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
    std::byte* mapped = nullptr;  // where `base` lies here
    std::byte* file = nullptr;    // the whole file; nullptr: no such region
    std::size_t file_bytes = 0;
    std::unique_ptr<PeerTables> tables = nullptr;
  };
  std::uint64_t generation = 0;
  Range ranges[heap::Control::kRegions];
  int holders = 0;  // lasting mappings; under `attaching_`
};

constexpr std::size_t kRetiredMax = 8;  // generations ago that a transfer may have begun

/// What this process asked of all its peers, told when it ends (DUNLIN_VERBOSE=1).
struct Seen {
  Count mapped, declined;
  ~Seen() {
    if (mapped.get() + declined.get())
      log::note("shared_heap: %llu ranges of peers mapped, %llu not in their shared memory", mapped.get(),
                declined.get());
  }
};
Seen seen;

/// Thread safety: `map` and `is_still_valid` take no lock unless the peer forked since the last call.
/// Invariant: `present_` points to an Attachment that lives until kRetiredMax newer ones were made.  What
/// lasting mappings hold lives as long as they.
class SharedHeapPeer final : public PeerMemory {
 public:
  explicit SharedHeapPeer(std::shared_ptr<PeerControl> control) noexcept : control_(std::move(control)) {}
  ~SharedHeapPeer() override {
    for (const auto& each : attachments_) unmap(*each);
  }

  bool try_attach() noexcept;

  const char* name() const noexcept override { return "shared_heap"; }
  bool can_map() const noexcept override { return true; }
  bool can_copy_anywhere() const noexcept override { return false; }
  Mapping map(std::uint64_t at, std::size_t bytes) noexcept override;
  Held hold(std::uint64_t at, std::size_t bytes) noexcept override {
    const std::atomic<std::uint64_t>& present = control_->page().generation;
    const std::uint64_t generation = present.load(std::memory_order_acquire);
    const Mapping mapping = map(at, bytes);
    if (!mapping) return {{}, &present, generation, nullptr};
    const std::lock_guard hold(attaching_);
    Attachment& newest = *attachments_.back();
    if (newest.generation != mapping.generation) return {{}, &present, mapping.generation, nullptr};
    ++newest.holders;
    return {mapping, &present, generation, &newest};
  }
  void let_go(const Held& held) noexcept override {
    auto* const attachment = static_cast<Attachment*>(held.kept);
    if (!attachment) return;
    const std::lock_guard hold(attaching_);
    if (--attachment->holders == 0 && attachment != attachments_.back().get()) retire(*attachment);
  }
  bool is_still_valid(const Mapping& mapping) const noexcept override;
  bool try_read(std::span<const Piece> to, std::span<const RemotePiece> from,
                std::uint64_t) noexcept override {
    return try_copy_mapped(*this, to, from, Direction::from_peer);
  }
  bool try_write(std::span<const RemotePiece> to, std::span<const Piece> from,
                 std::uint64_t) noexcept override {
    return try_copy_mapped(*this, from, to, Direction::to_peer);
  }

 private:
  static void unmap(Attachment& attachment) noexcept;
  static void retire(Attachment& attachment) noexcept;
  bool try_map_region(const heap::Region& region, Attachment::Range& range) noexcept;
  bool is_frozen(std::uint64_t offset, std::size_t bytes) const noexcept;

  std::shared_ptr<PeerControl> control_;
  std::atomic<const Attachment*> present_ = nullptr;
  std::mutex attaching_;
  std::vector<std::unique_ptr<Attachment>> attachments_;  // under attaching_; the newest last
};

bool SharedHeapPeer::try_map_region(const heap::Region& region, Attachment::Range& range) noexcept {
  if (region.bytes == 0) return true;
  const int descriptor = control_->take_descriptor(region.descriptor);
  if (descriptor < 0) return false;
  struct stat status {};
  const std::size_t file_bytes = heap::Region::file_bytes(region.offset, region.bytes);
  std::byte* file = nullptr;
  if (fstat(descriptor, &status) == 0 && status.st_ino == region.inode &&
      std::size_t(status.st_size) == file_bytes)
    file = heap::map_file_aligned(descriptor, file_bytes, PROT_NONE);
  close(descriptor);
  if (!file) return false;
  madvise(file, file_bytes, MADV_DONTFORK);
  madvise(file, file_bytes, MADV_DONTDUMP);  // the owner's core has it
  std::byte* const mapped = file + region.offset;
  range = {region.base, region.bytes, mapped,
           file,        file_bytes,   std::make_unique<PeerTables>(file, file_bytes)};
  // Too little static data for huge pages: one call now instead of faults during messages (16 us for 256
  // KiB).
  if (region.bytes < heap::kHugeStaticBytesMin && range.tables->touch(region.offset, region.bytes))
    madvise(mapped, region.bytes, MADV_POPULATE_READ);
  return true;
}

bool SharedHeapPeer::try_attach() noexcept {
  const std::lock_guard hold(attaching_);
  const heap::Control& page = control_->page();
  const std::uint64_t generation = page.generation.load(std::memory_order_acquire);
  const Attachment* present = present_.load(std::memory_order_acquire);
  if (present && present->generation == generation) return true;  // another thread did it
  if (generation % 2) return false;
  auto made = std::make_unique<Attachment>();
  made->generation = generation;
  bool is_mapped = control_->can_describe(page.regions[heap::Control::kHeap].bytes);
  for (int i = 0; i < heap::Control::kRegions && is_mapped; ++i)
    is_mapped = try_map_region(page.regions[i], made->ranges[i]);
  // The regions were read while the generation stood still, or all of this is void.
  std::atomic_thread_fence(std::memory_order_acquire);
  if (!is_mapped || page.generation.load(std::memory_order_relaxed) != generation) {
    unmap(*made);
    return false;
  }
  if (!attachments_.empty() && attachments_.back()->holders == 0) retire(*attachments_.back());
  // A1 (pairs with the load in map): the ranges are complete before they can be found.
  present_.store(made.get(), std::memory_order_release);
  attachments_.push_back(std::move(made));
  const auto is_free = [](const auto& each) noexcept {
    return each->holders == 0;
  };
  const auto oldest = std::find_if(attachments_.begin(), attachments_.end(), is_free);
  if (attachments_.size() > kRetiredMax && oldest + 1 != attachments_.end()) {
    unmap(**oldest);
    attachments_.erase(oldest);
  }
  return true;
}

void SharedHeapPeer::unmap(Attachment& attachment) noexcept {
  for (auto& range : attachment.ranges) {
    if (!range.file) continue;
    range.tables->stop();
    munmap(range.file, range.file_bytes);
  }
}

/// A transfer that another thread is in the middle of goes on, and then finds its mapping invalid.
void SharedHeapPeer::retire(Attachment& attachment) noexcept {
  for (auto& range : attachment.ranges)
    if (range.file) range.tables->replace();
}

bool SharedHeapPeer::is_frozen(std::uint64_t offset, std::size_t bytes) const noexcept {
  const std::uint64_t last = (offset + bytes - 1) / heap::kPageBytes;
  for (std::uint64_t page = offset / heap::kPageBytes; page <= last;) {
    const std::uint64_t in_word = page % 64;
    const std::uint64_t count = last - page + 1 < 64 - in_word ? last - page + 1 : 64 - in_word;
    const std::uint64_t mask = (count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << in_word;
    if (control_->page().frozen[page / 64].load(std::memory_order_acquire) & mask) return true;
    page += count;
  }
  return false;
}

Mapping SharedHeapPeer::map(std::uint64_t at, std::size_t bytes) noexcept {
  DUNLIN_ASSERT(bytes > 0);
  const heap::Control& page = control_->page();
  const Attachment* present = present_.load(std::memory_order_acquire);
  // G1, G2 of arena_fork.cpp: the same even value before and after means the same backing in between.
  if (page.generation.load(std::memory_order_acquire) != present->generation) [[unlikely]] {
    if (!try_attach()) return {};
    present = present_.load(std::memory_order_acquire);
  }
  for (int i = 0; i < heap::Control::kRegions; ++i) {
    const Attachment::Range& range = present->ranges[i];
    const std::uint64_t offset = at - range.base;
    if (offset >= range.bytes) continue;
    if (bytes > range.bytes - offset) break;
    if (i == heap::Control::kHeap && page.any_frozen && is_frozen(offset, bytes)) break;
    if (!range.tables->touch(std::size_t(range.mapped - range.file) + offset, bytes)) break;
    ++seen.mapped;
    return {range.mapped + offset, present->generation, &page.open_windows};
  }
  ++seen.declined;
  return {};
}

bool SharedHeapPeer::is_still_valid(const Mapping& mapping) const noexcept {
  // Our stores must be visible before the generation is read, or a freeze could miss them and still look
  // absent.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return control_->page().generation.load(std::memory_order_acquire) == mapping.generation;
}

class SharedHeapProvider final : public Provider {
 public:
  const char* name() const noexcept override { return "shared_heap"; }
  void publish(PublishedAddress& address) noexcept override {
    const heap::Control* control = heap::face().control();
    why_not_ = heap::face().why_not();
    if (!control) return;
    heap::move_static_data();
    address.control_descriptor = heap::face().control_descriptor();
    address.heap_nonce = control->nonce;
    address.serves_descriptors = serve_heap_descriptors();
  }
  std::unique_ptr<PeerMemory> connect(const PublishedAddress& peer,
                                      const std::shared_ptr<PeerControl>& control) noexcept override {
    if (!control) {
      PeerControl::attach(peer, &why_not_);
      return nullptr;
    }
    auto made = std::make_unique<SharedHeapPeer>(control);
    why_not_ = "the peer's heap cannot be mapped (address space, or its descriptor cannot be taken)";
    if (!made->try_attach()) return nullptr;
    why_not_ = "";
    return made;
  }
  const char* why_not() const noexcept override { return why_not_; }

 private:
  const char* why_not_ = "";
};

}  // namespace

Provider& shared_heap_provider() noexcept {
  static SharedHeapProvider provider;
  return provider;
}

}  // namespace dunlin::peer
