// Finds the launcher of this process; see boot.hpp.
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "boot/foreign.hpp"
#include "boot/own_launcher.hpp"
#include "boot/pmi.hpp"
#include "boot/pmix.hpp"
#include "boot/singleton.hpp"
#include "os/environment.hpp"

namespace dunlin::boot {

namespace {

Result<std::unique_ptr<Boot>> started_by_a_rank() noexcept {
  log::note("this program was started by a rank of an MPI job and runs as a job of its own");
  return std::unique_ptr<Boot>(std::make_unique<SingletonBoot>());
}

Result<std::unique_ptr<Boot>> find_launcher() noexcept {
  if (OwnLauncherBoot::is_present()) {
    Result<std::unique_ptr<Boot>> own = OwnLauncherBoot::open();
    return !own || *own ? std::move(own) : started_by_a_rank();
  }
  if (os::environment_number("PMI_FD", -1) >= 0 || *os::environment_text("PMI_PORT")) return PmiBoot::open();
  if (PmixBoot::is_present()) return PmixBoot::is_taken() ? started_by_a_rank() : PmixBoot::open();
  if (const char* launcher = unspoken_launcher())
    return fail(Err::other,
                "started by %s, which this library cannot speak to yet: use its own mpirun, or a "
                "launcher that speaks PMI-1, PMI-2 or PMIx (mpiexec.hydra, srun --mpi=pmi2 or pmix, prterun)",
                launcher);
  return std::unique_ptr<Boot>(std::make_unique<SingletonBoot>());
}

}  // namespace

Result<std::unique_ptr<Boot>> open() noexcept {
  Result<std::unique_ptr<Boot>> boot = find_launcher();
  if (!boot) return boot;
  if (const Err error = boot.value()->redraw_nodes(); error != Err::ok) return error;
  return boot;
}

}  // namespace dunlin::boot
