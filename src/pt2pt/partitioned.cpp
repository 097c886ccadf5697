// Partitioned sends and receives (MPI 5.0, chapter 4.2; docs/decisions/0038): a partition of the sender is a
// message, whatever partitions the receiver has.
//
// MPI_Psend_init sends an `Introduction`: tag, partitions, their length, and a number for each.  The receives
// of MPI_Precv_init meet the introductions of that rank in order of the calls, tag by tag.  From then on
// nothing more is agreed on: MPI_Start posts a receive for each partition of the sender, at its place in the
// buffer and for its number, and MPI_Pready sends it.  What comes before the receive is started waits where
// unexpected messages do.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <vector>

#include "datatype/cursor.hpp"
#include "object/attributes.hpp"
#include "object/error_origin.hpp"
#include "object/status.hpp"
#include "pt2pt/internal.hpp"

namespace dunlin::pt2pt {
namespace {

/// The tags of all that travels here, in Plane::internal: this bit, and the number of a partition or 0.
constexpr int kPartitioned = 1 << 30;

/// The first message of each send.
struct Introduction {
  std::uint64_t bytes = 0;      // of a partition
  std::int32_t tag = 0;         // of the program
  std::int32_t partitions = 0;  // the messages of a round
  std::int32_t number = 0;      // of the first partition; those of the others follow
  std::int32_t unused = 0;
};
static_assert(sizeof(Introduction) == 24);

class IntroductionSend final : public protocol::SendRequest {
 public:
  explicit IntroductionSend(const Introduction& introduction) noexcept : introduction_(introduction) {}
  void send(Comm& to, int dest) noexcept {
    hold(to);
    to.messaging->send(*this, to, Plane::internal,
                       {reinterpret_cast<const std::byte*>(&introduction_), sizeof introduction_}, dest,
                       kPartitioned, protocol::Mode::standard);
    let_go();
  }

 private:
  const Introduction introduction_;
};

/// The numbers of the partitions of this process's sends, given out in turn, past those in use.  Where the
/// network matches there may be fewer than 2^30 (protocol/match_bits.hpp).
class Numbers {
 public:
  /// So many in a row; 0: there are none.
  static int take(int count) noexcept {
    const int end = predefined_attributes.tag_max / 2 + 1;
    for (bool is_second_turn = false;;) {
      if (count > end - next_) {
        if (is_second_turn) return 0;
        is_second_turn = true;
        next_ = 1;
        continue;
      }
      const auto behind = in_use().lower_bound(next_ + count);
      const auto before = behind == in_use().begin() ? in_use().end() : std::prev(behind);
      if (before == in_use().end() || before->second <= next_) break;
      next_ = before->second;
    }
    const int first = next_;
    next_ += count;
    in_use()[first] = next_;
    return first;
  }
  static void give_back(int first) noexcept { in_use().erase(first); }

 private:
  static std::map<int, int>& in_use() noexcept {         // first -> behind the last
    static auto* const ranges = new std::map<int, int>;  // never destroyed: programs free requests late
    return *ranges;
  }
  static inline int next_ = 1;
};

/// The address of element `index`; the buffer may be MPI_BOTTOM.
template <class Byte>
Byte* element_at(Byte* buffer, std::int64_t index, const Datatype& type) noexcept {
  return reinterpret_cast<Byte*>(reinterpret_cast<std::intptr_t>(buffer) + index * type.extent());
}

Err out_of_range(int partition, int partitions) noexcept {
  return fail(Err::arg, "partition %d is asked for; the request has %d, counted from 0", partition,
              partitions);
}

Err not_cancelled() noexcept {
  return fail(Err::request, "a partitioned operation cannot be cancelled (MPI 5.0, 4.2)");
}

class PartitionedSend final : public Request, public progress::Pollable {
 public:
  PartitionedSend(const std::byte* buffer, std::int64_t count, const Datatype& type, int partitions, int dest,
                  int tag, Comm& to) noexcept
      : buffer_(buffer), count_(count), dest_(dest), tag_(tag), partitions_(partitions) {
    hold(to);
    hold_type(*this, &type);
    is_persistent = true;
    is_active = false;
    has_empty_status = true;
  }
  Ref<Datatype> held_type;

