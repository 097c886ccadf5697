// Commands of the wire of PMI.
#include "boot/pmi_wire.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

namespace dunlin::boot {
namespace {

TEST(PmiWire, FieldsAreWholeWords) {
  const std::string_view line = "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 value=a=b";
  EXPECT_EQ(wire_field(line, "cmd"), "maxes");
  EXPECT_EQ(wire_field(line, "vallen_max"), "1024");
  EXPECT_EQ(wire_field(line, "value"), "a=b");
  EXPECT_EQ(wire_field(line, "len_max"), "");
  EXPECT_EQ(wire_number(line, "keylen_max", -1), 64);
  EXPECT_EQ(wire_number(line, "cmd", -1), -1);
  EXPECT_EQ(wire_number("size= x", "size", 7), 7);
}

TEST(PmiWire, EveryByteSurvives) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += char(i);
  const std::string word = encode_word(bytes);
  EXPECT_EQ(word.find_first_of(std::string(" \n=\0\t;", 6)), std::string::npos);
  const auto back = decode_word(word);
  ASSERT_TRUE(back.is_ok());
  EXPECT_EQ(back.value(), bytes);
}

TEST(PmiWire, BrokenWordsAreRefused) {
  for (const char* bad : {"%", "%4", "a%4", "%zz", "%4Z"}) EXPECT_FALSE(decode_word(bad).is_ok()) << bad;
  EXPECT_EQ(decode_word("%41").value(), "A");
}

TEST(PmiWire, LinesInPiecesAndTogether) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  std::thread far([fd = ends[1]] {
    for (const char* piece : {"cmd=fi", "rst\ncmd=second a=1\ncmd", "=third\n"}) {
      EXPECT_EQ(::write(fd, piece, strlen(piece)), ssize_t(strlen(piece)));
      ::usleep(1000);
    }
    ::close(fd);
  });
  WireSocket near(ends[0]);
  for (const char* expected : {"cmd=first", "cmd=second a=1", "cmd=third"}) {
    const auto line = near.receive();
    ASSERT_TRUE(line.is_ok());
    EXPECT_EQ(line.value(), expected);
  }
  EXPECT_FALSE(near.receive().is_ok());  // closed
  far.join();
}

TEST(PmiWire, AskChecksTheAnswer) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  WireSocket near(ends[0]), far(ends[1]);
  ASSERT_EQ(far.send("cmd=get_result rc=-1 msg=key_not_found"), Err::ok);
  EXPECT_FALSE(near.ask("cmd=get kvsname=k key=x", "get_result").is_ok());
  ASSERT_EQ(far.send("cmd=other"), Err::ok);
  EXPECT_FALSE(near.ask("cmd=barrier_in", "barrier_out").is_ok());
  ASSERT_EQ(far.send("cmd=barrier_out"), Err::ok);
  EXPECT_TRUE(near.ask("cmd=barrier_in", "barrier_out").is_ok());
}

TEST(PmiWire, FramesOfPmi2) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  WireSocket near(ends[0]);
  near.set_form(WireForm::frames);
  ASSERT_EQ(near.send("cmd=kvs-get jobid=j key=k"), Err::ok);
  char sent[64] = "";
  ASSERT_EQ(::read(ends[1], sent, sizeof sent), 32);
  EXPECT_STREQ(sent, "26    cmd=kvs-get;jobid=j;key=k;");
  // Lengths as servers write them, left and right; in pieces and together.
  std::thread far([fd = ends[1]] {
    for (const char* piece : {"14  ", "  cmd=a;va", "lue=x;    11cmd=b;rc=0;", "0     "}) {
      EXPECT_EQ(::write(fd, piece, strlen(piece)), ssize_t(strlen(piece)));
      ::usleep(1000);
    }
  });
  for (const char* expected : {"cmd=a value=x", "cmd=b rc=0"}) {
    const auto words = near.receive();
    ASSERT_TRUE(words.is_ok());
    EXPECT_EQ(words.value(), expected);
  }
  EXPECT_FALSE(near.receive().is_ok());  // no length
  far.join();
  ::close(ends[1]);
}

}  // namespace
}  // namespace dunlin::boot
