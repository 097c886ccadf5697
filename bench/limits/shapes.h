// Copying of strided data for the limit programs, from one layout to the same layout elsewhere, and packing.
// A layout is cut into units: bytes where it is contiguous, else its blocks.
#pragma once

#include "mpi.h"

/// Number of units in `count` elements, and the bytes of data in each.
size_t units_of(const Shape* shape, size_t count, size_t* unit_bytes);
/// Units `first` to `last` (not included) of the layout that begins at `from` to the one that begins at `to`.
void copy_shape(const Shape* shape, char* to, const char* from, size_t first, size_t last);
/// The same by stores that pass the caches by, where the data is contiguous and the machine has them.
void stream_shape(const Shape* shape, char* to, const char* from, size_t first, size_t last);
void pack_shape(const Shape* shape, char* to, const char* from, size_t first, size_t last);
void unpack_shape(const Shape* shape, char* to, const char* from, size_t first, size_t last);
