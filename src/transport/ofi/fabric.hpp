// One endpoint of libfabric with what belongs to it: the provider that was chosen, its completion queue, its
// table of addresses, its registered memory.
//
// Owned by ofi::Transport, one for each device.  Which provider and interfaces: DUNLIN_OFI_PROVIDER and
// DUNLIN_OFI_INTERFACE, else the first that libfabric prefers among those that cross machines
// (docs/network.md).  Thread safety:
// base/big_lock.hpp, but for `wait_fd`, which never changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/err.hpp"

struct fi_info;
struct fid;
struct fid_av;
struct fid_cq;
struct fid_domain;
struct fid_ep;
struct fid_fabric;
struct fid_mr;

namespace dunlin::transport::ofi {

struct Library;

/// Messages to one peer that it has not taken, or frames without a ring: of them the provider may keep 18 KiB
/// each.
inline constexpr std::uint32_t kMessagesMost = 256;
/// So long are the messages that rxm keeps whole before they are matched.
inline constexpr std::uint64_t kBytesHeldMost = 16 << 10;

/// Memory that the network may touch.  Closed by its destructor, before the fabric that made it.
class Region {
 public:
  Region() = default;
  Region(fid_mr* registration, std::uint64_t zero) noexcept : registration_(registration), zero_(zero) {}
  Region(Region&& other) noexcept;
  Region& operator=(Region&& other) noexcept;
  ~Region();

  explicit operator bool() const noexcept { return registration_ != nullptr; }
  /// For local operations on it.
  void* descriptor() const noexcept;
  /// For operations of peers, which name a byte of it by `remote_address`.
  std::uint64_t key() const noexcept;
  std::uint64_t remote_address(const void* at) const noexcept {
    return reinterpret_cast<std::uint64_t>(at) - zero_;
  }

 private:
  fid_mr* registration_ = nullptr;
  std::uint64_t zero_ = 0;  // what peers count from: 0 where they use our addresses
};

/// What this process has asked of the network, told at its end where DUNLIN_VERBOSE is set.
struct Counters {
  std::uint64_t messages = 0, writes = 0, reads = 0;
  std::uint64_t words = 0;          // RDMA writes of a count, without data
  std::uint64_t copied_bytes = 0;   // of payload, into frames and out of them
  std::uint64_t registrations = 0;  // of memory
};

/// More of them carry no more: a process has not so many at its own NUMA node.
constexpr std::size_t kDevicesMost = 4;

class Fabric {
 public:
  /// Opens an endpoint on each device that is wanted, all of one provider, the one for messages first;
  /// `peers` of the job may be talked to.  `matches`: the provider has to match messages, on one device.
  /// `door`: of another node, by which interfaces are tried (reach.hpp).
  static Result<std::vector<std::unique_ptr<Fabric>>> open_all(int peers, bool matches,
                                                               std::string_view door) noexcept;
  ~Fabric();
  /// Nothing arrives any more, and nothing touches memory that was handed over.
  void close_endpoint() noexcept;
  Fabric(const Fabric&) = delete;

  fid_ep* endpoint() const noexcept { return endpoint_; }
  fid_cq* completions() const noexcept { return completions_; }
  fid_av* addresses() const noexcept { return addresses_; }
  /// "tcp;ofi_rxm" or "net", as libfabric calls it.
  const char* provider() const noexcept;
  /// "eth0 10.1.0.1" where the provider uses one, else the provider's domain.
  const std::string& interface() const noexcept { return interface_; }
  /// Whom others send to.
  std::span<const std::byte> name() const noexcept { return std::as_bytes(std::span(name_)); }
  /// Readable when there is something to complete; -1 where the provider has no such thing.
  int wait_fd() const noexcept { return wait_fd_; }
  /// To be asked before `wait_fd` is waited for: false when there is something already.
  bool may_wait() const noexcept;

  /// Short messages may be sent from memory that is used again at once.
  std::size_t inject_bytes_max() const noexcept;
  std::size_t message_bytes_max() const noexcept;
  /// So many receives may be posted at once, and as many that match.
  std::size_t receives_max() const noexcept;
  /// Of the word that may come with a message.
  std::size_t data_bytes() const noexcept;
  /// Which bits matching looks at, as libfabric says it (mem_tag_format).
  std::uint64_t tag_format() const noexcept;
  /// Whether it reaches memory by its pages, which have to stay where they are.
  bool pins_memory() const noexcept;
  /// Whether RDMA goes on while the target's process does something else.
  bool is_rma_offloaded() const noexcept;
  /// Whether RDMA writes land in the order in which they were posted.
  bool are_writes_ordered() const noexcept;

  /// Whether local operations need registered memory, too.
  bool wants_local_memory() const noexcept;
  /// False Region: refused.
  Region try_register(const void* at, std::size_t bytes, bool by_peers) noexcept;
  const char* text_of(int code) const noexcept;

  Counters counters = {};  // by those who use the endpoint

 private:
  explicit Fabric(const Library& library) noexcept : library_(library) {}
  Err choose(bool matches, std::string_view interface, std::string_view provider,
             std::string_view door) noexcept;
  Err open_endpoint(int peers) noexcept;
  int open_queues() noexcept;

  const Library& library_;
  fi_info* info_ = nullptr;
  fid_fabric* fabric_ = nullptr;
  fid_domain* domain_ = nullptr;
  fid_av* addresses_ = nullptr;
  fid_cq* completions_ = nullptr;
  fid_cq* news_ = nullptr;  // only to be waited for; else that is `completions_`
  fid_ep* endpoint_ = nullptr;
  int wait_fd_ = -1;
  std::string interface_;
  std::string name_;
};

}  // namespace dunlin::transport::ofi
