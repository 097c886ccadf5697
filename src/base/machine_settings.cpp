#include "base/machine_settings.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/variable.hpp"

namespace dunlin {
namespace {

WordVariable machine_file{"MACHINE_FILE", "", "",
                          "file with the thresholds measured on this machine (dunlin-info --measure); empty: "
                          "in the user's cache folder; none: the presets"};

constexpr std::size_t kFileBytesMax = 4096;

/// The user's folder for what can be made again (XDG base directory specification).
std::string cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/') return cache;
  const char* home = std::getenv("HOME");
  return home && *home == '/' ? std::string(home) + "/.cache" : "";
}

}  // namespace

std::string machine_settings_path() {
  if (std::strcmp(machine_file.get(), "none") == 0) return "";
  if (*machine_file.get()) return machine_file.get();
  const std::string folder = cache_folder();
  utsname machine{};
  if (folder.empty() || uname(&machine) != 0) return "";
  return folder + "/dunlin/" + machine.nodename + ".conf";
}

void read_machine_settings() {
  const std::string path = machine_settings_path();
  const int file = path.empty() ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char text[kFileBytesMax + 1];
  const ssize_t bytes = read(file, text, kFileBytesMax);
  close(file);
  if (bytes <= 0) return;
  text[bytes] = '\0';
  Variable::read_machine_text(text);
}

bool try_write_machine_settings(const std::string& text) {
  const std::string path = machine_settings_path();
  for (std::size_t slash = path.find('/', 1); slash != path.npos; slash = path.find('/', slash + 1))
    mkdir(path.substr(0, slash).c_str(), 0755);  // what exists already is fine
  // By another name first: processes that start meanwhile read the old file or the new one.
  const std::string fresh = path + ".new";
  std::FILE* file = path.empty() ? nullptr : std::fopen(fresh.c_str(), "we");
  if (!file) return false;
  const bool is_written = std::fputs(text.c_str(), file) >= 0;
  return std::fclose(file) == 0 && is_written && std::rename(fresh.c_str(), path.c_str()) == 0;
}

}  // namespace dunlin
