#include "io/representation.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include "base/callback.hpp"
#include "datatype/functions.hpp"
#include "io/functions.hpp"

namespace dunlin::io {
namespace {

int calls = 0, calls_under_way = 0;

void note() {
  ++calls;
  calls_under_way += Callback::is_under_way();
}

int convert(void*, MPI_Datatype, int, void*, MPI_Offset, void*) {
  note();
  return MPI_SUCCESS;
}

int extent_of(MPI_Datatype, MPI_Aint* extent, void*) {
  note();
  *extent = 4;
  return MPI_SUCCESS;
}

/// The program's functions may call MPI (base/callback.hpp).
TEST(Representation, CallsTheProgramAsOneThatMayCallMpi) {
  init_predefined_datatypes();
  ASSERT_EQ(register_datarep("unit", &convert, &convert, &extent_of, nullptr), Err::ok);
  const Representation& unit = *Representation::find("unit");
  const Datatype& type = *from_handle<Datatype>(MPI_INT);
  int value = 0;
  std::byte in_file[4] = {};
  ASSERT_EQ(unit.write(&value, 1, type, in_file), Err::ok);
  ASSERT_EQ(unit.read(&value, 1, type, in_file), Err::ok);
  EXPECT_GE(calls, 4);  // with their extents
  EXPECT_EQ(calls_under_way, calls);
  EXPECT_FALSE(Callback::is_under_way());
}

}  // namespace
}  // namespace dunlin::io
