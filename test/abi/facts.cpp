// The standard ABI beyond single values: sizes, layouts, ranges, and what holds between them (MPI 5.0,
// chapter 20).
//
// Typed from the standard, not generated: a mistake in the generator's table shows here.
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <set>

#include "base/err.hpp"

// --- types ---
static_assert(sizeof(MPI_Aint) == sizeof(void*) && sizeof(MPI_Count) == 8 && sizeof(MPI_Offset) == 8);
static_assert(sizeof(MPI_Fint) == sizeof(int));
static_assert(sizeof(MPI_Status) == 32 && alignof(MPI_Status) == alignof(int));
static_assert(offsetof(MPI_Status, MPI_SOURCE) == 0 && offsetof(MPI_Status, MPI_TAG) == 4);
static_assert(offsetof(MPI_Status, MPI_ERROR) == 8 && offsetof(MPI_Status, MPI_internal) == 12);
static_assert(sizeof(MPI_F08_status) == sizeof(MPI_Status));
static_assert(sizeof(MPI_Comm) == sizeof(void*) && sizeof(MPI_T_enum) == sizeof(void*));

// --- values that programs rely on ---
static_assert(MPI_VERSION == 5 && MPI_SUBVERSION == 0 && MPI_ABI_VERSION == 1 && MPI_ABI_SUBVERSION == 0);
static_assert(MPI_ANY_SOURCE == -1 && MPI_ANY_TAG == -2 && MPI_PROC_NULL == -3 && MPI_ROOT == -4);
static_assert(MPI_UNDEFINED == -32766 && MPI_ERR_LASTCODE == 16383 && MPI_BSEND_OVERHEAD == 512);
static_assert(MPI_THREAD_SINGLE == 0 && MPI_THREAD_FUNNELED == 1024 && MPI_THREAD_SERIALIZED == 2048 &&
              MPI_THREAD_MULTIPLE == 4096);
static_assert(MPI_MAX_ERROR_STRING == 512 && MPI_MAX_LIBRARY_VERSION_STRING == 8192 &&
              MPI_MAX_PROCESSOR_NAME == 256);
static_assert(MPI_MAX_PORT_NAME == 1024 && MPI_MAX_INFO_KEY == 256 && MPI_MAX_INFO_VAL == 1024 &&
              MPI_MAX_OBJECT_NAME == 128);

// --- the library's own errors are the ABI's ---
static_assert(int(dunlin::Err::ok) == MPI_SUCCESS && int(dunlin::Err::buffer) == MPI_ERR_BUFFER);
static_assert(int(dunlin::Err::truncate) == MPI_ERR_TRUNCATE &&
              int(dunlin::Err::in_status) == MPI_ERR_IN_STATUS);
static_assert(int(dunlin::Err::info_key) == MPI_ERR_INFO_KEY && int(dunlin::Err::no_mem) == MPI_ERR_NO_MEM);
static_assert(int(dunlin::Err::unsupported_operation) == MPI_ERR_UNSUPPORTED_OPERATION);
static_assert(int(dunlin::Err::errhandler) == MPI_ERR_ERRHANDLER && int(dunlin::Err::abi) == MPI_ERR_ABI);

namespace {

int wrong = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("does not hold: %s\n", what);
  ++wrong;
}

std::uintptr_t value(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }

/// Types of fixed size carry the logarithm of their size in bits 3 to 5.
void check_size(MPI_Datatype type, std::size_t bytes, const char* name) {
  expect((std::size_t(1) << ((value(type) >> 3) & 7)) == bytes, name);
}

void check_sizes() {
  check_size(MPI_INT8_T, 1, "MPI_INT8_T carries size 1");
  check_size(MPI_BYTE, 1, "MPI_BYTE carries size 1");
  check_size(MPI_CHAR, 1, "MPI_CHAR carries size 1");
  check_size(MPI_UINT16_T, 2, "MPI_UINT16_T carries size 2");
  check_size(MPI_INT32_T, 4, "MPI_INT32_T carries size 4");
  check_size(MPI_UINT64_T, 8, "MPI_UINT64_T carries size 8");
  check_size(MPI_INTEGER4, 4, "MPI_INTEGER4 carries size 4");
  check_size(MPI_REAL8, 8, "MPI_REAL8 carries size 8");
  check_size(MPI_COMPLEX16, 16, "MPI_COMPLEX16 carries size 16");
}

