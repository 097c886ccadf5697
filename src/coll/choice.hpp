// The choice of one collective among its algorithms: the one that its setting forces, where that can do the
// operation at hand, else the best by rule (rules.hpp).  The lists of algorithms are in select.cpp.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "base/variable.hpp"
#include "coll/rules.hpp"
#include "coll/steps.hpp"
#include "coll/task.hpp"

namespace dunlin::coll {

/// What an algorithm asks of the facts.
enum class Needs : std::uint8_t { nothing, regular, domains, memory, room };

inline bool is_met(Needs needs, const Facts& facts) noexcept {
  switch (needs) {
    case Needs::regular:
      return facts.is_regular;
    case Needs::domains:
      return facts.has_domains;
    case Needs::memory:
      return facts.share_memory;
    case Needs::room:
      return has_room(facts);
    default:
      return true;
  }
}

template <class... Arguments>
struct Algorithm {
  const char* word;  // of the setting
  Task (*start)(Cx, Arguments...);
  Needs needs = Needs::nothing;
};

template <class... Arguments>
class Choice {
 public:
  /// Of ranks that do not all share memory.
  using Rule = int (*)(const Facts&) noexcept;
  /// First the algorithms by messages.
  Choice(const char* setting, const char* meaning, Rule rule,
         std::initializer_list<Algorithm<Arguments...>> algorithms, int short_multiple = kShort)
      : algorithms_(algorithms),
        words_(words_of(algorithms_)),
        rule_(rule),
        short_multiple_(short_multiple),
        room_(find(Needs::room)),
        memory_(find(Needs::memory)),
        domains_(find(Needs::domains)),
        variable_(setting, "auto", words_.c_str(), meaning) {}

  Task start(const Facts& facts, const Cx& cx, Arguments... arguments) noexcept {
    return chosen(facts).start(cx, arguments...);
  }
  const char* word(const Facts& facts) noexcept { return chosen(facts).word; }

 private:
  const Algorithm<Arguments...>& chosen(const Facts& facts) noexcept {
    if (variable_.get() != seen_) [[unlikely]] {  // the setting's word is looked up once, not at every call
      seen_ = variable_.get();
      forced_ = variable_.index() - 1;
    }
    if (forced_ >= 0 && is_met(algorithms_[std::size_t(forced_)].needs, facts)) [[unlikely]]
      return algorithms_[std::size_t(forced_)];
    return algorithms_[std::size_t(best(facts))];
  }
  int best(const Facts& facts) const noexcept {
    if (facts.share_memory) return is_short(facts, short_multiple_) ? room_ : memory_;
    const int answer = rule_(facts);
    return answer == kByDomains ? domains_ : answer;
  }
  /// 0 where there is none: then no rule asks for it.
  int find(Needs needs) const noexcept {
    for (std::size_t i = 0; i < algorithms_.size(); ++i)
      if (algorithms_[i].needs == needs) return int(i);
    return 0;
  }
  static std::string words_of(const std::vector<Algorithm<Arguments...>>& algorithms) {
    std::string words = "auto";
    for (const auto& each : algorithms) words += std::string("|") + each.word;
    return words;
  }

  const std::vector<Algorithm<Arguments...>> algorithms_;
  const std::string words_;
  const Rule rule_;
  const int short_multiple_;
  const int room_, memory_, domains_;  // positions
  WordVariable variable_;
  const char* seen_ = nullptr;
  int forced_ = -1;
};

}  // namespace dunlin::coll
