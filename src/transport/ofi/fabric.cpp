#include "transport/ofi/fabric.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "base/variable.hpp"
#include "transport/ofi/library.hpp"
#include "transport/ofi/reach.hpp"

namespace dunlin::transport::ofi {
namespace {

WordVariable provider_wanted{"OFI_PROVIDER", "", "",
                             "libfabric's provider for messages between nodes (tcp, verbs, ...); empty: the "
                             "one that libfabric prefers; tcp: the quickest that speaks TCP"};
WordVariable interface_wanted{
    "OFI_INTERFACE", "", "",
    "network interface for messages between nodes, or several with commas, which share long messages; empty: "
    "the first that reaches other machines"};

constexpr std::uint32_t kVersion = FI_VERSION(1, 17);

constexpr int kPeersExpected = 64;
/// As libfabric expects where nobody tells it.
constexpr int kUniverse = 1024;

/// They carry nothing between machines, or lose to TCP wherever both are there.  Nor do they match as they
/// should (1.17): they do not answer whether a message has come, do not end a receive of one that was taken
/// out of matching, or crash.
constexpr std::array<std::string_view, 3> kProvidersToName = {"shm", "sockets", "udp"};
constexpr std::string_view kTcp = "tcp";
/// Interfaces of containers, of virtual machines and of tunnels.
constexpr std::array<std::string_view, 6> kInterfacesToName = {"docker", "virbr", "tun",
                                                               "tap",    "wg",    "podman"};

template <std::size_t n>
bool begins_with_any(std::string_view text, const std::array<std::string_view, n>& words) noexcept {
  return std::any_of(words.begin(), words.end(),
                     [text](std::string_view each) { return text.starts_with(each); });
}

/// TCP that answers for itself, and not for rxm above it: `net` of libfabric 1.17, `tcp` since.  It does not
/// end a receive of a message that was taken out of matching (1.17 and 2.5).
bool is_plain_tcp(std::string_view provider) noexcept { return provider == "net" || provider == kTcp; }

bool is_tcp(std::string_view provider) noexcept {
  return provider.starts_with(kTcp) || is_plain_tcp(provider);
}

/// An address of the machine that a provider would use: "eth0" and "10.1.0.1"; both empty where it has none.
struct Interface {
  std::string name, address;
  sockaddr_storage where = {};
  bool is_loopback = false;
  bool is_link_local = false;
};

/// `machine`: what getifaddrs says, asked once: each time it has the kernel list all interfaces.
Interface interface_of(const fi_info& info, const ifaddrs* machine) noexcept {
  Interface found;
  const auto* const mine = static_cast<const sockaddr*>(info.src_addr);
  if (!mine || (mine->sa_family != AF_INET && mine->sa_family != AF_INET6)) return found;
  const bool is_4 = mine->sa_family == AF_INET;
  const auto bytes_of = [is_4](const sockaddr* address) noexcept {
    return is_4 ? std::string_view(
                      reinterpret_cast<const char*>(&reinterpret_cast<const sockaddr_in*>(address)->sin_addr),
                      sizeof(in_addr))
                : std::string_view(reinterpret_cast<const char*>(
                                       &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr),
                                   sizeof(in6_addr));
  };
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(mine->sa_family, bytes_of(mine).data(), text, sizeof text);
  found.address = text;
  std::memcpy(&found.where, mine, is_4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  found.is_loopback = found.address.starts_with("127.") || found.address == "::1";
  found.is_link_local = found.address.starts_with("fe80:") || found.address.starts_with("169.254.");
  for (const ifaddrs* each = machine; each; each = each->ifa_next)
    if (each->ifa_addr && each->ifa_addr->sa_family == mine->sa_family &&
        bytes_of(each->ifa_addr) == bytes_of(mine))
      found.name = each->ifa_name;
  return found;
}

/// Smaller is better; what libfabric lists first wins among equals.  -1: not wanted.
int rank_of(const fi_info& info, const Interface& interface, bool matches, std::string_view name,
            std::string_view wanted) noexcept {
  const std::string_view provider = info.fabric_attr->prov_name;
  if (matches && (is_plain_tcp(provider) || begins_with_any(provider, kProvidersToName))) return -1;
  const bool is_wanted = wanted.empty()  ? !begins_with_any(provider, kProvidersToName)
                         : wanted == kTcp ? is_tcp(provider)
                                          : provider.starts_with(wanted);
  if (!is_wanted) return -1;
  if (!name.empty()) return interface.name == name ? 0 : -1;
  if (interface.is_link_local) return -1;
  if (interface.is_loopback) return 2;
  return begins_with_any(interface.name, kInterfacesToName) ? 1 : 0;
}

/// What libfabric offers, and where.
struct Offer {
  const fi_info* info;
  Interface interface;
  int rank;
  std::string_view provider() const noexcept { return info->fabric_attr->prov_name; }
  std::string text() const {
    return interface.name.empty() ? info->domain_attr->name : interface.name + ' ' + interface.address;
  }
};

/// Where TCP is next, the plain one: 8 bytes take 0.8 of the time (docs/decisions/0037).
void put_plain_tcp_first(std::vector<Offer>& offers) {
  for (auto first = offers.begin(); first != offers.end();) {
    const auto last = std::find_if(
        first, offers.end(), [rank = first->rank](const Offer& each) { return each.rank != rank; });
    const auto of_tcp = std::find_if(first, last, [](const Offer& each) { return is_tcp(each.provider()); });
    std::stable_partition(of_tcp, last, [](const Offer& each) { return is_plain_tcp(each.provider()); });
    first = last;
  }
}

/// Best first.
std::vector<Offer> offers_of(const fi_info* all, bool matches, std::string_view name,
                             std::string_view provider) {
  std::vector<Offer> offers;
  ifaddrs* machine = nullptr;
  if (::getifaddrs(&machine) != 0) machine = nullptr;
  for (const fi_info* each = all; each; each = each->next) {
    Interface interface = interface_of(*each, machine);
    const int rank = rank_of(*each, interface, matches, name, provider);
    if (rank >= 0) offers.push_back({each, std::move(interface), rank});
  }
  if (machine) ::freeifaddrs(machine);
  std::stable_sort(offers.begin(), offers.end(),
                   [](const Offer& one, const Offer& other) { return one.rank < other.rank; });
  put_plain_tcp_first(offers);
  return offers;
}

/// The best one that reaches another node, where there is a choice of addresses; else the first.
const Offer& first_to_reach(const std::vector<Offer>& offers, std::string_view door) noexcept {
  std::vector<sockaddr_storage> candidates;
  std::vector<const Offer*> of_candidates;
  for (const Offer& each : offers) {
    if (each.interface.address.empty() || each.interface.is_loopback) break;
    const auto is_known = [&each](const Offer* other) noexcept {
      return other->interface.address == each.interface.address;
    };
    if (std::any_of(of_candidates.begin(), of_candidates.end(), is_known)) continue;
    candidates.push_back(each.interface.where);
    of_candidates.push_back(&each);
  }
  if (candidates.size() < 2 || door.empty()) return offers.front();
  const int first = first_that_reaches(candidates, door);
  if (first <= 0) return offers.front();
  log::note("network: %s reaches no other node, and %s does", offers.front().text().c_str(),
            of_candidates[std::size_t(first)]->text().c_str());
  return *of_candidates[std::size_t(first)];
}

std::uint64_t random_key(std::size_t bytes) noexcept {
  std::uint64_t key = 0;
  (void)!::getrandom(&key, std::min(bytes, sizeof key), GRND_NONBLOCK);
  return key;
}

template <class Fid>
void close(Fid*& each) noexcept {
  if (each) ::fi_close(&each->fid);
  each = nullptr;
}

/// What libfabric is told by the environment.  It reads that while it begins and while a device is opened, so
/// it is taken back when this object ends: what the program starts may run on another machine, and may have
/// needs of its own.  What the user has set stays.
class Told {
 public:
  Told() = default;
  Told(const Told&) = delete;
  ~Told() {
    for (const char* name : names_) ::unsetenv(name);
  }
  void tell(const char* name, const char* value) {
    if (std::getenv(name)) return;
    ::setenv(name, value, 1);
    names_.push_back(name);
  }

 private:
  std::vector<const char*> names_;
};

/// Receives that are too short for their messages, which MPI calls an error of that receive only, and rxm
/// (of libfabric 1.17) answers by giving the connection up where it places data into the program's buffer,
/// and by mixing up the parts of messages where it sends them in parts.  So it does neither.
void avoid_faults_of_rxm(Told& told) {
  told.tell("FI_OFI_RXM_ENABLE_DYN_RBUF", "0");
  told.tell("FI_OFI_RXM_SAR_LIMIT", "0");
}

/// By how many ranks may talk to this one, rxm sizes what it shares among connections: over verbs 384 entries
/// of the device's completion queue for each, of which small devices have too few for libfabric's own guess.
void tell_size_of_universe(Told& told, int peers) {
  told.tell("FI_UNIVERSE_SIZE", std::to_string(std::clamp(peers, kPeersExpected, kUniverse)).c_str());
}

/// rxm of libfabric 1.17 keeps receive buffers of 18 KiB for all its peers together: over TCP so many that a
/// process touched 55 MB before its first message.  What finds none waits in the connection.
void limit_receive_buffers_of_rxm(Told& told) { told.tell("FI_OFI_RXM_MSG_RX_SIZE", "128"); }

/// TCP of libfabric 2 has a buffer of 16 KiB beside each of its 1,024 first operations, for what comes before
/// its receive, and writes zeros to all of them; what is longer than the buffer gets memory of its own.
void limit_buffers_of_tcp(Told& told) { told.tell("FI_TCP_MAX_RX_SIZE", "128"); }

/// What the kernel lists the devices of networks under that providers reach without it.
constexpr std::array kDevices = {"/sys/class/infiniband_verbs", "/sys/class/infiniband", "/sys/class/cxi"};

/// Without a device there is nothing that verbs could find; where it is a file of its own (libfabric 2) it is
/// then not even begun: its beginning reads all symbols of the kernel.  Nor are the files of other providers
/// looked for, unless somebody has named one: libfabric brings TCP along, and would look for some forty files
/// in each folder of libraries, which is most of the time that it takes to begin.  Providers that are never
/// taken unnamed are not asked.
void leave_out_files(Told& told) {
  const auto is_there = [](const char* path) noexcept { return ::access(path, F_OK) == 0; };
  if (!is_there("/sys/class/net") || std::any_of(kDevices.begin(), kDevices.end(), is_there)) return;
  const std::string_view wanted = provider_wanted.get();
  const bool is_named = std::getenv("FI_PROVIDER") || (!wanted.empty() && !is_tcp(wanted));
  if (!is_named) told.tell("FI_PROVIDER_PATH", kDevices.front());  // which is not there
  told.tell("FI_PROVIDER", is_named ? "^verbs" : "^verbs,shm,sockets,udp");
}

}  // namespace

Region::Region(Region&& other) noexcept
    : registration_(std::exchange(other.registration_, nullptr)), zero_(other.zero_) {}

Region& Region::operator=(Region&& other) noexcept {
  std::swap(registration_, other.registration_);
  std::swap(zero_, other.zero_);
  return *this;
}

Region::~Region() { close(registration_); }

void* Region::descriptor() const noexcept { return registration_ ? ::fi_mr_desc(registration_) : nullptr; }

std::uint64_t Region::key() const noexcept { return ::fi_mr_key(registration_); }

Result<std::vector<std::unique_ptr<Fabric>>> Fabric::open_all(int peers, bool matches,
                                                              std::string_view door) noexcept {
  Told told;
  tell_size_of_universe(told, peers);
  limit_receive_buffers_of_rxm(told);
  limit_buffers_of_tcp(told);
  leave_out_files(told);
  if (matches) avoid_faults_of_rxm(told);
  const Result<const Library*> library = Library::load();
  if (!library) return library.error();
  std::vector<std::unique_ptr<Fabric>> all;
  std::string_view names = interface_wanted.get(), provider = provider_wanted.get();
  do {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    if (all.size() == kDevicesMost)
      return fail(Err::other, "DUNLIN_OFI_INTERFACE=%s names more than %zu interfaces",
                  interface_wanted.get(), kDevicesMost);
    auto fabric = std::unique_ptr<Fabric>(new Fabric(*library.value()));
    if (const Err error = fabric->choose(matches, name, provider, door); error != Err::ok) return error;
    if (const Err error = fabric->open_endpoint(peers); error != Err::ok) return error;
    all.push_back(std::move(fabric));
    provider = all.front()->provider();
  } while (!names.empty() && !matches);
  return all;
}

void Fabric::close_endpoint() noexcept {
  // What has come is taken out before: rxm of libfabric 1.17 finds it while it closes a connection, and gives
  // its buffers back to the connection that it has closed (over verbs a crash).
  fi_cq_tagged_entry ended;
  fi_cq_err_entry failed = {};
  while (endpoint_) {
    const ssize_t count = ::fi_cq_read(completions_, &ended, 1);
    if (count != 1 && (count != -FI_EAVAIL || ::fi_cq_readerr(completions_, &failed, 0) != 1)) break;
  }
  close(endpoint_);
}

Fabric::~Fabric() {
  close_endpoint();
  close(completions_);
  close(news_);
  close(addresses_);
  close(domain_);
  close(fabric_);
  if (info_) library_.freeinfo(info_);
}

Err Fabric::choose(bool matches, std::string_view wanted, std::string_view provider_name,
                   std::string_view door) noexcept {
  const std::string name(wanted), provider(provider_name);
  fi_info* const hints = library_.dupinfo(nullptr);
  if (!hints) return fail(Err::no_mem, "out of memory for libfabric");
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  if (matches) {  // from and into any memory of the program: the provider sees to what its device needs
    hints->caps |= FI_TAGGED;
    hints->domain_attr->mr_mode &= ~FI_MR_LOCAL;
  }
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->domain_attr->cq_data_size = 4;
  if (!provider.empty() && provider != kTcp) hints->fabric_attr->prov_name = ::strdup(provider.c_str());
  fi_info* all = nullptr;
  const int code = library_.getinfo(kVersion, nullptr, nullptr, 0, hints, &all);
  library_.freeinfo(hints);
  if (const std::vector<Offer> offers = offers_of(all, matches, name, provider); !offers.empty()) {
    const Offer& best = first_to_reach(offers, name.empty() ? door : std::string_view());
    info_ = library_.dupinfo(best.info);
    interface_ = best.text();
  }
  if (all) library_.freeinfo(all);
  if (info_) return Err::ok;
  return fail(
      Err::other,
      "libfabric has no provider for messages between nodes%s%s%s%s%s: %s (fi_info -t FI_EP_RDM lists "
      "what is there)",
      matches ? ", with DUNLIN_P2P=offload one that matches" : "",
      provider.empty() ? "" : ", DUNLIN_OFI_PROVIDER=", provider.c_str(),
      name.empty() ? "" : ", DUNLIN_OFI_INTERFACE=", name.c_str(),
      code == 0 ? "none of them fits" : text_of(code));
}

Err Fabric::open_endpoint(int peers) noexcept {
  const auto failed = [this](const char* what, int code) noexcept {
    return fail(Err::other, "%s on %s cannot open %s: %s", provider(), interface_.c_str(), what,
                text_of(code));
  };
  if (const int code = library_.fabric(info_->fabric_attr, &fabric_, nullptr))
    return failed("its network", code);
  if (const int code = ::fi_domain(fabric_, info_, &domain_, nullptr)) return failed("its device", code);
  fi_av_attr table = {};
  table.count = std::size_t(std::min(peers, kPeersExpected));  // it grows by first contacts
  if (const int code = ::fi_av_open(domain_, &table, &addresses_, nullptr))
    return failed("a table of addresses", code);
  if (const int code = open_queues()) return failed("a completion queue", code);
  if (const int code = ::fi_endpoint(domain_, info_, &endpoint_, nullptr)) return failed("an endpoint", code);
  if (const int code = ::fi_ep_bind(endpoint_, &addresses_->fid, 0)) return failed("an endpoint", code);
  if (const int code = ::fi_ep_bind(endpoint_, &completions_->fid, FI_TRANSMIT | FI_RECV))
    return failed("an endpoint", code);
  if (const int code = ::fi_enable(endpoint_)) return failed("an endpoint", code);
  std::size_t bytes = 0;
  (void)::fi_getname(&endpoint_->fid, nullptr, &bytes);  // only asks how long it is
  name_.resize(bytes);
  if (const int code = ::fi_getname(&endpoint_->fid, name_.data(), &bytes)) return failed("an address", code);
  log::note("network: %s on %s, RDMA %s the target's process", provider(), interface_.c_str(),
            is_rma_offloaded() ? "without" : "with");
  return Err::ok;
}

/// A queue with a descriptor has every completion told to that descriptor, by two system calls.  Plain TCP
/// needs none: a queue of its own that nothing ends in has the descriptor of all sockets of the domain.
int Fabric::open_queues() noexcept {
  fi_cq_attr with_fd = {};
  with_fd.format = FI_CQ_FORMAT_TAGGED;
  with_fd.wait_obj = FI_WAIT_FD;
  fi_cq_attr without = with_fd;
  without.wait_obj = FI_WAIT_NONE;
  const bool is_plain = is_plain_tcp(provider());
  fid_cq*& waited = is_plain ? news_ : completions_;
  if (::fi_cq_open(domain_, &with_fd, &waited, nullptr) == 0 &&
      ::fi_control(&waited->fid, FI_GETWAIT, &wait_fd_) != 0)
    wait_fd_ = -1;
  return completions_ ? 0 : ::fi_cq_open(domain_, &without, &completions_, nullptr);
}

const char* Fabric::provider() const noexcept { return info_->fabric_attr->prov_name; }

bool Fabric::may_wait() const noexcept {
  if (news_) return wait_fd_ >= 0;  // what the sockets hold, their descriptor tells
  fid* waited = &completions_->fid;
  return wait_fd_ >= 0 && ::fi_trywait(fabric_, &waited, 1) == FI_SUCCESS;
}

std::size_t Fabric::inject_bytes_max() const noexcept { return info_->tx_attr->inject_size; }

std::size_t Fabric::message_bytes_max() const noexcept { return info_->ep_attr->max_msg_size; }

std::size_t Fabric::receives_max() const noexcept { return info_->rx_attr->size; }

std::size_t Fabric::data_bytes() const noexcept { return info_->domain_attr->cq_data_size; }

std::uint64_t Fabric::tag_format() const noexcept { return info_->ep_attr->mem_tag_format; }

bool Fabric::pins_memory() const noexcept { return (info_->domain_attr->mr_mode & FI_MR_ALLOCATED) != 0; }

bool Fabric::is_rma_offloaded() const noexcept {
  // rxm leaves progress to us and says so, whatever is below it.  Plain TCP says that it goes on by itself,
  // and does so only for those who sleep in its own calls.  What has pinned pages reaches them by itself.
  return pins_memory() ||
         (info_->domain_attr->data_progress == FI_PROGRESS_AUTO && !is_plain_tcp(provider()));
}

bool Fabric::are_writes_ordered() const noexcept { return (info_->tx_attr->msg_order & FI_ORDER_WAW) != 0; }

bool Fabric::wants_local_memory() const noexcept { return (info_->domain_attr->mr_mode & FI_MR_LOCAL) != 0; }

Region Fabric::try_register(const void* at, std::size_t bytes, bool by_peers) noexcept {
  DUNLIN_ASSERT(bytes > 0);
  const std::uint64_t mode = std::uint64_t(info_->domain_attr->mr_mode);
  std::uint64_t access = FI_SEND | FI_RECV | FI_READ | FI_WRITE;
  if (by_peers) access |= FI_REMOTE_READ | FI_REMOTE_WRITE;
  fid_mr* registration = nullptr;
  int code;
  do {  // where we choose the key, nobody else shall guess it
    code = ::fi_mr_reg(domain_, at, bytes, access, 0, random_key(info_->domain_attr->mr_key_size), 0,
                       &registration, nullptr);
  } while (code == -FI_ENOKEY);
  if (code != 0) return {};
  ++counters.registrations;
  return {registration, mode & FI_MR_VIRT_ADDR ? 0 : reinterpret_cast<std::uint64_t>(at)};
}

const char* Fabric::text_of(int code) const noexcept { return library_.strerror(code < 0 ? -code : code); }

}  // namespace dunlin::transport::ofi