/// Predefined handles are in 1..4095, each kind in its own range, and no two are the same.
void check_handles() {
  const std::uintptr_t all[] = {value(MPI_OP_NULL),
                                value(MPI_SUM),
                                value(MPI_NO_OP),
                                value(MPI_COMM_NULL),
                                value(MPI_COMM_WORLD),
                                value(MPI_COMM_SELF),
                                value(MPI_GROUP_NULL),
                                value(MPI_GROUP_EMPTY),
                                value(MPI_WIN_NULL),
                                value(MPI_FILE_NULL),
                                value(MPI_SESSION_NULL),
                                value(MPI_MESSAGE_NULL),
                                value(MPI_MESSAGE_NO_PROC),
                                value(MPI_INFO_NULL),
                                value(MPI_INFO_ENV),
                                value(MPI_ERRHANDLER_NULL),
                                value(MPI_ERRORS_ARE_FATAL),
                                value(MPI_ERRORS_ABORT),
                                value(MPI_ERRORS_RETURN),
                                value(MPI_REQUEST_NULL),
                                value(MPI_DATATYPE_NULL),
                                value(MPI_INT),
                                value(MPI_COMPLEX32)};
  std::set<std::uintptr_t> seen;
  for (const auto each : all) {
    expect(each > 0 && each < 4096, "a predefined handle is in 1..4095");
    expect(seen.insert(each).second, "no two predefined handles are the same");
  }
  expect(value(MPI_COMM_WORLD) == 0x101 && value(MPI_REQUEST_NULL) == 0x180,
         "MPI_COMM_WORLD and MPI_REQUEST_NULL");
  expect(value(MPI_DATATYPE_NULL) == 0x200 && value(MPI_LONG_LONG_INT) == value(MPI_LONG_LONG), "datatypes");
  expect(MPI_BOTTOM == nullptr && MPI_STATUS_IGNORE == nullptr && value(MPI_IN_PLACE) == 1,
         "special addresses");
}

/// The library's answers that need no MPI_Init.
void check_calls() {
  int major = -1, minor = -1;
  expect(MPI_Abi_get_version(&major, &minor) == MPI_SUCCESS && major == 1 && minor == 0,
         "MPI_Abi_get_version");
  expect(MPI_Get_version(&major, &minor) == MPI_SUCCESS && major == 5 && minor == 0, "MPI_Get_version");
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  expect(MPI_Get_library_version(text, &length) == MPI_SUCCESS && std::strstr(text, "Dunlin") &&
             length == int(std::strlen(text)), "MPI_Get_library_version");
  MPI_Info info = MPI_INFO_NULL;
  int flag = 0, bytes = 32;
  char size[32] = "";
  expect(MPI_Abi_get_info(&info) == MPI_SUCCESS && info != MPI_INFO_NULL, "MPI_Abi_get_info");
  expect(MPI_Info_get_string(info, "mpi_aint_size", &bytes, size, &flag) == MPI_SUCCESS && flag &&
             std::strcmp(size, "8") == 0, "mpi_aint_size");
  expect(MPI_Info_free(&info) == MPI_SUCCESS && info == MPI_INFO_NULL, "MPI_Info_free");
  expect(MPI_Comm_toint(MPI_COMM_WORLD) == 0x101 && MPI_Comm_fromint(0x101) == MPI_COMM_WORLD,
         "MPI_Comm_toint");
  expect(MPI_Type_c2f(MPI_INT) == 0x209 && MPI_Type_f2c(0x209) == MPI_INT, "MPI_Type_c2f");
  expect(MPI_Request_fromint(123456789) == MPI_REQUEST_NULL,
         "an integer that is no handle gives the null handle");
  expect(MPI_Aint_diff(MPI_Aint_add(4096, 24), 4096) == 24, "MPI_Aint_add");
  expect(MPI_Wtime() > 0 && MPI_Wtick() > 0 && MPI_Wtick() < 1, "MPI_Wtime");
  MPI_Status status;
  std::memset(&status, 0, sizeof status);
  MPI_Fint fortran[8];
  status.MPI_TAG = 77;
  expect(MPI_Status_c2f(&status, fortran) == MPI_SUCCESS && fortran[1] == 77, "MPI_Status_c2f");
}

}  // namespace

int main() {
  check_sizes();
  check_handles();
  check_calls();
  std::printf("%d wrong\n", wrong);
  return wrong != 0;
}
