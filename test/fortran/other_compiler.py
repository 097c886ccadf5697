"""Another Fortran compiler, by docs/fortran.md: flang builds the text of the modules, and every procedure of each interface
is called through them.

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


def run(*command, **settings):
    subprocess.run(list(map(str, command)), check=True, timeout=200, env={**os.environ, **settings})


def main():
    source, build = map(Path, sys.argv[1:])
    text, tests = source / "src/bindings/fortran/modules", source / "test/fortran"
    compiler = next(filter(shutil.which, COMPILERS), None)
    if not compiler:
        print(f"skipped: none of {', '.join(COMPILERS)} is installed")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for module in ("mpi_standard_types", "mpi", "mpi_f08"):
            run(compiler, "-c", "-I", text, "-I", text / "large", text / f"{module}.f90")
        for interface in ("mpi_f08", "mpi", "mpif"):
            run(build / "bin/mpifort", "-I", ".", tests / "check.f90", tests / f"calls_{interface}.f90", "-o", interface,
                MPIFORT_FC=compiler)
            run(build / "bin/mpirun", "--timeout", 60, "-n", 1, f"./{interface}",
                DUNLIN_INITIAL_ERRHANDLER="mpi_errors_return")
    print(f"{compiler}: all procedures of the three interfaces")
    return 0


if __name__ == "__main__":
    sys.exit(main())
