// Runs a few short threads in every possible order, on a model of a processor with store buffers (x86: TSO).
//
// Lock-free structures are templates over a machine (transport/shm/hardware.hpp); `Model` is one whose
// every atomic access hands control to a scheduler.  The scheduler enumerates, depth first, all sequences
// of "thread i does its next access" and "the oldest store in thread i's buffer reaches memory".  Stores
// wait in a buffer that only their own thread sees; read-modify-writes and fences empty it;
// `global_barrier` empties all buffers. A thread that polled in vain (`poll_until`, `pause`) runs again
// only after memory has changed; one that waits on a word only after a wake-up.  When nobody can go on
// and not all have ended, the run is a deadlock: a lost wake-up.
//
// A run is left in the middle when it comes to a known state: bodies keep nothing on the heap.  Payload
// is copied by plain stores that reach memory at once, which is never later than on the real machine;
// missing release and acquire orders are found by ThreadSanitizer on shm_threads.cpp, not here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

namespace dunlin::test {

class Interleaver {
 public:
  struct Outcome {
    std::uint64_t runs = 0;
    std::uint64_t states = 0;  // different ones met; a run ends where an earlier one has been
    std::uint64_t deadlocks = 0;
    bool is_complete = false;  // false: stopped at `runs_max`
  };
  /// Makes the threads of one run, on fresh state; `check` is called after they have all ended.
  struct Program {
    std::vector<std::function<void()>> threads;
    std::function<void()> check;
  };

  /// Runs all interleavings of the program that `make` returns anew for each.
  static Outcome explore(const std::function<Program()>& make, std::uint64_t runs_max = 2'000'000);

  /// From inside a thread: until `try_once()` succeeds.  An attempt that fails must leave the thread as
  /// it was.
  template <class Try>
  static void poll_until(Try&& try_once) {
    poll_until([](void* argument) { return (*static_cast<std::remove_reference_t<Try>*>(argument))(); },
               &try_once);
  }

  // What `Model` calls, from inside a thread of a run.  Outside of one, accesses go to memory at once.
  static void step();  // before each access to memory
  static std::uint64_t load(const std::uint64_t* word);
  static void store(std::uint64_t* word, std::uint64_t value);
  static void drain();  // own buffer
  static void drain_all();
  static void write(std::uint64_t* word, std::uint64_t value);  // past the buffer
  static void block_until_change();
  static void block_until_wake(const std::uint64_t* word);
  static void wake(const std::uint64_t* word);

 private:
  static void poll_until(bool (*try_once)(void*), void* argument);
};

struct Model {
  /// Any small T, kept in 64 bits.
  template <class T>
  class Atomic {
   public:
    template <class Order>
    T load(Order) const noexcept {
      Interleaver::step();
      return T(Interleaver::load(&word_));
    }
    template <class Order>
    void store(T value, Order) noexcept {
      Interleaver::step();
      Interleaver::store(&word_, std::uint64_t(value));
    }
    template <class Order>
    T exchange(T value, Order) noexcept {
      return change([value](T) { return value; });
    }
    template <class Order>
    T fetch_or(T bits, Order) noexcept {
      return change([bits](T old) { return T(old | bits); });
    }
    template <class Order>
    T fetch_and(T bits, Order) noexcept {
      return change([bits](T old) { return T(old & bits); });
    }
    template <class Order>
    T fetch_add(T value, Order) noexcept {
      return change([value](T old) { return T(old + value); });
    }
    template <class Order>
    T fetch_sub(T value, Order) noexcept {
      return change([value](T old) { return T(old - value); });
    }
    template <class Success, class Failure>
    bool compare_exchange_strong(T& expected, T wanted, Success, Failure) noexcept {
      const T old = change([&](T now) { return now == expected ? wanted : now; });
      const bool is_done = old == expected;
      expected = old;
      return is_done;
    }

   private:
    friend struct Model;
    template <class Change>
    T change(Change&& change) noexcept {
      Interleaver::step();
      Interleaver::drain();
      const T old = T(Interleaver::load(&word_));
      Interleaver::write(&word_, std::uint64_t(change(old)));
      return old;
    }
    std::uint64_t word_ = 0;
  };

  struct Distance {
    bool is_far() const noexcept { return false; }
    std::uint64_t before_load() const noexcept { return 0; }
    void after_load(std::uint64_t, bool) noexcept {}
  };

  static constexpr int kPollsForRest = 2;
  static void pause() noexcept { Interleaver::block_until_change(); }
  static void hand_over(const void*) noexcept {}
  static bool takes_over(std::size_t) noexcept { return true; }
  static void full_fence() noexcept { Interleaver::drain(); }
  static void compiler_fence() noexcept {}
  static bool global_barrier() noexcept {
    Interleaver::step();
    Interleaver::drain_all();
    return true;
  }
  template <class T>
  static void wait(const Atomic<T>& word, T value, std::int64_t) noexcept {
    Interleaver::step();
    Interleaver::drain();
    if (T(Interleaver::load(&word.word_)) == value) Interleaver::block_until_wake(&word.word_);
  }
  template <class T>
  static void wake(const Atomic<T>& word) noexcept {
    Interleaver::step();
    Interleaver::wake(&word.word_);
  }
};

}  // namespace dunlin::test
