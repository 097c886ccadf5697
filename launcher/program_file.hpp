// What mpirun has to know about a program file before it starts it.  Called by start.cpp.
#pragma once

#include <string>
#include <vector>

namespace dunlin::launcher {

/// Where in PATH an executable file of this name lies; "" where none does.  Folders do not count.
std::string find_in_path(const std::string& name);

/// Names of the shared libraries that an ELF program (64 bits, this machine's byte order) asks for itself
/// ("libc.so.6"); empty for scripts, static programs and files that cannot be read.
std::vector<std::string> needed_libraries(const std::string& path);

/// An ELF file of any kind of CPU.
bool is_machine_code(const std::string& path);

/// The program brings an allocator that must be the first in the process: a sanitizer's run-time library,
/// which ends a process with another library preloaded.
bool is_sanitized(const std::string& path);

/// Why the kernel did not start the program, for people: what `error`, its errno, does not say.
std::string why_not_started(const std::string& path, int error);

}  // namespace dunlin::launcher
