// Settings: every one is a variable DUNLIN_<NAME> of the environment, defined beside the code that uses it:
//
//   IntVariable eager_bytes{"EAGER_BYTES", 16384, "bytes", "largest message that is sent without asking the
//   receiver"};
//
// `dunlin-info --settings` and MPI_T list them all with meaning, unit, default and source.  Values are read
// from the environment when the object is constructed (before main); sizes may end in k, m or g (powers of
// 1024), and yes/no, on/off, true/false mean 1/0.  A value that does not parse is reported and the default
// kept. Thread safety: reading is a plain load; writing (`set`, `read_all_again`) only before other threads
// use it.
#pragma once

#include <cstdint>

namespace dunlin {

class Variable {
 public:
  enum class Source : std::uint8_t { builtin, environment, program };

  const char* name() const noexcept { return name_; }        // without DUNLIN_
  const char* unit() const noexcept { return unit_; }        // "bytes", "us", "" for none
  const char* meaning() const noexcept { return meaning_; }  // one sentence without full stop
  Source source() const noexcept { return source_; }
  Variable* next() const noexcept { return next_; }

  virtual bool is_number() const noexcept = 0;
  /// Takes the value from a text as the environment would give it (MPI_T); false where it does not parse.
  bool try_set(const char* text) noexcept;

  virtual void print_value(char* text, int bytes_max) const noexcept = 0;
  virtual void print_default(char* text, int bytes_max) const noexcept = 0;

  /// First of all variables, linked by `next`, sorted by name.
  static Variable* first() noexcept;
  /// The variable `name` (without DUNLIN_), or nullptr.
  static Variable* find(const char* name) noexcept;
  /// Reads all values from the environment again (tests; after changes of the environment by the launcher's
  /// protocol).
  static void read_all_again() noexcept;
  /// Warns of every DUNLIN_ variable in the environment that nobody defines, with the nearest name; call once
  /// at start.
  static void warn_of_unknown() noexcept;

 protected:
  Variable(const char* name, const char* unit, const char* meaning) noexcept;
  void read_environment() noexcept;
  virtual bool try_parse(const char* text) noexcept = 0;
  virtual void set_default() noexcept = 0;
  ~Variable() = default;
  Source source_ = Source::builtin;

 private:
  const char* name_;
  const char* unit_;
  const char* meaning_;
  Variable* next_ = nullptr;
};

class IntVariable final : public Variable {
 public:
  IntVariable(const char* name, std::int64_t preset, const char* unit, const char* meaning,
              std::int64_t min = INT64_MIN, std::int64_t max = INT64_MAX) noexcept
      : Variable(name, unit, meaning), value_(preset), preset_(preset), min_(min), max_(max) {
    read_environment();
  }
  std::int64_t get() const noexcept { return value_; }
  bool is_number() const noexcept override { return true; }
  void set(std::int64_t value) noexcept { value_ = value; source_ = Source::program; }
  void print_value(char* text, int bytes_max) const noexcept override;
  void print_default(char* text, int bytes_max) const noexcept override;

 private:
  bool try_parse(const char* text) noexcept override;
  void set_default() noexcept override { value_ = preset_; }
  std::int64_t value_, preset_, min_, max_;
};

/// One word of a fixed list, "auto|shared_heap|cma"; `index` is its position in the list.  An empty list
/// allows any text.
class WordVariable final : public Variable {
 public:
  WordVariable(const char* name, const char* preset, const char* words, const char* meaning) noexcept
      : Variable(name, words, meaning), value_(preset), preset_(preset) { read_environment(); }
  const char* get() const noexcept { return value_; }
  bool is_number() const noexcept override { return false; }
  int index() const noexcept;
  void print_value(char* text, int bytes_max) const noexcept override;
  void print_default(char* text, int bytes_max) const noexcept override;

 private:
  bool try_parse(const char* text) noexcept override;
  void set_default() noexcept override { value_ = preset_; }
  const char* value_;
  const char* preset_;
};

}  // namespace dunlin
