#include "rma/segment.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <numeric>
#include <vector>

#include "base/assert.hpp"
#include "base/big_lock.hpp"
#include "coll/agree.hpp"
#include "heap/available_memory.hpp"
#include "heap/mapped_file.hpp"
#include "os/descriptor_exchange.hpp"
#include "os/grow_file.hpp"
#include "progress/engine.hpp"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1; older headers lack it
#endif

namespace dunlin::rma {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
constexpr int kHandOverMsMax = 60'000;  // rank 0 has stopped when it does not serve by then

constexpr std::uint64_t rounded(std::uint64_t bytes, std::uint64_t unit) noexcept {
  return (bytes + unit - 1) / unit * unit;
}

/// Memory that fills half of a huge page or more begins with one.
std::uint64_t unit_for(std::uint64_t bytes) noexcept {
  return bytes >= kHugePageBytes / 2 ? kHugePageBytes : kPageBytes;
}

/// Has the kernel make huge pages of these, which takes the memory at once.  Where it has none it leaves
/// small ones.
void make_huge(std::byte* first, std::uint64_t bytes) noexcept {
  // An empty one is refused: a page of each has to be there.
  for (std::uint64_t at = 0; at < bytes; at += kHugePageBytes)
    [[maybe_unused]] const std::byte touched = *static_cast<volatile std::byte*>(first + at);
  madvise(first, bytes, MADV_COLLAPSE);
}

/// `use()` while other threads may call: they may make windows, too, whose ranks wait for them.
template <class Use>
auto without_lock(const Use& use) noexcept {
  const int levels = BigLock::is_needed() ? BigLock::release_all() : 0;
  auto result = use();
  if (levels > 0) BigLock::reacquire(levels);
  return result;
}

}  // namespace

Segment::~Segment() {
  if (base_) munmap(base_, bytes_);
}

Err Segment::open(Comm& comm, std::int64_t bytes, bool is_packed) noexcept {
  const std::vector<std::int64_t> each = coll::gather_all(comm, bytes);
  const auto ranks = std::uint64_t(comm.size);
  std::uint64_t end = rounded(ranks * sizeof(RankBlock) + ranks * ranks * sizeof(Signals), kPageBytes);
  const std::uint64_t all = std::accumulate(each.begin(), each.end(), std::uint64_t{0});
  if (is_packed) end = rounded(end, unit_for(all));
  for (const std::int64_t one : each) {
    if (!is_packed) end = rounded(end, unit_for(std::uint64_t(one)));
    starts_.push_back(end);
    if (__builtin_add_overflow(end, std::uint64_t(one), &end) || end > std::uint64_t{1} << 46)
      return fail(Err::no_mem, "together the ranks ask for more memory than a process can address");
  }
  bytes_ = rounded(end, kHugePageBytes);
  int descriptor = -1;
  if (comm.rank == 0) {
    descriptor = ::memfd_create("dunlin-window", MFD_CLOEXEC);
    if (descriptor >= 0 && !os::try_grow_file(descriptor, bytes_)) {
      ::close(descriptor);
      descriptor = -1;
    }
  }
  Err error = share(comm, descriptor);
  if (error == Err::ok && base_) {
    DUNLIN_ASSERT(memory_of(comm.rank) + bytes <= base_ + bytes_);
    // The huge pages that begin in our part, if that is not a small one.
    const std::uint64_t start = starts_[std::size_t(comm.rank)];
    const std::uint64_t first = rounded(start, kHugePageBytes);
    const std::uint64_t last = rounded(start + std::uint64_t(bytes), kHugePageBytes);
    const bool is_large = unit_for(is_packed ? all : std::uint64_t(bytes)) == kHugePageBytes;
    // More than some of the free memory is left to those who touch it: perhaps they never touch all.
    constexpr std::size_t kShare = 8;
    if (is_large && last > first && bytes_ <= heap::available_memory().free / kShare)
      make_huge(base_ + first, last - first);
    new (&blocks_[comm.rank]) RankBlock;
    blocks_[comm.rank].process.store(getpid(), std::memory_order_relaxed);  // read after the barrier below
  }
  return coll::agree(comm, error,
                     "making the window");  // and nobody looks at a block before its owner has made it
}

Err Segment::map(int descriptor) noexcept {
  base_ = heap::map_file_aligned(descriptor, bytes_, PROT_READ | PROT_WRITE);
  if (!base_)
    return fail(Err::no_mem, "the %zu bytes of a window's segment cannot be mapped: %s", bytes_,
                std::strerror(errno));
  madvise(base_, bytes_, MADV_DONTFORK);
  blocks_ = reinterpret_cast<RankBlock*>(base_);
  signals_ = reinterpret_cast<Signals*>(blocks_ + starts_.size());
  return Err::ok;
}

/// Rank 0 hands its descriptor to the others, and serves those that cannot take it through /proc until all
/// have it.
Err Segment::share(Comm& comm, int descriptor) noexcept {
  struct Ticket {
    char text[160] = "";
  } ticket;
  Result<os::DescriptorOffer> offer = Err::ok;
  Err error = Err::ok;
  if (comm.rank == 0 && descriptor < 0)
    error = fail(Err::no_mem, "no memory for a window of %zu bytes: %s", bytes_, std::strerror(errno));
  if (comm.rank == 0 && error == Err::ok && comm.size > 1) {
    offer = os::DescriptorOffer::open(descriptor);
    error = offer.error();
    if (offer) std::strncpy(ticket.text, offer->ticket().c_str(), sizeof ticket.text - 1);
  }
  ticket = coll::gather_all(comm, ticket).front();
  if (comm.rank > 0) {
    if (!*ticket.text) return fail(Err::no_mem, "rank 0 could not make the memory of the window");
    const Result<int> taken =
        without_lock([&]() noexcept { return os::take_descriptor(ticket.text, kHandOverMsMax); });
    error = taken.error();
    descriptor = taken ? taken.value() : -1;
  }
  if (*ticket.text) {
    Request* all_have_it = nullptr;
    if (const Err e = coll::ibarrier_attended(comm, &all_have_it); e != Err::ok) return e;
    while (comm.rank == 0 && !all_have_it->is_complete) {
      offer->serve();
      if (!comm.engine->poll()) without_lock(sched_yield);
    }
    comm.engine->wait(*all_have_it);
    if (!all_have_it->is_static) all_have_it->release();
  }
  if (error == Err::ok) error = map(descriptor);
  if (descriptor >= 0) ::close(descriptor);
  return error;
}

}  // namespace dunlin::rma
