// Views (MPI 5.0, 14.3 and 14.5).
#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>

#include "coll/agree.hpp"
#include "datatype/layout.hpp"
#include "io/collective.hpp"
#include "io/file.hpp"
#include "io/functions.hpp"

namespace dunlin::io {
namespace {

/// Whether nested loops visit memory forwards, without overlap.
bool is_forward(const datatype::Strided& s) noexcept {
  std::int64_t reach = s.block;
  for (int i = 0; i < s.dimensions; ++i) {
    const datatype::Dimension& loop = s.dimension[i];
    if (loop.count > 1 && loop.stride < reach) return false;
    reach += (loop.count - 1) * loop.stride;
  }
  return true;
}

/// Displacements must not be negative, nor decrease; what is written must not overlap.
Err check_order(const Datatype& type, bool may_overlap, const char* argument, bool* overlaps) noexcept {
  *overlaps = false;
  if (type.size() > 0 && type.true_lower_bound() < 0)
    return fail(Err::io, "argument %s has data before its beginning", argument);
  if (type.extent() < 0) return fail(Err::io, "argument %s has a negative extent", argument);
  const datatype::Layout& layout = type.layout();
  if (layout.form == datatype::Layout::Form::strided && is_forward(layout.strided)) return Err::ok;
  Cursor cursor(type, 1, nullptr);
  std::uintptr_t begin = 0, end = 0;
  Piece pieces[64];
  while (const std::size_t n = cursor.pieces(pieces, cursor.remaining()))
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = reinterpret_cast<std::uintptr_t>(pieces[i].address);
      if (at < begin) return fail(Err::io, "the displacements of argument %s decrease", argument);
      *overlaps = *overlaps || at < end;
      if (*overlaps && !may_overlap)
        return fail(Err::io, "argument %s overlaps itself, and the file may be written", argument);
      begin = at;
      end = std::max(end, at + pieces[i].bytes);
    }
  return Err::ok;
}

Err check_types(const OpenFile& file, const Datatype& etype, const Datatype& filetype,
                bool* overlaps) noexcept {
  if (etype.size() > 0 ? filetype.size() % etype.size() != 0 : filetype.size() > 0)
    return fail(Err::type,
                "argument filetype has %lld bytes of data, which are no whole number of etypes of %lld bytes",
                (long long)filetype.size(), (long long)etype.size());
  if (const Err e = check_order(etype, !file.can_write(), "etype", overlaps); e != Err::ok) return e;
  return check_order(filetype, !file.can_write(), "filetype", overlaps);
}

/// Where it begins: MPI_DISPLACEMENT_CURRENT is the place of the shared pointer.
Err find_displacement(OpenFile& file, std::int64_t wanted, std::int64_t* displacement) noexcept {
  *displacement = wanted;
  if (wanted == MPI_DISPLACEMENT_CURRENT) {
    if (!file.is_sequential())
      return fail(Err::arg, "MPI_DISPLACEMENT_CURRENT is for files opened with MPI_MODE_SEQUENTIAL");
    std::int64_t offset = 0;
    if (const Err e = read_shared_pointer(file, &offset); e != Err::ok) return e;
    std::int64_t position = 0;
    if (const Err e = file.view.find_position(offset, 1, &position); e != Err::ok) return e;
    *displacement = file.view.tiling.offset_of(position);
  }
  if (*displacement >= 0) return Err::ok;
  return fail(Err::arg, "argument disp is %lld; it must not be negative", (long long)wanted);
}

Err make_view(OpenFile& file, std::int64_t disp, Datatype& etype, Datatype& filetype, const char* datarep,
              View* view) noexcept {
  if (const Err e = find_displacement(file, disp, &view->displacement); e != Err::ok) return e;
  view->representation = Representation::find(datarep);
  if (!view->representation)
    return fail(Err::unsupported_datarep, "there is no data representation \"%.60s\"", datarep);
  view->etype = Ref<Datatype>(&etype);
  view->filetype = Ref<Datatype>(&filetype);
  Ref<Datatype> etype_in_file;
  if (const Err e = view->representation->type_in_file(etype, &etype_in_file); e != Err::ok) return e;
  if (const Err e = view->representation->type_in_file(filetype, &view->filetype_in_file); e != Err::ok)
    return e;
  // With the lengths of the file: what overlaps in memory need not do so there, and the other way round.
  bool overlaps = false;
  if (const Err e = check_types(file, *etype_in_file, *view->filetype_in_file, &overlaps); e != Err::ok)
    return e;
  view->etype_bytes = std::max<std::int64_t>(etype_in_file->size(), 1);
  view->tiling = Tiling(view->displacement, *view->filetype_in_file, overlaps);
  return Err::ok;
}

/// What has to be the same on all ranks.
struct Proposal {
  Err error;
  Prospects prospects;
  CollectiveHints hints;
  std::int64_t etype_bytes;
  std::size_t representation;
  // This may differ:
  std::int64_t first, extent, bytes;  // of the filetype, in the file
};

/// The views of all ranks, if no two have the same byte; else no harm is done (docs/files.md).
std::int64_t filled_from(const std::vector<Proposal>& all) noexcept {
  std::int64_t low = INT64_MAX, high = 0, bytes = 0;
  bool is_same = true;
  for (const Proposal& each : all) {
    low = std::min(low, each.first);
    high = std::max(high, each.first);
    is_same = is_same && each.extent == all[0].extent && each.bytes <= each.extent - bytes;
    if (is_same) bytes += each.bytes;
  }
  return is_same && bytes == all[0].extent && high - low < bytes ? low : INT64_MAX;
}

/// A view that is refused leaves the hints as they were: the shared memory is made for those.
class HintsBefore {
 public:
  explicit HintsBefore(const OpenFile& file) noexcept : hints_(file.hints), given_(file.given->copy()) {}
  void give_back(OpenFile& file) noexcept {
    file.hints = hints_;
    file.given = std::move(given_);
    file.storage.set_sieving(hints_.ds_read, hints_.ds_write);
  }

