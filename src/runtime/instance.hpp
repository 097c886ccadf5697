// The running library of this process: launcher, transports, messaging, engine, world.  Made by the first
// user (MPI_Init or a session), kept until the last one leaves.
//
// Thread safety: under base/big_lock.hpp.
#pragma once

#include <memory>

#include "boot/boot.hpp"
#include "comm/process.hpp"
#include "peer/peer_memory.hpp"
#include "progress/engine.hpp"
#include "protocol/offload.hpp"
#include "runtime/address_board.hpp"
#include "transport/ofi/transport.hpp"
#include "transport/self/transport.hpp"
#include "transport/shm/transport.hpp"

namespace dunlin::runtime {

class Instance final : private peer::Memories, private transport::ofi::Directory {
 public:
  /// The instance, or nullptr before the first user and after the last.
  static Instance* current() noexcept { return current_; }

  /// One more user, who wants at least this thread level (MPI_THREAD_...).  The first one starts everything:
  /// a few milliseconds; collective over the job only under launchers that hand out no descriptor.
  static Err acquire(int thread_level) noexcept;
  /// One user less.  The last one waits until all that this process has begun is done, and has left for other
  /// nodes; it waits for nobody else: what others still need lies in shared memory, or on their machines.
  /// `is_session`: done is also what the program has let go, as at the end of MPI_Comm_disconnect.
  static Err release(bool is_session) noexcept;
  /// What MPI_Finalize does before: waits for all ranks.
  Err leave_world() noexcept;

  /// The process ends: where MPI is in use, the job does, too.
  static void end_in_use() noexcept;

  boot::Boot& boot() noexcept { return *boot_; }
  comm::Process& process() noexcept { return process_; }
  progress::Engine& engine() noexcept { return *engine_; }

 private:
  static Err start_first() noexcept;
  Err start_again() noexcept;
  Err start() noexcept;
  void open_world() noexcept;
  Err start_node() noexcept;
  Err join_node(int fd, int ranks_per_cpu) noexcept;
  Err start_network() noexcept;
  Err let_network_match(unsigned bits) noexcept;
  void add(transport::Transport& transport) noexcept;
  void await_last_words() noexcept;
  bool has_left() const noexcept;
  void await_left() noexcept;
  void await_done() noexcept;
  Err part() noexcept;
  Err fence() noexcept;
  static void part_at_exit(int status, void*) noexcept;
  Err stop(bool is_session) noexcept;
  void note_unreceived() noexcept;
  Result<std::string> address_of(int peer) noexcept override;
  std::span<const std::byte> published_by(int peer) const noexcept;
  bool has_published(int peer) noexcept override { return !published_by(peer).empty(); }
  std::unique_ptr<peer::PeerMemory> connect(int peer) noexcept override;
  bool is_shared(const void* at, std::size_t bytes) noexcept override;

  // Never destroyed: sessions may come and go any number of times, also after MPI_Finalize, and what the
  // ranks share was handed out once.  It ends with the process.
  static inline Instance* current_ = nullptr;
  std::unique_ptr<boot::Boot> boot_;
  std::unique_ptr<protocol::Messaging> messaging_;
  std::unique_ptr<progress::Engine> engine_;
  std::unique_ptr<transport::self::Transport> self_;
  std::unique_ptr<transport::shm::Transport> shm_;
  std::unique_ptr<transport::ofi::Transport> network_;  // only where the job has several nodes
  std::unique_ptr<protocol::Offload> offload_;          // only where the network matches
  // Over several nodes: no rank needs this process any more.  A process that ends takes its connections
  // along, and with them what it has sent and peers have not read; so it parts from all of them before, in
  // MPI_Finalize where that is the end for all of them, else when it exits (docs/decisions/0025).
  bool has_parted_ = false;
  bool is_exiting_ = false;   // and it has not
  bool is_in_fence_ = false;  // the launcher is asked for nothing else
  AddressBoard board_;
  comm::Process process_;
};

}  // namespace dunlin::runtime
