"""Includes go down only (ARCHITECTURE.md, "Layers").

usage: layers.py ROOT
"""

import re
import sys
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


def main():
    faults = list(wrong_includes(Path(sys.argv[1]) / "src"))
    print("\n".join(faults) or "includes go down only")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
