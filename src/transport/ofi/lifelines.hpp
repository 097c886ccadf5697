// Whether the machines at the other ends of TCP connections are still there.
//
// Nobody tells a process that waits when another machine loses its power, or the cable between them breaks:
// TCP tries again for a quarter of an hour, and says nothing at all where nothing is to be sent.  So whoever
// waits asks the kernel now and then, of each connection of this process's endpoint, when it has last heard
// from the other side; keep-alive messages, which the other kernel answers, see to it that it hears
// something.  A rank that computes, or is stopped, has a kernel that answers: it is not lost.
//
// And nobody tells it where only a connection ends (a firewall resets it) and the provider makes a new one:
// what was under way is lost.  So a connection that data has crossed both ways, and that is there no more, is
// noted, too.  Providers do not end such a connection as long as both processes use it.
//
// Used by ofi::Transport in waits, where the provider uses TCP.  Cost: some system calls for each open
// descriptor, every quarter of DUNLIN_OFI_SILENCE_S.  Thread safety: base/big_lock.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

namespace dunlin::transport::ofi {

class Lifelines {
 public:
  /// Looks at nothing where the provider does not use TCP.
  explicit Lifelines(const char* provider) noexcept;

  /// An own address, as libfabric says it.
  void listen(std::span<const std::byte> name);
  /// We may connect to that process.
  void expect(std::span<const std::byte> name);
  /// Whether it is time to look again.
  bool are_due() noexcept;
  /// Looks at all connections.  Answers the address of a machine that has been silent for too long; else it
  /// is empty.
  std::string find_lost();
  /// Whether the last look has missed a connection to or from that process.  One from its machine could be
  /// any of its processes': it counts for all of them.
  bool has_ended(std::span<const std::byte> name) const;
  /// Whether one of these has carried more since the look before than what ranks ask each other then.
  bool has_carried(std::span<const std::byte> name) const;
  /// As the last look has found it: whether there is a connection to or from that machine (`name` as
  /// libfabric says it).
  bool is_connected(std::span<const std::byte> name) const;
  /// For how long all may be silent.
  static std::int64_t silence_ns() noexcept;
  /// "10.1.0.2" of libfabric's address.
  static std::string machine_of(std::span<const std::byte> name) { return place_of(name).machine; }

 private:
  struct Place {
    std::string machine;
    std::uint16_t port = 0;
    auto operator<=>(const Place&) const = default;
  };
  /// `there` is where we connected to, or some port of who connected to us.
  struct Connection {
    Place here, there;
    auto operator<=>(const Connection&) const = default;
  };
  static Place place_of(std::span<const std::byte> name);
  bool is_among(const std::set<Place>& places, std::span<const std::byte> name) const;
  std::optional<Connection> connection(int fd) const;

  const bool is_tcp_;
  std::set<std::uint16_t> ports_;  // where others connect to us
  std::int64_t next_ns_ = 0;
  std::set<Place> others_;           // where we connect to
  std::set<int> waiting_;            // descriptors: an answer was due at the last look
  std::set<std::string> connected_;  // machines
  // Those that data had crossed at the last look, both ways: how many bytes.
  std::map<Connection, std::uint64_t> used_;
  std::set<Place> ended_;    // other ends of those of the look before that it has missed
  std::set<Place> carried_;  // and of those that carried much in between
};

}  // namespace dunlin::transport::ofi
