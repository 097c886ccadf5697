// Reading the environment variables of others (launchers); the library's own settings are base/variable.hpp.
#pragma once

namespace dunlin::os {

/// The value of a variable, "" when it is not set.
const char* environment_text(const char* name) noexcept;

/// A variable that holds a whole number and nothing else, or `otherwise`.
int environment_number(const char* name, int otherwise) noexcept;

}  // namespace dunlin::os
