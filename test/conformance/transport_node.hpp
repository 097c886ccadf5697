// What the Transport suite runs on: a few processes' ends of one transport, all in this process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transport/transport.hpp"

namespace dunlin::test {

struct Message {
  int peer = 0;
  transport::Envelope envelope;
  std::vector<std::byte> payload;
};

/// Keeps what arrives, and checks that both ways to read a payload agree.
class RecordingInbox final : public transport::Inbox {
 public:
  void arrived(int peer, const transport::Envelope& envelope,
               const transport::Payload& payload) noexcept override;
  void moved(transport::Moved what, std::uint64_t token, bool is_ok) noexcept override {
    moves.push_back({what, token, is_ok});
  }
  std::vector<Message> messages;
  struct Move {
    transport::Moved what;
    std::uint64_t token;
    bool is_ok;
  };
  std::vector<Move> moves;
  std::function<void(const transport::Payload&, std::size_t)> look;  // called with every payload and its size
};

class Node {
 public:
  explicit Node(int ends) : inboxes(std::size_t(ends)) {}
  virtual ~Node() = default;
  int ends() const { return int(inboxes.size()); }
  virtual transport::Transport& transport(int end) = 0;
  /// Peer index of an end.
  virtual int peer(int end) const = 0;
  /// Whether there is one end only, which sends to itself.
  virtual bool is_self() const { return false; }
  /// Whether an end is connected to itself, too.
  virtual bool has_self() const { return is_self(); }
  /// Lets what was sent come nearer, where that does not happen by itself.
  virtual void step() {}

  transport::Channel& channel(int from, int to) { return *transport(from).connect(peer(to)); }
  RecordingInbox& inbox(int end) { return inboxes[std::size_t(end)]; }
  int poll(int end) {
    step();
    return transport(end).poll(inbox(end));
  }

 protected:
  std::vector<RecordingInbox> inboxes;
};

/// One transport in one configuration.
struct NodeKind {
  std::string name;
  int ends;
  std::function<std::unique_ptr<Node>(int ends)> make;  ///< nullptr where this machine lacks what it needs
};
const std::vector<NodeKind>& node_kinds();

}  // namespace dunlin::test
