"""Writes the tables: names of error classes, what is real (dunlin-info), and the facts that test/abi compares."""

from files import GENERATED
from interface import ALIASES_OF_STANDARD


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


def coverage(bindings, in_fortran):
    word = lambda truth: "true" if truth else "false"
    rows = "\n".join(f'    {{"{name}", "{chapter}", {word(real)}, {word(name in in_fortran)}}},'
                     for name, chapter, real in bindings.coverage())
    return f"""\
// Which calls of the standard are real in this version, and where the standard describes them.
{GENERATED}
#pragma once

struct CoveredCall {{
  const char* name;
  const char* where;
  bool is_real;     // false: answers MPI_ERR_UNSUPPORTED_OPERATION
  bool in_fortran;  // mpif.h, mpi or mpi_f08 has it
}};

inline constexpr CoveredCall kCoverage[] = {{
{rows}
}};
"""


def constant_checks(constants):
    """A C program that compares mpi.h with the facts: integers when compiled, addresses and handles when run."""
    static, rows = [], []
    for values in [*constants["integer"].values(), *constants["enumeration"].values()]:
        static += [f'_Static_assert({name} == {value}, "{name}");' for name, value in values.items()]
        static += [f"_Static_assert(sizeof({name}) == sizeof(int), \"{name}\");" for name in values]
    for kind in ("handle", "pointer", "offset"):
        for values in constants[kind].values():
            rows += [f'    {{"{name}", (intptr_t){name}, {value}}},' for name, value in values.items()]
    rows += [f'    {{"{name}", (intptr_t){name}, (intptr_t){value}}},' for name, value in constants["alias"].items()]
    return "\n".join([
        "/* Every constant of the standard ABI against the table of facts.", " *",
        " " + GENERATED.replace("//", "*"), " */", "#include <mpi.h>", "#include <stdint.h>", "#include <stdio.h>", "",
        *static, "", "static const struct {", "  const char* name;", "  intptr_t value, fact;", "} rows[] = {", *rows, "};",
        "", "int main(void) {", "  int wrong = 0;", "  size_t i;",
        "  for (i = 0; i < sizeof rows / sizeof *rows; ++i)", "    if (rows[i].value != rows[i].fact) {",
        '      printf("%s is %ld, the standard says %ld\\n", rows[i].name, (long)rows[i].value, (long)rows[i].fact);',
        "      ++wrong;", "    }", "  return wrong != 0;", "}", ""])


# Calls of no handle that would do something when called with zeros: start, end, wait.
NOT_CALLED = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Abort"}


def zero(parameter):
    if parameter.base == "MPI_Comm" and not parameter.stars and not parameter.is_array:
        return "comm"
    if parameter.text.startswith("MPI_T_cb_safety "):
        return "MPI_T_CB_REQUIRE_NONE"
    return "NULL" if parameter.stars or parameter.is_array or parameter.base.startswith("MPI_") and \
        parameter.base not in ("MPI_Aint", "MPI_Count", "MPI_Offset", "MPI_Fint") else "0"


def zero_calls(functions):
    """Rows of test/abi/calls.inc: every call that answers an error code, with nothing for arguments."""
    rows = []
    for function in functions:
        if function.returns != "int" or function.name in NOT_CALLED or function.name.endswith(("_toint", "_c2f")):
            continue
        arguments = ", ".join(zero(p) for p in function.parameters if p.kind != "VARARGS")
        rows.append(f"CALL({function.name}, ({arguments}))")
    return "\n".join([GENERATED, *rows, ""])


def exports(functions):
    names = [f.name for f in functions] + [f"{name}_c" for name in ALIASES_OF_STANDARD]
    return "".join(f"{prefix}{name}\n" for prefix in ("", "P") for name in sorted(names))


def texts(functions, constants, bindings, in_fortran):
    return {
        "src/bindings/c/error_names.hpp": error_names(constants),
        "tools/info/coverage.hpp": coverage(bindings, in_fortran),
        "test/abi/constants.c": constant_checks(constants),
        "test/abi/calls.inc": zero_calls(functions),
        "test/static/exports.txt": exports(functions),
    }
