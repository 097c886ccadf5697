"""bench/nas_fortran runs kernels that are built already and prints their times, but not that of a wrong result.

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
PROGRAMS = {"cg.S.4": "SUCCESSFUL", "mg.S.4": "UNSUCCESSFUL", "cg.S.8": "SUCCESSFUL", "sp.S.9": "SUCCESSFUL"}


def main():
    bench, build = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for name, verified in PROGRAMS.items():
            source = Path(folder) / f"{name}.f"
            source.write_text(KERNEL.format(ranks=name[-1], verified=verified))
            subprocess.run([Path(build) / "bin/mpifort", source, "-o", Path(folder) / name], check=True)
        command = [bench, folder, "--classes", "S", "--kernels", "cg,mg,ft,sp", "--stages", "basic,zerocopy_read",
                   "--rounds", "1", "--build", build, "--other", f"Other:{folder}:{build}/bin/mpirun"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    print(done.stdout, done.stderr)
    tables = [[[cell.strip() for cell in line.strip("| ").split("|")] for line in part.splitlines() if line.startswith("|")]
              for part in done.stdout.split(": seconds")[1:]]
    wanted = [{"cg.S": ("4", "0.25"), "mg.S": ("4", "wrong result"), "ft.S": ("4", "not built")},
              {"cg.S": ("4", "0.25"), "sp.S": ("4", "not built")}, {"cg.S": ("8", "0.25"), "sp.S": ("9", "0.25")}]
    wrong = [] if len(tables) == 3 else ["the number of tables"]
    for rows, cells in zip(tables, wanted):
        found = {row[0]: tuple(row[1:3]) for row in rows}
        wrong += [f"{name}: {found.get(name)}" for name, cell in cells.items() if found.get(name) != cell]
    wrong += ["Other"] * (not tables or dict(zip(tables[0][0], tables[0][2])).get("Other") != "0.25")
    print("\n".join(map(str, wrong)) or "as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
