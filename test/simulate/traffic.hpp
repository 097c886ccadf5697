// Random point-to-point traffic among simulated ranks, each on a stack of its own (random_traffic.cpp).
//
// All ranks work through one list of entries, in its order; nobody waits for an entry whose other end waits
// for a later one.  What is sent, how, from where to where, comes from the list; when things are waited for,
// and how, from dice of each rank.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mpi.h"
#include "test/simulate/fibers.hpp"
#include "test/simulate/shapes.hpp"
#include "test/simulate/world.hpp"

namespace dunlin::test {

/// How the receives of a communicator name their messages; never mixed, or one could take what another needs.
enum class Naming { source_and_tag, any_tag, any_source, anything };
inline constexpr int kNamings = 4;

struct Entry {
  enum class Kind { message, exchange, race };
  enum class How { standard, synchronous, ready, buffered };
  Kind kind;
  int source, dest, tag;
  Naming naming;
  How how;
  std::size_t bytes;
  std::size_t back_bytes;  // of the way back of an exchange
  std::size_t room;        // of the receive; less than `bytes` where the message is to be cut
  bool is_sent, is_received;  // of a race: which ends there are
};

class Traffic {
 public:
  /// `eager_bytes`: sizes around this limit are wanted.
  Traffic(World& world, std::uint64_t seed, std::size_t eager_bytes);
  ~Traffic();
  void run();

 private:
  friend class Actor;
  void add_entry(Dice& dice, std::size_t bytes_max);
  void check_races() const;

  World& world_;
  std::vector<Entry> entries_;
  std::size_t wildcard_room_ = 4;                // of receives that cannot know what they get
  std::vector<std::vector<Ref<Comm>>> comms_;    // by naming, by rank
  std::vector<bool> is_posted_;                  // by entry: its receive
  std::vector<bool> was_cancelled_, has_come_;   // by entry, of races: the send; the message
  std::vector<std::unique_ptr<class Actor>> actors_;  // by rank
  int actors_done_ = 0;
};

/// One rank of the traffic.
class Actor {
 public:
  Actor(Traffic& traffic, int rank, std::uint64_t seed) : traffic_(traffic), rank_(rank), dice_(seed) {}
  /// The program of the rank.
  void run();
  /// Where it is, for the report of a failure.
  std::string describe() const;

 private:
  struct Operation {
    MPI_Request request = MPI_REQUEST_NULL;
    std::unique_ptr<Shape> shape;
    std::uint32_t number;  // of the entry
    bool is_receive = false;
    std::size_t room = 0;
    std::size_t place = 0;  // of a receive: among those of this rank, in the order of posting
    bool is_persistent = false;
    bool is_cancelled = false;  // asked for
  };

  Comm& comm(const Entry& entry) const {
    return *traffic_.comms_[std::size_t(entry.naming)][std::size_t(rank_)];
  }
  const Entry& entry(std::uint32_t number) const { return traffic_.entries_[number]; }
  std::unique_ptr<Shape> shape(std::size_t bytes);
  void drop(std::unique_ptr<Shape> shape);

  void send(std::uint32_t number);
  Err send_blocking(const Entry& entry, Shape& data, Entry::How how);
  void start_send(Operation& operation, Entry::How how);
  void receive(std::uint32_t number);
  void receive_blocking(Operation operation, int source, int tag);
  void receive_probed(Operation operation, int source, int tag);
  void exchange(std::uint32_t number);
  void race(std::uint32_t number);

  bool may_be_awaited(const Operation& operation) const;
  std::size_t awaited_count() const;
  void end_some(std::size_t most);
  void end_one();
  void cancel_race(Operation& operation);
  void end(std::size_t index, const MPI_Status& status, Err error);
  void check_received(const Operation& operation, const MPI_Status& status, Err error);
  void check_order() const;

  Traffic& traffic_;
  const int rank_;
  Dice dice_;
  std::vector<Operation> running_;
  std::vector<std::uint32_t> received_;  // entry, by place
  std::uint32_t position_ = 0;           // entry at work
  bool has_posted_all_ = false;
};

}  // namespace dunlin::test
