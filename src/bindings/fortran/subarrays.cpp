#include "bindings/fortran/subarrays.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dunlin::fortran {
namespace {

/// A datatype that is freed unless it is taken.
class Type {
 public:
  explicit Type(MPI_Datatype made) noexcept : type_(made) {}
  Type(const Type&) = delete;
  Type(Type&& other) noexcept : type_(other.take()) {}
  ~Type() {
    if (type_ != MPI_DATATYPE_NULL) PMPI_Type_free(&type_);
  }
  MPI_Datatype get() const noexcept { return type_; }
  MPI_Datatype take() noexcept {
    MPI_Datatype taken = type_;
    type_ = MPI_DATATYPE_NULL;
    return taken;
  }

 private:
  MPI_Datatype type_;
};

Type repeated(std::int64_t count, MPI_Aint stride, MPI_Datatype of) noexcept {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  PMPI_Type_create_hvector_c(count, 1, stride, of, &made);
  return Type(made);
}

Type contiguous(std::int64_t count, MPI_Datatype of) noexcept {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  PMPI_Type_contiguous_c(count, of, &made);
  return Type(made);
}

Type joined(const Type& first, const Type& second, MPI_Count displacement) noexcept {
  const MPI_Count lengths[] = {1, 1}, displacements[] = {0, displacement};
  const MPI_Datatype types[] = {first.get(), second.get()};
  MPI_Datatype made = MPI_DATATYPE_NULL;
  PMPI_Type_create_struct_c(2, lengths, displacements, types, &made);
  return Type(made);
}

/// The first `elements` elements of the first `dimensions` dimensions, in Fortran's order.
Type first_of(const CFI_cdesc_t& buffer, int dimensions, std::int64_t elements,
              MPI_Datatype element) noexcept {
  const CFI_dim_t& last = buffer.dim[dimensions - 1];
  if (dimensions == 1) return repeated(elements, last.sm, element);
  std::int64_t inner = 1;
  for (int i = 0; i < dimensions - 1; ++i) inner *= buffer.dim[i].extent;
  const std::int64_t whole = elements / inner, rest = elements % inner;
  if (whole == 0) return first_of(buffer, dimensions - 1, rest, element);
  Type block = repeated(whole, last.sm, first_of(buffer, dimensions - 1, inner, element).get());
  if (rest == 0) return block;
  return joined(block, first_of(buffer, dimensions - 1, rest, element), whole * last.sm);
}

CFI_index_t offset_of(const CFI_cdesc_t& buffer, std::int64_t element) noexcept {
  CFI_index_t offset = 0;
  for (int i = 0; i < buffer.rank; ++i) {
    offset += element % buffer.dim[i].extent * buffer.dim[i].sm;
    element /= buffer.dim[i].extent;
  }
  return offset;
}

std::int64_t elements_of(const CFI_cdesc_t& buffer) noexcept {
  std::int64_t elements = 1;
  for (int i = 0; i < buffer.rank; ++i) elements *= buffer.dim[i].extent;
  return elements;
}

/// gfortran 12 describes a CLASS(*) array with the size of something else: its elements overlap then.
void check_elements(const CFI_cdesc_t& buffer) noexcept {
  const auto length = CFI_index_t(buffer.elem_len);
  for (int i = 0; i < buffer.rank; ++i) {
    const CFI_dim_t& dim = buffer.dim[i];
    if (dim.extent <= 1 || std::abs(dim.sm) >= length) continue;
    std::fprintf(stderr,
                 "Dunlin: the compiler does not tell how long the elements of a CLASS(*) array are, "
                 "which is a choice buffer of mpi_f08; SELECT TYPE makes it an array that has a type\n");
    std::abort();
  }
}

bool is_named(MPI_Datatype datatype) noexcept {
  int integers = 0, addresses = 0, datatypes = 0, combiner = MPI_UNDEFINED;
  PMPI_Type_get_envelope(datatype, &integers, &addresses, &datatypes, &combiner);
  return combiner == MPI_COMBINER_NAMED;
}

/// The first `count` units, of which each element of the array has one or several.
Type units(const CFI_cdesc_t& buffer, std::int64_t count, MPI_Datatype unit, MPI_Count unit_bytes) noexcept {
  const MPI_Count each = MPI_Count(buffer.elem_len) / unit_bytes;
  const std::int64_t elements = count / each, rest = count % each;
  if (elements == 0) return contiguous(rest, unit);
  Type whole = first_of(buffer, buffer.rank, elements, contiguous(each, unit).get());
  return rest ? joined(whole, contiguous(rest, unit), offset_of(buffer, elements)) : std::move(whole);
}

/// A message that does not fill elements one after the other, as blocks of bytes.  Packing bytes that say
/// where they are tells where each byte of the message lies in a contiguous array.
Type scattered(const CFI_cdesc_t& buffer, std::int64_t count, MPI_Datatype datatype,
               MPI_Count size) noexcept {
  Type message = contiguous(count, datatype);
  MPI_Datatype committed = message.get();
  PMPI_Type_commit(&committed);
  const std::size_t bytes = std::size_t(elements_of(buffer)) * buffer.elem_len;
  const std::size_t packed_bytes = std::size_t(count * size);
  std::vector<unsigned char> places(bytes), packed(packed_bytes);
  std::vector<std::int64_t> found(packed_bytes, 0);
  for (int shift = 0; shift == 0 || (bytes - 1) >> shift > 0; shift += 8) {  // a byte of all places at a time
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<unsigned char>(i >> shift);
    MPI_Count position = 0;
    PMPI_Pack_c(places.data(), 1, committed, packed.data(), MPI_Count(packed_bytes), &position,
                MPI_COMM_SELF);
    for (std::size_t i = 0; i < packed.size(); ++i) found[i] |= std::int64_t(packed[i]) << shift;
  }
  std::vector<MPI_Count> lengths, displacements;
  for (const std::int64_t place : found) {
    const auto length = std::int64_t(buffer.elem_len);
    const MPI_Count at = offset_of(buffer, place / length) + place % length;
    if (lengths.empty() || displacements.back() + lengths.back() != at) {
      lengths.push_back(0);
      displacements.push_back(at);
    }
    ++lengths.back();
  }
  MPI_Datatype made = MPI_DATATYPE_NULL;
  PMPI_Type_create_hindexed_c(MPI_Count(lengths.size()), lengths.data(), displacements.data(), MPI_BYTE,
                              &made);
  return Type(made);
}

}  // namespace

