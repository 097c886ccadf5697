"""Another Fortran compiler, by docs/fortran.md: flang builds the text of the modules, every procedure of each interface is
called through them, and what is special in Fortran is right, with integers of 8 bytes too.

    other_compiler.py SOURCE BUILD
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
COMPILERS = ("flang-22", "flang-new-19", "flang-19", "flang", "flang-new")  # flang 16 cannot pass TYPE(*), DIMENSION(..)

CALLS = ["calls_mpi_f08", "calls_mpi", "calls_mpif"]  # all procedures
SPECIAL = ["special_f08", "special_mpi", "rest_f08", "odd_f08", "callbacks_mpi", "callbacks_mpif"]


def run(*command, **settings):
    subprocess.run(list(map(str, command)), check=True, timeout=200, env={**os.environ, **settings})


def main():
    source, build = map(Path, sys.argv[1:])
    text, tests = source / "src/bindings/fortran/modules", source / "test/fortran"
    compiler = next(filter(shutil.which, COMPILERS), None)
    if not compiler:
        print(f"skipped: none of {', '.join(COMPILERS)} is installed")
        return SKIPPED
    for large, options in (("large", []), ("no_large", ["-fdefault-integer-8"])):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            for module in ("mpi_standard_types", "mpi", "mpi_f08"):
                run(compiler, *options, "-c", "-I", text, "-I", text / large, text / f"{module}.f90")
            objects = sorted(Path().glob("*.o"))
            for name in CALLS * (not options) + SPECIAL:
                run(build / "bin/mpifort", *options, "-I", ".", tests / "check.f90", tests / f"{name}.f90",
                    *objects, "-o", name, MPIFORT_FC=compiler)
                settings = {"DUNLIN_INITIAL_ERRHANDLER": "mpi_errors_return"} if name in CALLS else {}
                run(build / "bin/mpirun", "--timeout", 60, "-n", 1 if name in CALLS else 2, f"./{name}", **settings)
    print(f"{compiler}: {', '.join(CALLS + SPECIAL)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
