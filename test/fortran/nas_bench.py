"""bench/nas_fortran builds kernels from a source that it is given and prints their times: a source with two kernels of
three lines, one of which computes something wrong.

    nas_bench.py BENCH BUILD
"""

import subprocess
import sys
import tempfile
from pathlib import Path

MAKEFILE = """include config/make.def
%:
\t$(MPIF77) $(FFLAGS) $@.f -o bin/$@.$(CLASS).$(NPROCS) $(FMPI_LIB)
"""
KERNEL = """      program kernel
      include 'mpif.h'
      integer n, ierror
      call mpi_init(ierror)
      call mpi_comm_size(mpi_comm_world, n, ierror)
      if (n .ne. {ranks}) stop 3
      print *, 'Time in seconds = 0.25'
      print *, 'Verification = {verified}'
      call mpi_finalize(ierror)
      end
"""


def main():
    bench, build = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "NPB3.3-MPI"
        (source / "config").mkdir(parents=True)
        (source / "config/make.def.template").touch()
        (source / "Makefile").write_text(MAKEFILE)
        (source / "cg.f").write_text(KERNEL.format(ranks=2, verified="SUCCESSFUL"))
        (source / "mg.f").write_text(KERNEL.format(ranks=2, verified="UNSUCCESSFUL"))
        archive = Path(folder) / "npb.tar.gz"
        subprocess.run(["tar", "czf", archive, "-C", folder, source.name], check=True)
        command = [bench, archive, "--class", "S", "--ranks", "2", "--kernels", "cg,mg,ft,lu,sp", "--mpis", "dunlin",
                   "--rounds", "1", "--build", build, "--work", Path(folder) / "work"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    print(done.stdout, done.stderr)
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in done.stdout.splitlines() if line.strip()}
    wanted = {"cg": "0.25", "mg": "wrong result", "sp": "needs a square number of ranks"}
    wrong = [name for name, cell in wanted.items() if rows.get(name) != cell]
    wrong += [name for name in ("ft", "lu") if not rows.get(name, "").startswith("not built")]
    print(f"wrong rows: {wrong}" if wrong else "as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
