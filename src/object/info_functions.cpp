#include <mpi.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "object/functions.hpp"

namespace dunlin::object {
namespace {

constexpr std::size_t kKeyBytesMax = MPI_MAX_INFO_KEY - 1;  // the ABI's constants count the NUL
constexpr std::size_t kValueBytesMax = MPI_MAX_INFO_VAL - 1;

Err check_key(const char* key) noexcept {
  const std::size_t bytes = std::strlen(key);
  if (bytes == 0) return fail(Err::info_key, "key is empty; give it at least one character");
  if (bytes > kKeyBytesMax)
    return fail(Err::info_key, "key has %zu characters; at most MPI_MAX_INFO_KEY-1 = %zu are allowed", bytes,
                kKeyBytesMax);
  return Err::ok;
}

Err check_changeable(const Info& info) noexcept {
  if (info.is_predefined())
    return fail(Err::info, "info is MPI_INFO_ENV, which cannot be changed or freed; use MPI_Info_dup");
  return Err::ok;
}

/// The command line as the kernel shows it, so that MPI_Info_create_env needs no arguments and gives the same
/// every time.
std::vector<std::string> command_line() {
  std::vector<std::string> words;
  std::FILE* file = std::fopen("/proc/self/cmdline", "r");
  if (!file) return words;
  std::string word;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
    if (c != 0) {
      word += char(c);
    } else {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  std::fclose(file);
  return words;
}

void set_if_it_fits(Info& info, const char* key, const std::string& value) {
  if (!value.empty() && value.size() <= kValueBytesMax) info.set(key, value);
}

void describe_start(Info& info, const std::vector<std::string>& words) {
  if (!words.empty()) set_if_it_fits(info, "command", words[0]);
  std::string arguments;
  for (std::size_t i = 1; i < words.size(); ++i) arguments += (i > 1 ? " " : "") + words[i];
  set_if_it_fits(info, "argv", arguments);
  utsname machine;
  if (uname(&machine) == 0) {
    set_if_it_fits(info, "host", machine.nodename);
    set_if_it_fits(info, "arch", machine.machine);
  }
  char directory[4096];
  if (getcwd(directory, sizeof directory)) set_if_it_fits(info, "wdir", directory);
  info.set("thread_level", "MPI_THREAD_MULTIPLE");
}

}  // namespace

Err info_create(Info** info) noexcept {
  *info = new Info;
  return Err::ok;
}

Err info_create_env(int argc, char** argv, Info** info) noexcept {
  std::vector<std::string> words;
  if (argc > 0 && argv) words.assign(argv, argv + argc);
  *info = new Info;
  describe_start(**info, words.empty() ? command_line() : words);
  return Err::ok;
}

void init_predefined_info() noexcept {
  Info* environment = nullptr;
  if (info_create_env(0, nullptr, &environment) != Err::ok) return;
  make_predefined(*environment, reinterpret_cast<std::uintptr_t>(MPI_INFO_ENV));
}

Err info_set(Info& info, const char* key, const char* value) noexcept {
  if (Err e = check_changeable(info); e != Err::ok) return e;
  if (Err e = check_key(key); e != Err::ok) return e;
  const std::size_t bytes = std::strlen(value);
  if (bytes > kValueBytesMax)
    return fail(Err::info_value,
                "value of key \"%s\" has %zu characters; at most MPI_MAX_INFO_VAL-1 = %zu are allowed", key,
                bytes, kValueBytesMax);
  info.set(key, value);
  return Err::ok;
}

Err info_delete(Info& info, const char* key) noexcept {
  if (Err e = check_changeable(info); e != Err::ok) return e;
  if (Err e = check_key(key); e != Err::ok) return e;
  if (!info.erase(key)) return fail(Err::info_nokey, "key \"%s\" is not in info", key);
  return Err::ok;
}

Err info_get(const Info& info, const char* key, int value_length, char* value, int* flag) noexcept {
  if (Err e = check_key(key); e != Err::ok) return e;
  if (value_length < 0)
    return fail(Err::arg, "valuelen is %d; give the room in value without the NUL at its end", value_length);
  const std::string* found = info.find(key);
  *flag = found != nullptr;
  if (!found) return Err::ok;
  const std::size_t bytes = std::min(found->size(), std::size_t(value_length));
  std::memcpy(value, found->data(), bytes);
  value[bytes] = '\0';
  return Err::ok;
}

Err info_get_valuelen(const Info& info, const char* key, int* value_length, int* flag) noexcept {
  if (Err e = check_key(key); e != Err::ok) return e;
  const std::string* found = info.find(key);
  *flag = found != nullptr;
  if (found) *value_length = int(found->size());
  return Err::ok;
}

Err info_get_string(const Info& info, const char* key, int* buffer_length, char* value, int* flag) noexcept {
  if (Err e = check_key(key); e != Err::ok) return e;
  if (*buffer_length < 0)
    return fail(Err::arg, "buflen is %d; give the room in value with the NUL at its end, or 0",
                *buffer_length);
  if (*buffer_length > 0 && !value)
    return fail(Err::arg, "value is a null pointer, but buflen is %d", *buffer_length);
  const std::string* found = info.find(key);
  *flag = found != nullptr;
  if (!found) return Err::ok;
  if (*buffer_length > 0) {
    const std::size_t bytes = std::min(found->size(), std::size_t(*buffer_length) - 1);
    std::memcpy(value, found->data(), bytes);
    value[bytes] = '\0';
  }
  *buffer_length = int(found->size()) + 1;
  return Err::ok;
}

Err info_get_nkeys(const Info& info, int* keys) noexcept {
  *keys = info.size();
  return Err::ok;
}

Err info_get_nthkey(const Info& info, int n, char* key) noexcept {
  if (n < 0 || n >= info.size())
    return fail(Err::arg, "n is %d; info has %d keys, so that n must be from 0 to %d", n, info.size(),
                info.size() - 1);
  const std::string& found = info.at(n).first;
  std::memcpy(key, found.c_str(), found.size() + 1);
  return Err::ok;
}

Err info_dup(const Info& info, Info** new_info) noexcept {
  *new_info = info.copy().detach();
  return Err::ok;
}

Err info_free(Info& info) noexcept {
  if (Err e = check_changeable(info); e != Err::ok) return e;
  info.release();
  return Err::ok;
}

}  // namespace dunlin::object
