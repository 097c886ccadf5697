// Shared memory for the collectives of a new communicator (coll/region.hpp), and its hierarchy of domains
// (coll/hierarchy.hpp).
//
// Where all members are in one domain, whoever leads the creation takes some memory from what it has to give
// away and names it in the context (comm/process.hpp), so that all members know without a message where it
// is, or that there is none.  Of several domains the first member of each does so for its own, by a message.
#pragma once

#include <vector>

#include "coll/hierarchy.hpp"
#include "coll/steps.hpp"
#include "coll/task.hpp"
#include "comm/process.hpp"

namespace dunlin::comm {

/// Where the members of a communicator run, by rank; the same on all members, without a message.
std::vector<coll::MemberPlace> places_of(const Comm& comm) noexcept;
/// For a communicator that has its context and its group.
void share_memory(Comm& made) noexcept;
/// After that, where there are several domains.  `cx`: all members of `made`.
coll::Task share_memory_of_domain(coll::Cx cx, Comm* made);
/// The same as a call that waits.
Err share_memory_of_domains(Comm& made) noexcept;

}  // namespace dunlin::comm
