// Foreign launchers; see foreign.hpp.
#include "boot/foreign.hpp"

#include <cstdlib>

#include "os/environment.hpp"

namespace dunlin::boot {
namespace {

/// `mark` is set by the launcher in every rank; `size` names the variable with the number of ranks.
struct Launcher {
  const char* mark;
  const char* size;  // "" when the launcher tells no size
  bool is_sure;      // the mark alone, without a size, shows a rank
  const char* name;
};

// srun sets SLURM_STEP_NUM_TASKS; a batch script, which is no rank, has SLURM_PROCID without it.
constexpr Launcher kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", true, "Open MPI's mpirun (OMPI_COMM_WORLD_RANK is set)"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", false,
     "srun without PMI (SLURM_PROCID is set; use --mpi=pmi2 or --mpi=pmix)"},
    {"PALS_RANKID", "PMI_SIZE", true, "HPE's PALS (PALS_RANKID is set)"},
    {"ALPS_APP_PE", "PMI_SIZE", true, "Cray's aprun (ALPS_APP_PE is set)"},
    {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", true, "IBM's jsrun (JSM_NAMESPACE_RANK is set)"},
    {"MPIRUN_RANK", "MPIRUN_NPROCS", true, "MVAPICH's mpirun_rsh (MPIRUN_RANK is set)"},
    {"PMI_RANK", "PMI_SIZE", true, "a PMI launcher that gave no PMI_FD or PMI_PORT (PMI_RANK is set)"},
};

}  // namespace

const char* unspoken_launcher() noexcept {
  for (const Launcher& each : kLaunchers) {
    if (!std::getenv(each.mark)) continue;
    const bool knows_size = *each.size && std::getenv(each.size);
    if (knows_size && os::environment_number(each.size, 0) == 1) return nullptr;  // a singleton is right
    if (knows_size || each.is_sure) return each.name;
  }
  return nullptr;
}

}  // namespace dunlin::boot
