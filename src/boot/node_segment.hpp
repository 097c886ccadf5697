// The one memfd that the ranks of a node share: its first bytes are the launch page (boot/launch_page.hpp),
// the rest belongs to the transport.  Called once by runtime/ at init.
#pragma once

#include <cstddef>

#include "base/err.hpp"
#include "boot/boot.hpp"

namespace dunlin::boot {

/// An open memfd, the same one in every rank of this node, close-on-exec; the caller owns the descriptor.
/// Its launch page is filled in; everything from `launch_page_bytes(node_size)` on is zero and sparse, and
/// a caller that needs more than the present size calls ftruncate (all ranks to the same size). Under our
/// mpirun it is inherited and this costs no message; a singleton makes it; under other launchers node rank
/// 0 makes it and hands it to the others, also where DUNLIN_NODES makes several nodes, and then the call is
/// collective over the job (two fences).
Result<int> node_segment(Boot& boot) noexcept;

}  // namespace dunlin::boot
