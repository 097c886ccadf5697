"""The library shows exactly the functions of the standard: PMPI_ strong, MPI_ weak, and nothing else.

    exports.py LIBRARY       compares with exports.txt, which tools/generate writes
"""

import re
import subprocess
import sys
from pathlib import Path


def main():
    library = sys.argv[1]
    wanted = set(Path(__file__).with_name("exports.txt").read_text().split())
    # Facts of the standard: 503 functions and 161 _c forms are in the ABI; 28 conversions and 10 old names come on top, and
    # the _c names of Psend_init and Precv_init.
    profiled = {name for name in wanted if name.startswith("PMPI_")}
    assert len(profiled) == 503 + 161 + 28 - 2 + 10 + 2, len(profiled)
    listing = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    found = {name.split("@")[0]: kind for _, kind, name in (line.split() for line in listing.splitlines())}
    problems = [f"missing: {name}" for name in sorted(wanted - found.keys())]
    problems += [f"too much: {name}" for name in sorted(found.keys() - wanted)]
    for name, kind in found.items():
        if kind != ("T" if name.startswith("PMPI_") else "W"):
            problems.append(f"{name} is of kind {kind}")
    needed = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    soname = re.search(r"SONAME.*\[(.*)\]", needed)
    if not soname or soname[1] != "libmpi_abi.so.1":
        problems.append(f"the soname is {soname and soname[1]}")
    # libstdc++ would be loaded by every program; a sanitizer does so itself.
    expected = r"lib(c|m|pthread|dl|rt)\.so|ld-linux"
    if re.search(r"NEEDED.*lib(asan|tsan|ubsan)\.so", needed):
        expected += r"|lib(stdc\+\+|gcc_s|asan|tsan|ubsan)\.so"
    for name in re.findall(r"NEEDED.*\[(.*)\]", needed):
        if not re.match(expected, name):
            problems.append(f"the library needs {name} to start")
    print("\n".join(problems) or f"{len(found)} symbols, all as the standard says")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
