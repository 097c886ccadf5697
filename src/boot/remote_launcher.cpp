// See remote_launcher.hpp.
#include "boot/remote_launcher.hpp"

#include "base/variable.hpp"

namespace dunlin::boot {
namespace {

WordVariable remote_launcher_variable{"REMOTE_LAUNCHER", "", "",
                                      "what mpirun --hosts starts jobs with: srun, prterun or mpiexec.hydra, "
                                      "as a name or path, and its options "
                                      "(default: the first that is there)"};

}  // namespace

const char* remote_launcher() noexcept { return remote_launcher_variable.get(); }

}  // namespace dunlin::boot
