"""Keeps the stories of ARCHITECTURE.md true: functions are where they should be, chains are complete and short.

usage: stories.py REPOSITORY [MPIRUN STORIES_PROGRAM]

A story is a heading in bold with "(at most N)" and a numbered list of "`file`: `function`".

With a built library, stories.c is run under callgrind, which writes down every line that is passed.  A file in which
something is decided on the way (an `if` or a `switch` is passed there) must stand in the story, or in one above it; and
what stands in it must be passed.  Not counted: the vocabulary (layers 0 and 1), and looks at errors and at what is marked
unlikely.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HEADING = re.compile(r"^\*\*(.+?)\*\* \(at most (\d+)\)", re.M)
STEP = re.compile(r"^\d+\. `([^`]+)`: `(\w+)`", re.M)

# How a heading begins -> the functions of stories.c that it tells, and the folders of src/ that belong to it (all: None).
TRACED = {
    "`MPI_Send` of 8 bytes": (["story_send"], None),
    "`MPI_Recv` of 8 bytes that have arrived": (["story_receive_arrived"], None),
    "`MPI_Recv` of 8 bytes that have not": (["story_receive_awaited"], None),
    "One collective": (["story_collective"], ["bindings", "coll"]),
    "A 4 MB message": (["story_large_send", "story_large_receive"], None),
    "`MPI_Put` of 8 bytes": (["story_put", "story_flush"], None),
    "`MPI_Accumulate` of one integer": (["story_accumulate"], None),
}
VOCABULARY = {"base", "os", "object", "datatype", "op"}
DECISION = re.compile(r"\b(if|switch)\b(?!.*(\berror\b|Err::|\[\[unlikely\]\]))")
# Nobody falls asleep while callgrind slows everybody down, and it has not address space enough for the usual heap.
SETTINGS = {"DUNLIN_SPIN_POLLS": "1000000000", "DUNLIN_SPIN_POLLS_SHARED": "1000000000", "DUNLIN_HEAP_ADDRESS_BYTES": "1g"}


def told_faults(repository, title, steps, limit):
    """What a story says against what the sources say."""
    files = {name for name, _ in steps}
    if not steps or len(files) > limit:
        yield f"{title}: {len(files)} files, at most {limit} (and at least 1)"
    for name, function in steps:
        path = repository / name
        source = path.read_text() if path.exists() else ""
        if not re.search(rf"\b{function}\(", source):
            yield f"{title}: {name} has no {function}"


def passed_lines(profile):
    """Of one profile of callgrind: its story, and the lines passed, by file."""
    names, lines, file, line, is_call = {}, {}, None, 0, False
    for row in profile.splitlines():
        if match := re.match(r"^(c?)(f[lie]|fn|ob)=\((\d+)\)(?: (.*))?$", row):
            is_callee, kind, number, name = match.groups()
            space = "file" if kind in ("fl", "fi", "fe") else kind
            if name:
                names[space, number] = name
            if space == "file" and not is_callee:
                file = names[space, number]
        elif row.startswith("calls="):
            is_call = True  # the line that follows has the cost of the callee
        elif match := re.match(r"^(?:(\d+)|([+-]\d+)|\*) \d+$", row):
            line = int(match[1]) if match[1] else line + int(match[2] or 0)
            if not is_call:
                lines.setdefault(file, set()).add(line)
            is_call = False
    stories = [name for (space, _), name in names.items() if space == "fn" and name.startswith("story_")]
    return stories, lines


def is_decision(path, number):
    source = path.read_text().splitlines()
    return number <= len(source) and DECISION.search(re.sub(r"//.*|DUNLIN_ASSERT\(.*", "", source[number - 1]))


def traced_files(repository, mpirun, program):
    """The files that any story passes; and by story those in which it decides something."""
    passed, deciding = set(), {}
    with tempfile.TemporaryDirectory(prefix="stories-") as folder:
        command = [mpirun, "--timeout", "100", "-n", "2", "valgrind", "--tool=callgrind", "--collect-atstart=no",
                   "--toggle-collect=story_*", "--dump-after=end_of_story", f"--callgrind-out-file={folder}/%p", program]
        subprocess.run(command, env={**os.environ, **SETTINGS}, check=True, capture_output=True)
        for profile in Path(folder).iterdir():
            stories, lines = passed_lines(profile.read_text(errors="replace"))
            for name, numbers in lines.items():
                # By its end: what a compiler cache kept may have been compiled in another folder.
                file = "src/" + os.path.normpath(name or "").rpartition("/src/")[2]
                path = repository / file
                if not path.is_file():
                    continue
                passed.add(file)
                if file.split("/")[1] not in VOCABULARY and any(is_decision(path, n) for n in numbers):
                    for story in stories:
                        deciding.setdefault(story, set()).add(file)
    return passed, deciding


def traced_faults(repository, told, mpirun, program):
    """What the stories say against what is passed."""
    passed, deciding = traced_files(repository, mpirun, program)
    above = set()
    for title, steps in told.items():
        above |= {name for name, _ in steps}
        yield from (f"{title}: {name} is not passed" for name, _ in steps if name not in passed)
        for beginning, (functions, folders) in TRACED.items():
            if not title.startswith(beginning):
                continue
            files = set().union(*(deciding.get(function, set()) for function in functions))
            if not files:
                yield f"{title}: callgrind has seen none of it"
            if folders:
                files = {name for name in files if name.split("/")[1] in folders}
            yield from (f"{title}: passes {name}, where something is decided" for name in sorted(files - above))


def main():
    repository = Path(sys.argv[1]).resolve()
    text = (repository / "ARCHITECTURE.md").read_text()
    headings = list(HEADING.finditer(text))
    told, faults = {}, []
    for heading, following in zip(headings, [*headings[1:], None]):
        part = text[heading.end():following.start() if following else text.index("\n## ", heading.end())]
        told[heading[1]] = STEP.findall(part)
        faults += told_faults(repository, heading[1], told[heading[1]], int(heading[2]))
    faults += [f"ARCHITECTURE.md has no story that begins with {beginning}"
               for beginning in TRACED if not any(title.startswith(beginning) for title in told)]
    is_traced = len(sys.argv) > 3 and shutil.which("valgrind")
    if is_traced:
        faults += traced_faults(repository, told, *sys.argv[2:4])
    print("\n".join(faults) or f"{len(told)} stories are as told{'' if is_traced else '; not traced'}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
