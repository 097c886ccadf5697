// Launchers that started this process and that we cannot speak to yet.  Without this check every rank of
// theirs would be a job of its own, the most puzzling failure MPI users know.
#pragma once

namespace dunlin::boot {

/// The name of such a launcher whose job has (or may have) more than one rank, with what shows it; null
/// when there is none.  The text is static.
const char* unspoken_launcher() noexcept;

}  // namespace dunlin::boot
