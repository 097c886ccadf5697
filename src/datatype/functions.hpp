// The functions of the standard's chapter "Datatypes" (MPI 5.0, chapter 5), one for each MPI call and its
// `_c` form.
//
// Called by the generated C bindings, which have checked handles, null pointers and negative counts.
// Conventions: a handle that goes in is a reference, one that comes out a `Datatype**`; counts have 64 bits;
// `large` tells that the `_c` form was called, which MPI_Type_get_envelope must remember.  Outputs are set
// only on success.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/err.hpp"
#include "datatype/datatype.hpp"
#include "object/info.hpp"
#include "object/int_array.hpp"

namespace dunlin::datatype {

// Constructors.  The new type holds references to the old ones.
Err type_contiguous(std::int64_t count, const Datatype& old_type, bool large, Datatype** new_type) noexcept;
Err type_vector(std::int64_t count, std::int64_t block_length, std::int64_t stride, const Datatype& old_type,
                bool large, Datatype** new_type) noexcept;
Err type_create_hvector(std::int64_t count, std::int64_t block_length, std::int64_t stride,
                        const Datatype& old_type, bool large, Datatype** new_type) noexcept;
Err type_indexed(std::int64_t count, IntArray block_lengths, IntArray displacements, const Datatype& old_type,
                 bool large, Datatype** new_type) noexcept;
/// Displacements of the h-forms and of struct are always wide (MPI_Aint or MPI_Count).
Err type_create_hindexed(std::int64_t count, IntArray block_lengths, IntArray displacements,
                         const Datatype& old_type, bool large, Datatype** new_type) noexcept;
Err type_create_indexed_block(std::int64_t count, std::int64_t block_length, IntArray displacements,
                              const Datatype& old_type, bool large, Datatype** new_type) noexcept;
Err type_create_hindexed_block(std::int64_t count, std::int64_t block_length, IntArray displacements,
                               const Datatype& old_type, bool large, Datatype** new_type) noexcept;
Err type_create_struct(std::int64_t count, IntArray block_lengths, IntArray displacements,
                       const MPI_Datatype* types, bool large, Datatype** new_type) noexcept;
Err type_create_subarray(int dimensions, IntArray sizes, IntArray subsizes, IntArray starts, int order,
                         const Datatype& old_type, bool large, Datatype** new_type) noexcept;
Err type_create_darray(int size, int rank, int dimensions, IntArray global_sizes, const int* distributions,
                       const int* arguments, const int* process_sizes, int order, const Datatype& old_type,
                       bool large, Datatype** new_type) noexcept;
Err type_create_resized(const Datatype& old_type, std::int64_t lower_bound, std::int64_t extent, bool large,
                        Datatype** new_type) noexcept;
/// Attributes are copied by the binding (object/attributes.hpp).
Err type_dup(const Datatype& old_type, Datatype** new_type) noexcept;
Err type_create_f90_real(int precision, int range, Datatype** new_type) noexcept;
Err type_create_f90_complex(int precision, int range, Datatype** new_type) noexcept;
Err type_create_f90_integer(int range, Datatype** new_type) noexcept;
Err type_match_size(int type_class, int size, Datatype** type) noexcept;
/// `*pair_type` becomes nullptr (MPI_DATATYPE_NULL) when there is no such pair.
Err type_get_value_index(const Datatype& value_type, const Datatype& index_type,
                         Datatype** pair_type) noexcept;

Err type_commit(Datatype& type) noexcept;
/// Gives up the program's reference; predefined types are refused.
Err type_free(Datatype& type) noexcept;

// Inquiry.  MPI_UNDEFINED is given where a value does not exist; narrowing to int is the binding's.
Err type_size(const Datatype& type, std::int64_t* size) noexcept;
Err type_get_extent(const Datatype& type, std::int64_t* lower_bound, std::int64_t* extent) noexcept;
Err type_get_true_extent(const Datatype& type, std::int64_t* true_lower_bound,
                         std::int64_t* true_extent) noexcept;
/// `large` as called; the classic form refuses types made by a `_c` constructor (num_large_counts may then be
/// null).
Err type_get_envelope(const Datatype& type, bool large, std::int64_t* integers, std::int64_t* addresses,
                      std::int64_t* large_counts, std::int64_t* types, int* combiner) noexcept;
/// Handles given out are new references of derived types.  Surplus entries are left alone.
Err type_get_contents(const Datatype& type, bool large, std::int64_t integers_max, std::int64_t addresses_max,
                      std::int64_t large_counts_max, std::int64_t types_max, int* integers,
                      MPI_Aint* addresses, MPI_Count* large_counts, MPI_Datatype* types) noexcept;
/// `name` has room for MPI_MAX_OBJECT_NAME bytes; `length` is without the NUL.
Err type_get_name(const Datatype& type, char* name, int* length) noexcept;
Err type_set_name(Datatype& type, const char* name) noexcept;

// Counting what arrived: `bytes` is what the status holds.
/// Whole elements of `type`, or MPI_UNDEFINED when `bytes` is no multiple of its size.
Err get_count(std::int64_t bytes, const Datatype& type, std::int64_t* count) noexcept;
/// Predefined elements, or MPI_UNDEFINED when `bytes` ends inside one.  Serves MPI_Get_elements, _c and _x.
Err get_elements(std::int64_t bytes, const Datatype& type, std::int64_t* count) noexcept;
/// Bytes a status has to hold so that get_elements answers `count`.
Err status_set_elements(const Datatype& type, std::int64_t count, std::int64_t* bytes) noexcept;

// Packing.
Err pack(const void* in, std::int64_t in_count, const Datatype& type, void* out, std::int64_t out_bytes,
         std::int64_t* position) noexcept;
Err unpack(const void* in, std::int64_t in_bytes, std::int64_t* position, void* out, std::int64_t out_count,
           const Datatype& type) noexcept;
Err pack_size(std::int64_t in_count, const Datatype& type, std::int64_t* bytes) noexcept;
Err pack_external(const char* representation, const void* in, std::int64_t in_count, const Datatype& type,
                  void* out, std::int64_t out_bytes, std::int64_t* position) noexcept;
Err unpack_external(const char* representation, const void* in, std::int64_t in_bytes, std::int64_t* position,
                    void* out, std::int64_t out_count, const Datatype& type) noexcept;
/// So many elements as MPI_Get_elements counts, of many of `type`: the last need not be a whole one.
void unpack_external_elements(const std::byte* in, std::int64_t elements, void* out,
                              const Datatype& type) noexcept;
Err pack_external_size(const char* representation, std::int64_t in_count, const Datatype& type,
                       std::int64_t* bytes) noexcept;

// What a Fortran layer tells of its compiler.  MPI_INTEGER or MPI_LOGICAL of 8 bytes is possible before
// they are made only.
bool try_widen_fortran_types(bool integers, bool logicals) noexcept;
Err abi_get_fortran_info(Info** info) noexcept;
Err abi_set_fortran_info(Info& info) noexcept;
Err abi_get_fortran_booleans(int logical_size, void* logical_true, void* logical_false, int* is_set) noexcept;
Err abi_set_fortran_booleans(int logical_size, void* logical_true, void* logical_false) noexcept;

// Addresses.
inline std::int64_t get_address(const void* location) noexcept {
  return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(location));
}

}  // namespace dunlin::datatype
