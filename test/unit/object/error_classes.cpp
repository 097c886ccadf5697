// object/error_classes.cpp and object/error_texts.cpp.
#include <gtest/gtest.h>

#include <string>

#include "object/functions.hpp"

namespace dunlin::object {
namespace {

std::string text(int code) {
  char string[MPI_MAX_ERROR_STRING];
  int length = -1;
  EXPECT_EQ(error_string(code, string, &length), Err::ok);
  EXPECT_EQ(std::string(string).size(), std::size_t(length));
  return string;
}

int class_of(int code) {
  int found = -1;
  EXPECT_EQ(error_class(code, &found), Err::ok);
  return found;
}

TEST(ErrorClasses, OfTheStandardAreTheirOwnClassAndHaveText) {
  clear_error_detail();
  for (int code = MPI_SUCCESS; code <= MPI_ERR_ABI; ++code) {
    EXPECT_EQ(class_of(code), code);
    EXPECT_FALSE(text(code).empty());
  }
  EXPECT_EQ(class_of(MPI_T_ERR_PVAR_NO_ATOMIC), MPI_T_ERR_PVAR_NO_ATOMIC);
  int found = 0;
  EXPECT_EQ(error_class(MPI_ERR_ABI + 1, &found), Err::arg);
  EXPECT_EQ(error_class(-1, &found), Err::arg);
}

TEST(ErrorClasses, TheRecordedSentenceIsShownForItsClassOnly) {
  const int code = int(fail(Err::rank, "dest is %d", 77));
  EXPECT_NE(text(code).find("dest is 77"), std::string::npos);
  EXPECT_EQ(text(MPI_ERR_TAG).find("dest is 77"), std::string::npos);
  clear_error_detail();
  EXPECT_EQ(text(code).find("dest is 77"), std::string::npos);
}

TEST(ErrorClasses, LongSentencesAreCut) {
  const std::string sentence(600, 'x');
  const int code = int(fail(Err::arg, "%s", sentence.c_str()));
  EXPECT_LT(text(code).size(), std::size_t(MPI_MAX_ERROR_STRING));
  clear_error_detail();
}

TEST(ErrorClasses, CanBeAddedWithCodesAndStrings) {
  int mine = 0, code = 0, other = 0;
  EXPECT_EQ(add_error_class(&mine), Err::ok);
  EXPECT_GT(mine, MPI_ERR_LASTCODE);
  EXPECT_EQ(predefined_attributes.last_used_code, mine);
  EXPECT_EQ(add_error_code(mine, &code), Err::ok);
  EXPECT_EQ(predefined_attributes.last_used_code, code);
  EXPECT_EQ(class_of(code), mine);
  EXPECT_EQ(class_of(mine), mine);
  EXPECT_EQ(text(code), "");  // none yet
  EXPECT_EQ(add_error_string(code, "out of cheese"), Err::ok);
  EXPECT_EQ(text(code), "out of cheese");
  EXPECT_EQ(add_error_code(MPI_ERR_IO, &other), Err::ok);
  EXPECT_EQ(class_of(other), MPI_ERR_IO);
  int found = 0;
  EXPECT_EQ(add_error_code(code, &found), Err::arg);  // a code is no class
  EXPECT_EQ(add_error_string(MPI_ERR_IO, "no"), Err::arg);
}

TEST(ErrorClasses, CanBeRemovedInOrder) {
  int mine = 0, code = 0, next = 0, found = 0;
  EXPECT_EQ(add_error_class(&mine), Err::ok);
  EXPECT_EQ(add_error_code(mine, &code), Err::ok);
  EXPECT_EQ(add_error_string(code, "words"), Err::ok);
  EXPECT_EQ(remove_error_class(mine), Err::arg);  // has a code
  EXPECT_EQ(remove_error_class(code), Err::arg);  // is a code
  EXPECT_EQ(remove_error_code(mine), Err::arg);   // is a class
  EXPECT_EQ(remove_error_code(code), Err::arg);   // has a string
  EXPECT_EQ(remove_error_string(code), Err::ok);
  EXPECT_EQ(remove_error_string(code), Err::arg);
  EXPECT_EQ(text(code), "");
  EXPECT_EQ(remove_error_code(code), Err::ok);
  EXPECT_EQ(remove_error_code(code), Err::arg);
  EXPECT_EQ(error_class(code, &found), Err::arg);
  EXPECT_EQ(remove_error_class(mine), Err::ok);
  EXPECT_EQ(remove_error_class(MPI_ERR_ARG), Err::arg);
  EXPECT_EQ(add_error_class(&next), Err::ok);
  EXPECT_GT(next, code);  // numbers are not given out again
}

}  // namespace
}  // namespace dunlin::object
