// A process that nobody launched: a job of its own.  Made by boot::open.
#pragma once

#include <map>
#include <string>

#include "boot/boot.hpp"

namespace dunlin::boot {

class SingletonBoot final : public Boot {
 public:
  const char* name() const noexcept override { return "singleton"; }
  Err put(std::string_view key, std::string_view value) noexcept override;
  Result<std::string> get(int rank, std::string_view key) noexcept override;
  Err fence() noexcept override { return Err::ok; }
  [[noreturn]] void abort(int code, const char* message) noexcept override;
  Err finalize() noexcept override { return Err::ok; }

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace dunlin::boot
