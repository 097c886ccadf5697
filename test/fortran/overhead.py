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
# Procedure -> its calls, and instructions at most, without those of what it calls.  That of mpi_f08 calls that of mpif.h.
BUDGET = {"mpi_send_": (1000, 25), "mpi_send_f08ts_": (1000, 25)}


def main():
    if not shutil.which("valgrind"):
        print("skipped: no valgrind")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "profile"
        subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", sys.argv[1]], check=True,
                       capture_output=True, timeout=120)
        listing = subprocess.run(["callgrind_annotate", "--threshold=100", profile], capture_output=True, text=True,
                                 check=True).stdout
    wrong = 0
    for name, (calls, most) in BUDGET.items():
        found = re.findall(rf"^\s*([\d,]+) \([^)]*\)\s+(?!=>)\S*:p?{name}(?=\s|$)", listing, re.M)
        each = sum(int(count.replace(",", "")) for count in found) / calls if found else float("inf")
        print(f"{name}: {each:.0f} instructions, at most {most}")
        wrong += each > most
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
