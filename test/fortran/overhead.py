"""MPI_Send of 8 bytes takes few instructions more from Fortran than from C, counted by callgrind.

    overhead.py PROGRAM       the program is overhead.f90

The instructions of the Fortran procedure itself are counted, without those of MPI_Send, which it calls.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
CALLS = 1000
# What the program is told -> procedure, and instructions at most, without those of what it calls.
BUDGET = {"mpif.h": ("mpi_send_", 25), "scalar": ("mpi_send_f08ts_", 25), "vector": ("mpi_send_f08ts_", 26),
          "scalar_ierror": ("mpi_send_f08ts_", 27), "vector_ierror": ("mpi_send_f08ts_", 28)}


def instructions(program, way, procedure, profile):
    subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", program, way], check=True,
                   capture_output=True, timeout=120)
    listing = subprocess.run(["callgrind_annotate", "--threshold=100", profile], capture_output=True, text=True,
                             check=True).stdout
    found = re.findall(rf"^\s*([\d,]+) \([^)]*\)\s+(?!=>)\S*:p?{procedure}(?=\s|$)", listing, re.M)
    return sum(int(count.replace(",", "")) for count in found) / CALLS if found else float("inf")


def main():
    if not shutil.which("valgrind"):
        print("skipped: no valgrind")
        return SKIPPED
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for way, (procedure, most) in BUDGET.items():
            each = instructions(sys.argv[1], way, procedure, Path(folder) / "profile")
            print(f"{way}: {each:.0f} instructions, at most {most}")
            wrong += each > most
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
