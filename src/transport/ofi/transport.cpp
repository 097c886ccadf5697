// See transport.hpp.
#include "transport/ofi/transport.hpp"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "base/variable.hpp"
#include "heap/heap.hpp"
#include "os/clock.hpp"
#include "transport/ofi/channel.hpp"
#include "transport/ofi/lifelines.hpp"
#include "transport/ofi/sleeper.hpp"
#include "transport/ofi/tagged.hpp"

namespace dunlin::transport::ofi {
namespace {

IntVariable frames{
    "OFI_FRAMES",
    64,
    "frames",
    "how many send buffers a process has for peers on other nodes, and how many receive buffers",
    4,
    1 << 16};
IntVariable rings{"OFI_RINGS", 64,
                  "peers",     "how many peers on other nodes get a ring; the others use messages",
                  0,           1 << 20};

constexpr std::uint32_t kPollsUnwatched = 1 << 14;

std::string host_name() noexcept {
  char name[256] = "";
  (void)::gethostname(name, sizeof name - 1);
  return name;
}

/// A descriptor that is readable when any device has news: its own where there is one, else one that looks at
/// all of them; -1: one of them tells nobody.
class News {
 public:
  explicit News(std::span<const std::unique_ptr<Fabric>> devices) noexcept : fd_(devices.front()->wait_fd()) {
    if (devices.size() == 1) return;
    fd_ = own_ = ::epoll_create1(EPOLL_CLOEXEC);
    for (const auto& each : devices) {
      epoll_event readable = {.events = EPOLLIN, .data = {}};
      if (::epoll_ctl(own_, EPOLL_CTL_ADD, each->wait_fd(), &readable) != 0) fd_ = -1;
    }
  }
  ~News() {
    if (own_ >= 0) ::close(own_);
  }
  News(const News&) = delete;
  int fd() const noexcept { return fd_; }

 private:
  int fd_, own_ = -1;
};

class Network final : public Transport, private Peers {
 public:
  Network(const Setup& setup, std::vector<std::unique_ptr<Fabric>> devices) noexcept;
  ~Network() override {
    for (const auto& each : devices_) each->close_endpoint();
  }
  Err start() noexcept;

  const std::string& address() const noexcept override { return published_; }
  bool has_left() noexcept override;
  void set_secret(std::uint64_t secret) noexcept override { sender_.secret = secret; }
  bool pins_memory() const noexcept override { return fabric_->pins_memory(); }
  std::string describe() const noexcept override;
  void set_parting(bool is_parting) noexcept override { is_parting_ = is_parting; }
  void rest() noexcept override { sleeper_.end_watch(); }
  void note_counts() const noexcept override;
  std::uint64_t strangers() const noexcept override { return strangers_; }
  transport::Tagged* tagged() noexcept override { return matches_ ? &tagged_ : nullptr; }
  transport::Channel* connect(int peer) noexcept override;
  int poll(Inbox& inbox) noexcept override;
  std::span<const int> lost() const noexcept override { return lost_; }

  bool can_sleep() const noexcept override { return sleeper_.can_sleep(); }
  void announce_sleep() noexcept override;
  bool announce_sleep_in(transport::Transport& place) noexcept override;
  void sleep(std::int64_t timeout_ns) noexcept override;
  void withdraw_sleep() noexcept override { sleeper_.clear(); }
  void wake() noexcept override { sleeper_.wake(); }

 private:
  Channel* channel_of(int peer) noexcept override;
  Channel* meet(int peer) noexcept;
  int poll_device(Fabric& device, Inbox& inbox) noexcept;
  bool may_wait() const noexcept;
  int complete(const fi_cq_tagged_entry& entry, Inbox& inbox) noexcept;
  int complete_passed_by(Inbox& inbox) noexcept;
  int notice_arrived(const Notice& notice, Inbox& inbox) noexcept;
  int message_arrived(Frame& frame, std::size_t bytes, Inbox& inbox) noexcept;
  void operation_failed(const fi_cq_err_entry& error, Inbox& inbox) noexcept;
  void post_receives() noexcept;
  void try_again(Inbox& inbox) noexcept;
  std::uint64_t begun() const noexcept;
  void look_after_others() noexcept;

