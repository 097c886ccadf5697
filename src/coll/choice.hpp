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

/// For people: what is missing where that is not met.
inline const char* missing(Needs needs) noexcept {
  switch (needs) {
    case Needs::regular:
      return "equal blocks and an order that may change";
    case Needs::domains:
      return "several domains";
    case Needs::memory:
      return "memory that all ranks share";
    case Needs::room:
      return "room in memory that all ranks share";
    default:
      return "nothing";
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
  using Rule = Answer (*)(const Facts&) noexcept;
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
    return algorithms_[std::size_t(chosen(facts).algorithm)].start(cx, arguments...);
  }
  /// `before`: what people should know besides, if the choice is not forced.
  Decision decide(const char* collective, const Facts& facts, const std::string& before = "") {
    const Answer found = chosen(facts);
    const std::string setting = std::string("DUNLIN_") + variable_.name();
    const char* const word = algorithms_[std::size_t(found.algorithm)].word;
    if (!found.why) return {collective, word, "forced by " + setting};
    if (forced_ < 0) return {collective, word, before + spelled(found)};
    const Algorithm<Arguments...>& forced = algorithms_[std::size_t(forced_)];
    const std::string refusal = setting + "=" + forced.word + " is not possible, it needs ";
    return {collective, word, refusal + missing(forced.needs) + "; " + before + spelled(found)};
  }

 private:
  [[gnu::always_inline]] Answer chosen(const Facts& facts) noexcept {
    if (variable_.get() != seen_) [[unlikely]] {  // the setting's word is looked up once, not at every call
      seen_ = variable_.get();
      forced_ = variable_.index() - 1;
    }
    if (forced_ >= 0 && is_met(algorithms_[std::size_t(forced_)].needs, facts)) [[unlikely]]
      return {forced_, nullptr};
    return best(facts);
  }
  [[gnu::always_inline]] Answer best(const Facts& facts) const noexcept {
    if (facts.share_memory)
      return {is_short(facts, short_multiple_) ? room_ : memory_, why_short(facts, short_multiple_)};
    Answer found = rule_(facts);
    if (found.algorithm == kByDomains) found.algorithm = domains_;
    return found;
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