  Err introduce() noexcept {
    parts_.reset(new (std::nothrow) Part[std::size_t(partitions_)]);
    if (!parts_) return fail(Err::no_mem, "no memory for the requests of %d partitions", partitions_);
    if (dest_ == MPI_PROC_NULL) return Err::ok;
    number_ = Numbers::take(std::max(partitions_, 1));
    if (number_ == 0)
      return fail(Err::no_mem, "the %d partitions are more than there are tags left for", partitions_);
    const Introduction introduction{std::uint64_t(held_type->size() * count_), tag_, partitions_, number_};
    (new IntroductionSend(introduction))->send(*comm, dest_);
    return Err::ok;
  }

  Err begin_round() noexcept override {
    is_active = true;
    is_complete = false;
    completion = Completion{};
    ready_ = done_ = 0;
    for (int i = 0; i < partitions_; ++i) parts_[std::size_t(i)].is_ready = false;
    if (partitions_ == 0) finish();
    return Err::ok;
  }

  Err check_ready(int partition) const noexcept override {
    if (!is_active)
      return fail(Err::request, "the partitioned send is not active: MPI_Start comes before MPI_Pready");
    if (partition < 0 || partition >= partitions_) return out_of_range(partition, partitions_);
    if (parts_[std::size_t(partition)].is_ready)
      return fail(Err::arg, "partition %d was made ready before, since the last MPI_Start", partition);
    return Err::ok;
  }

  Err ready(int partition) noexcept override {
    if (Err error = check_ready(partition); error != Err::ok) return error;
    Part& part = parts_[std::size_t(partition)];
    part.is_ready = true;
    part.is_complete = dest_ == MPI_PROC_NULL;
    part.completion = Completion{};
    if (!part.is_complete)
      comm->messaging->send(
          part, *comm, Plane::internal,
          source_of(*held_type, element_at(buffer_, partition * count_, *held_type), count_), dest_,
          kPartitioned | (number_ + partition), protocol::Mode::standard);
    if (++ready_ == partitions_) comm->engine->add(*this);
    return Err::ok;
  }

  /// Parked from when the last partition was made ready.
  Outcome poll() noexcept override {
    DUNLIN_ASSERT(ready_ == partitions_);
    for (; done_ < partitions_ && parts_[std::size_t(done_)].is_complete; ++done_)
      if (completion.error == Err::ok) completion.error = parts_[std::size_t(done_)].completion.error;
    if (done_ < partitions_) return Outcome::idle;
    finish();
    return Outcome::finished;
  }

  Err cancel() noexcept override { return not_cancelled(); }

  void explain(WaitReason& reason) const noexcept override {
    const bool is_ready = ready_ == partitions_;
    std::snprintf(reason.what, sizeof reason.what, "a partitioned send (%d of %d partitions are ready%s)",
                  ready_, partitions_, is_ready ? ", waiting for a matching receive" : "");
    comm->explain(reason);
    reason.tag = tag_;
    if (dest_ != MPI_PROC_NULL && is_ready) reason.peer = comm->target_members[dest_];
    for (int i = 0; !is_ready && i < partitions_; ++i) {
      if (parts_[std::size_t(i)].is_ready) continue;
      std::snprintf(reason.hint, sizeof reason.hint, "this rank has not called MPI_Pready for partition %d",
                    i);
      return;
    }
  }

 private:
  struct Part final : protocol::SendRequest {
    bool is_ready = false;  // in this round
  };

  ~PartitionedSend() override {
    if (number_ != 0) Numbers::give_back(number_);
  }

  const std::byte* const buffer_;
  const std::int64_t count_;  // elements of a partition
  const int dest_, tag_, partitions_;
  int number_ = 0;  // of the first partition
  int ready_ = 0;   // partitions, in this round
  int done_ = 0;    // partitions from the first on that are known to have left
  std::unique_ptr<Part[]> parts_;
};

class Meeting;

class PartitionedReceive final : public Request, public progress::Pollable {
 public:
  PartitionedReceive(std::byte* buffer, std::int64_t count, const Datatype& type, int partitions, int from,
                     int tag_wanted, Comm& communicator) noexcept
      : source(from),
        tag(tag_wanted),
        buffer_(buffer),
        partition_bytes_(std::uint64_t(type.size() * count)),
        partitions_(partitions),
        whole_(target_of(type, buffer, partitions * count)) {
    hold(communicator);
    hold_type(*this, &type);
    is_persistent = true;
    is_active = false;
  }
  const int source, tag;
  Ref<Datatype> held_type;
  Meeting* meeting = nullptr;  // while the send is not known

