// Which machine is this, without asking for its name (which may not resolve, or be the same on two machines).
#pragma once

#include <string>

namespace dunlin::os {

/// Equal in two processes exactly if they run on one boot of one machine and can meet over abstract sockets
/// (same network namespace); one word without blanks.
std::string host_identity();

}  // namespace dunlin::os
