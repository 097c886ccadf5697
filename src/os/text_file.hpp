// Small files of /proc and /sys, read whole.
#pragma once

#include <string>

namespace dunlin::os {

/// Everything in the file, "" when it cannot be read.  Plain read calls: a stream costs 10 us and a locale.
std::string read_text_file(const std::string& path);

/// The same without the line end; for files of one line.
std::string read_one_line(const std::string& path);

}  // namespace dunlin::os
