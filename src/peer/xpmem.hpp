// XPMEM: a kernel module that maps another process's pages into ours, wherever they are.
//
// xpmem.cpp is the provider, over the device interface below; xpmem_device.cpp speaks to /dev/xpmem by ioctl
// (the numbers of the public xpmem.h), so that nothing of XPMEM is needed to build, and tests bring a device
// of their own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dunlin::peer {

/// What the kernel module does.  Failure is -1 or nullptr, with errno.
class XpmemDevice {
 public:
  /// Lets processes of the same user attach any address of this one; an id that they need, or -1.
  virtual std::int64_t make() noexcept = 0;
  /// Permission to attach to the process behind `segment`, or -1.
  virtual std::int64_t get(std::int64_t segment) noexcept = 0;
  virtual void release(std::int64_t permission) noexcept = 0;
  /// Maps [offset, offset + bytes) of that process; both are multiples of the page size.
  virtual void* attach(std::int64_t permission, std::uint64_t offset, std::size_t bytes) noexcept = 0;
  virtual void detach(void* at, std::size_t bytes) noexcept = 0;
  /// The module serves processes that opened the device themselves: a forked child has to, before all else.
  virtual bool open_again() noexcept = 0;

 protected:
  ~XpmemDevice() = default;
};

/// The device of the kernel module, or nullptr where it is not loaded or may not be opened; `why` tells.
XpmemDevice* open_xpmem_device(const char** why) noexcept;

/// Uses another device from now on (tests); before the first `published_address`.
void use_xpmem_device(XpmemDevice* device) noexcept;

}  // namespace dunlin::peer
