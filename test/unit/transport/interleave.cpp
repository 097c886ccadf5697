// See interleave.hpp.
#include "test/unit/transport/interleave.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <unordered_set>

#include "test/stacks.hpp"

namespace dunlin::test {
namespace {

constexpr std::size_t kStackBytes = 64 << 10;  // AddressSanitizer goes over all of it in each run

enum class State : std::uint8_t { ready, waits_for_change, waits_for_wake, ended };

struct Store {
  std::uint64_t* word;
  std::uint64_t value;
};

struct Thread {
  Stack stack;
  std::function<void()> body;
  State state = State::ready;
  const std::uint64_t* word = nullptr;  // waited for
  std::vector<Store> buffer;  // the oldest first; of a few
  std::uint64_t history = 0;    // hash of all it has read: what it will do next depends on nothing else
  std::uint64_t loaded_at = 0;  // version of memory at its last load
};

/// One run: the threads, and the choices that lead through it.
struct Run {
  std::vector<std::unique_ptr<Thread>> threads;
  Stack scheduler;
  Thread* current = nullptr;
  std::uint64_t version = 0;                              // of memory
  std::map<const std::uint64_t*, std::uint64_t> written;  // atomic words and what they hold
};

Run* run = nullptr;
std::vector<std::vector<std::byte>> stacks;  // reused by all runs

void begin() {
  run->current->body();
  run->current->state = State::ended;
  Stack::go(run->current->stack, run->scheduler);
}

void back_to_scheduler() { Stack::go(run->current->stack, run->scheduler); }

void wait_for_change() {
  run->current->state = State::waits_for_change;
  back_to_scheduler();
}

void reach_memory(Thread& thread) {
  const Store store = thread.buffer.front();
  thread.buffer.erase(thread.buffer.begin());
  Interleaver::write(store.word, store.value);
}

/// What can happen next: thread i (2 * i) or a store of thread i (2 * i + 1).
void list_options(std::vector<int>& all) {
  all.clear();
  for (std::size_t at = 0; at < run->threads.size(); ++at) {
    if (run->threads[at]->state == State::ready) all.push_back(int(2 * at));
    if (!run->threads[at]->buffer.empty()) all.push_back(int(2 * at + 1));
  }
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

/// Two runs that come to the same state go on in the same ways.
std::uint64_t state_hash() {
  std::uint64_t hash = 1;
  for (const auto& thread : run->threads) {
    hash = mix(mix(hash, thread->history), std::uint64_t(thread->state));
    hash = mix(hash, thread->loaded_at == run->version);
    for (const Store& store : thread->buffer) hash = mix(mix(hash, std::uintptr_t(store.word)), store.value);
  }
  for (const auto& [word, value] : run->written) hash = mix(mix(hash, std::uintptr_t(word)), value);
  return hash;
}

struct Choice {
  std::size_t taken;
  std::size_t of;
};

void start(const Interleaver::Program& program) {
  run->threads.clear();
  while (stacks.size() < program.threads.size()) stacks.emplace_back(kStackBytes);
  for (std::size_t at = 0; at < program.threads.size(); ++at) {
    auto thread = std::make_unique<Thread>();
    thread->body = program.threads[at];
    thread->stack.begin_on(stacks[at], begin);
    run->threads.push_back(std::move(thread));
  }
}

enum class End : std::uint8_t { all_ended, deadlock, known };

/// Follows `path`, then takes first options and appends them, until a state that earlier runs have been in.
End follow(std::vector<Choice>& path, std::unordered_set<std::uint64_t>& known) {
  std::vector<int> all;
  for (std::size_t depth = 0;; ++depth) {
    list_options(all);
    if (all.empty()) break;
    if (depth == path.size()) {
      if (!known.insert(state_hash()).second) return End::known;
      path.push_back({0, all.size()});
    }
    EXPECT_EQ(path[depth].of, all.size()) << "a run does not replay";
    const int option = all[path[depth].taken];
    Thread& thread = *run->threads[std::size_t(option / 2)];
    if (option % 2 == 1) {
      reach_memory(thread);
    } else {
      run->current = &thread;
      Stack::go(run->scheduler, thread.stack);
    }
  }
  for (const auto& thread : run->threads) {
    if (thread->state != State::ended) return End::deadlock;
  }
  return End::all_ended;
}

}  // namespace

Interleaver::Outcome Interleaver::explore(const std::function<Program()>& make, std::uint64_t runs_max) {
  Outcome outcome;
  std::vector<Choice> path;
  std::unordered_set<std::uint64_t> known;
  Run state;
  run = &state;
  while (outcome.runs < runs_max) {
    state.current = nullptr;
    state.written.clear();
    const Program program = make();
    start(program);
    ++outcome.runs;
    const End end = follow(path, known);
    state.current = nullptr;
    if (end == End::deadlock) ++outcome.deadlocks;
    if (end == End::all_ended && program.check) program.check();
    if (::testing::Test::HasFailure()) break;  // the first failing order is enough
    while (!path.empty() && path.back().taken + 1 == path.back().of) path.pop_back();
    if (path.empty()) {
      outcome.is_complete = true;
      break;
    }
    ++path.back().taken;
  }
  run = nullptr;
  outcome.states = known.size();
  return outcome;
}

void Interleaver::step() {
  if (!run->current) return;
  run->current->history = mix(run->current->history, 1);
  back_to_scheduler();
}

std::uint64_t Interleaver::load(const std::uint64_t* word) {
  if (!run->current) return *word;
  Thread& thread = *run->current;
  thread.loaded_at = run->version;
  const std::vector<Store>& buffer = thread.buffer;
  std::uint64_t value = *word;
  for (const Store& store : buffer) {
    if (store.word == word) value = store.value;
  }
  thread.history = mix(thread.history, value);
  return value;
}

void Interleaver::store(std::uint64_t* word, std::uint64_t value) {
  if (!run->current) {
    write(word, value);
  } else {
    run->current->buffer.push_back({word, value});
  }
}

void Interleaver::drain() {
  while (run->current && !run->current->buffer.empty()) reach_memory(*run->current);
}

void Interleaver::drain_all() {
  for (const auto& thread : run->threads) {
    while (!thread->buffer.empty()) reach_memory(*thread);
  }
}

void Interleaver::write(std::uint64_t* word, std::uint64_t value) {
  *word = value;
  run->written[word] = value;
  ++run->version;
  for (const auto& thread : run->threads) {
    if (thread->state == State::waits_for_change) thread->state = State::ready;
  }
}

void Interleaver::block_until_change() {
  if (run->version == run->current->loaded_at) wait_for_change();
}

void Interleaver::poll_until(bool (*try_once)(void*), void* argument) {
  Thread& thread = *run->current;
  for (;;) {
    const std::uint64_t version = run->version;
    const std::uint64_t history = thread.history;
    if (try_once(argument)) return;
    thread.history = history;
    if (version == run->version) wait_for_change();
  }
}

void Interleaver::block_until_wake(const std::uint64_t* word) {
  run->current->state = State::waits_for_wake;
  run->current->word = word;
  back_to_scheduler();
}

void Interleaver::wake(const std::uint64_t* word) {
  for (const auto& thread : run->threads) {
    if (thread->state == State::waits_for_wake && thread->word == word) thread->state = State::ready;
  }
}

}  // namespace dunlin::test
