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
  /// One user less.  The last one takes everything down when all that this process has begun is done, and
  /// waits for nobody else: in shared memory others need it no more.  Where the job has several nodes it
  /// waits for all ranks.
  static Err release() noexcept;
  /// What MPI_Finalize does before: waits for all ranks.
  Err leave_world() noexcept;
  /// What the end of the last session does before: waits until what the program has let go is done, as
  /// MPI_Comm_disconnect does.
  void await_let_go() noexcept;

  boot::Boot& boot() noexcept { return *boot_; }
  comm::Process& process() noexcept { return process_; }
  progress::Engine& engine() noexcept { return *engine_; }

 private:
  static Err start_first() noexcept;
  Err start_again() noexcept;
  Err start() noexcept;
  void open_world() noexcept;
  Err start_node() noexcept;
  Err join_node(int fd) noexcept;
  Err start_network() noexcept;
  Err let_network_match(unsigned bits) noexcept;
  void add(transport::Transport& transport) noexcept;
  void await_idle() noexcept;
  Err stop() noexcept;
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
  AddressBoard board_;
  comm::Process process_;
};

}  // namespace dunlin::runtime
