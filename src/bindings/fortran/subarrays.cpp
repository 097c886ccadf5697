#include "bindings/fortran/subarrays.hpp"

#include <string>

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

}  // namespace

/// The datatype is taken as a sequence of bytes that fills the elements of the array one after the other, as
/// it fills a contiguous array.  A datatype with gaps has no such sequence: MPI_ERR_TYPE follows from the
/// null handle.
void Message::describe(const CFI_cdesc_t& buffer) noexcept {
  MPI_Count size = 0, lower = 0, extent = 0;
  if (PMPI_Type_size_c(datatype_, &size) != MPI_SUCCESS || size <= 0 || count_ <= 0) return;
  PMPI_Type_get_true_extent_c(datatype_, &lower, &extent);
  MPI_Count bounds_lower = 0, bounds_extent = 0;
  PMPI_Type_get_extent_c(datatype_, &bounds_lower, &bounds_extent);
  if (size != extent || size != bounds_extent || lower != 0) {
    datatype_ = MPI_DATATYPE_NULL;
    return;
  }
  const auto element_bytes = MPI_Count(buffer.elem_len);
  const bool fits = element_bytes % size == 0;  // whole datatypes in an element; else in bytes
  const MPI_Datatype unit = fits ? datatype_ : MPI_BYTE;
  const MPI_Count unit_bytes = fits ? size : 1, bytes = count_ * size;
  const Type element = contiguous(element_bytes / unit_bytes, unit);
  const std::int64_t elements = bytes / element_bytes, rest = bytes % element_bytes / unit_bytes;
  Type whole = elements ? first_of(buffer, buffer.rank, elements, element.get()) : contiguous(rest, unit);
  datatype_ = elements && rest ? joined(whole, contiguous(rest, unit), offset_of(buffer, elements)).take()
                               : whole.take();
  PMPI_Type_commit(&datatype_);
  count_ = 1;
  is_described_ = true;
}

/// A block's datatype is that of one message, with the distance of two blocks as its extent.
void Blocks::describe(const CFI_cdesc_t& buffer, const MPI_Fint* datatype) noexcept {
  if (datatype_ == MPI_DATATYPE_NULL || count_ <= 0) return;  // it means nothing at this rank
  const Message first(&buffer, count_, datatype);
  MPI_Count bytes = 0;
  is_possible_ = first.datatype() != MPI_DATATYPE_NULL &&
                 PMPI_Type_size_c(first.datatype(), &bytes) == MPI_SUCCESS && bytes > 0 &&
                 bytes % MPI_Count(buffer.elem_len) == 0;
  if (!is_possible_) return;
  const std::int64_t of_block = bytes / MPI_Count(buffer.elem_len), all = elements_of(buffer);
  const CFI_index_t distance = of_block < all ? offset_of(buffer, of_block) : 0;
  for (std::int64_t i = 0; i < all && is_possible_; ++i)
    is_possible_ = offset_of(buffer, i) == i / of_block * distance + offset_of(buffer, i % of_block);
  if (!is_possible_) return;
  PMPI_Type_create_resized_c(first.datatype(), 0, distance, &datatype_);
  PMPI_Type_commit(&datatype_);
  count_ = 1;
  is_described_ = true;
}

void Copied::copy(const CFI_cdesc_t& buffer, Direction direction) noexcept {
  const std::int64_t elements = elements_of(buffer);
  copy_ = static_cast<char*>(std::malloc(std::size_t(elements) * buffer.elem_len));
  if (!copy_) {
    std::fprintf(stderr, "Dunlin: out of memory for a copy of %lld elements\n", (long long)elements);
    std::abort();
  }
  const auto* const from = static_cast<const char*>(buffer.base_addr);
  for (std::int64_t i = 0; i < elements; ++i)
    std::memcpy(copy_ + std::size_t(i) * buffer.elem_len, from + offset_of(buffer, i), buffer.elem_len);
  address_ = copy_;
  if (direction == Direction::out) changed_ = &buffer;
}

void Copied::copy_back() noexcept {
  if (changed_) {
    const std::int64_t elements = elements_of(*changed_);
    auto* const to = static_cast<char*>(changed_->base_addr);
    for (std::int64_t i = 0; i < elements; ++i)
      std::memcpy(to + offset_of(*changed_, i), copy_ + std::size_t(i) * changed_->elem_len,
                  changed_->elem_len);
  }
  std::free(copy_);
}

int refuse_subarray(const MPI_Fint* comm, const char* call) noexcept {
  int code = MPI_ERR_BUFFER;
  const std::string text =
      std::string(call) +
      ": a subarray that is not contiguous cannot be the buffer of a reduction, or of blocks "
      "that lie differently, in a call that returns before it is complete; copy it";
  if (PMPI_Add_error_code(MPI_ERR_BUFFER, &code) == MPI_SUCCESS) PMPI_Add_error_string(code, text.c_str());
  PMPI_Comm_call_errhandler(to_c<MPI_Comm>(comm), code);
  return code;
}

}  // namespace dunlin::fortran