  /// The send is known.
  void introduce(const Introduction& send) noexcept {
    meeting = nullptr;
    send_ = send;
    parts_.reset(new (std::nothrow) Part[std::size_t(send.partitions)]);
    if (!parts_)
      failed_ = fail(Err::no_mem, "no memory for the requests of the %d partitions that rank %d sends",
                     send.partitions, source);
    const auto element = std::size_t(held_type->size());
    if (whole_.is_contiguous() || element == 0 || send.bytes % element == 0) return;
    packed_.reset(new (std::nothrow) std::byte[whole_.bytes]);
    if (!packed_)
      failed_ = fail(Err::no_mem, "no memory for %zu bytes of partitions with gaps", whole_.bytes);
  }
  void fail_with(Err error) noexcept {
    meeting = nullptr;
    failed_ = error;
  }

  Err begin_round() noexcept override {
    is_active = true;
    is_complete = has_own_status = is_posted_ = false;
    completion = Completion{};
    done_ = 0;
    if (source == MPI_PROC_NULL) {
      completion = null_completion();
      return finish(), Err::ok;
    }
    if (poll() != Outcome::finished) comm->engine->add(*this);
    return Err::ok;
  }

  /// Parked from MPI_Start on.
  Outcome poll() noexcept override;

  Err arrived(int partition, int* flag) noexcept override {
    if (partition < 0 || partition >= partitions_) return out_of_range(partition, partitions_);
    if (is_active && !is_complete && !has_come(partition)) comm->engine->poll_for_test(*this);
    *flag = !is_active || is_complete || has_come(partition);
    return Err::ok;
  }

  Err cancel() noexcept override { return not_cancelled(); }

  /// What is wrong with the lengths, told to the thread that asks.
  Err query(void* status) noexcept override {
    set_status(status, completion);
    const auto sent = static_cast<unsigned long long>(sent_bytes());
    return fail(
        completion.error,
        "the partitioned send of rank %d with tag %d has %llu bytes in all, the receive %zu: both have "
        "to have the same",
        source, tag, sent, whole_.bytes);
  }

  void explain(WaitReason& reason) const noexcept override {
    if (meeting)
      std::snprintf(reason.what, sizeof reason.what,
                    "a partitioned receive (its sender has not called MPI_Psend_init)");
    else
      std::snprintf(reason.what, sizeof reason.what, "a partitioned receive (%d of %d partitions have come)",
                    int(std::count_if(parts_.get(), parts_.get() + send_.partitions,
                                      [](const Part& part) { return part.is_complete; })),
                    send_.partitions);
    comm->explain(reason);
    reason.tag = tag;
    if (source != MPI_PROC_NULL) reason.peer = comm->target_members[source];
  }

 private:
  /// A partition of the sender.
  struct Part final : protocol::ReceiveRequest {
    bool is_in_place = false;  // not in `packed_` any more
  };

  ~PartitionedReceive() override = default;

  std::uint64_t sent_bytes() const noexcept { return send_.bytes * std::uint64_t(send_.partitions); }

  /// Where the sender's partition goes; of one that is too many, nowhere.
  Target place_of(int part) const noexcept {
    const std::size_t begin = std::min<std::size_t>(std::size_t(part) * send_.bytes, whole_.bytes);
    const std::size_t bytes = std::min<std::size_t>(send_.bytes, whole_.bytes - begin);
    if (bytes == 0) return {};
    if (packed_) return {packed_.get() + begin, bytes};
    if (whole_.is_contiguous()) return {whole_.address + begin, bytes};
    const auto element = std::size_t(held_type->size());
    return target_of(*held_type, element_at(buffer_, std::int64_t(begin / element), *held_type),
                     std::int64_t(bytes / element));
  }

  void post() noexcept {
    is_posted_ = true;
    for (int i = 0; i < send_.partitions; ++i) {
      Part& part = parts_[std::size_t(i)];
      part.is_complete = part.is_matched = part.has_own_status = part.is_in_place = false;
      part.completion = Completion{};
      comm->messaging->receive(part, *comm, Plane::internal, place_of(i), source,
                               kPartitioned | (send_.number + i));
    }
  }

