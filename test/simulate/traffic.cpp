#include "test/simulate/traffic.hpp"

#include <algorithm>
#include <numeric>

#include "object/status.hpp"
#include "pt2pt/functions.hpp"

namespace dunlin::test {
namespace {

constexpr int kTags = 3, kExchangeTag = 90, kRaceTag = 100;  // from which each race has one of its own
constexpr std::size_t kNumberBytes = 4;  // messages that tell their number are not shorter
constexpr std::size_t kWildcardBytesMax = 70'000;
constexpr std::size_t kOutstandingMax = 12;
/// In the content of the way back of an exchange.
constexpr std::uint32_t kBack = 1u << 31;

std::size_t draw_bytes(Dice& dice, std::size_t eager_bytes, std::size_t bytes_max) {
  constexpr std::size_t kSizes[] = {0,       1,       8,         40,      41,           64,
                                    1000,    4095,    4096,      4097,    16384,        20000,
                                    65535,   65536,   65537,     131072,  262'143,      262'144,
                                    262'145, 300'000, 1'000'000, 1 << 20, (1 << 20) + 1};
  const std::size_t some = kSizes[draw(dice, std::size(kSizes))];
  const std::size_t bytes = is_drawn(dice, 15) ? eager_bytes - 1 + draw(dice, 3) : some;
  return bytes <= bytes_max ? bytes : draw(dice, std::min<std::size_t>(bytes_max, 5000) + 1);
}

bool knows_sender(Naming naming) { return naming == Naming::source_and_tag || naming == Naming::any_tag; }

}  // namespace

Traffic::Traffic(World& world, std::uint64_t seed, std::size_t eager_bytes) : world_(world) {
  Dice dice(seed + 1);
  std::vector<int> everybody(std::size_t(world.size()), 0);
  std::iota(everybody.begin(), everybody.end(), 0);
  for (int naming = 0; naming < kNamings; ++naming) {
    comms_.push_back(world.intra(everybody, std::uint64_t(naming + 1) << 20));
    for (const Ref<Comm>& each : comms_.back())
      EXPECT_EQ(pt2pt::comm_attach_buffer(*each, MPI_BUFFER_AUTOMATIC, 0), Err::ok);
  }
  const bool is_heavy = is_drawn(dice, 8);
  std::size_t left = is_heavy ? 6'000'000 : 150'000;
  const std::size_t count = is_heavy ? 5 + draw(dice, 20) : 5 + draw(dice, 80);
  while (entries_.size() < count) {
    add_entry(dice, draw_bytes(dice, eager_bytes, left));
    left -= std::min(left, entries_.back().bytes + entries_.back().back_bytes);
  }
  for (const Entry& each : entries_)
    if (!knows_sender(each.naming)) wildcard_room_ = std::max(wildcard_room_, each.bytes);
  for (Entry& each : entries_)
    if (!knows_sender(each.naming)) each.room = wildcard_room_;
  is_posted_.resize(count);
  was_cancelled_.resize(count);
  has_come_.resize(count);
  for (int rank = 0; rank < world.size(); ++rank)
    actors_.push_back(std::make_unique<Actor>(*this, rank, seed * 1000 + std::uint64_t(rank)));
}

Traffic::~Traffic() = default;

void Traffic::add_entry(Dice& dice, std::size_t bytes) {
  const auto ranks = std::uint64_t(world_.size());
  Entry entry{};
  entry.source = int(draw(dice, ranks));
  entry.dest = int(draw(dice, ranks));
  entry.tag = int(draw(dice, kTags));
  entry.naming = Naming(draw(dice, kNamings));
  entry.how = Entry::How(draw(dice, 4));
  entry.bytes = bytes;
  entry.is_sent = entry.is_received = true;
  const std::uint64_t kind = draw(dice, 20);
  entry.kind = kind == 0 ? Entry::Kind::exchange : kind <= 2 ? Entry::Kind::race : Entry::Kind::message;
  if (entry.kind != Entry::Kind::message) entry.naming = Naming::source_and_tag;
  if (entry.kind == Entry::Kind::exchange) {
    entry.tag = kExchangeTag;
    entry.back_bytes = is_drawn(dice, 50) ? bytes : draw(dice, bytes + 100);
  }
  if (entry.kind == Entry::Kind::race) {
    entry.tag = kRaceTag + int(entries_.size());
    entry.is_sent = !is_drawn(dice, 20);
    entry.is_received = !entry.is_sent || !is_drawn(dice, 20);
  }
  if (!knows_sender(entry.naming)) entry.bytes = std::clamp(bytes, kNumberBytes, kWildcardBytesMax);
  entry.room = entry.bytes + (is_drawn(dice, 50) ? draw(dice, 100) : 0);
  if (knows_sender(entry.naming) && is_drawn(dice, 7)) entry.room = draw(dice, entry.bytes + 1);
  entries_.push_back(entry);
}

void Traffic::run() {
  Fibers fibers(world_, [&](int rank) {
    actors_[std::size_t(rank)]->run();
    ++actors_done_;
    // The others may still need what this rank has to say.
    world_.engine(rank).wait_until(
        [](const void* all) noexcept {
          const auto& traffic = *static_cast<const Traffic*>(all);
          return traffic.actors_done_ == traffic.world_.size();
        },
        this, nullptr);
  });
  fibers.run();
  if (::testing::Test::HasFailure()) {
    for (const auto& each : actors_) ADD_FAILURE() << each->describe();
    return;
  }
  world_.settle();
  check_races();
  EXPECT_EQ(world_.network().under_way(), 0u);
  for (int rank = 0; rank < world_.size(); ++rank) {
    EXPECT_TRUE(world_.messaging(rank).is_idle()) << "rank " << rank << " has not sent all it had to";
    for (const auto& each : comms_) {
      void* detached = nullptr;
      std::int64_t size = 0;
      EXPECT_EQ(pt2pt::comm_detach_buffer(*each[std::size_t(rank)], &detached, &size), Err::ok);
    }
  }
}

/// A message whose send was cancelled has not come; what is left unexpected nobody asked for.
void Traffic::check_races() const {
  std::size_t left_over = 0, kept = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].kind != Entry::Kind::race || !entries_[i].is_sent) continue;
    EXPECT_FALSE(was_cancelled_[i] && has_come_[i]) << "entry " << i << " was cancelled, and came";
    if (entries_[i].how == Entry::How::synchronous) {
      EXPECT_TRUE(was_cancelled_[i] || has_come_[i]) << "entry " << i;
    }
    left_over += !was_cancelled_[i] && !has_come_[i];
  }
  for (int rank = 0; rank < world_.size(); ++rank)
    for (const auto* each = world_.messaging(rank).matcher().first_arrived(); each; each = each->next_arrived)
      ++kept;
  EXPECT_EQ(kept, left_over) << "messages that nobody has received";
}

