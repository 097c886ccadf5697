// Settings measured on this machine: a small file that `dunlin-info --measure` writes and every process reads
// when it starts.  docs/memory.md, "Measured thresholds".
//
// The file holds lines "NAME=value".  It stands below the environment and above the presets.  Machines that
// share a home directory have one file each.
#pragma once

#include <string>

namespace dunlin {

/// DUNLIN_MACHINE_FILE, or <cache folder of the user>/dunlin/<name of this machine>.conf; "" for none.
std::string machine_settings_path();

/// Takes what the file says, if there is one.  Cost: 2 us without a file, 20 with one.
void read_machine_settings();

/// Writes the file; false when it cannot be written (errno says why).
bool try_write_machine_settings(const std::string& text);

}  // namespace dunlin
