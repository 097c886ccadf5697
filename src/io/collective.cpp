#include "io/collective.hpp"

#include <algorithm>

#include "base/variable.hpp"
#include "coll/agree.hpp"
#include "coll/plan.hpp"
#include "coll/select.hpp"
#include "comm/functions.hpp"
#include "datatype/layout.hpp"
#include "io/in_place.hpp"
#include "io/together.hpp"
#include "io/worker.hpp"
#include "rma/functions.hpp"

namespace dunlin::io {
namespace {

IntVariable piece_bytes{"FILE_COLLECTIVE_PIECE_BYTES", 8192, "bytes",
                        "collective accesses go together where the pieces of the file are at most this long "
                        "on average, in memory "
                        "a quarter of it",
                        0};
constexpr std::int64_t kMemoryShare = 4;

Choice choice_of(const OpenFile& file, Direction direction) noexcept {
  return direction == Direction::read ? file.hints.cb_read : file.hints.cb_write;
}

/// Of a filetype, on average.
std::int64_t run_bytes_of(const Datatype& type) noexcept {
  return type.size() / std::max(type.layout().runs, std::int64_t{1});
}

/// No run of the type is shorter; 0: not known.
std::int64_t shortest_run_of(const Datatype& type) noexcept {
  using Form = datatype::Layout::Form;
  const datatype::Layout& layout = type.layout();
  return layout.form == Form::strided || layout.form == Form::indexed ? layout.strided.block : 0;
}

Part part_of(const OpenFile& file, const Access& access) noexcept {
  const auto bytes = std::int64_t(access.memory.bytes());
  if (bytes == 0) return {};
  const bool is_mappable =
      access.memory.is_contiguous() && file.comm->messaging->peers.is_mappable(access.memory.source());
  return {access.file.offset_of(access.position),
          access.file.end_of(access.position, bytes),
          bytes,
          access.file.is_contiguous() ? bytes : run_bytes_of(access.file.type()),
          access.file.is_monotonic() && !access.is_atomic,
          file.storage.can_change(),
          file.storage.is_in_memory(),
          is_mappable ? reinterpret_cast<std::uintptr_t>(access.memory.at) : 0};
}

/// Whether the ranks of an access work together; the same on all ranks.
bool go_together(const OpenFile& file, std::span<const Part> all, Direction direction) noexcept {
  std::int64_t low = INT64_MAX, high = 0, bytes = 0, longest = 0;
  double spans = 0;  // may be more than 2^63
  bool can_join = true, can_change = true, is_in_memory = true;
  for (const Part& part : all) {
    if (part.bytes == 0) continue;
    low = std::min(low, part.low);
    high = std::max(high, part.high);
    bytes += part.bytes;
    spans += double(part.high - part.low);
    longest = std::max(longest, part.run_bytes);
    can_join = can_join && part.can_join;
    can_change = can_change && part.can_change;
    is_in_memory = is_in_memory && part.is_in_memory;
  }
  if (bytes == 0 || !can_join || choice_of(file, direction) == Choice::disable) return false;
  // Even then not through windows that are almost all empty: they might be 2^63.
  if (choice_of(file, direction) == Choice::enable)
    return double(bytes) >= std::min(double(high - low), spans) / double(Roles::of(file).window_bytes);
  constexpr std::int64_t kDensity = 8;  // of what is read, at least an eighth is wanted
  // Alone, every rank reads, or changes, the windows of all: two are up to twice as fast so, four are not.
  constexpr double kRanksAlone = 3;
  const auto span = double(high - low);
  const bool is_interleaved = spans > span;
  const bool is_dense = bytes >= (high - low) / kDensity;
  // From the page cache of a disk two read faster together, too (docs/decisions/0023-files.md).
  const bool can_go_alone = direction == Direction::read ? is_in_memory : can_change;
  return is_interleaved && is_dense && longest <= piece_bytes.get() / (is_in_memory ? kMemoryShare : 1) &&
         (!can_go_alone || spans >= kRanksAlone * span);
}

/// Work of this rank alone: in place in a call that waits, else by the thread.
template <class Work>
struct Alone : Job {
  Work& function;
  explicit Alone(Work& f) noexcept : function(f) {
    work = [](void* self) noexcept { static_cast<Alone*>(self)->function(); };
    argument = this;
  }
  coll::Step start(const coll::Cx& cx) noexcept {
    if (cx.run->is_blocking) {
      function();
      return cx.all();
    }
    sleeper = cx.comm->messaging->peers.shared_memory();
    done.store(0, std::memory_order_relaxed);  // nobody looks yet
    hand_over(*this);
    return cx.until({&done, cx.rank, 1, 1});
  }
};

/// The ranks of this node are there.
coll::Task meet_on_node(coll::Cx cx, const coll::Hierarchy* nodes) {
  if (nodes->domains() == 1) {
    co_await coll::start_barrier(cx);
    co_return Err::ok;
  }
  const std::span<const int> members = nodes->members(nodes->domain_of(cx.rank));
  coll::Cx inside = cx.apart();
  inside.members = members.data();
  inside.rank = nodes->place_of(cx.rank);
  inside.size = int(members.size());
  co_await coll::barrier_dissemination(inside);
  co_return Err::ok;
}

template <class T>
coll::Task gather(coll::Cx cx, T* all) {
  const coll::Block mine = coll::Block::of_bytes(all + cx.rank, sizeof(T));
  co_await coll::start_allgather(cx, mine, coll::Blocks::equal(all, sizeof(T), nullptr));
  co_return Err::ok;
}

/// The same where one run goes alone, so that its rank need not wait to hear of the others.
coll::Task gather_unless_one_run(coll::Cx cx, Part* all) {
  const coll::Block mine = coll::Block::of_bytes(all + cx.rank, sizeof(Part));
  if (!all[cx.rank].is_one_run()) {
    co_await coll::allgather_shared(cx, coll::Blocks::equal(all, sizeof(Part), nullptr));
    co_return Err::ok;
  }
  const coll::Turn turn = cx.turn();
  co_await cx.until(turn.place_is_free());
  turn.put(mine, sizeof(Part), 0, sizeof(Part));
  turn.arrive(sizeof(Part));
  turn.leave(false);
  co_return Err::ok;
}

/// Where machines keep pages of their own: what each rank has written is with the server, and is seen.
coll::Task settle(coll::Cx cx, OpenFile* file, Together* together) {
  const auto write_back = [&] {
    if (file->can_write()) together->note({0, file->storage.sync(), 0});
  };
  const auto look = [&] { file->storage.look_again(); };
  Alone<const decltype(write_back)> before(write_back);
  Alone<const decltype(look)> after(look);
  co_await before.start(cx);
  co_await coll::start_barrier(cx);
  co_await after.start(cx);
  co_return Err::ok;
}

coll::Task rounds(coll::Cx cx, OpenFile* file, Together* together, Direction direction) {
  std::int64_t round = 0;
  const bool is_write = direction == Direction::write;
  const auto first = [&] { is_write ? together->fill(round) : together->read_mine(round); };
  const auto last = [&] { is_write ? together->write_mine(round) : together->pick(round); };
  Alone<const decltype(first)> before(first);
  Alone<const decltype(last)> after(last);
  for (; round < together->rounds(); ++round) {
    co_await before.start(cx);
    if (!is_write) co_await Together::exchange(cx, together, round);
    co_await meet_on_node(cx, file->nodes.get());
    if (is_write) co_await Together::exchange(cx, together, round);
    co_await after.start(cx);
  }
  co_return Err::ok;
}

/// `*is_done`: false on all ranks where it is so on any.
coll::Task move_in_place(coll::Cx cx, OpenFile* file, InPlace* in_place, Direction direction, bool* is_done) {
  std::int64_t round = 0;
  const auto first = [&] { in_place->list(round); };
  const auto last = [&] { in_place->move(round); };
  Alone<const decltype(first)> before(first);
  Alone<const decltype(last)> after(last);
  if (direction == Direction::write) file->has_written = true;  // also where its own part is empty
  for (; round < in_place->rounds(); ++round) {
    co_await before.start(cx);
    co_await meet_on_node(cx, file->nodes.get());
    co_await after.start(cx);
  }
  auto* const done = reinterpret_cast<std::int32_t*>(cx.take(std::size_t(cx.size) * sizeof(std::int32_t)));
  if (!done) co_return Err::no_mem;
  done[cx.rank] = in_place->is_done();
  co_await gather(cx, done);
  *is_done = std::all_of(done, done + cx.size, [](std::int32_t each) { return each != 0; });
  co_return Err::ok;
}

/// What all write, together or alone, if they leave nothing out, goes to large pages (io/pages.hpp).
void make_large_pages(const OpenFile& file, std::span<const Part> all) noexcept {
  std::int64_t low = INT64_MAX, high = 0, bytes = 0;
  for (const Part& part : all) {
    if (part.bytes == 0) continue;
    if (!part.can_join) return;  // then its bounds are not those of its bytes
    low = std::min(low, part.low);
    high = std::max(high, part.high);
    bytes += part.bytes;
  }
  if (bytes == high - low) file.storage.make_large_pages(low, high, file.comm->rank, file.comm->size);
}

/// Of an access in the file's buffers; ends with the access, whatever comes of it.
class Turn {
 public:
  Turn(OpenFile& file, std::uint64_t number) noexcept : file_(file), number_(number) {}
  // Released, as the one who waits looks by `until`; both are this process.
  ~Turn() { file_.turns_ended.store(number_ + 1, std::memory_order_release); }
  Turn(const Turn&) = delete;
  coll::Step begin(const coll::Cx& cx) const noexcept {
    return cx.until({&file_.turns_ended, cx.rank, 1, number_});
  }

