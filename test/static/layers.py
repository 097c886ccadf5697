"""Includes go down only (ARCHITECTURE.md, "Layers"), and every header compiles alone.

A header that a source file includes before everything else has been compiled alone by the build; the others are here.

usage: layers.py ROOT COMPILER INCLUDE_DIR
"""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Folder (longest prefix counts) -> layer.  A folder may include its own layer's folders only where listed below.
LAYERS = {
    "base": 0, "os": 0,
    "object": 1, "datatype": 1, "op": 1,
    "transport": 2, "heap": 2, "peer": 2, "copy": 2, "boot": 2,
    "match": 3, "protocol": 3, "progress": 3,
    "pt2pt": 4, "coll": 4, "comm": 4, "rma": 4, "io": 4,
    "runtime": 5,
    "bindings": 6, "tools": 6,
}
# Within a layer: who may include whom, in order.
BESIDE = {
    ("os", "base"), ("base", "os"),
    ("datatype", "object"), ("op", "object"), ("op", "datatype"),
    ("transport", "copy"), ("transport", "peer"), ("transport", "heap"), ("peer", "copy"), ("peer", "heap"),
    ("protocol", "match"), ("progress", "protocol"), ("progress", "match"),
    ("comm", "coll"), ("comm", "pt2pt"), ("coll", "pt2pt"),
    ("rma", "comm"), ("rma", "coll"), ("rma", "pt2pt"),
    ("io", "rma"), ("io", "coll"), ("io", "comm"),
    ("bindings", "tools"),
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([a-z_0-9]+)/[^"]+"', re.M)


def wrong_includes(source):
    for path in sorted([*source.rglob("*.hpp"), *source.rglob("*.cpp")]):
        mine = path.relative_to(source).parts[0]
        for line in INCLUDE.finditer(path.read_text()):
            theirs = line[1]
            if theirs not in LAYERS or theirs == mine:
                continue
            goes_down = LAYERS[theirs] < LAYERS[mine]
            if not goes_down and (mine, theirs) not in BESIDE:
                yield f"{path}: {mine} (layer {LAYERS[mine]}) includes {line[0].strip()} of layer {LAYERS[theirs]}"
    for path in source.rglob("transport/*/*.?pp"):
        mine = path.relative_to(source).parts[1]
        for other in re.findall(r'#include "transport/(\w+)/', path.read_text()):
            if other != mine:
                yield f"{path}: transport {mine} includes transport {other}"


def included_first(root):
    """Headers, as they are included, that come first in some source file."""
    for folder in ("src", "launcher", "test"):
        for path in (root / folder).rglob("*.cpp"):
            first = re.search(r'^\s*#\s*include\s+(\S+)', path.read_text(), re.M)
            if first and first[1].startswith('"'):
                yield first[1].strip('"')


def does_not_compile(header, source, compiler, include):
    command = [compiler, "-std=c++20", "-fno-exceptions", "-fno-rtti", "-fsyntax-only", "-x", "c++",
               "-DDUNLIN_CHECK_ARGUMENTS=1", "-DDUNLIN_FORTRAN_INTEGER=int", f"-I{source}", f"-I{include}", str(header)]
    result = subprocess.run(command, capture_output=True, text=True)
    lines = [line for line in result.stderr.splitlines() if "error" in line]
    return f"{header} does not compile alone: {lines[0] if lines else result.stderr}" if result.returncode else None


def main():
    root, compiler, include = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    source = root / "src"
    faults = list(wrong_includes(source))
    compiled = set(included_first(root))
    headers = [each for each in sorted(source.rglob("*.hpp")) if str(each.relative_to(source)) not in compiled]
    with ThreadPoolExecutor(2) as pool:
        faults += filter(None, pool.map(lambda h: does_not_compile(h, source, compiler, include), headers))
    print("\n".join(faults) or f"{len(compiled)} headers come first somewhere, {len(headers)} others compile alone, "
          "includes go down only")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