/// The datatype fills the elements of the array one after the other, as it fills a contiguous array.  One
/// that leaves this array has no description: MPI_ERR_TYPE follows from the null handle.
void Message::describe(const CFI_cdesc_t& buffer) noexcept {
  if (!buffer.base_addr) return;  // an array that is not allocated: its extents mean nothing
  check_elements(buffer);
  if (datatype_ == MPI_DATATYPE_NULL || count_ <= 0) return;  // the call itself says what is wrong
  MPI_Count size = 0, lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  PMPI_Type_size_c(datatype_, &size);
  if (size <= 0 || elements_of(buffer) == 0) return;
  PMPI_Type_get_extent_c(datatype_, &lower, &extent);
  PMPI_Type_get_true_extent_c(datatype_, &true_lower, &true_extent);
  const auto element_bytes = MPI_Count(buffer.elem_len);
  const bool stays_inside = true_lower >= 0 && true_lower + true_extent <= extent;
  is_described_ = true;
  if (stays_inside && element_bytes % extent == 0) {
    datatype_ = units(buffer, count_, datatype_, extent).take();
  } else if (size == extent && is_named(datatype_)) {
    datatype_ = units(buffer, count_ * size, MPI_BYTE, 1).take();
  } else {
    const MPI_Count last = (count_ - 1) * extent;
    is_described_ =
        true_lower + std::min<MPI_Count>(last, 0) >= 0 &&
        true_lower + true_extent + std::max<MPI_Count>(last, 0) <= elements_of(buffer) * element_bytes;
    datatype_ = is_described_ ? scattered(buffer, count_, datatype_, size).take() : MPI_DATATYPE_NULL;
  }
  if (is_described_) PMPI_Type_commit(&datatype_);
  count_ = 1;
}

// --- copies
// ---------------------------------------------------------------------------------------------------------

/// A contiguous copy of a buffer, in a list with the others of its call.  Written back is only what the call
/// has changed: the rest of the array stays the program's while a nonblocking call is active.
struct Copy {
  Copy(const CFI_cdesc_t& buffer, bool is_written, Copy* next) noexcept
      : is_written(is_written), next(next), bytes(std::size_t(elements_of(buffer)) * buffer.elem_len) {
    std::memcpy(&descriptor, &buffer,
                offsetof(CFI_cdesc_t, dim) + std::size_t(buffer.rank) * sizeof(CFI_dim_t));
    memory = static_cast<char*>(std::malloc(std::max<std::size_t>(is_written ? 2 * bytes : bytes, 1)));
    if (!memory) {
      std::fprintf(stderr, "Dunlin: out of memory for a copy of a subarray of %zu bytes\n", bytes);
      std::abort();
    }
  }
  ~Copy() {
    std::free(memory);
    delete next;
  }
  const CFI_cdesc_t& buffer() const noexcept { return reinterpret_cast<const CFI_cdesc_t&>(descriptor); }

  void read() noexcept {
    for_each([](char* element, char* copied, std::size_t length) { std::memcpy(copied, element, length); });
    if (is_written) std::memcpy(memory + bytes, memory, bytes);
  }
  void write_back() noexcept {
    if (!is_written) return;
    for_each([this](char* element, char* copied, std::size_t length) {
      for (std::size_t i = 0; i < length; ++i)
        if (copied[i] != copied[bytes + i]) element[i] = copied[bytes + i] = copied[i];
    });
  }

  const bool is_written;
  Copy* const next;
  const std::size_t bytes;
  char* memory;  // and behind it, where it is written, what it was before

