// object/object.cpp, object/errhandler_functions.cpp, object/names.cpp, object/status_functions.cpp,
// object/abi.cpp, object/environment.cpp.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "object/functions.hpp"
#include "object/status.hpp"

namespace dunlin::object {
namespace {

TEST(Handles, AreTheAddressAndKnowTheirKind) {
  auto* info = new Info;
  const auto handle = to_handle<MPI_Info>(*info);
  EXPECT_EQ(from_handle<Info>(handle), info);
  EXPECT_EQ(from_handle<Comm>(reinterpret_cast<MPI_Comm>(handle)), nullptr);
  info->release();
  EXPECT_EQ(from_handle<Info>(handle), nullptr);  // freed: noticed
}

TEST(Handles, HaveAStableIntThatIsUsedAgainAfterTheirEnd) {
  auto *first = new Info, *second = new Info;
  const int one = first->to_int(), two = second->to_int();
  EXPECT_NE(one, two);
  EXPECT_EQ(first->to_int(), one);
  EXPECT_EQ(Object::from_int(one), first);
  EXPECT_EQ(Object::from_int(two), second);
  first->release();
  EXPECT_EQ(Object::from_int(one), nullptr);
  auto* third = new Info;
  EXPECT_EQ(third->to_int(), one);
  second->release();
  third->release();
  EXPECT_EQ(Object::from_int(-1), nullptr);
  EXPECT_EQ(Object::from_int(0), nullptr);
}

TEST(Handles, ManyIntsAreDistinct) {
  std::vector<Info*> infos;
  std::set<int> ints;
  for (int i = 0; i < 10000; ++i) {
    infos.push_back(new Info);
    ints.insert(infos.back()->to_int());
  }
  EXPECT_EQ(ints.size(), 10000u);
  for (Info* info : infos) info->release();
}

TEST(Handles, OfPredefinedObjectsCanBeWithdrawn) {
  auto group = Ref<Group>::adopt(new Group({0}, 0));
  constexpr std::uintptr_t kUnused = 4000;
  make_predefined(*group, kUnused);
  EXPECT_EQ(from_handle<Group>(reinterpret_cast<MPI_Group>(kUnused)), group.get());
  EXPECT_EQ(group->to_int(), int(kUnused));
  withdraw_predefined(*group);
  EXPECT_EQ(from_handle<Group>(reinterpret_cast<MPI_Group>(kUnused)), nullptr);
}

void on_comm(MPI_Comm*, int*, ...) {}
void on_win(MPI_Win*, int*, ...) {}

TEST(ErrorHandlers, FitTheirKindOfObject) {
  init_predefined_errhandlers();
  auto comm = Ref<Comm>::adopt(new Comm);
  Errhandler *mine = nullptr, *of_win = nullptr, *found = nullptr;
  EXPECT_EQ(comm_create_errhandler(on_comm, &mine), Err::ok);
  EXPECT_EQ(win_create_errhandler(on_win, &of_win), Err::ok);
  EXPECT_EQ(comm_set_errhandler(*comm, *of_win), Err::errhandler);
  EXPECT_EQ(comm_set_errhandler(*comm, *mine), Err::ok);
  EXPECT_EQ(errhandler_free(*mine), Err::ok);  // the communicator keeps it
  EXPECT_EQ(comm_get_errhandler(*comm, &found), Err::ok);
  EXPECT_EQ(found, mine);
  EXPECT_EQ(errhandler_free(*found), Err::ok);
  EXPECT_EQ(comm_set_errhandler(*comm, errors_return()), Err::ok);
  EXPECT_EQ(comm_get_errhandler(*comm, &found), Err::ok);
  EXPECT_EQ(found, &errors_return());
  EXPECT_EQ(errhandler_free(*found), Err::ok);
  EXPECT_EQ(errhandler_free(*found), Err::ok);  // predefined: any number of times
  EXPECT_EQ(errhandler_free(*of_win), Err::ok);
}

TEST(Names, AreEmptyAtFirstAndCutWhenTooLong) {
  auto comm = Ref<Comm>::adopt(new Comm);
  char name[MPI_MAX_OBJECT_NAME];
  int length = -1;
  EXPECT_EQ(comm_get_name(*comm, name, &length), Err::ok);
  EXPECT_EQ(length, 0);
  EXPECT_STREQ(name, "");
  EXPECT_EQ(comm_set_name(*comm, std::string(300, 'n').c_str()), Err::ok);
  EXPECT_EQ(comm_get_name(*comm, name, &length), Err::ok);
  EXPECT_EQ(length, MPI_MAX_OBJECT_NAME - 1);
  EXPECT_EQ(std::strlen(name), std::size_t(length));
}

TEST(Status, FieldsAndConversions) {
  MPI_Status status;
  set_empty_status(&status);
  EXPECT_EQ(status_set_source(&status, 3), Err::ok);
  EXPECT_EQ(status_set_tag(&status, 4), Err::ok);
  EXPECT_EQ(status_set_error(&status, MPI_ERR_TRUNCATE), Err::ok);
  EXPECT_EQ(status_set_cancelled(&status, 5), Err::ok);
  set_status_bytes(status, std::uint64_t{1} << 40);

  MPI_Fint fortran[MPI_F_STATUS_SIZE];
  MPI_F08_status fortran08;
  MPI_Status back;
  EXPECT_EQ(status_c2f(&status, fortran), Err::ok);
  EXPECT_EQ(fortran[MPI_F_SOURCE], 3);
  EXPECT_EQ(fortran[MPI_F_TAG], 4);
  EXPECT_EQ(fortran[MPI_F_ERROR], MPI_ERR_TRUNCATE);
  EXPECT_EQ(status_f2f08(fortran, &fortran08), Err::ok);
  EXPECT_EQ(fortran08.MPI_TAG, 4);
  EXPECT_EQ(status_f082c(&fortran08, &back), Err::ok);
  int source = 0, tag = 0, error = 0, flag = 0;
  EXPECT_EQ(status_get_source(&back, &source), Err::ok);
  EXPECT_EQ(status_get_tag(&back, &tag), Err::ok);
  EXPECT_EQ(status_get_error(&back, &error), Err::ok);
  EXPECT_EQ(test_cancelled(&back, &flag), Err::ok);
  EXPECT_EQ(source, 3);
  EXPECT_EQ(tag, 4);
  EXPECT_EQ(error, MPI_ERR_TRUNCATE);
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(status_bytes(back), std::uint64_t{1} << 40);
}

TEST(Abi, TellsVersionAndSizes) {
  int major = 0, minor = -1;
  EXPECT_EQ(abi_get_version(&major, &minor), Err::ok);
  EXPECT_EQ(major, 1);
  EXPECT_EQ(minor, 0);
  Info* info = nullptr;
  EXPECT_EQ(abi_get_info(&info), Err::ok);
  EXPECT_EQ(*info->find("mpi_aint_size"), "8");
  EXPECT_EQ(*info->find("mpi_count_size"), "8");
  EXPECT_EQ(*info->find("mpi_offset_size"), "8");
  info->release();
}

TEST(Environment, NamesAndClock) {
  char name[MPI_MAX_PROCESSOR_NAME], version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0, major = 0, minor = -1;
  EXPECT_EQ(get_processor_name(name, &length), Err::ok);
  EXPECT_EQ(std::strlen(name), std::size_t(length));
  EXPECT_GT(length, 0);
  EXPECT_EQ(get_library_version(version, &length), Err::ok);
  EXPECT_EQ(std::strlen(version), std::size_t(length));
  EXPECT_EQ(std::string(version).find("Dunlin"), 0u);
  EXPECT_EQ(get_version(&major, &minor), Err::ok);
  EXPECT_EQ(major, 5);
  const double start = wtime();
  EXPECT_GE(wtime(), start);
  EXPECT_GT(wtick(), 0.0);
  EXPECT_LT(wtick(), 0.001);
}

}  // namespace
}  // namespace dunlin::object
