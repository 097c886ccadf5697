"""Writes the tables: names of error classes, what is real (dunlin-info), and the facts that test/abi compares."""

from files import GENERATED


def error_names(constants):
    classes = {v: k for k, v in constants["integer"]["error classes"].items() if v < 1000}
    rows = "\n".join(f'    "{classes[code]}",' for code in range(len(classes)))
    return f"""\
// The names of the error classes, by value.
{GENERATED}
#pragma once

namespace dunlin::bindings {{

inline constexpr const char* kErrorNames[] = {{
{rows}
}};
inline constexpr int kErrorNameCount = int(sizeof kErrorNames / sizeof *kErrorNames);

}}  // namespace dunlin::bindings
"""


def coverage(bindings):
    rows = "\n".join(f'    {{"{name}", "{chapter}", {"true" if real else "false"}}},'
                     for name, chapter, real in bindings.coverage())
    return f"""\
// Which calls of the standard are real in this version, and where the standard describes them.
{GENERATED}
#pragma once

struct CoveredCall {{
  const char* name;
  const char* where;
  bool is_real;  // false: answers MPI_ERR_UNSUPPORTED_OPERATION
}};

inline constexpr CoveredCall kCoverage[] = {{
{rows}
}};
"""


def texts(functions, constants, bindings):
    return {
        "src/bindings/c/error_names.hpp": error_names(constants),
        "tools/info/coverage.hpp": coverage(bindings),
    }
