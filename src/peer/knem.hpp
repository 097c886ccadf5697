// KNEM: a kernel module that copies between processes; the owner declares a buffer and gets a cookie, by
// which others copy.
//
// knem.cpp is the provider, over the device interface below; knem_device.cpp speaks to /dev/knem by ioctl
// (the numbers of the public knem_io.h, ABI version 13).  Tests bring a device of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "peer/peer_memory.hpp"

namespace dunlin::peer {

class KnemDevice {
 public:
  /// A cookie for these pieces of this process, or 0.
  virtual std::uint64_t create_region(std::span<const Piece> pieces, bool writable) noexcept = 0;
  virtual void destroy_region(std::uint64_t cookie) noexcept = 0;
  /// Copies between our pieces and the region of another process, from `offset` on, until our pieces are
  /// done.
  virtual bool copy(std::span<const Piece> local, std::uint64_t cookie, std::uint64_t offset,
                    bool to_region) noexcept = 0;

 protected:
  ~KnemDevice() = default;
};

/// The device of the kernel module, or nullptr where it is not loaded, may not be opened or has another
/// version.
KnemDevice* open_knem_device(const char** why) noexcept;

/// Uses another device from now on (tests); before the first `published_address`.
void use_knem_device(KnemDevice* device) noexcept;

}  // namespace dunlin::peer
