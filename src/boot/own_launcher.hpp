// A rank of our own mpirun: rank, size and the node's memfd come from the environment, so start-up sends no
// message. Put, get and fence speak PMI-1 with mpirun over the inherited socket, which is first used when
// they are. Made by boot::open.
#pragma once

#include <memory>

#include "boot/boot.hpp"
#include "boot/launch_page.hpp"
#include "boot/pmi.hpp"

namespace dunlin::boot {

class OwnLauncherBoot final : public Boot {
 public:
  /// True when the environment is that of a rank of our mpirun, and no other launcher was started in between.
  static bool is_present() noexcept;
  /// Null (and no error) in a program that a running rank started: that one is a singleton.
  static Result<std::unique_ptr<Boot>> open() noexcept;
  ~OwnLauncherBoot() override;

  const char* name() const noexcept override { return "mpirun"; }
  Err put(std::string_view key, std::string_view value) noexcept override;
  Result<std::string> get(int rank, std::string_view key) noexcept override;
  Err fence() noexcept override;
  int inherited_segment_fd() const noexcept override { return node_fd_; }
  RankWaits* waits() const noexcept override { return &page_->waits(rank(), size()); }
  [[noreturn]] void abort(int code, const char* message) noexcept override;
  Err finalize() noexcept override;
  Err rest() noexcept override { return finalize(); }
  Err restart() noexcept override;

 private:
  Err find_segment() noexcept;

  PmiStore store_;
  LaunchPage* page_ = nullptr;
  int node_fd_ = -1;
};

}  // namespace dunlin::boot
