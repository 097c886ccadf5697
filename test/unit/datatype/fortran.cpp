// What a Fortran layer tells of its compiler.
#include <gtest/gtest.h>
#include <mpi.h>

#include "datatype/functions.hpp"

namespace dunlin::datatype {
namespace {

TEST(Fortran, BooleansAreToldOnce) {
  int yes = 1, no = 0, is_set = -1, got_yes = -1, got_no = -1;
  EXPECT_EQ(abi_get_fortran_booleans(4, &got_yes, &got_no, &is_set), Err::ok);
  EXPECT_EQ(is_set, 0);
  EXPECT_EQ(abi_set_fortran_booleans(3, &yes, &no), Err::arg);
  EXPECT_EQ(abi_set_fortran_booleans(4, &yes, &no), Err::ok);
  EXPECT_EQ(abi_set_fortran_booleans(4, &yes, &no), Err::abi);
  EXPECT_EQ(abi_get_fortran_booleans(4, &got_yes, &got_no, &is_set), Err::ok);
  EXPECT_EQ(is_set, 1);
  EXPECT_EQ(got_yes, 1);
  EXPECT_EQ(got_no, 0);
}

TEST(Fortran, SizesAreToldBeforeTheTypesAreMade) {
  init_predefined_datatypes();
  auto* const told = new Info;
  told->set("mpi_integer_size", "8");
  EXPECT_EQ(abi_set_fortran_info(*told), Err::abi);
  told->set("mpi_integer_size", "4");
  EXPECT_EQ(abi_set_fortran_info(*told), Err::ok);
  EXPECT_EQ(abi_set_fortran_info(*told), Err::abi) << "for a second time";
  EXPECT_EQ(from_handle<Datatype>(MPI_INTEGER)->size(), 4);
  told->release();
}

}  // namespace
}  // namespace dunlin::datatype
