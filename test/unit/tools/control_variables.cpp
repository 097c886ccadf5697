#include <gtest/gtest.h>

#include <cstring>

#include "base/variable.hpp"
#include "object/life.hpp"
#include "tools/functions.hpp"

namespace dunlin::tools {
namespace {

IntVariable number{"TEST_NUMBER", 7, "apples", "a number of this test", 0, 1000};
WordVariable word{"TEST_WORD", "red", "red|green", "a word of this test"};

constexpr Err code(int mpi_t_error) { return Err(mpi_t_error); }

class ControlVariables : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(t_init_thread(MPI_THREAD_SINGLE, &provided), Err::ok); }
  void TearDown() override {
    EXPECT_EQ(t_finalize(), Err::ok);
    number.set(7);
  }
  static int index_of(const char* name) {
    int index = -1;
    EXPECT_EQ(t_cvar_get_index(name, &index), Err::ok) << name;
    return index;
  }
  static MPI_T_cvar_handle handle_of(const char* name, int count) {
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    int found = 0;
    EXPECT_EQ(t_cvar_handle_alloc(index_of(name), nullptr, &handle, &found), Err::ok);
    EXPECT_EQ(found, count);
    return handle;
  }
  int provided = -1;
};

TEST(ToolInterface, RefusesBeforeItIsOpen) {
  int count = 0;
  EXPECT_EQ(t_cvar_get_num(&count), code(MPI_T_ERR_NOT_INITIALIZED));
  EXPECT_EQ(t_finalize(), code(MPI_T_ERR_NOT_INITIALIZED));
  EXPECT_EQ(t_pvar_get_num(&count), code(MPI_T_ERR_NOT_INITIALIZED));
}

TEST_F(ControlVariables, AreTheSettings) {
  EXPECT_EQ(provided, MPI_THREAD_MULTIPLE);
  int count = 0, settings = 0;
  EXPECT_EQ(t_cvar_get_num(&count), Err::ok);
  for (auto* each = Variable::first(); each; each = each->next()) ++settings;
  EXPECT_EQ(count, settings);
  char name[64], description[128];
  int name_bytes = sizeof name, description_bytes = sizeof description, bind = -1, scope = -1;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  EXPECT_EQ(t_cvar_get_info(index_of("DUNLIN_TEST_NUMBER"), name, &name_bytes, nullptr, &type, nullptr,
                            description, &description_bytes, &bind, &scope), Err::ok);
  EXPECT_STREQ(name, "DUNLIN_TEST_NUMBER");
  EXPECT_EQ(name_bytes, int(sizeof "DUNLIN_TEST_NUMBER"));
  EXPECT_STREQ(description, "a number of this test (apples)");
  EXPECT_EQ(type, MPI_COUNT);
  EXPECT_EQ(bind, MPI_T_BIND_NO_OBJECT);
  EXPECT_EQ(t_cvar_get_info(count, name, &name_bytes, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                            nullptr), code(MPI_T_ERR_INVALID_INDEX));
  int unused = 0;
  EXPECT_EQ(t_cvar_get_index("TEST_NUMBER", &unused), code(MPI_T_ERR_INVALID_NAME));
}

TEST_F(ControlVariables, ShortBuffersAreFilledAndTheLengthIsTold) {
  char name[5];
  int bytes = sizeof name;
  EXPECT_EQ(t_cvar_get_info(index_of("DUNLIN_TEST_WORD"), name, &bytes, nullptr, nullptr, nullptr, nullptr,
                            nullptr, nullptr, nullptr), Err::ok);
  EXPECT_STREQ(name, "DUNL");
  EXPECT_EQ(bytes, int(sizeof "DUNLIN_TEST_WORD"));
}

TEST_F(ControlVariables, AreReadAndWritten) {
  MPI_T_cvar_handle handle = handle_of("DUNLIN_TEST_NUMBER", 1);
  MPI_Count value = 0;
  EXPECT_EQ(t_cvar_read(handle, &value), Err::ok);
  EXPECT_EQ(value, 7);
  value = 12;
  EXPECT_EQ(t_cvar_write(handle, &value), Err::ok);
  EXPECT_EQ(number.get(), 12);
  EXPECT_EQ(number.source(), Variable::Source::program);
  value = 1001;  // more than its maximum
  EXPECT_EQ(t_cvar_write(handle, &value), code(MPI_T_ERR_INVALID));
  EXPECT_EQ(number.get(), 12);
  EXPECT_EQ(t_cvar_handle_free(&handle), Err::ok);
  EXPECT_EQ(handle, MPI_T_CVAR_HANDLE_NULL);
  EXPECT_EQ(t_cvar_read(handle, &value), code(MPI_T_ERR_INVALID_HANDLE));
}

TEST_F(ControlVariables, WordsAreStrings) {
  MPI_T_cvar_handle handle = handle_of("DUNLIN_TEST_WORD", 256);
  char text[256] = "green";
  EXPECT_EQ(t_cvar_write(handle, text), Err::ok);
  std::strcpy(text, "blue");
  EXPECT_EQ(t_cvar_write(handle, text), code(MPI_T_ERR_INVALID));
  EXPECT_EQ(t_cvar_read(handle, text), Err::ok);
  EXPECT_STREQ(text, "green");
  EXPECT_EQ(word.index(), 1);
}

TEST_F(ControlVariables, AreNotSetWhileTheLibraryRuns) {
  MPI_T_cvar_handle handle = handle_of("DUNLIN_TEST_NUMBER", 1);
  const MPI_Count value = 3;
  Life::users = 1;
  EXPECT_EQ(t_cvar_write(handle, &value), code(MPI_T_ERR_CVAR_SET_NOT_NOW));
  Life::users = 0;
  EXPECT_EQ(number.get(), 7);
}

TEST_F(ControlVariables, OtherKindsAreNone) {
  int count = -1, index = -1;
  EXPECT_EQ(t_pvar_get_num(&count), Err::ok);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(t_category_get_num(&count), Err::ok);
  EXPECT_EQ(t_event_get_num(&count), Err::ok);
  EXPECT_EQ(t_source_get_num(&count), Err::ok);
  EXPECT_EQ(t_pvar_get_index("x", MPI_T_PVAR_CLASS_COUNTER, &index), code(MPI_T_ERR_INVALID_NAME));
}

}  // namespace
}  // namespace dunlin::tools
