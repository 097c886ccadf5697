// Messages between the ranks of different nodes, over whatever network libfabric reaches.
//
// The runtime opens one per process where a job has several nodes; progress/ polls it, protocol/ sends
// through its channels.  How a pair talks: channel.hpp.  Which provider: fabric.hpp.  How a wait sleeps:
// sleeper.hpp. Documents: docs/network.md, docs/decisions/0024.
//
// Scale: nothing is sent and no address is asked for before two processes talk.  A process has
// DUNLIN_OFI_FRAMES receive buffers and as many send buffers whatever the size of the job, 8 bytes for each
// rank, and what channel.hpp says for each that it talks to. Who may talk to us: who knows our secret, which
// only the ranks of the job can read.  Frames without are dropped and counted.  This keeps strangers out that
// reach the port; who reads the wire can forge. Thread safety: all calls under base/big_lock.hpp, but for
// `sleep` and `wake` (transport.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/err.hpp"
#include "transport/ofi/address.hpp"
#include "transport/transport.hpp"

namespace dunlin::transport::ofi {

class Channel;

struct Setup {
  int me = 0;                       // peer index
  int peers = 1;                    // of the job; indices below this
  std::span<const int> node_peers;  // ascending; those that something else reaches, perhaps this process, too
  Directory* directory = nullptr;   // asked when a peer is first talked to; not owned
  bool matches = false;             // the network has to match messages: `tagged`
  std::string other_door = {};      // of another node (reach.hpp); empty: interfaces are not tried
};

class Transport : public transport::Transport {
 public:
  /// Opens an endpoint.  No message and no barrier.  Fails with one sentence where there is no network or no
  /// libfabric.
  static Result<std::unique_ptr<Transport>> open(const Setup& setup) noexcept;

  /// What the others have to know, for the directory.
  virtual const std::string& address() const noexcept = 0;
  /// The job's, agreed before the first message; frames without it are dropped.
  virtual void set_secret(std::uint64_t secret) noexcept = 0;
  /// Whether it reaches memory of this process, the heap's too, by its pages (heap::keep_all_pages).
  virtual bool pins_memory() const noexcept = 0;
  /// Null unless `Setup::matches`.  Reaches all ranks, this one too.
  virtual transport::Tagged* tagged() noexcept = 0;
  /// "net on eth0 10.1.0.1, messages".
  virtual std::string describe() const noexcept = 0;
  /// Whether everything that was sent is on its way to the peers' machines, without further polls.  Asks the
  /// network where it has not told.
  virtual bool has_left() noexcept = 0;
  /// Whether peers have begun to leave: then nobody is asked any more what it has taken.
  virtual void set_parting(bool is_parting) noexcept = 0;
  /// Nobody waits any more, until somebody does again: threads end.
  virtual void rest() noexcept = 0;
  /// Prints a line of what was asked of the network, where DUNLIN_VERBOSE is set.
  virtual void note_counts() const noexcept = 0;
  /// Frames that came without the secret.
  virtual std::uint64_t strangers() const noexcept = 0;
  const char* name() const noexcept override { return "ofi"; }
};

}  // namespace dunlin::transport::ofi
