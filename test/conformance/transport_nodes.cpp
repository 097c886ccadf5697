// The registry of the Transport suite: every transport, in the configurations that matter.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <numeric>

#include "base/variable.hpp"
#include "test/conformance/transport_node.hpp"
#include "transport/ofi/transport.hpp"
#include "transport/self/transport.hpp"
#include "transport/shm/transport.hpp"
#include "transport/sim/network.hpp"

namespace dunlin::test {
namespace {

using Settings = std::map<std::string, std::string>;

/// Several ranks of one node: each opens the segment for itself, as processes do.
class ShmNode final : public Node {
 public:
  ShmNode(int ends, const Settings& settings) : Node(ends), transports_(std::size_t(ends)) {
    for (const auto& [name, value] : settings) setenv(("DUNLIN_" + name).c_str(), value.c_str(), 1);
    Variable::read_all_again();
    fd_ = memfd_create("dunlin-test", MFD_CLOEXEC);
    for (int end = 0; end < ends; ++end) peers_.push_back(100 + 3 * end);  // not consecutive
    for (int end = 0; end < ends; ++end) connect_all(end);
    for (const auto& [name, value] : settings) unsetenv(("DUNLIN_" + name).c_str());
    Variable::read_all_again();
  }
  ~ShmNode() override { close(fd_); }
  transport::Transport& transport(int end) override { return *transports_[std::size_t(end)]; }
  int peer(int end) const override { return peers_[std::size_t(end)]; }

 private:
  /// Channels read some settings when they are made.
  void connect_all(int end) {
    auto opened = transport::shm::Transport::open({fd_, 8192, end, peers_});
    if (!opened) std::abort();
    transports_[std::size_t(end)] = std::move(*opened);
    for (const int peer : peers_) transports_[std::size_t(end)]->connect(peer);
  }

  int fd_ = -1;
  std::vector<int> peers_;
  std::vector<std::unique_ptr<transport::shm::Transport>> transports_;
};

class SelfNode final : public Node {
 public:
  SelfNode() : Node(1), transport_(7, inbox(0)) {}
  transport::Transport& transport(int) override { return transport_; }
  int peer(int) const override { return 7; }
  bool is_self() const override { return true; }

 private:
  transport::self::Transport transport_;
};

class SimNode final : public Node {
 public:
  SimNode(int ends, const transport::sim::Weather& weather) : Node(ends), network_(ends, weather) {}
  transport::Transport& transport(int end) override { return network_.transport(end); }
  int peer(int end) const override { return end; }
  bool has_self() const override { return true; }

 private:
  transport::sim::Network network_;
};

/// Processes of several nodes: each has an endpoint of libfabric, all on this machine.
class OfiNode final : public Node, private transport::ofi::Directory {
 public:
  OfiNode(int ends, const Settings& settings)
      : Node(ends), transports_(std::size_t(ends)), ranks_(std::size_t(ends)) {
    std::iota(ranks_.begin(), ranks_.end(), 0);
    for (const auto& [name, value] : settings) setenv(("DUNLIN_" + name).c_str(), value.c_str(), 1);
    Variable::read_all_again();
    for (int end = 0; end < ends; ++end) {
      auto opened = transport::ofi::Transport::open(
          {end, ends, std::span<const int>(ranks_).subspan(std::size_t(end), 1), this});
      if (!opened) std::abort();
      transports_[std::size_t(end)] = std::move(*opened);
      transports_[std::size_t(end)]->set_secret(42);
    }
    for (int end = 0; end < 2; ++end) greet(end, 1 - end);
    for (const auto& [name, value] : settings) unsetenv(("DUNLIN_" + name).c_str());
    Variable::read_all_again();
  }
  static Err try_out() {
    OfiNode alone;
    return transport::ofi::Transport::open({0, 1, alone.ranks_, &alone}).error();
  }
  transport::Transport& transport(int end) override { return *transports_[std::size_t(end)]; }
  int peer(int end) const override { return end; }
  void step() override {
    for (int end = 0; end < ends(); ++end) transport(end).poll(inbox(end));
  }

 private:
  OfiNode() : Node(1), ranks_{0} {}
  Result<std::string> address_of(int peer) noexcept override {
    return transports_[std::size_t(peer)]->address();
  }
  /// Connections are made with the first message, and need both ends.
  void greet(int from, int to) {
    while (channel(from, to).try_send({}, {}, {}) != transport::Sent::yes) step();
    while (inbox(to).messages.empty()) step();
    inbox(to).messages.clear();
  }