 private:
  const Hints hints_;
  Ref<Info> given_;
};

/// This rank's error, or another's.
Err error_of_all(const OpenFile& file, const std::vector<Proposal>& all) noexcept {
  const int me = file.comm->rank;
  const Proposal& mine = all[std::size_t(me)];
  if (mine.error != Err::ok) return mine.error;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].error != Err::ok)
      return fail(all[rank].error, "rank %zu gave a wrong argument, setting its view of \"%s\"", rank,
                  file.name.c_str());
    if (all[rank].etype_bytes != mine.etype_bytes || all[rank].representation != mine.representation)
      return fail(Err::not_same, "rank %zu gave another etype or data representation than rank %d", rank, me);
  }
  return Err::ok;
}

Datatype& dup_for_program(const Ref<Datatype>& type) noexcept { return *Ref<Datatype>(type).detach(); }

}  // namespace

Err View::find_position(std::int64_t offset, std::int64_t etypes, std::int64_t* position) const noexcept {
  std::int64_t end = 0;
  *position = 0;
  if (tiling.is_empty() || etypes == 0) return Err::ok;
  // Where another rank has just come to the end, the shared pointer is negative until it sees that.
  const bool is_far = offset < 0 || __builtin_add_overflow(offset, etypes, &end);
  if (is_far || end > tiling.bytes() / etype_bytes)
    return fail(Err::arg, "%lld etypes, beginning with number %lld, would reach beyond byte 2^63 of the file",
                (long long)etypes, (long long)offset);
  *position = offset * etype_bytes;
  return Err::ok;
}

View plain_view() noexcept {
  auto& byte = *from_handle<Datatype>(MPI_BYTE);
  View view;
  view.etype = view.filetype = view.filetype_in_file = Ref<Datatype>(&byte);
  view.representation = Representation::find("native");
  view.tiling = Tiling(0, byte);
  return view;
}

Err file_set_view(File& fh, MPI_Offset disp, Datatype& etype, Datatype& filetype, const char* datarep,
                  Info* info) noexcept {
  OpenFile& file = file_of(fh);
  Comm& comm = *file.comm;
  View view;
  finish_accesses(file);
  HintsBefore before(file);
  take_hints(file, info);
  const Err error = make_view(file, disp, etype, filetype, datarep, &view);
  const Prospects prospects = error == Err::ok ? Prospects::of(file, view) : Prospects{};
  const std::size_t name = std::hash<std::string_view>()(datarep);
  Proposal mine{error, prospects, file.hints, view.etype_bytes, name, 0, 0, 0};
  if (error == Err::ok) {
    const Datatype& type = *view.filetype_in_file;
    mine.first = view.displacement + std::min(type.true_lower_bound(), INT64_MAX - view.displacement);
    mine.extent = type.extent();
    mine.bytes = type.size();
  }
  const std::vector<Proposal> all = coll::gather_all(comm, mine);
  if (const Err e = error_of_all(file, all); e != Err::ok) {
    before.give_back(file);
    return e;
  }
  static_cast<CollectiveHints&>(file.hints) = all[0].hints;
  view.filled_from = filled_from(all);
  file.view = std::move(view);
  file.pointer = 0;
  Err reset = Err::ok;
  if (comm.rank == 0) reset = write_shared_pointer(file, 0);
  Prospects of_all;
  for (const Proposal& each : all) of_all.add(each.prospects);
  const Err memory = prepare_together(file, of_all);
  if (const Err e = coll::barrier(comm); e != Err::ok) return e;
  return reset != Err::ok ? reset : memory;
}

Err file_get_view(File& fh, MPI_Offset* disp, Datatype** etype, Datatype** filetype, char* datarep) noexcept {
  const View& view = file_of(fh).view;
  *disp = view.displacement;
  *etype = &dup_for_program(view.etype);
  *filetype = &dup_for_program(view.filetype);
  std::strcpy(datarep, view.representation->name().c_str());  // at most MPI_MAX_DATAREP_STRING - 1 long
  return Err::ok;
}

Err file_get_type_extent(File& fh, const Datatype& datatype, std::int64_t* extent) noexcept {
  Ref<Datatype> in_file;
  const Err error = file_of(fh).view.representation->type_in_file(datatype, &in_file);
  if (error == Err::ok) *extent = in_file->extent();
  return error;
}

}  // namespace dunlin::io