void Actor::run() {
  for (; position_ < traffic_.entries_.size(); ++position_) {
    if (::testing::Test::HasFailure()) return;
    end_some(kOutstandingMax);
    const Entry& next = entry(position_);
    if (next.kind == Entry::Kind::exchange && (next.source == rank_ || next.dest == rank_))
      exchange(position_);
    else if (next.kind == Entry::Kind::race)
      race(position_);
    if (next.kind != Entry::Kind::message) continue;
    if (next.source == rank_) send(position_);
    if (next.dest == rank_) receive(position_);
  }
  has_posted_all_ = true;
  for (Operation& each : running_)
    if (entry(each.number).kind == Entry::Kind::race) cancel_race(each);
  end_some(0);
  check_order();
}

std::string Actor::describe() const {
  std::string text = "rank " + std::to_string(rank_) + " at entry " + std::to_string(position_);
  if (position_ < traffic_.entries_.size()) {
    const Entry& next = entry(position_);
    text += ": " + std::to_string(next.bytes) + " bytes from " + std::to_string(next.source) + " to " +
            std::to_string(next.dest) + ", tag " + std::to_string(next.tag);
  }
  for (const Operation& each : running_) {
    WaitReason reason;
    from_handle<Request>(each.request)->explain(reason);
    text += std::string("\n  entry ") + std::to_string(each.number) + ": " + reason.what;
  }
  return text;
}

std::unique_ptr<Shape> Actor::shape(std::size_t bytes) {
  auto made = std::make_unique<Shape>(dice_, bytes);
  if (made->memory_bytes() == 0) return made;
  traffic_.world_.memory(rank_).add_buffer(made->memory(), made->memory_bytes());
  return made;
}

void Actor::drop(std::unique_ptr<Shape> shape) {
  if (shape->memory_bytes() > 0) traffic_.world_.memory(rank_).remove_buffer(shape->memory());
}