  std::vector<std::unique_ptr<transport::ofi::Transport>> transports_;
  std::vector<int> ranks_;
};

/// Asked by the first test that needs one: libfabric takes .3 s, and this program starts itself often.
bool has_network() {
  static const bool has = [] {
    const auto error = OfiNode::try_out();
    if (error != Err::ok) std::fprintf(stderr, "networks are left out: %s\n", error_detail(error));
    return error == Err::ok;
  }();
  return has;
}

NodeKind ofi(const std::string& name, int ends, const Settings& settings) {
  return {"ofi_" + name, ends,
          [settings](int n) { return has_network() ? std::make_unique<OfiNode>(n, settings) : nullptr; }};
}

std::vector<NodeKind> ofi_kinds() {
  return {
      ofi("messages", 3, {{"OFI_STAGE", "messages"}}),
      ofi("rxm", 3, {{"OFI_PROVIDER", "tcp;ofi_rxm"}, {"OFI_PIECE_BYTES", "64k"}}),
      ofi("rxm_messages", 3, {{"OFI_PROVIDER", "tcp;ofi_rxm"}, {"OFI_STAGE", "messages"}}),
      ofi("basic", 3, {{"OFI_STAGE", "basic"}, {"OFI_MESSAGES", "3"}}),
      ofi("piggyback", 3, {{"OFI_STAGE", "piggyback"}, {"OFI_MESSAGES", "0"}}),
      ofi("pipeline", 2, {{"OFI_STAGE", "pipeline"}}),
      ofi("tiny", 3,
          {{"OFI_STAGE", "pipeline"},
           {"OFI_CHUNK_BYTES", "512"},
           {"OFI_RING_BYTES", "4k"},
           {"OFI_FRAMES", "4"}}),
      ofi("zerocopy_read", 2, {{"OFI_STAGE", "zerocopy_read"}, {"OFI_PIECE_BYTES", "64k"}}),
      ofi("zerocopy_write", 2, {{"OFI_STAGE", "messages_write"}}),
      ofi("two_devices_read", 3,
          {{"OFI_STAGE", "zerocopy_read"}, {"OFI_INTERFACE", "lo,lo"}, {"OFI_STRIPE_BYTES", "4k"}}),
      ofi("two_devices_write", 2,
          {{"OFI_STAGE", "zerocopy_write"}, {"OFI_INTERFACE", "lo,lo"}, {"OFI_STRIPE_BYTES", "4k"}}),
      ofi("few_rings", 4, {{"OFI_STAGE", "pipeline"}, {"OFI_RINGS", "1"}, {"OFI_MESSAGES", "0"}}),
  };
}

NodeKind sim(const std::string& name, int ends, const transport::sim::Weather& weather) {
  return {"sim_" + name, ends, [weather](int n) { return std::make_unique<SimNode>(n, weather); }};
}

NodeKind shm(const std::string& name, int ends, const Settings& settings) {
  return {"shm_" + name, ends, [settings](int n) { return std::make_unique<ShmNode>(n, settings); }};
}

}  // namespace

void RecordingInbox::arrived(int peer, const transport::Envelope& envelope,
                             const transport::Payload& payload) noexcept {
  Message message{peer, envelope, std::vector<std::byte>(envelope.bytes)};
  payload.copy_to(message.payload.data(), 0, envelope.bytes);
  EXPECT_LE(payload.first.size(), envelope.bytes);
  EXPECT_TRUE(std::equal(payload.first.begin(), payload.first.end(), message.payload.begin()));
  if (look) look(payload, envelope.bytes);
  messages.push_back(std::move(message));
}

const std::vector<NodeKind>& node_kinds() {
  static const std::vector<NodeKind> kinds = [] {
    std::vector<NodeKind> all = {
        {"self", 1, [](int) { return std::make_unique<SelfNode>(); }},
        shm("default", 3, {}),
        shm("pair", 2, {}),
        shm("tiny", 3,
            {{"SHM_RING_LINES", "4"},
             {"SHM_BULK_BYTES", "1024"},
             {"SHM_CELLS", "1"},
             {"SHM_CELL_BYTES", "64"}}),
        shm("no_inbox", 3, {{"SHM_INBOX_MESSAGES", "0"}, {"SHM_RING_LINES", "8"}}),
        shm("only_inbox", 3,
            {{"SHM_INBOX_MESSAGES", "1000000"}, {"SHM_CELL_BYTES", "4096"}, {"SHM_CELLS", "4"}}),
        shm("crowd", 20, {{"SHM_RING_LINES", "16"}, {"SHM_BULK_BYTES", "4096"}}),
        sim("calm", 3, {.delay_percent = 0}),
        sim("rough", 3, {.bytes_max = 300, .messages_max = 2, .refuse_percent = 30, .delay_percent = 60}),
    };
    for (NodeKind& each : ofi_kinds()) all.push_back(std::move(each));
    return all;
  }();
  return kinds;
}

}  // namespace dunlin::test