  /// Whether a partition of the sender has come.
  bool try_finish(int index) noexcept {
    Part& part = parts_[std::size_t(index)];
    if (!part.is_complete) return false;
    if (packed_ && !std::exchange(part.is_in_place, true)) {
      const Target place = place_of(index);
      Cursor cursor(whole_);
      cursor.seek(std::size_t(place.address - packed_.get()));
      (void)cursor.unpack(place.address, place.bytes);
    }
    return true;
  }

  /// Whether all bytes of a partition of the receiver have come.
  bool has_come(int partition) noexcept {
    if (!is_posted_) return false;
    int first = partition, last = partition;
    if (send_.partitions != partitions_) {
      if (partition_bytes_ == 0) return is_complete;
      const std::uint64_t begin = std::uint64_t(partition) * partition_bytes_;
      const std::uint64_t end = begin + partition_bytes_;
      if (end > sent_bytes()) return false;
      first = int(begin / send_.bytes);
      last = int((end - 1) / send_.bytes);
    }
    while (first <= last && try_finish(first)) ++first;
    return first > last;
  }

  Outcome end(Err error) noexcept {
    completion.source = source;
    completion.tag = tag;
    completion.error = error;
    finish();
    return Outcome::finished;
  }

  std::byte* const buffer_;
  const std::uint64_t partition_bytes_;  // of the receiver's
  const int partitions_;                 // the receiver's
  const Target whole_;
  Introduction send_;
  bool is_posted_ = false;         // in this round
  int done_ = 0;                   // the sender's partitions from the first on that are known to be here
  Err failed_ = Err::ok;           // why no round can succeed
  std::unique_ptr<Part[]> parts_;  // of the sender's partitions
  std::unique_ptr<std::byte[]>
      packed_;  // the data, where the sender's partitions end inside elements with gaps
};

/// Where the receives from one rank on one communicator, which do not know their sends yet, hear of them.
/// There as long as somebody waits or is waited for.
class Meeting {
 public:
  static void join(PartitionedReceive& receive) noexcept {
    std::vector<Meeting*>& meetings = all();
    const auto found = std::find_if(meetings.begin(), meetings.end(), [&](const Meeting* each) {
      return each->comm_.get() == receive.comm && each->source_ == receive.source;
    });
    Meeting& meeting = found != meetings.end() ? **found : *meetings.emplace_back(new Meeting(receive));
    const auto early = std::find_if(meeting.early_.begin(), meeting.early_.end(),
                                    [&](const Introduction& each) { return each.tag == receive.tag; });
    if (early == meeting.early_.end()) {
      receive.retain();  // also when the program frees it: the next one must not get its send
      receive.meeting = &meeting;
      meeting.waiting_.push_back(&receive);
      if (meeting.waiting_.size() == 1) meeting.ask();
      return;
    }
    receive.introduce(*early);
    meeting.early_.erase(early);
    meeting.end_if_over();
  }

  /// Takes the introductions that have come.  The meeting may be over then.
  void hear() noexcept {
    while (next_.is_complete) {
      if (next_.completion.error != Err::ok) {
        for (PartitionedReceive* each : waiting_) each->fail_with(next_.completion.error), each->release();
        waiting_.clear();
        break;
      }
      const auto wanted = std::find_if(waiting_.begin(), waiting_.end(), [&](const PartitionedReceive* each) {
        return each->tag == introduction_.tag;
      });
      if (wanted == waiting_.end()) {
        early_.push_back(introduction_);
      } else {
        PartitionedReceive& receive = **wanted;
        waiting_.erase(wanted);
        receive.introduce(introduction_);
        receive.release();
      }
      if (waiting_.empty()) break;
      ask();
    }
    end_if_over();
  }

 private:
  explicit Meeting(const PartitionedReceive& first) noexcept : comm_(first.comm), source_(first.source) {}

  void ask() noexcept {
    next_.is_complete = next_.is_matched = next_.has_own_status = false;
    next_.completion = Completion{};
    comm_->messaging->receive(next_, *comm_, Plane::internal,
                              {reinterpret_cast<std::byte*>(&introduction_), sizeof introduction_}, source_,
                              kPartitioned);
  }

  void end_if_over() noexcept {
    if (!waiting_.empty() || !early_.empty()) return;
    std::erase(all(), this);
    delete this;
  }

  static std::vector<Meeting*>& all() noexcept {
    static auto* const meetings = new std::vector<Meeting*>;  // never destroyed, as the numbers
    return *meetings;
  }

