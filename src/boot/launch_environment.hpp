// What our mpirun puts into the environment of a rank, beside the PMI-1 variables (PMI_RANK, PMI_SIZE,
// PMI_FD). Written by launcher/start.cpp, read by boot/own_launcher.cpp; no settings of a user, so
// `warn_of_unknown` skips names with this prefix.
#pragma once

namespace dunlin::boot {

inline constexpr char kLaunchPrefix[] = "DUNLIN_LAUNCH_";
inline constexpr char kLaunchRank[] = "DUNLIN_LAUNCH_RANK";
inline constexpr char kLaunchSize[] = "DUNLIN_LAUNCH_SIZE";
// Among the ranks of a machine; for scripts, which know such variables by other launchers' names too.
inline constexpr char kLaunchLocalRank[] = "DUNLIN_LAUNCH_LOCAL_RANK";
inline constexpr char kLaunchLocalSize[] = "DUNLIN_LAUNCH_LOCAL_SIZE";
// Not by mpirun: a rank under PMIx tells what it starts that this rank is taken, and by which process.
inline constexpr char kLaunchPmixRank[] = "DUNLIN_LAUNCH_PMIX_RANK";
inline constexpr char kLaunchApp[] = "DUNLIN_LAUNCH_APP";  // index of the part of an MPMD command line
inline constexpr char kLaunchPid[] = "DUNLIN_LAUNCH_PID";  // of the process that holds the node segment
inline constexpr char kLaunchNodeFd[] = "DUNLIN_LAUNCH_NODE_FD";  // the same number there and in the ranks
// A pipe that only mpirun can write to, and never does: its end is mpirun's end.
inline constexpr char kLaunchLifeFd[] = "DUNLIN_LAUNCH_LIFE_FD";
inline constexpr char kLaunchLifeInode[] = "DUNLIN_LAUNCH_LIFE_INODE";
// Tells whether PMI_FD is still the socket that mpirun made.
inline constexpr char kLaunchPmiInode[] = "DUNLIN_LAUNCH_PMI_INODE";

// The PMI-1 store of our mpirun, so that its own ranks need not ask.
inline constexpr char kStoreName[] = "job";
inline constexpr int kStoreNameBytesMax = 256;
inline constexpr int kStoreKeyBytesMax = 256;
inline constexpr int kStoreValueBytesMax = 8192;

}  // namespace dunlin::boot