 private:
  OpenFile& file_;
  const std::uint64_t number_;
};

coll::Task move_all(coll::Cx cx, OpenFile* file, const Access* access, Outcome* outcome,
                    std::uint64_t number) {
  // Turns of shared memory are taken in the order of calls, and meanwhile other calls may have come.
  if (!cx.run->is_blocking) cx = cx.apart();
  const Turn turn(*file, number);
  co_await turn.begin(cx);
  auto* const parts = reinterpret_cast<Part*>(cx.take(std::size_t(cx.size) * sizeof(Part)));
  if (!parts) co_return Err::no_mem;
  parts[cx.rank] = part_of(*file, *access);
  const bool is_automatic = choice_of(*file, access->direction) == Choice::automatic;
  const bool one_run_goes_alone = file->one_run_goes_alone && is_automatic && cx.share_memory();
  if (one_run_goes_alone)
    co_await gather_unless_one_run(cx, parts);
  else
    co_await gather(cx, parts);
  const std::span<const Part> all(parts, std::size_t(cx.size));
  const auto is_one_run = [](const Part& part) { return part.is_one_run(); };
  // Who has one run has not heard of the others.
  const bool goes_alone =
      one_run_goes_alone && (is_one_run(parts[cx.rank]) || std::any_of(all.begin(), all.end(), is_one_run));
  const bool suits_in_place = !goes_alone && InPlace::suits(*file, all, access->direction);
  const bool go_all_together = !goes_alone && go_together(*file, all, access->direction);
  if (access->direction == Direction::write && !goes_alone && file->storage.is_in_memory()) {
    const auto make = [&] { make_large_pages(*file, all); };
    Alone<const decltype(make)> making(make);
    co_await making.start(cx);
  }
  if (suits_in_place) {
    InPlace in_place(*file, *access, all);
    bool is_done = false;
    co_await move_in_place(cx, file, &in_place, access->direction, &is_done);
    if (is_done) {
      outcome->bytes = std::int64_t(access->memory.bytes());
      co_return Err::ok;
    }
  }
  if (suits_in_place || !go_all_together) {
    const auto move = [&] { *outcome = file->storage.move(*access); };
    Alone<const decltype(move)> alone(move);
    co_await alone.start(cx);
    co_return Err::ok;
  }
  // An aggregator writes also where its own part is empty.
  if (access->direction == Direction::write) file->has_written = true;
  Together together(*file, *access, all);
  // A rank sees what it has written itself, also where another machine reads it, or writes over it.
  if (file->are_apart) co_await settle(cx, file, &together);
  co_await rounds(cx, file, &together, access->direction);
  if (file->are_apart && access->direction == Direction::write) co_await settle(cx, file, &together);
  *outcome = together.outcome();
  if (access->direction == Direction::read) co_return Err::ok;
  // What one rank could not write may be any rank's.
  auto* const outcomes = reinterpret_cast<Outcome*>(cx.take(std::size_t(cx.size) * sizeof(Outcome)));
  if (!outcomes) co_return Err::no_mem;
  outcomes[cx.rank] = *outcome;
  co_await gather(cx, outcomes);
  for (int rank = 0; rank < cx.size; ++rank) together.note(outcomes[rank]);
  *outcome = together.outcome();
  co_return Err::ok;
}

struct Movement {
  OpenFile* file;
  const Access* access;
  Outcome* outcome;
  std::uint64_t turn;
  static constexpr const char* kName = "access to a file";
  coll::Task start(coll::Cx cx) const noexcept { return move_all(cx, file, access, outcome, turn); }
  coll::Held held() const noexcept { return {{file}}; }
};

/// Collective over the ranks of each node: the memory of their copies of windows.
Err make_buffers(OpenFile& file, std::size_t bytes) noexcept {
  Comm* node = file.comm.get();
  const int my_node = file.nodes->domain_of(file.comm->rank);
  if (file.nodes->domains() > 1)
    if (const Err e = comm::comm_split(*file.comm, my_node, file.comm->rank, &node); e != Err::ok) return e;
  Win* made = nullptr;
  void* memory = nullptr;
  const Err error = rma::win_allocate(MPI_Aint(bytes), 1, nullptr, *node, &memory, &made);
  if (node != file.comm.get()) node->release();
  if (error == Err::ok) file.buffers = Ref<Win>::adopt(made);
  file.buffer_bytes = bytes;
  return error;
}

}  // namespace

Prospects Prospects::of(const OpenFile& file, const View& view) noexcept {
  const Tiling& tiling = view.tiling;
  Prospects found;
  if (tiling.is_empty()) return found;
  const bool has_gaps = !tiling.is_contiguous(), asks_for_write = file.hints.cb_write == Choice::enable;
  for (const Choice choice : {file.hints.cb_read, file.hints.cb_write}) {
    const bool are_short = has_gaps && run_bytes_of(tiling.type()) <= piece_bytes.get();
    if (file.comm->size > 1 && (choice == Choice::enable || (choice == Choice::automatic && are_short)))
      found.are_together = true;
  }
  found.have_windows = has_gaps && file.storage.may_want_windows(shortest_run_of(tiling.type()));
  found.change_windows = file.can_write() && file.all_have_locks && (found.have_windows || asks_for_write);
  return found;
}

Err prepare_together(OpenFile& file, const Prospects& all) noexcept {
  if (all.change_windows) file.storage.begin_windows();
  file.may_go_together = false;
  file.one_run_goes_alone = !all.have_windows && file.all_have_locks;
  if (!all.are_together) return Err::ok;
  const Roles roles = Roles::of(file);
  int slots = 0;  // the same on all nodes: new buffers are made by all ranks
  for (int node = 0; node < file.nodes->domains(); ++node) slots = std::max(slots, roles.slots(node));
  const std::size_t bytes = std::size_t(2 * slots) * Window::memory_bytes(roles.window_bytes);
  // Where windows of another length lay, the words for their bits hold data.
  bool has_memory =
      bool(file.buffers) && file.buffer_bytes >= bytes && file.buffer_window_bytes == roles.window_bytes;
  if (!has_memory && file.buffers)
    if (const Err e = rma::win_free(*file.buffers.detach()); e != Err::ok) return e;
  if (!has_memory) has_memory = make_buffers(file, bytes) == Err::ok;
  file.buffer_window_bytes = roles.window_bytes;
  // Without memory that they share, each rank goes alone.
  file.may_go_together =
      coll::agree(*file.comm, has_memory ? Err::ok : Err::no_mem, "sharing memory") == Err::ok;
  if (!file.may_go_together) file.buffer_bytes = 0;  // then all nodes try it again
  return Err::ok;
}

Err move_together(OpenFile& file, const Access& access, Outcome* outcome) noexcept {
  return coll::run(coll::everywhere(*file.comm), Movement{&file, &access, outcome, file.turns_taken++});
}

Err begin_together(OpenFile& file, const Access& access, Outcome* outcome, Request** request) noexcept {
  return coll::begin(coll::everywhere(*file.comm), Movement{&file, &access, outcome, file.turns_taken++},
                     request);
}

}  // namespace dunlin::io
