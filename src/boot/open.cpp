// Finds the launcher of this process; see boot.hpp.
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "boot/foreign.hpp"
#include "boot/own_launcher.hpp"
#include "boot/pmi1.hpp"
#include "boot/singleton.hpp"
#include "os/environment.hpp"

namespace dunlin::boot {

Result<std::unique_ptr<Boot>> open() noexcept {
  if (OwnLauncherBoot::is_present()) {
    Result<std::unique_ptr<Boot>> own = OwnLauncherBoot::open();
    if (!own || *own) return own;
    log::note("this program was started by a rank of an MPI job and runs as a job of its own");
    return std::unique_ptr<Boot>(std::make_unique<SingletonBoot>());
  }
  if (os::environment_number("PMI_FD", -1) >= 0 || *os::environment_text("PMI_PORT")) return Pmi1Boot::open();
  if (const char* launcher = unspoken_launcher())
    return fail(Err::other,
                "started by %s, which this library cannot speak to yet: use its own mpirun or a PMI-1 "
                "launcher such as mpiexec.hydra",
                launcher);
  return std::unique_ptr<Boot>(std::make_unique<SingletonBoot>());
}

}  // namespace dunlin::boot
