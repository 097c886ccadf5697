// Procedures that MPI-3.0 removed, for programs of before (MPI 1.3, A); an address is an INTEGER in them, of
// which the low half of a longer one remains: differences of near addresses are right.
#include "bindings/fortran/arguments.hpp"
#include "bindings/fortran/callbacks.hpp"

#pragma GCC visibility push(default)
using namespace dunlin::fortran;

namespace {

/// INTEGERs as addresses.
class Addresses {
 public:
  Addresses(const Fint* given, Fint count) noexcept : addresses_(count) {
    for (Fint i = 0; i < count; ++i) addresses_[i] = given[i];
  }
  operator const MPI_Aint*() const noexcept { return addresses_.data(); }

 private:
  Few<MPI_Aint> addresses_;
};

}  // namespace

extern "C" void pmpi_address_(const void* location, Fint* place, Fint* ierror) noexcept {
  MPI_Aint found = 0;
  answer(ierror, MPI_Get_address(address(location), &found));
  *place = Fint(found);
}
extern "C" decltype(pmpi_address_) mpi_address_ __attribute__((weak, alias("pmpi_address_")));

extern "C" void pmpi_type_extent_(const Fint* datatype, Fint* extent, Fint* ierror) noexcept {
  MPI_Aint lower = 0, found = 0;
  answer(ierror, MPI_Type_get_extent(to_c<MPI_Datatype>(datatype), &lower, &found));
  *extent = Fint(found);
}
extern "C" decltype(pmpi_type_extent_) mpi_type_extent_ __attribute__((weak, alias("pmpi_type_extent_")));

extern "C" void pmpi_type_lb_(const Fint* datatype, Fint* displacement, Fint* ierror) noexcept {
  MPI_Aint lower = 0, extent = 0;
  answer(ierror, MPI_Type_get_extent(to_c<MPI_Datatype>(datatype), &lower, &extent));
  *displacement = Fint(lower);
}
extern "C" decltype(pmpi_type_lb_) mpi_type_lb_ __attribute__((weak, alias("pmpi_type_lb_")));

extern "C" void pmpi_type_ub_(const Fint* datatype, Fint* displacement, Fint* ierror) noexcept {
  MPI_Aint lower = 0, extent = 0;
  answer(ierror, MPI_Type_get_extent(to_c<MPI_Datatype>(datatype), &lower, &extent));
  *displacement = Fint(lower + extent);
}
extern "C" decltype(pmpi_type_ub_) mpi_type_ub_ __attribute__((weak, alias("pmpi_type_ub_")));

extern "C" void pmpi_type_hvector_(const Fint* count, const Fint* blocklength, const Fint* stride,
                                   const Fint* oldtype, Fint* newtype, Fint* ierror) noexcept {
  answer(ierror, MPI_Type_create_hvector(narrow(*count), narrow(*blocklength), *stride,
                                         to_c<MPI_Datatype>(oldtype), Made<MPI_Datatype>(newtype)));
}
extern "C" decltype(pmpi_type_hvector_) mpi_type_hvector_ __attribute__((weak, alias("pmpi_type_hvector_")));

extern "C" void pmpi_type_hindexed_(const Fint* count, const Fint* array_of_blocklengths,
                                    const Fint* array_of_displacements, const Fint* oldtype, Fint* newtype,
                                    Fint* ierror) noexcept {
  answer(ierror, MPI_Type_create_hindexed(narrow(*count), Integers(array_of_blocklengths, *count),
                                          Addresses(array_of_displacements, *count),
                                          to_c<MPI_Datatype>(oldtype), Made<MPI_Datatype>(newtype)));
}
extern "C" decltype(pmpi_type_hindexed_) mpi_type_hindexed_
    __attribute__((weak, alias("pmpi_type_hindexed_")));

extern "C" void pmpi_type_struct_(const Fint* count, const Fint* array_of_blocklengths,
                                  const Fint* array_of_displacements, const Fint* array_of_types,
                                  Fint* newtype, Fint* ierror) noexcept {
  answer(ierror,
         MPI_Type_create_struct(narrow(*count), Integers(array_of_blocklengths, *count),
                                Addresses(array_of_displacements, *count),
                                Handles<MPI_Datatype>(array_of_types, *count), Made<MPI_Datatype>(newtype)));
}
extern "C" decltype(pmpi_type_struct_) mpi_type_struct_ __attribute__((weak, alias("pmpi_type_struct_")));

extern "C" void pmpi_errhandler_create_(Procedure* function, Fint* errhandler, Fint* ierror) noexcept {
  answer(ierror,
         MPI_Comm_create_errhandler(comm_errhandler_function(function), Made<MPI_Errhandler>(errhandler)));
}
extern "C" decltype(pmpi_errhandler_create_) mpi_errhandler_create_
    __attribute__((weak, alias("pmpi_errhandler_create_")));

extern "C" void pmpi_errhandler_set_(const Fint* comm, const Fint* errhandler, Fint* ierror) noexcept {
  answer(ierror, MPI_Comm_set_errhandler(to_c<MPI_Comm>(comm), to_c<MPI_Errhandler>(errhandler)));
}
extern "C" decltype(pmpi_errhandler_set_) mpi_errhandler_set_
    __attribute__((weak, alias("pmpi_errhandler_set_")));

extern "C" void pmpi_errhandler_get_(const Fint* comm, Fint* errhandler, Fint* ierror) noexcept {
  answer(ierror, MPI_Comm_get_errhandler(to_c<MPI_Comm>(comm), Made<MPI_Errhandler>(errhandler)));
}
extern "C" decltype(pmpi_errhandler_get_) mpi_errhandler_get_
    __attribute__((weak, alias("pmpi_errhandler_get_")));
