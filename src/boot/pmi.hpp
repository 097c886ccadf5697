// A rank under a launcher that speaks PMI on a socket: Hydra (Debian's mpiexec.hydra), Slurm (srun
// --mpi=pmi2), Flux, and our own mpirun for put, get and fence (boot/own_launcher.cpp).  PMI-1 is asked for
// first, as all of these answer it; PMI-2 where a launcher refuses it.
// Made by boot::open. docs/launcher.md lists the commands.
#pragma once

#include <memory>
#include <string>

#include "boot/boot.hpp"
#include "boot/pmi_wire.hpp"

namespace dunlin::boot {

/// What the two versions call the same things.
struct PmiCommands {
  const char *space, *put, *put_result, *get, *get_result, *fence, *fence_result, *finalize_result;
};
inline constexpr PmiCommands kPmi1{"kvsname",    "put",        "put_result",  "get",
                                   "get_result", "barrier_in", "barrier_out", "finalize_ack"};
inline constexpr PmiCommands kPmi2{"jobid",
                                   "kvs-put",
                                   "kvs-put-response",
                                   "kvs-get",
                                   "kvs-get-response",
                                   "kvs-fence",
                                   "kvs-fence-response",
                                   "finalize-response"};

/// Put, get and fence over one socket: the part that both Boots share.
/// Values of any length are cut into pieces that the launcher accepts.
class PmiStore {
 public:
  WireSocket& socket() noexcept { return socket_; }
  const PmiCommands& commands() const noexcept { return *commands_; }
  void set_space(const PmiCommands& commands, const std::string& name, int value_bytes_max) noexcept;
  Err put(int rank, std::string_view key, std::string_view value) noexcept;
  Result<std::string> get(int rank, std::string_view key) noexcept;
  /// A key as the launcher holds it.
  Result<std::string> get_raw(std::string_view name) noexcept;
  Err fence() noexcept;

 private:
  Result<std::string_view> ask_for(std::string_view name) noexcept;

  WireSocket socket_;
  const PmiCommands* commands_ = &kPmi1;
  std::string space_;
  int value_bytes_max_ = 0;
  unsigned fences_ = 0;
};

class PmiBoot final : public Boot {
 public:
  /// Talks over PMI_FD or connects to PMI_PORT.
  static Result<std::unique_ptr<Boot>> open() noexcept;

  const char* name() const noexcept override { return is_2() ? "PMI-2" : "PMI-1"; }
  Err put(std::string_view key, std::string_view value) noexcept override;
  Result<std::string> get(int rank, std::string_view key) noexcept override;
  Err fence() noexcept override;
  [[noreturn]] void abort(int code, const char* message) noexcept override;
  Err finalize() noexcept override;
  void started() noexcept override { store_.socket().set_late({}); }

 private:
  bool is_2() const noexcept { return &store_.commands() == &kPmi2; }
  Err connect() noexcept;
  Err greet() noexcept;
  Err greet_1() noexcept;
  Err greet_2() noexcept;
  Result<std::string> job_attribute(std::string_view name) noexcept;
  Err find_nodes() noexcept;

  PmiStore store_;
};

}  // namespace dunlin::boot
