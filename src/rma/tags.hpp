// Tags of the messages of a window's own communicator.
#pragma once

namespace dunlin::rma {

inline constexpr int kRequestTag = 1;   // an operation that the target carries out
inline constexpr int kAnswerTag = 2;    // what it answers
inline constexpr int kPostTag = 3;      // MPI_Win_post: operations may come
inline constexpr int kCompleteTag = 4;  // MPI_Win_complete: they have

}  // namespace dunlin::rma
