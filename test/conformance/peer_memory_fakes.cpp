#include "test/conformance/peer_memory_fakes.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "peer/knem.hpp"
#include "peer/xpmem.hpp"

namespace {

using dunlin::peer::KnemDevice;
using dunlin::peer::Piece;
using dunlin::peer::XpmemDevice;

/// A segment's id is the owner's process id.  Attaching looks up in /proc which file lies under the addresses
/// and maps it; private memory cannot be attached.  Anonymous bytes of the first page of nothing are refused,
/// as by the kernel.
class FakeXpmem final : public XpmemDevice {
 public:
  std::int64_t make() noexcept override { return getpid(); }
  std::int64_t get(std::int64_t segment) noexcept override { return opened_by_ == getpid() ? segment : -1; }
  void release(std::int64_t) noexcept override {}

  void* attach(std::int64_t owner, std::uint64_t offset, std::size_t bytes) noexcept override {
    const std::string process = "/proc/" + std::to_string(owner);
    FILE* maps = std::fopen((process + "/maps").c_str(), "r");
    if (!maps) return nullptr;
    char line[4400];
    void* attached = nullptr;
    while (!attached && std::fgets(line, sizeof line, maps)) {
      unsigned long begin = 0, end = 0, file_offset = 0, inode = 0;
      char rights[8] = "";
      if (std::sscanf(line, "%lx-%lx %7s %lx %*s %lu", &begin, &end, rights, &file_offset, &inode) != 5)
        continue;
      if (offset < begin || offset + bytes > end) continue;
      if (rights[3] == 's')
        attached = map_file(process, inode, file_offset + offset - begin, bytes);
      else
        attached = copy_word(owner, offset, bytes);
    }
    std::fclose(maps);
    return attached;
  }
  void detach(void* at, std::size_t bytes) noexcept override { munmap(at, bytes); }
  bool open_again() noexcept override {
    opened_by_ = getpid();
    return true;
  }

 private:
  static void* map_file(const std::string& process, unsigned long inode, std::uint64_t offset,
                        std::size_t bytes) {
    void* mapped = MAP_FAILED;
    DIR* files = opendir((process + "/fd").c_str());
    while (const dirent* each = files ? readdir(files) : nullptr) {
      struct stat status {};
      const std::string path = process + "/fd/" + each->d_name;
      if (stat(path.c_str(), &status) != 0 || status.st_ino != inode) continue;
      const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
      mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, off_t(offset));
      close(file);
      break;
    }
    if (files) closedir(files);
    return mapped == MAP_FAILED ? nullptr : mapped;
  }
  /// The probe's word lies in private memory: one page of it is given as a copy, more is refused.
  static void* copy_word(std::int64_t owner, std::uint64_t offset, std::size_t bytes) {
    if (bytes > 4096) return nullptr;
    void* page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const iovec here{page, bytes};
    const iovec there{reinterpret_cast<void*>(offset), bytes};
    return process_vm_readv(pid_t(owner), &here, 1, &there, 1, 0) == ssize_t(bytes) ? page : nullptr;
  }

  pid_t opened_by_ = getpid();  // others are refused, as by the kernel
};

/// The kernel's table of regions is a file that the test program hands to the process it starts.
class FakeKnem final : public KnemDevice {
 public:
  FakeKnem() {
    const char* inherited = std::getenv("FAKE_KNEM_TABLE");
    int file = inherited ? std::atoi(inherited) : -1;
    if (file < 0) {
      file = memfd_create("fake-knem", 0);
      if (file < 0 || ftruncate(file, sizeof(Table)) != 0) std::abort();
      setenv("FAKE_KNEM_TABLE", std::to_string(file).c_str(), 1);
    }
    void* mapped = mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) std::abort();
    table_ = static_cast<Table*>(mapped);
  }
  std::uint64_t create_region(std::span<const Piece> pieces, bool writable) noexcept override {
    if (pieces.size() != 1) return 0;  // enough for a test
    const std::uint64_t cookie = 1 + __atomic_fetch_add(&table_->used, 1, __ATOMIC_RELAXED) % kRegions;
    table_->regions[cookie - 1] = {std::uint64_t(getpid()), reinterpret_cast<std::uintptr_t>(pieces[0].at),
                                   pieces[0].bytes, writable};
    return cookie;
  }
  void destroy_region(std::uint64_t cookie) noexcept override { table_->regions[cookie - 1].bytes = 0; }
  bool copy(std::span<const Piece> local, std::uint64_t cookie, std::uint64_t offset,
            bool to_region) noexcept override {
    const Region region = table_->regions[cookie - 1];
    if (to_region && !region.writable) return false;
    for (const Piece& each : local) {
      if (each.bytes == 0) continue;
      if (offset + each.bytes > region.bytes) return false;
      const iovec here{each.at, each.bytes};
      const iovec there{reinterpret_cast<void*>(region.at + offset), each.bytes};
      const auto move = to_region ? process_vm_writev : process_vm_readv;
      if (move(pid_t(region.pid), &here, 1, &there, 1, 0) != ssize_t(each.bytes)) return false;
      offset += each.bytes;
    }
    return true;
  }

 private:
  static constexpr std::size_t kRegions = 4096;
  struct Region {
    std::uint64_t pid, at, bytes, writable;
  };
  struct Table {
    std::uint64_t used;
    Region regions[kRegions];
  };
  Table* table_ = nullptr;
};

}  // namespace

void use_fake_devices() {
  const char* why = "";
  static FakeXpmem xpmem;
  static FakeKnem knem;
  if (!dunlin::peer::open_xpmem_device(&why)) dunlin::peer::use_xpmem_device(&xpmem);
  if (!dunlin::peer::open_knem_device(&why)) dunlin::peer::use_knem_device(&knem);
}

bool is_fake_mapping(const char* mechanism) {
  const char* why = "";
  return std::strcmp(mechanism, "xpmem") == 0 && !dunlin::peer::open_xpmem_device(&why);
}
