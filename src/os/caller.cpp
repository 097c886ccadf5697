#include "os/caller.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

namespace dunlin::os {
namespace {

struct Walk {
  int skipped;
  const link_map* own;             // this library
  const char* function = nullptr;  // of the last frame inside it
  bool is_inside = false;
  Caller caller = {};
  int outer_frames = 0;  // behind the caller
};

constexpr int kOuterFramesMax = 64;

/// The library or program that an address lies in; nullptr: none.
const link_map* find_object(std::uintptr_t address, Dl_info& info) noexcept {
  void* map = nullptr;
  return ::dladdr1(reinterpret_cast<void*>(address), &info, &map, RTLD_DL_LINKMAP)
             ? static_cast<const link_map*>(map)
             : nullptr;
}

_Unwind_Reason_Code visit(_Unwind_Context* context, void* argument) noexcept {
  auto& walk = *static_cast<Walk*>(argument);
  const std::uintptr_t address = _Unwind_GetIP(context);
  if (address == 0) return _URC_END_OF_STACK;
  if (walk.skipped-- > 0) return _URC_NO_REASON;
  Dl_info info;
  // Of the call, not of what it returns to: that may belong to the next function.
  const link_map* const object = find_object(address - 1, info);
  if (object && object == walk.own) {
    walk.is_inside = true;
    walk.function = info.dli_sname;
    return _URC_NO_REASON;
  }
  if (!object || !walk.is_inside) return _URC_END_OF_STACK;
  const bool is_program = object->l_name[0] == 0;
  const std::uintptr_t place = address - object->l_addr;
  if (walk.caller.address == 0) {
    walk.caller = {walk.function ? walk.function : "", info.dli_fname, place, is_program};
    return _URC_NO_REASON;
  }
  if (is_program) walk.caller.outer_address = place;
  const bool goes_on = !is_program && !walk.caller.is_program && ++walk.outer_frames < kOuterFramesMax;
  return goes_on ? _URC_NO_REASON : _URC_END_OF_STACK;
}

}  // namespace

Caller find_caller(int skipped) noexcept {
  Dl_info info;
  Walk walk{.skipped = skipped, .own = find_object(reinterpret_cast<std::uintptr_t>(&find_caller), info)};
  _Unwind_Backtrace(visit, &walk);
  return walk.caller;
}

}  // namespace dunlin::os
