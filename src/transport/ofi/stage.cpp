#include "transport/ofi/stage.hpp"

#include <algorithm>

#include "base/variable.hpp"
#include "transport/ofi/fabric.hpp"
#include "transport/ofi/frame.hpp"

namespace dunlin::transport::ofi {
namespace {

// Defaults measured by bench/network over TCP (docs/benchmarks/network.md); devices with RDMA of their own
// gain more by rings and reads.
WordVariable stage_wanted{
    "OFI_STAGE", "zerocopy_read",
    "messages|messages_read|messages_write|basic|piggyback|pipeline|zerocopy_read|zerocopy_write",
    "how data crosses the network: short by the provider's messages or by a ring that RDMA "
    "writes, long in pieces or straight between buffers"};
IntVariable long_bytes_min{"OFI_LONG_BYTES",
                           16 << 10,
                           "bytes",
                           "smallest message that the network moves from buffer to buffer",
                           1,
                           std::int64_t{1} << 40};
IntVariable chunk_bytes{"OFI_CHUNK_BYTES",
                        64 << 10,
                        "bytes",
                        "most data that crosses the network at once, by way of memory of this library",
                        512,
                        1 << 22};
IntVariable ring_bytes{
    "OFI_RING_BYTES", 1 << 20,
    "bytes",          "data that a ring for one peer on another node holds, where messages go by RDMA",
    4 << 10,          1 << 28};

enum Word { kMessages, kMessagesRead, kMessagesWrite, kBasic, kPiggyback, kPipeline, kRead, kWrite };

/// Before that step a long message is copied whole, then written whole: pieces are as long as fits well.
constexpr std::uint32_t kSlotsUnpipelined = 4;

}  // namespace

Stage Stage::of(const Fabric& fabric) noexcept {
  constexpr std::uint32_t kSlotsMax = 1u << Notice::kSlotBits;
  int word = stage_wanted.index();
  // The basic step tells of a frame by a second write behind the first.
  if (word == kBasic && !fabric.are_writes_ordered()) word = kPiggyback;
  Stage stage;
  stage.has_ring = word >= kBasic;
  stage.is_piggybacked = word >= kPiggyback;
  const std::size_t chunk = std::size_t(chunk_bytes.get()), ring = std::size_t(ring_bytes.get());
  stage.is_written = word == kMessagesWrite || word == kWrite;
  stage.moves = stage.is_written || word == kMessagesRead || word == kRead;
  stage.long_bytes = std::size_t(long_bytes_min.get());
  const bool is_pipelined = !stage.has_ring || word >= kPipeline;
  const std::size_t piece = is_pipelined ? chunk : std::max(chunk, ring / kSlotsUnpipelined);
  stage.frame_bytes = (sizeof(FrameHeader) + piece + 63) / 64 * 64;
  stage.slots = std::uint32_t(std::clamp<std::size_t>(ring / piece, 2, kSlotsMax));
  constexpr const char* kNames[] = {"messages",  "messages_read", "messages_write", "basic",
                                    "piggyback", "pipeline",      "zerocopy_read",  "zerocopy_write"};
  stage.name = kNames[word];
  return stage;
}

}  // namespace dunlin::transport::ofi