// --- sends

Err Actor::send_blocking(const Entry& entry, Shape& data, Entry::How how) {
  using How = Entry::How;
  const auto call = how == How::synchronous ? &pt2pt::ssend
                    : how == How::ready     ? &pt2pt::rsend
                    : how == How::buffered  ? &pt2pt::bsend
                                            : nullptr;
  if (call) return call(data.at(), data.count(), data.type(), entry.dest, entry.tag, comm(entry));
  return pt2pt::send(data.at(), data.count(), data.type(), entry.dest, entry.tag, comm(entry));
}

void Actor::start_send(Operation& operation, Entry::How how) {
  constexpr decltype(&pt2pt::isend) kStart[] = {&pt2pt::isend, &pt2pt::issend, &pt2pt::irsend,
                                                &pt2pt::ibsend};
  constexpr decltype(&pt2pt::isend) kInit[] = {&pt2pt::send_init, &pt2pt::ssend_init, &pt2pt::rsend_init,
                                               &pt2pt::bsend_init};
  const Entry& entry = this->entry(operation.number);
  Shape& data = *operation.shape;
  Request* request = nullptr;
  operation.is_persistent = is_drawn(dice_, 15);
  const auto call = (operation.is_persistent ? kInit : kStart)[std::size_t(how)];
  EXPECT_EQ(call(data.at(), data.count(), data.type(), entry.dest, entry.tag, comm(entry), &request),
            Err::ok);
  if (operation.is_persistent) {
    EXPECT_EQ(pt2pt::start(*request), Err::ok);
  }
  operation.request = to_handle<MPI_Request>(*request);
}

void Actor::send(std::uint32_t number) {
  const Entry& entry = this->entry(number);
  Entry::How how = entry.how;
  if (how == Entry::How::ready && !(entry.naming == Naming::source_and_tag && traffic_.is_posted_[number]))
    how = Entry::How::standard;
  Operation operation{.shape = shape(entry.bytes), .number = number};
  operation.shape->fill(number);
  if (knows_sender(entry.naming) && entry.dest != rank_ && is_drawn(dice_, 30)) {
    EXPECT_EQ(send_blocking(entry, *operation.shape, how), Err::ok);
    return drop(std::move(operation.shape));
  }
  start_send(operation, how);
  running_.push_back(std::move(operation));
}

// --- receives

void Actor::receive(std::uint32_t number) {
  const Entry& entry = this->entry(number);
  const bool is_any_tag = entry.naming == Naming::any_tag || entry.naming == Naming::anything;
  const int source = knows_sender(entry.naming) ? entry.source : MPI_ANY_SOURCE;
  const int tag = is_any_tag ? MPI_ANY_TAG : entry.tag;
  Operation operation{.shape = shape(entry.room), .number = number, .is_receive = true, .room = entry.room};
  operation.place = received_.size();
  received_.push_back(number);
  switch (draw(dice_, 5)) {
    case 0:
      return receive_blocking(std::move(operation), source, tag);
    case 1:
      return receive_probed(std::move(operation), source, tag);
    default:
      break;
  }
  Shape& data = *operation.shape;
  Request* request = nullptr;
  operation.is_persistent = is_drawn(dice_, 15);
  const auto call = operation.is_persistent ? &pt2pt::recv_init : &pt2pt::irecv;
  EXPECT_EQ(call(data.at(), data.count(), data.type(), source, tag, comm(entry), &request), Err::ok);
  if (operation.is_persistent) {
    EXPECT_EQ(pt2pt::start(*request), Err::ok);
  }
  operation.request = to_handle<MPI_Request>(*request);
  running_.push_back(std::move(operation));
  traffic_.is_posted_[number] = true;
}

void Actor::receive_blocking(Operation operation, int source, int tag) {
  Shape& data = *operation.shape;
  MPI_Status status;
  const Err error =
      pt2pt::recv(data.at(), data.count(), data.type(), source, tag, comm(entry(operation.number)), &status);
  running_.push_back(std::move(operation));
  end(running_.size() - 1, status, error);
}

