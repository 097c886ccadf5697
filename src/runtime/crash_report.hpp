// A rank that crashes says where: signal, address and the innermost calls, on standard error; then it ends as
// it would have ended.  Called once by runtime/instance.cpp.
#pragma once

namespace dunlin::runtime {

/// Takes the signals of crashes that nobody else has taken (DUNLIN_CRASH_REPORT=0: none).
void report_crashes() noexcept;

}  // namespace dunlin::runtime