  Directory& directory_;
  const std::vector<int> node_peers_;
  const std::vector<std::unique_ptr<Fabric>> devices_;
  Fabric* const fabric_;  // the first of them: messages
  const Stage stage_;
  Frames receives_;
  Sender sender_;
  const bool matches_;
  Tagged tagged_;
  const News news_;
  Sleeper sleeper_;
  Lifelines lifelines_;
  std::uint32_t polls_ = 0;
  Address mine_;
  std::string published_;
  std::vector<std::unique_ptr<Channel>> channels_;  // by peer index; made at first contact
  std::vector<Channel*> numbered_;                  // by Notice::number
  std::uint64_t strangers_ = 0;
  std::vector<int> lost_;   // peers whose connection broke long ago
  bool is_parting_ = false;
  bool may_sleep_ = false;  // nothing has come, or was begun, since the sleep was announced
};

Network::Network(const Setup& setup, std::vector<std::unique_ptr<Fabric>> devices) noexcept
    : directory_(*setup.directory),
      node_peers_(setup.node_peers.begin(), setup.node_peers.end()),
      devices_(std::move(devices)),
      fabric_(devices_.front().get()),
      stage_(Stage::of(*fabric_)),
      receives_(*fabric_, Operation::Kind::receive, std::size_t(frames.get()), stage_.frame_bytes),
      sender_{*fabric_,
              stage_,
              Frames(*fabric_, Operation::Kind::send, std::size_t(frames.get()), stage_.frame_bytes),
              Transfers(devices_, sender_.frames, std::min(stage_.long_bytes, stage_.frame_bytes)),
              setup.me,
              int(rings.get())},
      matches_(setup.matches),
      tagged_(*fabric_, *this, sender_.secret),
      news_(devices_),
      sleeper_(news_.fd()),
      lifelines_(fabric_->provider()),
      channels_(std::size_t(setup.peers)) {
  mine_.provider = fabric_->provider();
  mine_.place = host_name() + ", " + fabric_->interface();
  for (const auto& each : devices_) {
    lifelines_.listen(each->name());
    mine_.names.emplace_back(reinterpret_cast<const char*>(each->name().data()), each->name().size());
  }
  published_ = mine_.text();
}

void Network::note_counts() const noexcept {
  Counters all = fabric_->counters;
  for (const auto& each : std::span(devices_).subspan(1)) {
    log::note("network: %s: %llu writes, %llu reads", each->interface().c_str(),
              static_cast<unsigned long long>(each->counters.writes),
              static_cast<unsigned long long>(each->counters.reads));
    all.registrations += each->counters.registrations;
  }
  log::note(
      "network: %llu messages, %llu writes, %llu reads, %llu words, %llu bytes copied, %llu registrations",
      static_cast<unsigned long long>(all.messages), static_cast<unsigned long long>(all.writes),
      static_cast<unsigned long long>(all.reads), static_cast<unsigned long long>(all.words),
      static_cast<unsigned long long>(all.copied_bytes), static_cast<unsigned long long>(all.registrations));
}

bool Network::has_left() noexcept {
  for (Channel* each : std::exchange(sender_.untold_of, {})) each->flush();
  return sender_.untold_of.empty() && sender_.flushes_owed == 0 && sender_.frames.are_all_free();
}

Err Network::start() noexcept {
  if (!receives_.is_usable() || !sender_.frames.is_usable())
    return fail(Err::no_mem,
                "%s cannot use %zu frames of %zu bytes: is the limit of locked memory too low (ulimit -l)?",
                fabric_->provider(), std::size_t(frames.get()), stage_.frame_bytes);
  post_receives();
  return Err::ok;
}

std::string Network::describe() const noexcept {
  std::string text = std::string(fabric_->provider()) + " on " + fabric_->interface();
  for (const auto& each : std::span(devices_).subspan(1)) text += " and " + each->interface();
  return text + ", " + stage_.name;
}

transport::Channel* Network::connect(int peer) noexcept {
  if (peer < 0 || std::size_t(peer) >= channels_.size()) return nullptr;
  if (std::binary_search(node_peers_.begin(), node_peers_.end(), peer)) return nullptr;
  return channel_of(peer);
}

Channel* Network::channel_of(int peer) noexcept {
  std::unique_ptr<Channel>& channel = channels_[std::size_t(peer)];
  return channel ? channel.get() : meet(peer);
}

/// First contact, from either side; nullptr, with a sentence, where that cannot be.
Channel* Network::meet(int peer) noexcept {
  const Result<std::string> text = directory_.address_of(peer);
  Result<Address> address = text ? Address::of(text.value()) : Result<Address>(text.error());
  if (!address) {
    log::warn("rank %d cannot be reached over the network: %s", peer, error_detail(address.error()));
    return nullptr;
  }
  if (address->provider != mine_.provider) {
    log::warn("rank %d (%s) uses %s and this one (%s) %s; DUNLIN_OFI_PROVIDER makes them agree", peer,
              address->place.c_str(), address->provider.c_str(), mine_.place.c_str(), mine_.provider.c_str());
    return nullptr;
  }
  std::vector<fi_addr_t> targets;
  for (std::size_t device = 0; device < std::min(devices_.size(), address->names.size()); ++device) {
    const std::string& name = address->names[device];
    fi_addr_t& target = targets.emplace_back(FI_ADDR_UNSPEC);
    if (::fi_av_insert(devices_[device]->addresses(), name.data(), 1, &target, 0, nullptr) != 1) {
      log::warn("rank %d (%s, %s) has an address that this network does not know", peer,
                address->provider.c_str(), address->place.c_str());
      return nullptr;
    }
    lifelines_.expect(std::as_bytes(std::span(name)));
  }
  const auto number = std::uint32_t(numbered_.size());
  std::unique_ptr<Channel>& channel = channels_[std::size_t(peer)];
  channel = std::make_unique<Channel>(sender_, peer, number, std::move(*address), targets);
  numbered_.push_back(channel.get());
  return channel.get();
}

int Network::poll(Inbox& inbox) noexcept {
  int delivered = tagged_.passed_by.empty() ? 0 : complete_passed_by(inbox);
  for (const auto& each : devices_) delivered += poll_device(*each, inbox);
  if (!sender_.debtors.empty() || sender_.transfers.has_stuck()) [[unlikely]]
    try_again(inbox);
  if (++polls_ % kPollsUnwatched == 0) look_after_others();  // whoever tests does not sleep
  return delivered;
}

int Network::poll_device(Fabric& device, Inbox& inbox) noexcept {
  constexpr std::size_t kEntries = 16;
  fi_cq_tagged_entry entries[kEntries];
  int delivered = 0;
  for (;;) {
    const ssize_t count = ::fi_cq_read(device.completions(), entries, kEntries);
    if (count == -FI_EAVAIL) {
      fi_cq_err_entry error = {};
      if (::fi_cq_readerr(device.completions(), &error, 0) == 1) operation_failed(error, inbox);
      continue;
    }
    if (count <= 0) break;
    may_sleep_ = false;
    for (ssize_t index = 0; index < count; ++index) delivered += complete(entries[index], inbox);
    if (std::size_t(count) < kEntries) break;
  }
  return delivered;
}

int Network::complete(const fi_cq_tagged_entry& entry, Inbox& inbox) noexcept {
  if (entry.flags & FI_REMOTE_WRITE) return notice_arrived(Notice::of(entry.data), inbox);
  auto& operation = *static_cast<Operation*>(entry.op_context);
  if (operation.kind == Operation::Kind::tagged_receive) return tagged_.received(entry, inbox), 1;
  if (operation.kind == Operation::Kind::tagged_send) return tagged_.sent(operation, inbox), 1;
  if (operation.kind == Operation::Kind::transfer)
    return sender_.transfers.complete(static_cast<Piece&>(operation), true, inbox), 1;
  auto& frame = static_cast<Frame&>(operation);
  if (frame.kind == Operation::Kind::send) {
    sender_.frames.give_back(frame);
    return 0;
  }
  const int delivered = message_arrived(frame, entry.len, inbox);
  post_receives();
  return delivered;
}

int Network::complete_passed_by(Inbox& inbox) noexcept {
  int delivered = 0;
  may_sleep_ = false;
  for (const fi_cq_err_entry& each : std::exchange(tagged_.passed_by, {})) {
    if (each.err != 0)
      operation_failed(each, inbox);
    else
      delivered += complete({each.op_context, each.flags, each.len, nullptr, each.data, each.tag}, inbox);
  }
  return delivered;
}

/// With an RDMA write.
int Network::notice_arrived(const Notice& notice, Inbox& inbox) noexcept {
  if (notice.kind == Notice::Kind::data && sender_.transfers.try_end(notice.number, inbox)) return 1;
  const bool is_ring = notice.kind != Notice::Kind::data && notice.number < numbered_.size();
  Channel* const channel = is_ring ? numbered_[notice.number] : nullptr;
  if (!channel || !channel->try_note(notice)) {
    ++strangers_;
    return 0;
  }
  return channel->read_ring(inbox);
}

int Network::message_arrived(Frame& frame, std::size_t bytes, Inbox& inbox) noexcept {
  FrameHeader header;
  const bool is_whole = bytes >= sizeof header;
  if (is_whole) std::memcpy(&header, frame.bytes, sizeof header);
  const bool is_known = is_whole && header.secret == sender_.secret &&
                        header.bytes == bytes - sizeof header && header.sender >= 0 &&
                        std::size_t(header.sender) < channels_.size();
  Channel* const channel = is_known ? channel_of(header.sender) : nullptr;
  if (!channel) {
    if (strangers_++ == 0) log::note("a frame that no rank of this job has sent was dropped");
    receives_.give_back(frame);
    return 0;
  }
  if (is_apart(header.frame)) {
    channel->counts_arrived(header, frame.bytes + sizeof header, inbox);
    receives_.give_back(frame);
    return 0;
  }
  int delivered = 0;
  channel->keep(frame);
  while (Frame* const next = channel->take_next()) {
    std::memcpy(&header, next->bytes, sizeof header);
    channel->frame_arrived(header, next->bytes + sizeof header, inbox);
    receives_.give_back(*next);
    ++delivered;
  }
  return delivered + channel->read_ring(inbox);
}

/// Of a send: its peer is lost.  Of a receive: somebody has sent what fits no frame.
void Network::operation_failed(const fi_cq_err_entry& error, Inbox& inbox) noexcept {
  if (!error.op_context) return;
  auto& operation = *static_cast<Operation*>(error.op_context);
  if (operation.kind == Operation::Kind::tagged_receive || operation.kind == Operation::Kind::tagged_send)
    return tagged_.failed(error, inbox);
  if (operation.kind == Operation::Kind::transfer) {
    auto& piece = static_cast<Piece&>(operation);
    piece.transfer->channel->broke(fabric_->text_of(error.err));
    return sender_.transfers.complete(piece, false, inbox);
  }
  auto& frame = static_cast<Frame&>(operation);
  if (frame.kind == Operation::Kind::send) {
    frame.channel->broke(fabric_->text_of(error.err));
    return sender_.frames.give_back(frame);
  }
  if (error.err == FI_ETRUNC || error.err == FI_ECANCELED)
    ++strangers_;  // a frame of this job is never longer than the room for it
  else
    log::warn("the network has ended a receive (%s): a message may be lost, and with it those behind it",
              fabric_->text_of(error.err));
  receives_.give_back(frame);
  post_receives();
}

/// All that are free; what finds no room is posted after the next message.
void Network::post_receives() noexcept {
  while (Frame* const frame = receives_.try_take()) {
    if (::fi_recv(fabric_->endpoint(), frame->bytes, stage_.frame_bytes, receives_.descriptor(),
                  FI_ADDR_UNSPEC, frame) == 0)
      continue;
    return receives_.give_back(*frame);
  }
}

/// The job ends where another node is lost: who would tell the ranks that wait for one of its ranks?
void Network::look_after_others() noexcept {
  if (!lifelines_.are_due()) return;
  const std::string lost = lifelines_.find_lost();
  const auto seconds = int(Lifelines::silence_ns() / 1'000'000'000);
  lost_.clear();
  for (Channel* each : numbered_) {
    const auto& names = each->address().names;
    const auto is_any = [&](bool (Lifelines::*is)(std::span<const std::byte>) const) {
      return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return (lifelines_.*is)(std::as_bytes(std::span(name)));
      });
    };
    if (!is_parting_)
      each->compare_counts(is_any(&Lifelines::has_ended), is_any(&Lifelines::has_carried));
    if (each->misses_frames())
      log::end_job(
          "the network has lost messages between this rank and rank %d (%s, %s), with a connection that has "
          "ended; this one is on %s",
          each->peer(), each->address().provider.c_str(), each->address().place.c_str(),
          fabric_->interface().c_str());
    if (each->is_lost_for(Lifelines::silence_ns())) lost_.push_back(each->peer());
    const Address& there = each->address();
    for (const std::string& name : there.names)
      if (!lost.empty() && lost == Lifelines::machine_of(std::as_bytes(std::span(name))))
        log::end_job(
            "the network has lost rank %d (%s, %s): its machine has not answered%s%s for %d s "
            "(DUNLIN_OFI_SILENCE_S); this one is on %s",
            each->peer(), there.provider.c_str(), there.place.c_str(),
            &name == &there.names.front() ? "" : " at ", &name == &there.names.front() ? "" : lost.c_str(),
            seconds, fabric_->interface().c_str());
    for (std::size_t device = 0; device < each->devices(); ++device)
      if (each->is_unreached_for(device, Lifelines::silence_ns()) &&
          !lifelines_.is_connected(std::as_bytes(std::span(there.names[device]))))
        log::end_job(
            "rank %d (%s, %s) could not be reached for %d s (DUNLIN_OFI_SILENCE_S) from %s: is there a "
            "firewall between the two, or does DUNLIN_OFI_INTERFACE have to name another interface?",
            each->peer(), there.provider.c_str(), there.place.c_str(), seconds,
            devices_[device]->interface().c_str());
  }
  if (!lost.empty())
    log::end_job(
        "the network has lost %s: that machine has not answered for %d s (DUNLIN_OFI_SILENCE_S); this one is "
        "on %s",
        lost.c_str(), seconds, fabric_->interface().c_str());
}

/// What found no room before.
void Network::try_again(Inbox& inbox) noexcept {
  const std::uint64_t before = begun();
  for (Channel* each : std::exchange(sender_.debtors, {})) each->settle();
  sender_.transfers.go_on(inbox);
  // It may be over already: the queue was looked at before, and a queue without a descriptor wakes nobody.
  if (begun() != before) may_sleep_ = false;
}

/// How many operations.
std::uint64_t Network::begun() const noexcept {
  std::uint64_t all = 0;
  for (const auto& each : devices_)
    all += each->counters.messages + each->counters.writes + each->counters.reads;
  return all;
}

bool Network::may_wait() const noexcept {
  return std::all_of(devices_.begin(), devices_.end(),
                     [](const auto& each) noexcept { return each->may_wait(); });
}

void Network::announce_sleep() noexcept {
  may_sleep_ = may_wait();
  look_after_others();
}

bool Network::announce_sleep_in(transport::Transport& place) noexcept {
  announce_sleep();
  return may_sleep_ && sleeper_.try_watch(place);
}

void Network::sleep(std::int64_t timeout_ns) noexcept {
  if (may_sleep_ && tagged_.passed_by.empty()) sleeper_.sleep(timeout_ns);
}

}  // namespace

Result<std::unique_ptr<Transport>> Transport::open(const Setup& setup) noexcept {
  DUNLIN_ASSERT(setup.directory != nullptr);
  DUNLIN_ASSERT(setup.me >= 0 && setup.me < setup.peers);
  const heap::LateCommit late;  // frames, and 19 MB for buffers of libfabric 1.17's rxm: a rank uses few
  Result<std::vector<std::unique_ptr<Fabric>>> devices =
      Fabric::open_all(setup.peers, setup.matches, setup.other_door);
  if (!devices) return devices.error();
  auto network = std::make_unique<Network>(setup, std::move(*devices));
  if (const Err error = network->start(); error != Err::ok) return error;
  return std::unique_ptr<Transport>(std::move(network));
}

}  // namespace dunlin::transport::ofi
