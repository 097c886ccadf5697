#include "base/err.hpp"

#include <cstdarg>
#include <cstdio>

namespace dunlin {
namespace {

struct Detail {
  Err error = Err::ok;
  char text[400] = "";  // leaves room in MPI_MAX_ERROR_STRING (512) for the class's own words
};
thread_local Detail detail;

}  // namespace

Err fail(Err error, const char* format, ...) noexcept {
  detail.error = error;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(detail.text, sizeof detail.text, format, arguments);
  va_end(arguments);
  return error;
}

const char* error_detail(Err error) noexcept { return detail.error == error ? detail.text : ""; }

void clear_error_detail() noexcept { detail = Detail{}; }

}  // namespace dunlin
