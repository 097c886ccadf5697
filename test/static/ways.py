"""Counts how a message's way is chosen, and fails when it takes more than today; prints the lines of src by folder.

usage: ways.py REPOSITORY

  ways        the enumerators of `Way` (src/protocol/choose.hpp)
  branches    `if`s, `?`s and `case`s in src/protocol that look at a way, at a fact on which it depends, or at the length
              up to which the channel is certain; and all conditions that `choose` names (`const bool`)
  thresholds  settings of src/protocol and src/copy, and constants there that something is compared with

A decision moved into a table, a template or a setting still counts: add its word here.
"""

import re
import sys
from pathlib import Path

# Name -> asked for, and what is there today: no more than that.  More than was asked for is printed.
LIMITS = {"ways": (8, 5), "branches": (12, 22), "thresholds": (10, 10)}

# Lines at commit 3f807bb, before there were few ways (docs/decisions/0013-few-ways.md); memory became heap, peer, copy.
LINES_BEFORE = {"protocol": 1861, "memory": 4901, "transport": 2003, "coll": 2982, "comm": 2173, "datatype": 3760,
                "boot": 1254, "object": 2082, "pt2pt": 1235, "os": 992, "op": 925, "base": 754, "runtime": 450,
                "match": 390, "progress": 322, "tools": 227}
MOVES_MESSAGES = ["protocol", "memory", "heap", "peer", "copy"]

# What names a way or a fact.
SELECTS = re.compile(r"\bWay(?:::|\()|\bfacts\.|\b(?:can_map|can_copy_anywhere|is_mappable|is_far|is_short|maps|"
                     r"short_bytes_end_now|eager_bytes_max_now|must_be_offered)\b")
NAMED = re.compile(r"\bconst bool \w+ =")
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
            if path.name == "choose.hpp":
                yield from (f"{path.name}:{number}" for _ in NAMED.findall(line))


def thresholds(*folders):
    for folder in folders:
        texts = [re.sub(r"\bfor \(.*", "", text) for _, text in sources(folder)]
        for text in texts:
            yield from SETTING.findall(text)
            for name in CONSTANT.findall(text):
                compared = re.compile(rf"[<>]=? (?:[\w:]*::)?{name}\b|\b{name} [<>]=? ")
                if any(compared.search(each) for each in texts):
                    yield name


def print_lines(source):
    """Of C and C++, by folder, now and before."""
    now = {}
    for path in source.rglob("*"):
        if path.suffix in {".cpp", ".hpp", ".c", ".h"}:
            folder = path.relative_to(source).parts[0]
            now[folder] = now.get(folder, 0) + len(path.read_bytes().splitlines())
    now.pop("bindings")
    for title, is_here in (("moves messages", lambda name: name in MOVES_MESSAGES),
                           ("the rest but bindings", lambda name: name not in MOVES_MESSAGES)):
        before = {name: count for name, count in LINES_BEFORE.items() if is_here(name)}
        today = {name: count for name, count in now.items() if is_here(name)}
        print(f"lines, {title}: {sum(today.values())}, {sum(before.values())} at 3f807bb:",
              ", ".join(f"{name} {today.get(name, 0)} ({before.get(name, 0)})" for name in sorted({*today, *before})))


def main():
    source = Path(sys.argv[1]).resolve() / "src"
    found = {"ways": ways(source / "protocol"),
             "branches": list(branches(source / "protocol")),
             "thresholds": list(thresholds(source / "protocol", source / "copy"))}
    for name, items in found.items():
        asked, most = LIMITS[name]
        print(f"{len(items)} {name} (asked for: {asked}{', MORE THAN ASKED FOR' if len(items) > asked else ''}; "
              f"at most {most}): {' '.join(items)}")
    print_lines(source)
    return any(not items or len(items) > LIMITS[name][1] for name, items in found.items())


if __name__ == "__main__":
    sys.exit(main())