void Actor::receive_probed(Operation operation, int source, int tag) {
  Shape& data = *operation.shape;
  Comm& comm = this->comm(entry(operation.number));
  MPI_Status found, status;
  MPI_Message message = MPI_MESSAGE_NULL;
  int flag = 0;
  if (is_drawn(dice_, 50)) {
    if (is_drawn(dice_, 50)) {
      EXPECT_EQ(pt2pt::mprobe(source, tag, comm, &message, &found), Err::ok);
    } else {
      while (!flag) EXPECT_EQ(pt2pt::improbe(source, tag, comm, &flag, &message, &found), Err::ok);
    }
  } else if (is_drawn(dice_, 50)) {
    EXPECT_EQ(pt2pt::probe(source, tag, comm, &found), Err::ok);
  } else {
    while (!flag) EXPECT_EQ(pt2pt::iprobe(source, tag, comm, &flag, &found), Err::ok);
  }
  if (message != MPI_MESSAGE_NULL && is_drawn(dice_, 50)) {
    Request* request = nullptr;
    EXPECT_EQ(pt2pt::imrecv(data.at(), data.count(), data.type(), &message, &request), Err::ok);
    operation.request = to_handle<MPI_Request>(*request);
    return running_.push_back(std::move(operation));
  }
  const Err error =
      message != MPI_MESSAGE_NULL
          ? pt2pt::mrecv(data.at(), data.count(), data.type(), &message, &status)
          : pt2pt::recv(data.at(), data.count(), data.type(), found.MPI_SOURCE, found.MPI_TAG, comm, &status);
  EXPECT_EQ(status.MPI_SOURCE, found.MPI_SOURCE);
  EXPECT_EQ(status.MPI_TAG, found.MPI_TAG);
  EXPECT_EQ(status_bytes(status), std::min<std::uint64_t>(status_bytes(found), operation.room));
  running_.push_back(std::move(operation));
  end(running_.size() - 1, status, error);
}

/// Both ways by one call.
void Actor::exchange(std::uint32_t number) {
  const Entry& entry = this->entry(number);
  const bool is_source = entry.source == rank_, is_dest = entry.dest == rank_;
  const int other = is_source ? entry.dest : entry.source;
  const std::size_t out_bytes = is_source ? entry.bytes : entry.back_bytes;
  const std::size_t in_bytes = is_dest ? entry.bytes : entry.back_bytes;
  auto out = shape(out_bytes), in = shape(in_bytes);
  out->fill(is_source ? number : number | kBack);
  MPI_Status status;
  EXPECT_EQ(pt2pt::sendrecv(out->at(), out->count(), out->type(), other, entry.tag, in->at(), in->count(),
                            in->type(), other, entry.tag, comm(entry), &status),
            Err::ok);
  EXPECT_EQ(status_bytes(status), in_bytes);
  EXPECT_EQ(status.MPI_SOURCE, other);
  EXPECT_TRUE(in->holds(is_dest ? number : number | kBack, in_bytes)) << "exchange " << number;
  drop(std::move(out));
  drop(std::move(in));
}

/// A message of which either end, or both, will be cancelled.
void Actor::race(std::uint32_t number) {
  const Entry& entry = this->entry(number);
  if (entry.source == rank_ && entry.is_sent) {
    Operation operation{.shape = shape(entry.bytes), .number = number};
    operation.shape->fill(number);
    Request* request = nullptr;
    const auto call = entry.how == Entry::How::synchronous ? &pt2pt::issend : &pt2pt::isend;
    Shape& data = *operation.shape;
    EXPECT_EQ(call(data.at(), data.count(), data.type(), entry.dest, entry.tag, comm(entry), &request),
              Err::ok);
    operation.request = to_handle<MPI_Request>(*request);
    running_.push_back(std::move(operation));
  }
  if (entry.dest == rank_ && entry.is_received) {
    Operation operation{.shape = shape(entry.room), .number = number, .is_receive = true, .room = entry.room};
    Request* request = nullptr;
    Shape& data = *operation.shape;
    EXPECT_EQ(
        pt2pt::irecv(data.at(), data.count(), data.type(), entry.source, entry.tag, comm(entry), &request),
        Err::ok);
    operation.request = to_handle<MPI_Request>(*request);
    running_.push_back(std::move(operation));
  }
}

// --- the ends of operations

/// Until all receives are posted, one from any source may go to a later message of another rank instead of
/// this one, whose sender then must not wait for it.
bool Actor::may_be_awaited(const Operation& operation) const {
  const Entry& entry = this->entry(operation.number);
  if (entry.kind == Entry::Kind::race) return operation.is_cancelled;
  return has_posted_all_ || operation.is_receive || knows_sender(entry.naming);
}

