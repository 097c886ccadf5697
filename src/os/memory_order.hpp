// What this architecture promises about the order of memory accesses beyond what the language asks for.
#pragma once

namespace dunlin::os {

/// Whether loads stay in order, and stores, and atomic instructions with all of them: only a load may come
/// before an earlier store.
#if defined(__x86_64__)
inline constexpr bool kIsTotalStoreOrder = true;
#else
inline constexpr bool kIsTotalStoreOrder = false;
#endif

}  // namespace dunlin::os
