"""bench/nas_fortran builds kernels, or runs those that are built, and prints their times, but not that of a wrong result.

    nas_bench.py BENCH BUILD       the kernels are ours, of a few lines
"""

import subprocess
import sys
import tempfile
from pathlib import Path

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
# As the folder of NPB builds its kernels.
MAKEFILE = """include config/make.def
cg ft:
\t$(MPIF77) $(FFLAGS) $(FMPI_INC) kernel.f -o bin/$@.$(CLASS).$(NPROCS) $(FMPI_LIB)
"""
PROGRAMS = {"cg.S.4": "SUCCESSFUL", "mg.S.4": "UNSUCCESSFUL", "cg.S.8": "SUCCESSFUL", "sp.S.9": "SUCCESSFUL"}


def tables_of(bench, *arguments):
    """The rows of each table that the bench prints, as lists of cells."""
    done = subprocess.run([bench, *arguments, "--rounds", "1"], capture_output=True, text=True, timeout=250)
    print(done.stdout, done.stderr)
    return [[[cell.strip() for cell in line.strip("| ").split("|")] for line in part.splitlines() if line.startswith("|")]
            for part in done.stdout.split(": seconds")[1:]]


def faults(tables, wanted):
    """`wanted` has for each table the ranks and Dunlin's time of some rows."""
    wrong = [] if len(tables) == len(wanted) else [f"{len(tables)} tables"]
    for rows, cells in zip(tables, wanted):
        found = {row[0]: tuple(row[1:3]) for row in rows}
        wrong += [f"{name}: {found.get(name)}" for name, cell in cells.items() if found.get(name) != cell]
    return wrong


def of_programs(bench, build, folder):
    for name, verified in PROGRAMS.items():
        source = folder / f"{name}.f"
        source.write_text(KERNEL.format(ranks=name[-1], verified=verified))
        subprocess.run([Path(build) / "bin/mpifort", source, "-o", folder / name], check=True)
    tables = tables_of(bench, folder, "--classes", "S", "--kernels", "cg,mg,ft,sp", "--stages", "basic,zerocopy_read",
                       "--build", build, "--other", f"Other:{folder}:{build}/bin/mpirun")
    wrong = faults(tables, [{"cg.S": ("4", "0.25"), "mg.S": ("4", "wrong result"), "ft.S": ("4", "not built")},
                            {"cg.S": ("4", "0.25"), "sp.S": ("4", "not built")},
                            {"cg.S": ("8", "0.25"), "sp.S": ("9", "0.25")}])
    return wrong + ["Other"] * (not tables or dict(zip(tables[0][0], tables[0][2])).get("Other") != "0.25")


def of_sources(bench, build, folder):
    (folder / "NPB/config").mkdir(parents=True)
    (folder / "NPB/config/make.def.template").touch()
    (folder / "NPB/Makefile").write_text(MAKEFILE)
    (folder / "NPB/kernel.f").write_text(KERNEL.format(ranks=4, verified="SUCCESSFUL"))
    tables = tables_of(bench, folder / "NPB", "--classes", "W", "--node-classes", "S", "--nodes", "4", "--stages", "basic",
                       "--kernels", "cg,mg,ft", "--build", build, "--work", folder / "work")
    return faults(tables, [{"cg.W": ("4", "0.25"), "mg.W": ("4", "not built")}, {"ft.S": ("4", "0.25")}])


def main():
    wrong = []
    for way in (of_programs, of_sources):
        with tempfile.TemporaryDirectory() as folder:
            wrong += way(*sys.argv[1:], Path(folder))
    print("\n".join(map(str, wrong)) or "as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