  const Ref<Comm> comm_;
  const int source_;
  Introduction introduction_;                // what `next_` receives
  protocol::ReceiveRequest next_;            // posted while somebody waits
  std::deque<PartitionedReceive*> waiting_;  // by their MPI_Precv_init; a reference each
  std::vector<Introduction> early_;  // by their MPI_Psend_init: whose MPI_Precv_init was not called yet
};

PartitionedReceive::Outcome PartitionedReceive::poll() noexcept {
  if (meeting) meeting->hear();
  if (meeting) return Outcome::idle;
  if (failed_ != Err::ok) return end(failed_);
  const bool is_new = !is_posted_;
  if (is_new) post();
  for (; done_ < send_.partitions && try_finish(done_); ++done_) {
    const Completion& part = parts_[std::size_t(done_)].completion;
    completion.bytes += part.bytes;
    if (completion.error == Err::ok) completion.error = part.error;
  }
  if (done_ < send_.partitions) return is_new ? Outcome::advanced : Outcome::idle;
  if (sent_bytes() == whole_.bytes) return end(completion.error);
  has_own_status = true;
  return end(sent_bytes() > whole_.bytes ? Err::truncate : Err::count);
}

Err check_partitions(int partitions) noexcept {
  if (partitions >= 0) return Err::ok;
  return fail(Err::arg, "argument partitions is %d; it must not be negative", partitions);
}

}  // namespace

Err psend_init(const void* buf, int partitions, std::int64_t count, const Datatype& datatype, int dest,
               int tag, Comm& comm, const Info*, Request** request) noexcept {
  if (Err error = check_partitions(partitions); error != Err::ok) return error;
  auto* const send =
      new PartitionedSend(static_cast<const std::byte*>(buf), count, datatype, partitions, dest, tag, comm);
  if (Err error = send->introduce(); error != Err::ok) return send->release(), error;
  *request = send;
  return Err::ok;
}

Err precv_init(void* buf, int partitions, std::int64_t count, const Datatype& datatype, int source, int tag,
               Comm& comm, const Info*, Request** request) noexcept {
  if (Err error = check_partitions(partitions); error != Err::ok) return error;
  if (source == MPI_ANY_SOURCE)
    return fail(Err::rank, "source is MPI_ANY_SOURCE, but a partitioned receive names its sender");
  if (tag == MPI_ANY_TAG)
    return fail(Err::tag, "tag is MPI_ANY_TAG, but a partitioned receive names its tag");
  auto* const receive =
      new PartitionedReceive(static_cast<std::byte*>(buf), count, datatype, partitions, source, tag, comm);
  if (source != MPI_PROC_NULL) Meeting::join(*receive);
  *request = receive;
  return Err::ok;
}

Err pready(int partition, Request& request) noexcept { return request.ready(partition); }

Err pready_range(int partition_low, int partition_high, Request& request) noexcept {
  if (partition_low > partition_high)
    return fail(Err::arg, "partition_low is %d, higher than partition_high, %d", partition_low,
                partition_high);
  for (std::int64_t i = partition_low; i <= partition_high; ++i)
    if (Err error = request.check_ready(int(i)); error != Err::ok) return error;
  for (int i = partition_low; i <= partition_high; ++i)
    if (Err error = request.ready(i); error != Err::ok) return error;
  return Err::ok;
}

Err pready_list(int length, const int* array_of_partitions, Request& request) noexcept {
  for (int i = 0; i < length; ++i)
    if (Err error = request.check_ready(array_of_partitions[i]); error != Err::ok) return error;
  std::vector<int> sorted(array_of_partitions, array_of_partitions + length);
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    return fail(Err::arg, "partition %d stands twice in array_of_partitions", *twice);
  for (int i = 0; i < length; ++i)
    if (Err error = request.ready(array_of_partitions[i]); error != Err::ok) return error;
  return Err::ok;
}

Err parrived(MPI_Request request, int partition, int* flag) noexcept {
  if (request == MPI_REQUEST_NULL) return *flag = 1, Err::ok;
  auto* const receive = from_handle<Request>(request);
  if (!receive)
    return fail(Err::request, "argument request is no valid request; was it freed or completed already?");
  const Err error = receive->arrived(partition, flag);
  if (error != Err::ok) set_error_origin(receive->comm);
  return error;
}

}  // namespace dunlin::pt2pt
