// See launcher_settings.hpp.
#include "boot/launcher_settings.hpp"

#include <cstring>

#include "base/variable.hpp"

namespace dunlin::boot {
namespace {

WordVariable remote_launcher_variable{"REMOTE_LAUNCHER", "", "",
                                      "what mpirun --hosts starts jobs with: srun, prterun or mpiexec.hydra, "
                                      "as a name or path, and its options "
                                      "(default: the first that is there)"};

WordVariable profile{"PROFILE", "0", "",
                     "1: ranks started by mpirun print at MPI_Finalize how much time they spent in MPI; a "
                     "folder (with a slash): they also write it there, as profile.RANK.json"};

}  // namespace

const char* remote_launcher() noexcept { return remote_launcher_variable.get(); }

bool is_profiled() noexcept { return *profile.get() && std::strcmp(profile.get(), "0") != 0; }

}  // namespace dunlin::boot
