"""Keeps the stories of ARCHITECTURE.md true: functions are where they should be, chains are complete and counted.

usage: stories.py REPOSITORY [MPIRUN STORIES_PROGRAM]

A story is a heading in bold with "(N files; asked for: at most M)" or "(N files and K of layer 1; asked for: at most M)",
a numbered list of "`file`: `function`", and a line "As above: `file`, `file`." of what stands in stories above and
decides in this one, too.  N is how many files stand in both.  More than was asked for is no fault, but is printed.

With a built library, stories.c is run under callgrind, which writes down every line that is passed.  A file in which
something is decided on the way (an `if` or a `switch` is passed there) must stand in the story; what stands in it must be
passed.  No folder of layer 2 or above is left out.  Nouns of layer 1 (object, datatype, op) are only counted: K is as many
as may decide.  Not counted: layer 0, `?`, `&&` and loops, looks at errors, and what is marked unlikely; the output says
how many files are passed in all.  Without valgrind the answer is 77: skipped.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HEADING = re.compile(r"^\*\*(.+?)\*\* \((\d+) files?(?: and (\d+) of layer 1)?; asked for: at most (\d+)\)", re.M)
STEP = re.compile(r"^\d+\. `([^`]+)`: `(\w+)`", re.M)
ABOVE = re.compile(r"^As above: (.+?)\.$", re.M | re.S)

# How a heading begins -> the functions of stories.c that it tells.
TRACED = {
    "`MPI_Send` of 8 bytes": ["story_send"],
    "`MPI_Recv` of 8 bytes that have arrived": ["story_receive_arrived"],
    "`MPI_Recv` of 8 bytes that have not": ["story_receive_awaited"],
    "One collective": ["story_collective"],
    "A 4 MB message": ["story_large_send", "story_large_receive"],
    "`MPI_Put` of 8 bytes": ["story_put", "story_flush"],
    "`MPI_Accumulate` of one integer": ["story_accumulate"],
}
LAYER_0 = {"base", "os"}
LAYER_1 = {"object", "datatype", "op"}
SKIPPED = 77
RUNS_MAX = 4
DECISION = re.compile(r"\b(if|switch)\b(?!.*(\berror\b|Err::|\[\[unlikely\]\]))")
# Nobody falls asleep while callgrind slows everybody down, and it has not address space enough for the usual heap.
SETTINGS = {"DUNLIN_SPIN_POLLS": "1000000000", "DUNLIN_SPIN_POLLS_SHARED": "1000000000", "DUNLIN_HEAP_ADDRESS_BYTES": "1g"}


class Story:
    """What a heading and the text below it say."""

    def __init__(self, heading, text):
        self.title = heading[1]
        self.files_told, self.nouns_told, self.asked = (int(heading[i] or 0) for i in (2, 3, 4))
        self.steps = STEP.findall(text)
        above = ABOVE.search(text)
        self.above = re.findall(r"`([^`]+)`", above[1]) if above else []
        self.files = {name for name, _ in self.steps} | set(self.above)


def told_faults(repository, story):
    """What a story says against what the sources say."""
    if not story.steps or len(story.files) != story.files_told:
        yield f"{story.title}: says {story.files_told} files and has {len(story.files)}"
    for name, function in story.steps:
        path = repository / name
        source = path.read_text() if path.exists() else ""
        if not re.search(rf"\b{function}\(", source):
            yield f"{story.title}: {name} has no {function}"


def order_faults(stories):
    """What is said to stand above does."""
    above = set()
    for story in stories:
        yield from (f"{story.title}: {name} does not stand above" for name in story.above if name not in above)
        above |= story.files


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


def trace(repository, mpirun, program, passed, deciding):
    """Adds by function of stories.c the files that it passes, and those in which it decides something."""
    with tempfile.TemporaryDirectory(prefix="stories-") as folder:
        command = [mpirun, "--timeout", "100", "-n", "2", "valgrind", "--tool=callgrind", "--collect-atstart=no",
                   "--toggle-collect=story_*", "--dump-after=end_of_story", f"--callgrind-out-file={folder}/%p", program]
        subprocess.run(command, env={**os.environ, **SETTINGS}, check=True, capture_output=True)
        for profile in Path(folder).iterdir():
            functions, lines = passed_lines(profile.read_text(errors="replace"))
            for name, numbers in lines.items():
                # By its end: what a compiler cache kept may have been compiled in another folder.
                file = "src/" + os.path.normpath(name or "").rpartition("/src/")[2]
                path = repository / file
                if not path.is_file() or file.split("/")[1] in LAYER_0:
                    continue
                for function in functions:
                    passed.setdefault(function, set()).add(file)
                    if any(is_decision(path, n) for n in numbers):
                        deciding.setdefault(function, set()).add(file)


def is_noun(file):
    return file.split("/")[1] in LAYER_1


def of_story(story, by_function):
    functions = next((names for start, names in TRACED.items() if story.title.startswith(start)), [])
    return set().union(*(by_function.get(function, set()) for function in functions))


def traced_faults(repository, stories, mpirun, program):
    """What the stories say against what is passed; prints what was seen of each."""
    passed, deciding = {}, {}
    for _ in range(RUNS_MAX):  # on a loaded machine a message may come before it is awaited
        trace(repository, mpirun, program, passed, deciding)
        if all(story.files <= of_story(story, passed) for story in stories):
            break
    for story in stories:
        here, files = of_story(story, passed), of_story(story, deciding)
        nouns = {name for name in files if is_noun(name)}
        yield from (f"{story.title}: {name} is not passed" for name in sorted(story.files - here))
        yield from (f"{story.title}: passes {name}, where something is decided"
                    for name in sorted(files - nouns - story.files))
        if len(nouns) > story.nouns_told:
            yield f"{story.title}: {len(nouns)} files of layer 1 decide, it says {story.nouns_told}: {' '.join(nouns)}"
        print(f"{story.title}: {story.files_told} files (asked for: {story.asked}"
              f"{', MORE THAN ASKED FOR' if story.files_told > story.asked else ''}); seen now: "
              f"{len(files - nouns)} decide, and {len(nouns)} of layer 1; {len(here)} are passed:")
        print("   ", *sorted(name.removeprefix("src/") for name in story.files | nouns))


def main():
    repository = Path(sys.argv[1]).resolve()
    text = (repository / "ARCHITECTURE.md").read_text()
    headings = list(HEADING.finditer(text))
    stories = []
    for heading, following in zip(headings, [*headings[1:], None]):
        end = following.start() if following else text.index("\n## ", heading.end())
        stories.append(Story(heading, text[heading.end():end]))
    faults = [fault for story in stories for fault in told_faults(repository, story)]
    faults += order_faults(stories)
    faults += [f"ARCHITECTURE.md has no story that begins with {beginning}"
               for beginning in TRACED if not any(story.title.startswith(beginning) for story in stories)]
    faults += [f"{story.title}: no function of stories.c tells it"
               for story in stories if not any(story.title.startswith(beginning) for beginning in TRACED)]
    can_trace = len(sys.argv) > 3 and shutil.which("valgrind")
    if can_trace:
        faults += traced_faults(repository, stories, *sys.argv[2:4])
    print("\n".join(faults) or f"{len(stories)} stories are as told")
    if not faults and not can_trace:
        print("not traced: that takes a built library and valgrind")
        return SKIPPED
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
