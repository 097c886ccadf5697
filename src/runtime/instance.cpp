#include "runtime/instance.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/big_lock.hpp"
#include "base/log.hpp"
#include "base/variable.hpp"
#include "boot/launch_page.hpp"
#include "boot/node_segment.hpp"
#include "coll/functions.hpp"
#include "datatype/datatype.hpp"
#include "heap/heap.hpp"
#include "mpi.h"
#include "object/attributes.hpp"
#include "object/errhandler.hpp"
#include "object/functions.hpp"
#include "object/life.hpp"
#include "op/op.hpp"
#include "os/cpus.hpp"
#include "os/thread.hpp"
#include "progress/helper.hpp"
#include "progress/long_wait.hpp"
#include "progress/wait_signal.hpp"
#include "protocol/match_bits.hpp"
#include "runtime/crash_report.hpp"
#include "runtime/functions.hpp"
#include "runtime/job_facts.hpp"
#include "transport/ofi/reach.hpp"

namespace dunlin::runtime {
namespace {

constexpr char kDoorKey[] = "node.door";  // put by the first rank of each node

/// Handles of predefined objects exist from the first start to the end of the process.
void make_predefined_objects() noexcept {
  static bool are_made = false;
  if (are_made) return;
  are_made = true;
  init_predefined_errhandlers();
  init_predefined_groups();
  object::init_predefined_info();
  init_predefined_datatypes();
  init_predefined_ops();
}

bool is_ending = false;   // the last user, and waits for the library's own thread
bool is_parting = false;  // it is asked whether this is the end for all ranks, or they part
int exit_code = 0;        // once the process exits
pid_t process_id = 0;     // of the rank: a child of `_Fork` looks like it

/// A launcher that binds ranks has counted before it did.
int cpus_of(const boot::LaunchPage& page) noexcept {
  return page.cpus_usable > 0 ? int(page.cpus_usable) : os::usable_cpu_count();
}

}  // namespace

Err Instance::acquire(int thread_level) noexcept {
  if (Life::is_forked)
    return fail(Err::other, "it was called in a child process of fork, which is no rank");
  if (current_) current_->await_last_words();
  if (Life::users == 0) {
    if (Err error = current_ ? current_->start_again() : start_first(); error != Err::ok) return error;
    BigLock::set_needed(thread_level == MPI_THREAD_MULTIPLE);
  }
  if (thread_level == MPI_THREAD_MULTIPLE) BigLock::set_needed(true);
  ++Life::users;
  return Err::ok;
}

/// Another thread may have them.
void Instance::await_last_words() noexcept {
  engine_->wait_until([](const void*) noexcept { return !is_ending && !is_parting; }, nullptr,
                      [](const void*, WaitReason& reason) noexcept {
                        std::snprintf(reason.what, sizeof reason.what, "another thread, which ends MPI");
                      });
}

Err Instance::release(bool is_session) noexcept {
  DUNLIN_ASSERT(current_ != nullptr);
  DUNLIN_ASSERT(Life::users > 0);
  const Err error = Life::users == 1 ? current_->stop(is_session) : Err::ok;
  if (--Life::users == 0) BigLock::set_needed(true);
  if (!is_session) is_parting = false;
  return error;
}

namespace {

/// A child of fork has all that makes a rank and would speak to the others in its name.
void end_life_in_child() noexcept {
  if (!Instance::current()) return;
  Life::users = 0;
  Life::is_finalized = Life::is_forked = true;
  BigLock::forget_threads();  // one of them may have held the lock
}

}  // namespace

Err Instance::start_first() noexcept {
  [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, end_life_in_child);
  process_id = ::getpid();
  make_predefined_objects();
  auto instance = std::unique_ptr<Instance>(new Instance);
  current_ = instance.get();
  if (Err error = current_->start(); error != Err::ok) {
    current_ = nullptr;
    return error;
  }
  instance.release();
  return Err::ok;
}

/// When the last user left nothing of this process was under way: the transports are as new.
Err Instance::start_again() noexcept {
  if (Err error = boot_->restart(); error != Err::ok) return error;
  has_parted_ = false;
  open_world();
  return Err::ok;
}

Err Instance::start() noexcept {
  auto opened = boot::open();
  if (!opened) return opened.error();
  boot_ = std::move(opened.value());
  log::set_rank(boot_->rank());
  report_crashes();
  log::set_end_of_job([]() noexcept { end_job(1, "has ended the job"); });
  if (boot_->rank() == 0) Variable::warn_of_unknown();
  const bool is_told_to_nobody = !boot_->waits() && boot_->size() > 1;
  progress::LongWait::set_board(is_told_to_nobody ? &progress::answer_signal() : boot_->waits());
  messaging_ = std::make_unique<protocol::Messaging>(boot_->rank(), boot_->size());
  engine_ = std::make_unique<progress::Engine>(*messaging_);
  self_ = std::make_unique<transport::self::Transport>(boot_->rank(), *messaging_);
  std::optional<transport::ofi::Door> door;  // until all nodes have opened their networks
  if (boot_->nodes() > 1 && boot_->node_rank() == 0)
    if (Err error = boot_->put(kDoorKey, door.emplace().text()); error != Err::ok) return error;
  if (boot_->size() > 1)
    if (Err error = start_node(); error != Err::ok) return error;
  if (boot_->nodes() > 1)
    if (Err error = start_network(); error != Err::ok) return error;
  transport::Tagged* const tagged = network_ ? network_->tagged() : nullptr;
  const auto facts =
      agree_on_facts(*boot_, engine_->is_oversubscribed(), tagged ? tagged->bits() : 0, process_.near_ranks);
  if (!facts) return facts.error();
  if (tagged)
    if (Err error = let_network_match(facts.value().match_bits); error != Err::ok) return error;
  engine_->set_job_shares_cores(facts.value().shares_cores);
  process_.near_ranks = facts.value().near;
  boot_->started();
  if (network_) network_->set_secret(facts.value().secret_word());
  if (network_ || is_told_to_nobody) (void)::on_exit(part_at_exit, nullptr);
  add(*self_);
  open_world();
  return Err::ok;
}

void Instance::open_world() noexcept {
  progress::Engine::set_of_process(engine_.get());
  process_.messaging = messaging_.get();
  process_.engine = engine_.get();
  process_.me = boot_->rank();
  process_.world_size = boot_->size();
  process_.node_map = boot_->node_map();
  process_.node_peers.assign(boot_->node_peers().begin(), boot_->node_peers().end());
  comm::create_world(process_);
  comm::publish_world(process_);
}

/// What the ranks of a node share: the segment with the launch page, the address board and the message
/// transport.
Err Instance::start_node() noexcept {
  auto segment = boot::node_segment(*boot_);
  if (!segment) return segment.error();
  const int fd = segment.value();
  const int node_size = boot_->node_size();
  int ranks_per_cpu = 1;
  if (boot::LaunchPage* page = boot::map_launch_page(fd, node_size)) {
    const int cpus = cpus_of(*page), ranks = int(boot_->machine_peers().size());
    engine_->set_oversubscribed(ranks > cpus);
    engine_->set_has_free_core(ranks < cpus);
    ranks_per_cpu = std::max(ranks / cpus, 1);
    process_.near_ranks = page->near;
    boot::unmap_launch_page(page, node_size);
  }
  const Err error = node_size > 1 ? join_node(fd, ranks_per_cpu) : Err::ok;
  ::close(fd);
  return error;
}

Err Instance::join_node(int fd, int ranks_per_cpu) noexcept {
  const int node_size = boot_->node_size();
  const std::size_t board_at = boot::launch_page_bytes(node_size);
  if (const Err error = board_.open(fd, board_at, node_size); error != Err::ok) return error;
  auto opened = transport::shm::Transport::open({.fd = fd,
                                                 .offset = board_at + AddressBoard::bytes(node_size),
                                                 .local_rank = boot_->node_rank(),
                                                 .node_peers = boot_->node_peers(),
                                                 .ranks_per_cpu = ranks_per_cpu});
  if (!opened) return opened.error();
  shm_ = std::move(opened.value());
  board_.write(boot_->node_rank(), peer::published_address());
  messaging_->peers.join_node(*shm_, *this);
  add(*shm_);
  return Err::ok;
}

/// What joins the nodes.  A fence in `start_node` has made doors known, that of `agree_on_facts` makes our
/// address known.
Err Instance::start_network() noexcept {
  const bool matches = boot_->matches_in_network();  // then it carries everything, also to this rank
  const boot::NodeMap& nodes = boot_->node_map();
  const int next_node = (nodes.node_of(boot_->rank()) + 1) % nodes.nodes();
  const auto other_door = boot_->get(nodes.first_ranks()[std::size_t(next_node)], kDoorKey);
  if (!other_door) return other_door.error();
  auto opened =
      transport::ofi::Transport::open({.me = boot_->rank(),
                                       .peers = boot_->size(),
                                       .node_peers = matches ? std::span<const int>() : boot_->node_peers(),
                                       .directory = this,
                                       .matches = matches,
                                       .other_door = other_door.value()});
  if (!opened) return opened.error();
  network_ = std::move(opened.value());
  if (network_->pins_memory()) heap::keep_all_pages();
  progress::LongWait::begin_unseen();  // for good: what is under way there lies in no memory that we see
  add(*network_);
  return boot_->publish(std::as_bytes(std::span(network_->address())));
}

/// The second engine; `bits` as all ranks have agreed.
Err Instance::let_network_match(unsigned bits) noexcept {
  if (!protocol::MatchBits::is_enough(bits, boot_->size()))
    return fail(Err::other,
                "DUNLIN_P2P=offload: the network matches by %u bits, too few for a job of %d ranks; set "
                "DUNLIN_P2P=matching",
                bits, boot_->size());
  const protocol::MatchBits layout(bits, boot_->size());
  offload_ = std::make_unique<protocol::Offload>(messaging_->peers, *network_->tagged(), layout);
  messaging_->hand_over_to(*offload_);
  process_.contexts_max = layout.numbers();
  predefined_attributes.tag_max = layout.tag_max();
  return Err::ok;
}

Result<std::string> Instance::address_of(int peer) noexcept {
  if (is_in_fence_) return fail(Err::other, "this rank ends, and its launcher owes an answer");
  return boot_->lookup(peer);
}

/// To those that send through it and to those that poll it.
void Instance::add(transport::Transport& transport) noexcept {
  messaging_->add(transport);
  engine_->add(transport);
}

/// Empty: nothing yet, or not on this node.
std::span<const std::byte> Instance::published_by(int peer) const noexcept {
  const auto node_peers = boot_->node_peers();
  const auto found = std::lower_bound(node_peers.begin(), node_peers.end(), peer);
  if (found == node_peers.end() || *found != peer) return {};
  return board_.read(int(found - node_peers.begin()));
}

std::unique_ptr<peer::PeerMemory> Instance::connect(int peer) noexcept {
  return peer::connect(published_by(peer));
}

bool Instance::is_shared(const void* at, std::size_t bytes) noexcept { return heap::is_shared(at, bytes); }

/// What others have sent before they left has come, or lies in a ring.
void Instance::note_unreceived() noexcept {
  while (engine_->poll()) {
  }
  const match::Matcher& matcher = messaging_->matcher();
  const match::Unexpected* const first = matcher.first_arrived();
  // Others may be ahead, and make a communicator with us.
  if (first && !comm::is_meeting_place(first->key.context))
    log::note(
        "%zu messages were never received; the first has tag %d and comes from rank %d of its communicator",
        matcher.unexpected_count(), first->key.tag, first->key.source);
}

bool Instance::has_left() const noexcept {
  return messaging_->is_idle() && (!network_ || network_->has_left());
}

/// Everything we hand over must be where it gets to its peer without us.
void Instance::await_left() noexcept {
  engine_->wait_until(
      [](const void* self) noexcept { return static_cast<const Instance*>(self)->has_left(); }, this,
      [](const void*, WaitReason& reason) noexcept {
        std::snprintf(reason.what, sizeof reason.what, "its messages to leave");
      });
}

/// The same, and the peers of what was let go, who may be in no call of ours that waits for this process.
void Instance::await_done() noexcept {
  engine_->wait_until(
      [](const void* self) noexcept {
        return Request::all_let_go == 0 && static_cast<const Instance*>(self)->has_left();
      },
      this,
      [](const void*, WaitReason& reason) noexcept {
        const auto left = static_cast<long long>(Request::all_let_go);
        std::snprintf(reason.what, sizeof reason.what,
                      left ? "%lld operations whose requests were freed" : "its messages to leave", left);
      });
}

Err Instance::leave_world() noexcept {
  const Err error = comm::finish_self(process_);  // still usable: attribute callbacks may call MPI
  await_left();
  // Peers may still read our memory or wait for our answers.
  if (Err e = coll::barrier(*process_.world); e != Err::ok) return e;
  if (!network_) return error;
  const int is_last = Life::users == 1;
  is_parting = is_last;  // who begins a session from here on is no user yet, and waits for the answer
  int are_all_last = 0;
  if (Err e = coll::allreduce(&is_last, &are_all_last, 1, *from_handle<Datatype>(MPI_INT),
                              *from_handle<Op>(MPI_MIN), *process_.world);
      e != Err::ok)
    return e;
  if (are_all_last)
    if (Err e = part(); e != Err::ok) return e;
  return error;
}

/// When no rank needs another any more, or comes to that.
Err Instance::part() noexcept {
  if (!network_ || std::exchange(has_parted_, true)) return Err::ok;
  await_left();
  return fence();
}

/// A launcher's fence polls nothing, and others may still need answers of this process (where no kernel
/// confirms what arrives), end the job (another thread), or be lost.  So the fence has a thread, and this one
/// waits for it as for any message.
Err Instance::fence() noexcept {
  struct Fence {
    boot::Boot& boot;
    Err error = Err::ok;
    std::string detail = {};
    bool is_over = false;  // under the lock
  } fence{*boot_};
  const auto run = [](void* argument) -> void* {
    auto& self = *static_cast<Fence*>(argument);
    self.error = self.boot.fence();
    self.detail = error_detail(self.error);
    BigLock::acquire();
    self.is_over = true;
    BigLock::release();  // wakes who waits
    return nullptr;
  };
  BigLock::add_own_thread();
  BigLock::acquire();  // the call may have begun without it
  pthread_t thread;
  const bool has_thread = os::start_thread(&thread, run, &fence) == 0;
  if (has_thread) {
    network_->set_parting(true);
    const bool was_parting = std::exchange(is_parting, true);
    is_in_fence_ = true;
    engine_->wait_until(
        [](const void* is_over) noexcept { return *static_cast<const bool*>(is_over); }, &fence.is_over,
        [](const void*, WaitReason& reason) noexcept {
          std::snprintf(reason.what, sizeof reason.what, "the other ranks to exit, or to end");
        });
    is_in_fence_ = false;
    is_parting = was_parting;
    network_->set_parting(false);
    pthread_join(thread, nullptr);
  }
  BigLock::release();
  BigLock::remove_own_thread();
  if (!has_thread) return boot_->fence();
  return fence.error == Err::ok ? Err::ok : fail(fence.error, "%s", fence.detail.c_str());
}

/// One that fails waits for nobody: others may wait for it, in their exits, too.  So the job ends; our mpirun
/// sees to that itself.
void Instance::part_at_exit(int status, void*) noexcept {
  const int code = exit_code = status & 0xff;  // what the launcher sees of it
  if (!current_ || ::getpid() != process_id) return;
  Instance& self = *current_;
  // What else runs at the exit may begin sessions, and end the last one.
  self.is_exiting_ = code == 0;
  if (Life::users > 0) return;
  if (code == 0) {
    const BigLock::Guard guard;
    progress::Engine::set_of_process(self.engine_.get());
    (void)self.part();
    progress::Engine::set_of_process(nullptr);
    if (self.network_) self.network_->rest();
    (void)self.boot_->finalize();
  } else if (self.network_ && !self.has_parted_ && !self.boot_->waits()) {
    char message[80];
    std::snprintf(message, sizeof message, "exits with code %d, and other ranks may wait for it", code);
    ::fcloseall();  // as `exit` does: it waits for no stream that another thread reads
    self.boot_->abort(code, message);
  }
}

/// Nothing of the program runs any more that could end its use of MPI; others may wait for this rank.
void Instance::end_in_use() noexcept {
  if (!current_ || Life::users == 0 || ::getpid() != process_id) return;
  boot::Boot& boot = *current_->boot_;
  if (boot.waits() || boot.size() == 1) return;  // our mpirun sees it
  char message[128];
  std::snprintf(message, sizeof message,
                "exited with code %d without ending its use of MPI (MPI_Finalize, MPI_Session_finalize)",
                exit_code);
  ::fcloseall();
  boot.abort(exit_code ? exit_code : 1, message);
}

namespace {

/// Behind all handlers of the program's, and the destructors of its objects.
[[gnu::destructor]] void end_of_process() { Instance::end_in_use(); }

}  // namespace

/// As long as it waits, another thread may begin a session, let something go and end it.
Err Instance::stop(bool is_session) noexcept {
  is_session ? await_done() : await_left();
  if (Life::users > 1) return Err::ok;
  is_ending = true;
  progress::Helper::stop();
  is_ending = false;
  note_unreceived();
  if (network_) network_->rest(), network_->note_counts();
  if (is_exiting_)
    if (Err error = part(); error != Err::ok) return error;
  comm::destroy_world(process_);
  // The launcher is told; that it is gone already is no error of ours.
  (void)(network_ && !has_parted_ ? boot_->rest() : boot_->finalize());
  progress::Engine::set_of_process(nullptr);
  return Err::ok;
}

}  // namespace dunlin::runtime
