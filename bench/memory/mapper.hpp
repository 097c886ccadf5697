// Maps ranges of a file, as an attachment of XPMEM does with a process: what the registration cache keeps in
// the benchmarks of it.
#pragma once

#include <sys/mman.h>

#include <cstdint>

#include "peer/registration_cache.hpp"

namespace bench {

class Mapper final : public dunlin::peer::Registrar {
 public:
  /// Addresses beyond the file's end begin at its start again.
  Mapper(int file, std::uint64_t file_bytes) : file_(file), file_bytes_(file_bytes) {}
  bool try_register(std::uint64_t begin, std::uint64_t end, std::uint64_t& handle) noexcept override {
    void* mapped = mmap(nullptr, end - begin, PROT_READ, MAP_SHARED, file_, off_t(begin % file_bytes_));
    handle = reinterpret_cast<std::uint64_t>(mapped);
    return mapped != MAP_FAILED;
  }
  void unregister(std::uint64_t begin, std::uint64_t end, std::uint64_t handle) noexcept override {
    munmap(reinterpret_cast<void*>(handle), end - begin);
  }

 private:
  int file_;
  std::uint64_t file_bytes_;
};

}  // namespace bench
