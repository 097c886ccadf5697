// A rank under a launcher that speaks PMIx: PRRTE (prterun, Open MPI's mpirun), srun --mpi=pmix.  Its client
// library, libpmix.so.2, is loaded at run time; DUNLIN_PMIX names another one.  Made by boot::open.
//
// A fence gives every node's daemon what all ranks have put: asking a daemon for a value of another node,
// which PMIx knows too, fails under Slurm 22.05.
#pragma once

#include <memory>
#include <string>

#include "boot/boot.hpp"

namespace dunlin::boot {

class PmixBoot final : public Boot {
 public:
  /// True when a PMIx launcher has started this process, or one before it.
  static bool is_present() noexcept;
  /// Whether that was one before it, which is the rank: this process has inherited its environment.
  static bool is_taken() noexcept;
  static Result<std::unique_ptr<Boot>> open() noexcept;

  const char* name() const noexcept override { return "PMIx"; }
  Err put(std::string_view key, std::string_view value) noexcept override;
  Result<std::string> get(int rank, std::string_view key) noexcept override;
  Err fence() noexcept override;
  [[noreturn]] void abort(int code, const char* message) noexcept override;
  Err finalize() noexcept override;

 private:
  Err find_place() noexcept;
};

}  // namespace dunlin::boot