std::size_t Actor::awaited_count() const {
  return std::size_t(std::count_if(running_.begin(), running_.end(),
                                   [this](const Operation& each) { return may_be_awaited(each); }));
}

void Actor::end_some(std::size_t most) {
  if (most > 0) most = draw(dice_, most + 1);
  while (awaited_count() > most && !::testing::Test::HasFailure()) end_one();
}

void Actor::cancel_race(Operation& operation) {
  if (operation.is_cancelled) return;
  operation.is_cancelled = true;
  EXPECT_EQ(pt2pt::cancel(&operation.request), Err::ok);
}

/// Ends an operation, or tries to, in one of the ways to do so.
void Actor::end_one() {
  std::vector<MPI_Request> requests;
  for (const Operation& each : running_) requests.push_back(each.request);
  const int count = int(requests.size());
  int index = int(draw(dice_, requests.size())), flag = 1;
  Operation& chosen = running_[std::size_t(index)];
  if (entry(chosen.number).kind == Entry::Kind::race && is_drawn(dice_, 30)) cancel_race(chosen);
  MPI_Status status;
  Err error = Err::ok;
  switch (draw(dice_, 3)) {
    case 0:
      error = pt2pt::waitany(count, requests.data(), &index, &status);
      break;
    case 1:
      error = pt2pt::testany(count, requests.data(), &index, &flag, &status);
      break;
    default:
      if (may_be_awaited(chosen))
        error = pt2pt::wait(&requests[std::size_t(index)], &status);
      else
        error = pt2pt::test(&requests[std::size_t(index)], &flag, &status);
  }
  if (flag) end(std::size_t(index), status, error);
}

void Actor::end(std::size_t index, const MPI_Status& status, Err error) {
  Operation operation = std::move(running_[index]);
  running_.erase(running_.begin() + std::ptrdiff_t(index));
  if (operation.is_persistent) {
    EXPECT_EQ(pt2pt::request_free(&operation.request), Err::ok);
  }
  const bool is_cancelled = status_cancelled(status);
  if (operation.is_receive && !is_cancelled)
    check_received(operation, status, error);
  else
    EXPECT_EQ(error, Err::ok) << "entry " << operation.number;
  EXPECT_TRUE(!is_cancelled || entry(operation.number).kind == Entry::Kind::race);
  if (operation.is_receive)
    traffic_.has_come_[operation.number] = !is_cancelled;
  else
    traffic_.was_cancelled_[operation.number] = is_cancelled;
  drop(std::move(operation.shape));
}

void Actor::check_received(const Operation& operation, const MPI_Status& status, Err error) {
  const Entry& expected = entry(operation.number);
  std::uint32_t number = operation.number;
  if (!knows_sender(expected.naming)) number = operation.shape->number();
  if (number >= traffic_.entries_.size()) {
    ADD_FAILURE() << "rank " << rank_ << " got what nobody sent, for entry " << operation.number;
    return;
  }
  const Entry& sent = entry(number);
  EXPECT_EQ(sent.dest, rank_);
  EXPECT_EQ(sent.naming, expected.naming);
  EXPECT_EQ(status.MPI_SOURCE, sent.source);
  EXPECT_EQ(status.MPI_TAG, sent.tag);
  const std::size_t bytes = std::min(sent.bytes, operation.room);
  EXPECT_EQ(status_bytes(status), bytes);
  EXPECT_EQ(error, sent.bytes > operation.room ? Err::truncate : Err::ok);
  EXPECT_TRUE(operation.shape->holds(number, bytes))
      << "entry " << number << " of " << sent.bytes << " bytes from rank " << sent.source << " to " << rank_;
  if (sent.kind == Entry::Kind::message) received_[operation.place] = number;
}

/// Of each sender, tag and communicator, receives got messages in the order in which they were posted.
void Actor::check_order() const {
  for (std::size_t late = 0; late < received_.size(); ++late)
    for (std::size_t early = 0; early < late; ++early) {
      const Entry &first = entry(received_[early]), &second = entry(received_[late]);
      if (first.source != second.source || first.tag != second.tag || first.naming != second.naming) continue;
      EXPECT_LT(received_[early], received_[late]) << "rank " << rank_ << ": overtaken";
    }
}

}  // namespace dunlin::test
