// object/attributes.cpp and object/attribute_functions.cpp.
#include <gtest/gtest.h>

#include <climits>
#include <string>
#include <vector>

#include "object/functions.hpp"

namespace dunlin::object {
namespace {

std::vector<std::string>* calls;  // what the callbacks of the running test saw
int delete_result;

int count_copy(MPI_Comm, int, void* extra, void* in, void* out, int* flag) {
  calls->push_back("copy");
  *static_cast<void**>(out) = static_cast<char*>(in) + *static_cast<int*>(extra);
  *flag = 1;
  return MPI_SUCCESS;
}
int refuse_copy(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}
int fail_copy(MPI_Comm, int, void*, void*, void*, int*) { return MPI_ERR_OTHER; }
int note_delete(MPI_Comm, int, void* value, void*) {
  calls->push_back("delete " + std::to_string(reinterpret_cast<std::uintptr_t>(value)));
  return delete_result;
}

void* number(std::uintptr_t value) { return reinterpret_cast<void*>(value); }

struct Attributes : testing::Test {
  Attributes() : comm(Ref<Comm>::adopt(new Comm)) {
    calls = &seen;
    delete_result = MPI_SUCCESS;
  }
  int make(MPI_Comm_copy_attr_function* copy = MPI_COMM_NULL_COPY_FN,
           MPI_Comm_delete_attr_function* erase = MPI_COMM_NULL_DELETE_FN, void* extra = nullptr) {
    int keyval = MPI_KEYVAL_INVALID;
    EXPECT_EQ(comm_create_keyval(copy, erase, &keyval, extra), Err::ok);
    EXPECT_NE(keyval, MPI_KEYVAL_INVALID);
    return keyval;
  }
  std::uintptr_t get(Comm& of, int keyval) {
    void* value = nullptr;
    int flag = 0;
    EXPECT_EQ(comm_get_attr(of, keyval, &value, &flag), Err::ok);
    return flag ? reinterpret_cast<std::uintptr_t>(value) : 999;
  }
  void free(int keyval) { EXPECT_EQ(comm_free_keyval(&keyval), Err::ok); }

