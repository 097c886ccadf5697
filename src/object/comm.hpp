// MPI_Comm: two groups (one for an intra-communicator), a context that keeps its messages apart, and what
// hangs on it.
//
// The data only; creating communicators is comm/, sending over them pt2pt/.
// Scale: one communicator costs this struct; groups are shared by reference.  Contexts are 64 bits wide and
// handed out by the leader of a new group from its own counter, so that millions may live and no agreement
// over bit masks is needed.
#pragma once

#include <cstdint>
#include <memory>

#include "object/attributes.hpp"
#include "object/errhandler.hpp"
#include "object/group.hpp"
#include "object/info.hpp"
#include "object/object.hpp"
#include "object/request.hpp"

namespace dunlin {

namespace progress {
class Engine;
}
namespace protocol {
class Messaging;
}
namespace pt2pt {
class BufferPool;
}
namespace coll {
class Hierarchy;
class Region;
}  // namespace coll
namespace comm {
struct Process;
struct Topology;
}  // namespace comm

/// Which of a communicator's separate message spaces an envelope belongs to: the low two bits of its context.
enum class Plane : std::uint64_t {
  point_to_point = 0,
  collective = 1,
  internal = 2,  // creating communicators; tags count the creations (Comm::creation_count).  Partitioned
                 // communication; tags have bit 30 set (pt2pt/partitioned.cpp)
  named = 3,     // creating communicators under a tag that the program chose
};

class Comm final : public Object {
 public:
  static constexpr Kind kKind = Kind::comm;
  Comm() noexcept;
  /// All of this process, the oldest first.
  static Comm* first() noexcept { return first_; }
  Comm* next() const noexcept { return next_; }

  // hot path: read by every send and receive.  Written once at creation.
  std::uint64_t context = 0;                 // multiple of 4; see Plane.  Same on all members
  protocol::Messaging* messaging = nullptr;  // what sends, receives and matches for it
  progress::Engine* engine = nullptr;        // where its calls wait
  const int* target_members =
      nullptr;          // peer index by destination or source rank: remote group's for an inter-communicator
  int target_size = 0;  // how many ranks may be named as destination or source
  int rank = 0;         // mine in the local group
  int size = 0;         // of the local group

  Ref<Group> group;
  Ref<Group> remote_group;  // set only for inter-communicators
  Ref<Comm> local_comm;     // inter-communicator: intra-communicator of the local group, for its collectives
  Ref<Errhandler> errhandler;
  Ref<Info> info;
  AttributeList attributes;
  std::shared_ptr<const comm::Topology>
      topology;  // comm/topology.hpp; shared with duplicates, null where there is none
  std::shared_ptr<const coll::Hierarchy> hierarchy;  // coll/hierarchy.hpp; null where all are in one domain
  std::shared_ptr<coll::Region> region;  // coll/region.hpp, of this process's domain; null where it has none
  comm::Process* process =
      nullptr;  // what creating further communicators needs (comm/process.hpp); not owned
  pt2pt::BufferPool* buffer = nullptr;  // MPI_Comm_attach_buffer; owned, see pt2pt/buffered.cpp
  void (*free_buffer)(pt2pt::BufferPool*) noexcept = nullptr;  // set together with `buffer`
  std::uint32_t collective_count =
      0;  // collectives started here: their tag, the same on all members by the standard's rule
  CollectiveCall recent_collectives[kCallsRemembered] = {};  // the last ones, by their tags
  std::uint32_t creation_count = 0;  // communicators asked for here, counted in the same way
  char name[128] = "";               // MPI_MAX_OBJECT_NAME
  std::int64_t let_go_count = 0;     // operations under way whose requests were freed (object/request.hpp)

  bool is_inter() const noexcept { return bool(remote_group); }
  std::uint64_t context_of(Plane plane) const noexcept { return context | std::uint64_t(plane); }
  /// Names this communicator in the report of a hang.
  void explain(WaitReason& reason) const noexcept;

 private:
  ~Comm() override;

  static inline Comm *first_ = nullptr, *last_ = nullptr;
  Comm *next_ = nullptr, *previous_ = nullptr;
};

inline void Request::hold(Comm& communicator) noexcept {
  DUNLIN_ASSERT(!is_comm_held_);
  communicator.retain();
  comm = &communicator;
  is_comm_held_ = true;
}

}  // namespace dunlin
