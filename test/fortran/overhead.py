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
# What the program is told -> procedure. MOST instructions are allowed, without those of what it calls.
WAYS = {"mpif.h": "mpi_send_", "scalar": "mpi_send_f08ts_", "vector": "mpi_send_f08ts_", "scalar_ierror": "mpi_send_f08ts_",
        "vector_ierror": "mpi_send_f08ts_"}
MOST = 25


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
        for way, procedure in WAYS.items():
            each = instructions(sys.argv[1], way, procedure, Path(folder) / "profile")
            print(f"{way}: {each:.0f} instructions, at most {MOST}")
            wrong += each > MOST
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