  std::vector<std::string> seen;
  Ref<Comm> comm;
};

TEST_F(Attributes, AreSetReplacedAndDeleted) {
  const int key = make(MPI_COMM_NULL_COPY_FN, note_delete);
  EXPECT_EQ(get(*comm, key), 999u);
  EXPECT_EQ(comm_set_attr(*comm, key, number(1)), Err::ok);
  EXPECT_EQ(get(*comm, key), 1u);
  EXPECT_EQ(comm_set_attr(*comm, key, number(2)), Err::ok);
  EXPECT_EQ(seen, std::vector<std::string>{"delete 1"});
  EXPECT_EQ(comm_delete_attr(*comm, key), Err::ok);
  EXPECT_EQ(get(*comm, key), 999u);
  EXPECT_EQ(seen.size(), 2u);
  free(key);
}

TEST_F(Attributes, AnErrorOfTheDeleteCallbackKeepsTheValue) {
  const int key = make(MPI_COMM_NULL_COPY_FN, note_delete);
  EXPECT_EQ(comm_set_attr(*comm, key, number(1)), Err::ok);
  delete_result = MPI_ERR_OTHER;
  EXPECT_EQ(comm_set_attr(*comm, key, number(2)), Err::other);
  EXPECT_EQ(comm_delete_attr(*comm, key), Err::other);
  EXPECT_EQ(comm->attributes.erase_all(*comm), Err::other);
  EXPECT_EQ(get(*comm, key), 1u);
  delete_result = MPI_SUCCESS;
  EXPECT_EQ(comm->attributes.erase_all(*comm), Err::ok);
  free(key);
}

TEST_F(Attributes, CopyAsTheirCallbacksSay) {
  int shift = 10;
  const int counted = make(count_copy, MPI_COMM_NULL_DELETE_FN, &shift), dup = make(MPI_COMM_DUP_FN),
            none = make(), refused = make(refuse_copy);
  for (int key : {counted, dup, none, refused}) EXPECT_EQ(comm_set_attr(*comm, key, number(5)), Err::ok);
  const auto other = Ref<Comm>::adopt(new Comm);
  EXPECT_EQ(other->attributes.copy_from(*comm, comm->attributes), Err::ok);
  EXPECT_EQ(get(*other, counted), 15u);
  EXPECT_EQ(get(*other, dup), 5u);
  EXPECT_EQ(get(*other, none), 999u);
  EXPECT_EQ(get(*other, refused), 999u);
  const int failing = make(fail_copy);
  EXPECT_EQ(comm_set_attr(*comm, failing, number(6)), Err::ok);
  const auto third = Ref<Comm>::adopt(new Comm);
  EXPECT_EQ(third->attributes.copy_from(*comm, comm->attributes), Err::other);
  for (int key : {counted, dup, none, refused, failing}) free(key);
}

TEST_F(Attributes, AreDeletedLastSetFirst) {
  const int first = make(MPI_COMM_NULL_COPY_FN, note_delete),
            second = make(MPI_COMM_NULL_COPY_FN, note_delete);
  EXPECT_EQ(comm_set_attr(*comm, first, number(1)), Err::ok);
  EXPECT_EQ(comm_set_attr(*comm, second, number(2)), Err::ok);
  EXPECT_EQ(comm->attributes.erase_all(*comm), Err::ok);
  EXPECT_EQ(seen, (std::vector<std::string>{"delete 2", "delete 1"}));
  free(first);
  free(second);
}

TEST_F(Attributes, AFreedKeyStaysWhereItWasSet) {
  int key = make(MPI_COMM_NULL_COPY_FN, note_delete);
  const int old = key;
  EXPECT_EQ(comm_set_attr(*comm, key, number(3)), Err::ok);
  EXPECT_EQ(comm_free_keyval(&key), Err::ok);
  EXPECT_EQ(key, MPI_KEYVAL_INVALID);
  EXPECT_EQ(comm_set_attr(*comm, old, number(4)), Err::keyval);
  EXPECT_EQ(comm->attributes.erase_all(*comm), Err::ok);
  EXPECT_EQ(seen, std::vector<std::string>{"delete 3"});
}

TEST_F(Attributes, AFreedKeyStillReadsAndDeletesWhatWasSet) {
  int key = make(MPI_COMM_NULL_COPY_FN, note_delete);
  const int old = key;
  int again = key;
  EXPECT_EQ(comm_set_attr(*comm, key, number(3)), Err::ok);
  EXPECT_EQ(comm_free_keyval(&key), Err::ok);
  EXPECT_EQ(get(*comm, old), 3u);
  EXPECT_EQ(comm_free_keyval(&again), Err::ok);
  EXPECT_EQ(again, MPI_KEYVAL_INVALID);
  EXPECT_EQ(comm_delete_attr(*comm, old), Err::ok);
  EXPECT_EQ(seen, std::vector<std::string>{"delete 3"});
  EXPECT_EQ(comm_delete_attr(*comm, old), Err::keyval);  // its last reference is gone
}

// The callback of the last value that a freed key has left frees the key once more.
TEST_F(Attributes, ADeleteCallbackMayFreeItsKey) {
  int key = make(MPI_COMM_NULL_COPY_FN,
                 [](MPI_Comm, int keyval, void*, void*) { return int(comm_free_keyval(&keyval)); });
  const int old = key;
  EXPECT_EQ(comm_set_attr(*comm, key, number(1)), Err::ok);
  EXPECT_EQ(comm_free_keyval(&key), Err::ok);
  EXPECT_EQ(comm_delete_attr(*comm, old), Err::ok);
  EXPECT_TRUE(comm->attributes.is_empty());
}

int set_another(MPI_Comm, int, void*, void* other_key) {
  auto* comm = static_cast<Comm*>(static_cast<void**>(other_key)[0]);
  return int(comm_set_attr(*comm, *static_cast<int*>(static_cast<void**>(other_key)[1]), number(8)));
}

TEST_F(Attributes, CallbacksMayChangeTheListThatIsWalked) {
  int plain = make();
  void* both[] = {comm.get(), &plain};
  const int setting = make(
      MPI_COMM_NULL_COPY_FN, [](MPI_Comm c, int k, void* v, void* e) { return set_another(c, k, v, e); },
      both);
  EXPECT_EQ(comm_set_attr(*comm, setting, number(1)), Err::ok);
  EXPECT_EQ(comm->attributes.erase_all(*comm), Err::ok);
  EXPECT_TRUE(comm->attributes.is_empty());
  free(setting);
  free(plain);
}

TEST_F(Attributes, KeysOfOtherObjectsAreRefused) {
  int type_key = 0, win_key = 0;
  EXPECT_EQ(type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, nullptr), Err::ok);
  EXPECT_EQ(win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &win_key, nullptr), Err::ok);
  EXPECT_EQ(comm_set_attr(*comm, type_key, nullptr), Err::keyval);
  EXPECT_EQ(comm_free_keyval(&win_key), Err::keyval);
  EXPECT_EQ(comm_set_attr(*comm, MPI_KEYVAL_INVALID, nullptr), Err::keyval);
  EXPECT_EQ(comm_set_attr(*comm, -7, nullptr), Err::keyval);
  EXPECT_EQ(comm_set_attr(*comm, INT_MAX, nullptr), Err::keyval);
  EXPECT_EQ(type_free_keyval(&type_key), Err::ok);
  EXPECT_EQ(win_free_keyval(&win_key), Err::ok);
}

TEST_F(Attributes, PredefinedOnesAreReadOnly) {
  void* value = nullptr;
  int flag = 0;
  EXPECT_EQ(comm_get_attr(*comm, MPI_TAG_UB, &value, &flag), Err::ok);
  ASSERT_EQ(flag, 1);
  EXPECT_GE(*static_cast<int*>(value), 32767);
  EXPECT_EQ(comm_get_attr(*comm, MPI_APPNUM, &value, &flag), Err::ok);
  EXPECT_EQ(flag, 0);  // no launcher said it
  EXPECT_EQ(comm_set_attr(*comm, MPI_TAG_UB, nullptr), Err::keyval);
  EXPECT_EQ(comm_delete_attr(*comm, MPI_IO), Err::keyval);
  int key = MPI_HOST;
  EXPECT_EQ(comm_free_keyval(&key), Err::keyval);
  EXPECT_EQ(key, MPI_HOST);
}

}  // namespace
}  // namespace dunlin::object
