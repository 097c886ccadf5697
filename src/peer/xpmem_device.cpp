// /dev/xpmem, by the ioctl numbers and structures of XPMEM's public header (version 2.6 and later).
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "peer/xpmem.hpp"

namespace dunlin::peer {
namespace {

struct MakeCommand {
  std::uint64_t address;
  std::size_t bytes;
  int permit_type;
  std::uint64_t permit_value;
  std::int64_t segment;  // out
};
struct GetCommand {
  std::int64_t segment;
  int flags;
  int permit_type;
  std::uint64_t permit_value;
  std::int64_t permission;  // out
};
struct ReleaseCommand {
  std::int64_t permission;
};
struct AttachCommand {
  std::int64_t permission;
  off_t offset;
  std::size_t bytes;
  std::uint64_t address;  // in: wanted place or 0; out
  int descriptor;
  int flags;
};
struct DetachCommand {
  std::uint64_t address;
};

constexpr unsigned long kMake = _IO('x', 1);
constexpr unsigned long kGet = _IO('x', 3);
constexpr unsigned long kRelease = _IO('x', 4);
constexpr unsigned long kAttach = _IO('x', 5);
constexpr unsigned long kDetach = _IO('x', 6);
constexpr int kPermitMode = 1;
constexpr int kReadWrite = 2;
constexpr std::uint64_t kSameUser = 0600;

int open_device() noexcept { return open("/dev/xpmem", O_RDWR | O_CLOEXEC); }

class KernelXpmem final : public XpmemDevice {
 public:
  explicit KernelXpmem(int device) noexcept : device_(device) {}

  std::int64_t make() noexcept override {
    MakeCommand command{0, ~std::size_t{0}, kPermitMode, kSameUser, -1};
    return ioctl(device_, kMake, &command) == 0 ? command.segment : -1;
  }
  std::int64_t get(std::int64_t segment) noexcept override {
    GetCommand command{segment, kReadWrite, kPermitMode, 0, -1};
    return ioctl(device_, kGet, &command) == 0 ? command.permission : -1;
  }
  void release(std::int64_t permission) noexcept override {
    ReleaseCommand command{permission};
    ioctl(device_, kRelease, &command);
  }
  void* attach(std::int64_t permission, std::uint64_t offset, std::size_t bytes) noexcept override {
    AttachCommand command{permission, off_t(offset), bytes, 0, -1, 0};
    return ioctl(device_, kAttach, &command) == 0 ? reinterpret_cast<void*>(command.address) : nullptr;
  }
  void detach(void* at, std::size_t) noexcept override {
    DetachCommand command{reinterpret_cast<std::uint64_t>(at)};
    ioctl(device_, kDetach, &command);
  }
  bool open_again() noexcept override {
    device_ = open_device();  // closing the inherited one would end this process's stay in the module
    return device_ >= 0;
  }

 private:
  int device_;
};

}  // namespace

XpmemDevice* open_xpmem_device(const char** why) noexcept {
  static const int device = open_device();
  static const int error = errno;
  static KernelXpmem opened(device);
  *why = device >= 0       ? ""
         : error == EACCES ? "this user may not open /dev/xpmem"
                           : "the kernel module xpmem is not loaded";
  return device >= 0 ? &opened : nullptr;
}

}  // namespace dunlin::peer
