// How far the ring's improvements go: the steps of the RDMA channel document, one after the other, and how
// the sizes follow from them.  DUNLIN_OFI_STAGE; docs/network.md shows what each is worth.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dunlin::transport::ofi {

class Fabric;

struct Stage {
  bool has_ring = false;        // frames by RDMA write into a ring of the receiver; else by message
  bool is_piggybacked = false;  // one write for data and notice; credits travel with frames of the other way
  bool moves = false;           // long data straight from buffer to buffer
  bool is_written = false;      // by the sender; else read by the receiver
  std::size_t long_bytes = 0;   // from here on
  std::uint32_t slots = 0;      // of a ring
  std::size_t frame_bytes = 0;  // header and payload
  const char* name = "";

  /// By the setting.
  static Stage of(const Fabric& fabric) noexcept;
};

}  // namespace dunlin::transport::ofi
