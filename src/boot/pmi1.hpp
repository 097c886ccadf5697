// A rank under a launcher that speaks PMI-1 on a socket: Hydra (Debian's mpiexec.hydra), Slurm (srun
// --mpi=pmi2 answers PMI-1 too), Flux, and our own mpirun for put, get and fence (boot/own_launcher.cpp).
// Made by boot::open. docs/launcher.md lists the commands.
#pragma once

#include <memory>
#include <string>

#include "boot/boot.hpp"
#include "boot/pmi1_wire.hpp"

namespace dunlin::boot {

/// Put, get and fence over one socket: the part that both Boots share.
/// Values of any length are cut into pieces that the launcher accepts.
class Pmi1Store {
 public:
  WireSocket& socket() noexcept { return socket_; }
  void set_space(std::string name, int value_bytes_max) noexcept;
  Err put(int rank, std::string_view key, std::string_view value) noexcept;
  Result<std::string> get(int rank, std::string_view key) noexcept;
  /// A key as the launcher holds it.
  Result<std::string> get_raw(std::string_view name) noexcept;
  Err fence() noexcept;

 private:
  WireSocket socket_;
  std::string space_;
  int value_bytes_max_ = 0;
};

class Pmi1Boot final : public Boot {
 public:
  /// Talks over PMI_FD or connects to PMI_PORT.
  static Result<std::unique_ptr<Boot>> open() noexcept;

  const char* name() const noexcept override { return "PMI-1"; }
  Err put(std::string_view key, std::string_view value) noexcept override;
  Result<std::string> get(int rank, std::string_view key) noexcept override;
  Err fence() noexcept override;
  [[noreturn]] void abort(int code, const char* message) noexcept override;
  Err finalize() noexcept override;

 private:
  Err connect() noexcept;
  Err greet() noexcept;
  Err find_nodes() noexcept;

  Pmi1Store store_;
  bool is_finalized_ = false;
};

}  // namespace dunlin::boot
