// MPI_Status of the standard ABI: three public ints and five of ours (MPI 5.0, 3.2.5 and 20.3).
//
// internal[0..1] hold the received bytes (low, high word), internal[2] is 1 where the operation was
// cancelled. An MPI_Status is only int-aligned, hence the two halves.
#pragma once

#include <cstdint>
#include <cstring>

#include "mpi.h"
#include "object/request.hpp"

namespace dunlin {

inline void set_status_bytes(MPI_Status& status, std::uint64_t bytes) noexcept {
  std::memcpy(&status.MPI_internal[0], &bytes, sizeof bytes);
}

inline std::uint64_t status_bytes(const MPI_Status& status) noexcept {
  std::uint64_t bytes;
  std::memcpy(&bytes, &status.MPI_internal[0], sizeof bytes);
  return bytes;
}

inline void set_status_cancelled(MPI_Status& status, bool cancelled) noexcept {
  status.MPI_internal[2] = cancelled;
}
inline bool status_cancelled(const MPI_Status& status) noexcept { return status.MPI_internal[2] != 0; }

/// Fills all but MPI_ERROR, which only calls that return several statuses may set (MPI 5.0, 3.2.5).
inline void set_status(void* to, const Completion& from) noexcept {
  if (!to) return;  // MPI_STATUS_IGNORE
  auto& status = *static_cast<MPI_Status*>(to);
  status.MPI_SOURCE = from.source;
  status.MPI_TAG = from.tag;
  set_status_bytes(status, from.bytes);
  set_status_cancelled(status, from.is_cancelled);
}

/// The empty status: source MPI_ANY_SOURCE, tag MPI_ANY_TAG, error MPI_SUCCESS, no bytes.
inline void set_empty_status(void* to, bool cancelled = false) noexcept {
  if (!to) return;
  auto& status = *static_cast<MPI_Status*>(to);
  status.MPI_SOURCE = MPI_ANY_SOURCE;
  status.MPI_TAG = MPI_ANY_TAG;
  status.MPI_ERROR = MPI_SUCCESS;
  set_status_bytes(status, 0);
  set_status_cancelled(status, cancelled);
}

}  // namespace dunlin
