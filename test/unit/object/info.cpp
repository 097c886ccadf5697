// object/info.cpp and object/info_functions.cpp.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "object/functions.hpp"

namespace dunlin::object {
namespace {

struct InfoTest : testing::Test {
  InfoTest() { EXPECT_EQ(info_create(&info), Err::ok); }
  ~InfoTest() override { EXPECT_EQ(info_free(*info), Err::ok); }

  std::string get(const char* key) {
    int flag = 0, length = 0;
    EXPECT_EQ(info_get_string(*info, key, &length, nullptr, &flag), Err::ok);
    if (!flag) return "(none)";
    std::string value(std::size_t(length), 'x');
    EXPECT_EQ(info_get_string(*info, key, &length, value.data(), &flag), Err::ok);
    EXPECT_EQ(value.back(), '\0');
    value.pop_back();
    return value;
  }

  Info* info = nullptr;
};

TEST_F(InfoTest, KeysKeepTheOrderOfFirstSetting) {
  EXPECT_EQ(info_set(*info, "b", "1"), Err::ok);
  EXPECT_EQ(info_set(*info, "a", "2"), Err::ok);
  EXPECT_EQ(info_set(*info, "b", "3"), Err::ok);
  int keys = 0;
  EXPECT_EQ(info_get_nkeys(*info, &keys), Err::ok);
  EXPECT_EQ(keys, 2);
  char key[MPI_MAX_INFO_KEY];
  EXPECT_EQ(info_get_nthkey(*info, 0, key), Err::ok);
  EXPECT_STREQ(key, "b");
  EXPECT_EQ(info_get_nthkey(*info, 1, key), Err::ok);
  EXPECT_STREQ(key, "a");
  EXPECT_EQ(get("b"), "3");
}

TEST_F(InfoTest, EmptyValuesAreValues) {
  EXPECT_EQ(info_set(*info, "key", ""), Err::ok);
  EXPECT_EQ(get("key"), "");
}

TEST_F(InfoTest, GetStringCutsAndTellsTheLengthItNeeds) {
  EXPECT_EQ(info_set(*info, "key", "12345"), Err::ok);
  char value[8] = "???????";
  int length = 3, flag = 0;
  EXPECT_EQ(info_get_string(*info, "key", &length, value, &flag), Err::ok);
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(length, 6);  // with the NUL
  EXPECT_STREQ(value, "12");
  length = 0;
  std::strcpy(value, "kept");
  EXPECT_EQ(info_get_string(*info, "key", &length, value, &flag), Err::ok);
  EXPECT_STREQ(value, "kept");
  EXPECT_EQ(length, 6);
}

TEST_F(InfoTest, GetCutsAtTheLengthWithoutNul) {
  EXPECT_EQ(info_set(*info, "key", "12345"), Err::ok);
  char value[8];
  int flag = 0, length = 0;
  EXPECT_EQ(info_get(*info, "key", 3, value, &flag), Err::ok);
  EXPECT_STREQ(value, "123");
  EXPECT_EQ(info_get_valuelen(*info, "key", &length, &flag), Err::ok);
  EXPECT_EQ(length, 5);
  EXPECT_EQ(info_get(*info, "other", 3, value, &flag), Err::ok);
  EXPECT_EQ(flag, 0);
}

TEST_F(InfoTest, LimitsAreThoseOfTheAbiWithoutNul) {
  const std::string key(MPI_MAX_INFO_KEY - 1, 'k'), value(MPI_MAX_INFO_VAL - 1, 'v');
  EXPECT_EQ(info_set(*info, key.c_str(), value.c_str()), Err::ok);
  EXPECT_EQ(get(key.c_str()), value);
  EXPECT_EQ(info_set(*info, (key + "k").c_str(), "v"), Err::info_key);
  EXPECT_EQ(info_set(*info, "", "v"), Err::info_key);
  EXPECT_EQ(info_set(*info, "key", (value + "v").c_str()), Err::info_value);
}

TEST_F(InfoTest, DeletingWhatIsNotThereFails) {
  EXPECT_EQ(info_set(*info, "key", "v"), Err::ok);
  EXPECT_EQ(info_delete(*info, "key"), Err::ok);
  EXPECT_EQ(info_delete(*info, "key"), Err::info_nokey);
  EXPECT_EQ(get("key"), "(none)");
}

TEST_F(InfoTest, NthKeyOutOfRangeFails) {
  char key[MPI_MAX_INFO_KEY];
  EXPECT_EQ(info_get_nthkey(*info, 0, key), Err::arg);
  EXPECT_EQ(info_get_nthkey(*info, -1, key), Err::arg);
}

TEST_F(InfoTest, DuplicatesAreIndependent) {
  EXPECT_EQ(info_set(*info, "key", "old"), Err::ok);
  Info* duplicate = nullptr;
  EXPECT_EQ(info_dup(*info, &duplicate), Err::ok);
  EXPECT_EQ(info_set(*duplicate, "key", "new"), Err::ok);
  EXPECT_EQ(get("key"), "old");
  EXPECT_EQ(info_free(*duplicate), Err::ok);
}

TEST_F(InfoTest, EnvironmentIsTheSameWithAndWithoutArguments) {
  Info* without = nullptr;
  EXPECT_EQ(info_create_env(0, nullptr, &without), Err::ok);
  ASSERT_NE(without->find("command"), nullptr);
  std::string command = *without->find("command");
  char* arguments[] = {command.data(), nullptr};
  Info* with = nullptr;
  EXPECT_EQ(info_create_env(1, arguments, &with), Err::ok);
  EXPECT_EQ(*with->find("command"), command);
  ASSERT_NE(with->find("arch"), nullptr);
  EXPECT_EQ(*with->find("arch"), *without->find("arch"));
  EXPECT_EQ(info_free(*with), Err::ok);
  EXPECT_EQ(info_free(*without), Err::ok);
}

TEST(InfoEnv, CannotBeChangedOrFreed) {
  init_predefined_info();
  auto* environment = from_handle<Info>(MPI_INFO_ENV);
  ASSERT_NE(environment, nullptr);
  EXPECT_EQ(info_set(*environment, "key", "v"), Err::info);
  EXPECT_EQ(info_delete(*environment, "command"), Err::info);
  EXPECT_EQ(info_free(*environment), Err::info);
  Info* copy = nullptr;
  EXPECT_EQ(info_dup(*environment, &copy), Err::ok);
  EXPECT_EQ(info_set(*copy, "key", "v"), Err::ok);
  EXPECT_EQ(info_free(*copy), Err::ok);
}

}  // namespace
}  // namespace dunlin::object
