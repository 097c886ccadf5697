// MPI_Win: memory of several processes that they reach one-sidedly (MPI 5.0, chapter 12).
//
// What every window has and needs no communication; the rest is rma::Window (rma/window.hpp), and there is no
// window that is not one.
#pragma once

#include <cstdint>

#include "object/attributes.hpp"
#include "object/errhandler.hpp"
#include "object/info.hpp"
#include "object/object.hpp"

namespace dunlin {

class Win : public Object {
 public:
  static constexpr Kind kKind = Kind::win;

  // What MPI_Win_get_attr gives out, under MPI_WIN_BASE and so on; written once at creation.
  void* base = nullptr;
  std::int64_t bytes = 0;  // MPI_Aint, of this process
  int displacement_unit = 1;
  int flavor = 0;  // MPI_WIN_FLAVOR_...
  int model = 0;   // MPI_WIN_UNIFIED

  int size = 0;  // ranks that may be targets
  Ref<Errhandler> errhandler;
  Ref<Info> info;
  AttributeList attributes;
  char name[128] = "";  // MPI_MAX_OBJECT_NAME

 protected:
  Win() noexcept : Object(Kind::win) {}
};

}  // namespace dunlin
