// Element types that the C++ language does not name: 128-bit integers and IEEE binary128.
//
// Used by reductions and external32.  `mode(TF)` is binary128 on every machine we build for: `__float128` on
// x86-64, `long double` on aarch64.
#pragma once

namespace dunlin {

using Int128 = __int128;
typedef float Float128 __attribute__((mode(TF)));
static_assert(sizeof(Float128) == 16);

}  // namespace dunlin
