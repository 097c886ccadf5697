// Lists of machines; see hosts.hpp.
#include "launcher/hosts.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>

namespace dunlin::launcher {
namespace {

constexpr std::size_t kFileBytesMax = 64 << 20;  // of a list of machines; /dev/zero has no end

std::string_view before_dot(std::string_view name) { return name.substr(0, name.find('.')); }

/// Its host name, with or without a domain, and the names that every machine has for itself.
bool is_this_machine(std::string_view name) {
  char own[256] = "";
  ::gethostname(own, sizeof own - 1);
  if (name == "localhost" || name == "::1" || name.starts_with("127.")) return true;
  const bool has_both_domains = name.find('.') != name.npos && std::string_view(own).find('.') != name.npos;
  return has_both_domains ? name == own : before_dot(name) == before_dot(own);
}

/// 0: it is none.  One that is too large for any machine is INT_MAX, which later checks refuse.
long number_of(std::string_view text) {
  long number = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), number);
  if (end != text.end() || text.starts_with('-')) return 0;
  return error == std::errc::result_out_of_range ? INT_MAX : std::min(number, long(INT_MAX));
}

/// Cuts off and returns what stands before the next of `marks`.
std::string_view next_word(std::string_view& rest, std::string_view marks) {
  const std::size_t begin = std::min(rest.find_first_not_of(marks), rest.size());
  const std::size_t end = std::min(rest.find_first_of(marks, begin), rest.size());
  const std::string_view word = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return word;
}

}  // namespace

bool Hosts::try_add(std::string_view name, long ranks) {
  if (name.empty() || ranks < 1) return false;
  are_elsewhere = are_elsewhere || !is_this_machine(name);
  const auto known =
      std::find_if(all.begin(), all.end(), [name](const Host& host) { return host.name == name; });
  if (known == all.end())
    all.push_back({std::string(name), ranks});
  else
    known->ranks += ranks;
  return true;
}

long Hosts::ranks() const {
  long sum = 0;
  for (const Host& host : all) sum += host.ranks;
  return sum;
}

std::vector<Host> Hosts::share_out(long ranks, long per_machine) const {
  std::vector<Host> machines = all;
  for (Host& machine : machines) {
    machine.ranks = std::min(per_machine > 0 ? per_machine : machine.ranks, ranks);
    ranks -= machine.ranks;
  }
  const long count = long(machines.size());
  for (long i = 0; i < count; ++i)
    machines[std::size_t(i)].ranks += ranks / count + (i < ranks % count ? 1 : 0);
  std::erase_if(machines, [](const Host& machine) { return machine.ranks == 0; });
  return machines;
}

bool Hosts::try_add_list(std::string_view list) {
  for (std::string_view host; !(host = next_word(list, ",")).empty();) {
    const bool is_number_6 = host == "::1";
    const std::size_t colon = is_number_6 ? host.npos : host.find(':');
    if (!try_add(host.substr(0, colon), colon == host.npos ? 1 : number_of(host.substr(colon + 1))))
      return false;
  }
  return !all.empty();
}

bool Hosts::try_add_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  std::string text;
  char block[4096];
  ssize_t got;
  while ((got = ::read(fd, block, sizeof block)) > 0 && text.size() < kFileBytesMax)
    text.append(block, std::size_t(got));
  const int error = got > 0 ? EFBIG : errno;
  ::close(fd);
  errno = error;
  if (got != 0) return false;
  std::string_view rest = text;
  for (std::string_view line; !(line = next_word(rest, "\n")).empty();) {
    line = line.substr(0, line.find('#'));
    const std::string_view host = next_word(line, " \t\r");
    if (host.empty()) continue;
    std::string_view word = next_word(line, " \t\r");
    while (!word.empty() && !word.starts_with("slots=")) word = next_word(line, " \t\r");
    const bool is_added = word.empty() ? try_add_list(host)
                                       : try_add(host.substr(0, host.find(':')), number_of(word.substr(6)));
    if (!is_added) return errno = EINVAL, false;
  }
  return true;
}

}  // namespace dunlin::launcher
