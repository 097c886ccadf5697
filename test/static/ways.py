"""Counts how a message's way is chosen, and fails when it takes more than today.

usage: ways.py REPOSITORY

  ways        the enumerators of `Way` (src/protocol/choose.hpp)
  branches    `if`s, `?`s and `case`s in src/protocol that look at a way, or at a fact on which it depends
  thresholds  settings of src/protocol and src/copy, and constants there that something is compared with

A decision moved into a table, a template or a setting still counts: add its word here.
"""

import re
import sys
from pathlib import Path

# Name -> wanted, and what is there today: no more.
LIMITS = {"ways": (8, 5), "branches": (12, 12), "thresholds": (10, 9)}

# What names a way or a fact.
SELECTS = re.compile(r"\bWay(?:::|\()|\bfacts\.|\b(?:can_map|can_copy_anywhere|is_mappable|is_far)\b")
BRANCH = re.compile(r"\bif\b|\?|\bcase\b")
SETTING = re.compile(r"^IntVariable (\w+)\{", re.M)
CONSTANT = re.compile(r"\bconstexpr [\w:]+ (k[A-Z]\w*) = ")


def sources(folder):
    """Path and text without comments and assertions."""
    for path in sorted([*folder.rglob("*.hpp"), *folder.rglob("*.cpp")]):
        yield path, re.sub(r"//.*|\b(static_assert|DUNLIN_ASSERT)\(.*", "", path.read_text())


def ways(source):
    enumeration = re.search(r"enum class Way\b[^{]*\{(.*?)\};", dict(sources(source))[source / "choose.hpp"], re.S)
    return re.findall(r"\b(\w+)\s*(?:,|$)", enumeration[1].strip(), re.M)


def branches(source):
    for path, text in sources(source):
        for number, line in enumerate(text.splitlines(), 1):
            if SELECTS.search(line):
                yield from (f"{path.name}:{number}" for _ in BRANCH.findall(line))


def thresholds(*folders):
    for folder in folders:
        texts = [re.sub(r"\bfor \(.*", "", text) for _, text in sources(folder)]
        for text in texts:
            yield from SETTING.findall(text)
            for name in CONSTANT.findall(text):
                compared = re.compile(rf"[<>]=? (?:[\w:]*::)?{name}\b|\b{name} [<>]=? ")
                if any(compared.search(each) for each in texts):
                    yield name


def main():
    source = Path(sys.argv[1]).resolve() / "src"
    found = {"ways": ways(source / "protocol"),
             "branches": list(branches(source / "protocol")),
             "thresholds": list(thresholds(source / "protocol", source / "copy"))}
    for name, items in found.items():
        print(f"{len(items)} {name} (wanted: {LIMITS[name][0]}, at most {max(LIMITS[name])}): {' '.join(items)}")
    return any(not items or len(items) > max(LIMITS[name]) for name, items in found.items())


if __name__ == "__main__":
    sys.exit(main())
