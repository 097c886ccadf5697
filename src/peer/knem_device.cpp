// /dev/knem, by the ioctl numbers and structures of KNEM's public header.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "peer/knem.hpp"

namespace dunlin::peer {
namespace {

struct InfoCommand {
  std::uint32_t version, features, ignored_flags, forced_flags;  // out
};
struct KnemPiece {
  std::uint64_t base, bytes;
};
struct CreateCommand {
  std::uint64_t pieces;
  std::uint32_t count, flags, protection, padding;
  std::uint64_t cookie;  // out
};
struct CopyCommand {
  std::uint64_t local_pieces;
  std::uint32_t local_count, write;
  std::uint64_t cookie, offset;
  std::uint32_t flags, status, status_index, padding;  // status: out
};

constexpr unsigned long kGetInfo = _IOW('K', 0x10, InfoCommand);
constexpr unsigned long kCreate = _IOWR('K', 0x21, CreateCommand);
constexpr unsigned long kDestroy = _IOR('K', 0x22, std::uint64_t);
constexpr unsigned long kInlineCopy = _IOR('K', 0x33, CopyCommand);
constexpr std::uint32_t kVersion = 0xd;
constexpr std::uint32_t kSuccess = 1;
constexpr std::size_t kListMax = 256;

/// Our pieces in the form of the kernel; false when there are too many for one call.
bool convert(std::span<const Piece> pieces, KnemPiece (&out)[kListMax]) noexcept {
  if (pieces.size() > kListMax) return false;
  std::transform(pieces.begin(), pieces.end(), out, [](const Piece& each) {
    return KnemPiece{reinterpret_cast<std::uintptr_t>(each.at), each.bytes};
  });
  return true;
}

class KernelKnem final : public KnemDevice {
 public:
  explicit KernelKnem(int device) noexcept : device_(device) {}

  std::uint64_t create_region(std::span<const Piece> pieces, bool writable) noexcept override {
    KnemPiece list[kListMax];
    if (!convert(pieces, list)) return 0;
    CreateCommand command{reinterpret_cast<std::uintptr_t>(list),
                          std::uint32_t(pieces.size()),
                          0,
                          std::uint32_t(PROT_READ | (writable ? PROT_WRITE : 0)),
                          0,
                          0};
    return ioctl(device_, kCreate, &command) == 0 ? command.cookie : 0;
  }
  void destroy_region(std::uint64_t cookie) noexcept override { ioctl(device_, kDestroy, &cookie); }
  bool copy(std::span<const Piece> local, std::uint64_t cookie, std::uint64_t offset,
            bool to_region) noexcept override {
    KnemPiece list[kListMax];
    if (!convert(local, list)) return false;
    CopyCommand command{reinterpret_cast<std::uintptr_t>(list),
                        std::uint32_t(local.size()),
                        to_region,
                        cookie,
                        offset,
                        0,
                        0,
                        0,
                        0};
    return ioctl(device_, kInlineCopy, &command) == 0 && command.status == kSuccess;
  }

 private:
  int device_;
};

}  // namespace

KnemDevice* open_knem_device(const char** why) noexcept {
  static const int device = open("/dev/knem", O_RDWR | O_CLOEXEC);
  static const int error = errno;
  static KernelKnem opened(device);
  *why = error == EACCES ? "this user may not open /dev/knem" : "the kernel module knem is not loaded";
  if (device < 0) return nullptr;
  InfoCommand info{};
  *why = "the kernel module knem has another version of its interface";
  if (ioctl(device, kGetInfo, &info) != 0 || info.version != kVersion) return nullptr;
  *why = "";
  return &opened;
}

}  // namespace dunlin::peer
