// See threads.hpp; proc(5) describes the files.
#include "launcher/threads.hpp"

#include <dirent.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "os/text_file.hpp"

namespace dunlin::launcher {
namespace {

std::string folder_of(pid_t process) { return "/proc/" + std::to_string(process); }

/// What follows `name` in a file of lines "name:\tvalue".
std::string field(const std::string& text, const char* name) {
  const std::size_t at = text.find(std::string("\n") + name + ":");
  if (at == std::string::npos) return "";
  const std::size_t value = at + std::strlen(name) + 2;
  return text.substr(value, text.find('\n', value) - value);
}

/// Whether `address` lies in memory that `process` shares with nobody.
bool is_private(pid_t process, unsigned long address) {
  const std::string maps = os::read_text_file((folder_of(process) + "/maps").c_str());
  for (std::size_t at = 0; at < maps.size(); at = maps.find('\n', at) + 1) {
    unsigned long begin, end;
    char permissions[5];
    if (std::sscanf(maps.c_str() + at, "%lx-%lx %4s", &begin, &end, permissions) != 3) return false;
    if (address >= begin && address < end) return permissions[3] == 'p';
    if (maps.find('\n', at) == std::string::npos) break;
  }
  return false;
}

/// Whether the thread sleeps without a time limit on a word that only threads of its own process change.
bool waits_for_own_process(pid_t process, const std::string& task) {
  const std::string call = os::read_text_file((task + "/syscall").c_str());
  long number;
  unsigned long address, operation, value, time_limit;
  if (std::sscanf(call.c_str(), "%ld %lx %lx %lx %lx", &number, &address, &operation, &value, &time_limit) !=
      5)
    return false;
  const unsigned long command = operation & FUTEX_CMD_MASK;
  if (number != SYS_futex || time_limit != 0 || (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET))
    return false;
  return (operation & FUTEX_PRIVATE_FLAG) != 0 || is_private(process, address);
}

}  // namespace

std::optional<std::string> sleeping_threads(pid_t process, int others) {
  const std::string folder = folder_of(process) + "/task";
  DIR* const tasks = ::opendir(folder.c_str());
  if (!tasks) return {};
  std::string sleeping;
  while (const dirent* entry = ::readdir(tasks)) {
    if (entry->d_name[0] == '.') continue;
    const std::string task = folder + '/' + entry->d_name;
    if (waits_for_own_process(process, task))
      sleeping += std::string(entry->d_name) + ':' +
                  field(os::read_text_file((task + "/status").c_str()), "voluntary_ctxt_switches") + ' ';
    else
      --others;
  }
  ::closedir(tasks);
  if (others < 0) return {};
  return sleeping;
}

const char* state_of_process(pid_t process) {
  const std::string state = field(os::read_text_file((folder_of(process) + "/status").c_str()), "State");
  switch (state.size() > 1 ? state[1] : 'X') {
    case 'R':
      return "runs";
    case 'T':
    case 't':
      return "is stopped";
    case 'X':
    case 'Z':
      return "is gone";
    default:
      return "sleeps";
  }
}

bool takes_signal(pid_t process, int signal) {
  const std::string status = os::read_text_file((folder_of(process) + "/status").c_str());
  for (const char* mask : {"SigCgt", "SigBlk", "SigIgn"})
    if (std::strtoull(field(status, mask).c_str(), nullptr, 16) >> (signal - 1) & 1) return true;
  return false;
}

}  // namespace dunlin::launcher