 private:
  template <class Function>
  void for_each(Function&& function) noexcept {
    const std::size_t length = buffer().elem_len;
    auto* const start = static_cast<char*>(buffer().base_addr);
    for (std::size_t at = 0, i = 0; at < bytes; at += length, ++i)
      function(start + offset_of(buffer(), std::int64_t(i)), memory + at, length);
  }
  CFI_CDESC_T(CFI_MAX_RANK) descriptor;
};

std::atomic<int> requests_with_copies = 0;

namespace {

struct Kept {
  std::unique_ptr<Copy> copies;
  bool is_persistent = false;
  bool is_active = false;  // a persistent request is not between a completion and the next start
};

struct KeptCopies {
  std::mutex mutex;
  std::unordered_map<Fint, Kept> by_request;

  void update_number() noexcept { requests_with_copies = int(by_request.size()); }
  bool has(Fint request) noexcept {
    const std::lock_guard guard(mutex);
    return by_request.contains(request);
  }
};

KeptCopies& kept_copies() noexcept {
  static KeptCopies& all = *new KeptCopies;  // used until the process ends
  return all;
}

void write_back(Kept& kept) noexcept {
  for (Copy* each = kept.copies.get(); each && kept.is_active; each = each->next) each->write_back();
}

}  // namespace

void* Copies::copy(const CFI_cdesc_t& buffer, bool is_written) noexcept {
  if (!buffer.base_addr) return nullptr;
  check_elements(buffer);
  if (request_) *request_ = to_fortran(MPI_REQUEST_NULL);  // until the call has made one
  first_ = new Copy(buffer, is_written, first_);
  first_->read();
  return first_->memory;
}

void Copies::end() noexcept {
  const bool is_persistent = of_ == Of::persistent_request;
  Kept kept{std::unique_ptr<Copy>(first_), is_persistent, !is_persistent};
  if (of_ == Of::call) return write_back(kept);
  if (*request_ == to_fortran(MPI_REQUEST_NULL)) return;  // the call failed
  KeptCopies& all = kept_copies();
  const std::lock_guard guard(all.mutex);
  all.by_request.insert_or_assign(*request_, std::move(kept));
  all.update_number();
}

void forget_copies_of(Fint request) noexcept {
  KeptCopies& all = kept_copies();
  const std::lock_guard guard(all.mutex);
  all.by_request.erase(request);
  all.update_number();
}

struct TakenCopies {
  std::unordered_map<Fint, Kept> by_request;
};

TakenCopies* take_copies_of(const Fint* requests, std::int64_t count) noexcept {
  KeptCopies& all = kept_copies();
  TakenCopies* taken = nullptr;
  const std::lock_guard guard(all.mutex);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto kept = all.by_request.find(requests[i]);
    if (kept == all.by_request.end()) continue;
    if (!taken) taken = new TakenCopies;
    // The others keep their handles, and threads say meanwhile that partitions of them are ready.
    if (!kept->second.is_persistent) taken->by_request.insert(all.by_request.extract(kept));
  }
  all.update_number();
  return taken;
}

void look_after_copies_of(TakenCopies& taken, Fint request, MPI_Request now) noexcept {
  KeptCopies& all = kept_copies();
  auto kept = taken.by_request.extract(request);
  if (!kept && !all.has(request)) return;
  int is_complete = now == MPI_REQUEST_NULL;
  if (!is_complete) PMPI_Request_get_status(now, &is_complete, MPI_STATUS_IGNORE);
  const std::lock_guard guard(all.mutex);
  if (kept && now == MPI_REQUEST_NULL) return write_back(kept.mapped());
  if (kept) all.by_request.insert(std::move(kept));
  all.update_number();
  const auto found = all.by_request.find(request);
  if (!is_complete || found == all.by_request.end()) return;
  write_back(found->second);
  found->second.is_active = false;
}

void end_taken(TakenCopies* taken) noexcept { delete taken; }

void refresh_copies_of(const Fint* requests, std::int64_t count) noexcept {
  KeptCopies& all = kept_copies();
  const std::lock_guard guard(all.mutex);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto found = all.by_request.find(requests[i]);
    if (found == all.by_request.end() || std::exchange(found->second.is_active, true)) continue;
    for (Copy* each = found->second.copies.get(); each; each = each->next) each->read();
  }
}

void read_copies_of(const Fint* request) noexcept {
  KeptCopies& all = kept_copies();
  const std::lock_guard guard(all.mutex);
  const auto found = all.by_request.find(*request);
  if (found == all.by_request.end() || !found->second.is_active) return;
  for (Copy* each = found->second.copies.get(); each; each = each->next)
    if (!each->is_written) each->read();
}

void show_copies_of(const Fint* request) noexcept {
  KeptCopies& all = kept_copies();
  const std::lock_guard guard(all.mutex);
  if (const auto found = all.by_request.find(*request); found != all.by_request.end())
    write_back(found->second);
}

}  // namespace dunlin::fortran
