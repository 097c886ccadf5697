#include "base/variable.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/log.hpp"

extern char** environ;

namespace dunlin {
namespace {

constinit Variable* all_variables = nullptr;
constexpr char kPrefix[] = "DUNLIN_";
constexpr std::size_t kPrefixBytes = sizeof kPrefix - 1;

/// Position of `word` in "a|b|c", or -1.
int word_index(const char* words, const char* word) noexcept {
  const std::size_t bytes = std::strlen(word);
  int index = 0;
  for (const char* at = words; *at; ++index) {
    const char* end = ::strchrnul(at, '|');
    if (std::size_t(end - at) == bytes && std::strncmp(at, word, bytes) == 0) return index;
    at = *end ? end + 1 : end;
  }
  return -1;
}

/// Edit distance (Levenshtein), for "did you mean".
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

Variable::Variable(const char* name, const char* unit, const char* meaning) noexcept
    : name_(name), unit_(unit), meaning_(meaning) {
  Variable** at = &all_variables;
  while (*at && std::strcmp((*at)->name_, name) < 0) at = &(*at)->next_;
  next_ = *at;
  *at = this;
}

Variable* Variable::first() noexcept { return all_variables; }

void Variable::read_environment() noexcept {
  char key[96];
  std::snprintf(key, sizeof key, "%s%s", kPrefix, name_);
  const char* text = std::getenv(key);
  if (!text || !*text) return;
  if (try_parse(text))
    source_ = Source::environment;
  else
    log::warn("%s=%s is not understood (%s%s%s); the default is used", key, text, meaning_,
              *unit_ ? ": " : "", unit_);
}

Variable* Variable::find(const char* name) noexcept {
  Variable* each = all_variables;
  while (each && std::strcmp(each->name_, name) != 0) each = each->next_;
  return each;
}

bool Variable::try_set(const char* text) noexcept {
  char* const copy = ::strdup(text);
  const bool is_set = copy && try_parse(copy);
  if (!is_set || is_number()) std::free(copy);  // a word is kept by address, for the rest of the process
  if (is_set) source_ = Source::program;
  return is_set;
}

void Variable::read_all_again() noexcept {
  for (Variable* each = all_variables; each; each = each->next_) {
    each->set_default();
    each->source_ = Source::builtin;
    each->read_environment();
  }
}

void Variable::warn_of_unknown() noexcept {
  for (char** entry = environ; entry && *entry; ++entry) {
    if (std::strncmp(*entry, kPrefix, kPrefixBytes) != 0) continue;
    const std::string name(*entry + kPrefixBytes, std::strcspn(*entry + kPrefixBytes, "="));
    if (name.starts_with("LAUNCH_")) continue;  // mpirun's word to its ranks, boot/launch_environment.hpp
    const Variable* nearest = nullptr;
    std::size_t nearest_distance = SIZE_MAX;
    for (const Variable* each = all_variables; each; each = each->next_) {
      const std::size_t d = distance(name, each->name_);
      if (d < nearest_distance) { nearest = each; nearest_distance = d; }
    }
    if (nearest && nearest_distance > 0)
      log::warn("%s%s is not a setting of this library; did you mean %s%s?", kPrefix, name.c_str(), kPrefix,
                nearest->name_);
  }
}

bool IntVariable::try_parse(const char* text) noexcept {
  static constexpr const char* kYes = "yes|on|true";
  static constexpr const char* kNo = "no|off|false";
  std::int64_t parsed = 0;
  if (word_index(kYes, text) >= 0) {
    parsed = 1;
  } else if (word_index(kNo, text) < 0) {
    char* end = nullptr;
    errno = 0;
    parsed = std::strtoll(text, &end, 0);
    if (errno != 0 || end == text) return false;
    static constexpr char kSuffixes[] = "kmg";
    if (*end) {
      const char* suffix = std::strchr(kSuffixes, *end | 0x20);
      if (!suffix || end[1]) return false;
      if (__builtin_mul_overflow(parsed, std::int64_t{1} << (10 * (suffix - kSuffixes + 1)), &parsed))
        return false;
    }
  }
  if (parsed < min_ || parsed > max_) return false;
  value_ = parsed;
  return true;
}

void IntVariable::print_value(char* text, int bytes_max) const noexcept {
  std::snprintf(text, std::size_t(bytes_max), "%lld", static_cast<long long>(value_));
}
void IntVariable::print_default(char* text, int bytes_max) const noexcept {
  std::snprintf(text, std::size_t(bytes_max), "%lld", static_cast<long long>(preset_));
}

int WordVariable::index() const noexcept { return word_index(unit(), value_); }

bool WordVariable::try_parse(const char* text) noexcept {
  if (*unit() && word_index(unit(), text) < 0) return false;
  value_ = text;  // points into the environment, which outlives the process's use of settings
  return true;
}

void WordVariable::print_value(char* text, int bytes_max) const noexcept {
  std::snprintf(text, std::size_t(bytes_max), "%s", value_);
}
void WordVariable::print_default(char* text, int bytes_max) const noexcept {
  std::snprintf(text, std::size_t(bytes_max), "%s", preset_);
}

}  // namespace dunlin
