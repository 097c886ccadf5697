"""Keeps the stories of ARCHITECTURE.md true: every function is defined in its file, chains keep their limit.

usage: stories.py REPOSITORY

A story is a heading in bold with "(at most N)" and a numbered list of "`file`: `function`".  Where the function of a step
is not reached through a virtual call or a message, the file of a step before must name it.
"""

import re
import sys
from pathlib import Path

HEADING = re.compile(r"^\*\*(.+?)\*\* \(at most (\d+)\)", re.M)
STEP = re.compile(r"^\d+\. `([^`]+)`: `(\w+)`", re.M)
# Reached by an answer that comes over the wire or through an interface, so that no caller names them.
BY_MESSAGE = {"control_arrived", "poll_peer"}


def main():
    repository = Path(sys.argv[1])
    text = (repository / "ARCHITECTURE.md").read_text()
    headings = list(HEADING.finditer(text))
    faults = [] if headings else ["ARCHITECTURE.md has no stories"]
    for heading, following in zip(headings, [*headings[1:], None]):
        part = text[heading.end():following.start() if following else text.index("\n## ", heading.end())]
        steps = STEP.findall(part)
        title, limit = heading[1], int(heading[2])
        files = {name for name, _ in steps}
        if not steps or len(files) > limit:
            faults.append(f"{title}: {len(files)} files, at most {limit} (and at least 1)")
        above = ""
        for name, function in steps:
            path = repository / name
            source = path.read_text() if path.exists() else ""
            if not re.search(rf"\b{function}\(", source):
                faults.append(f"{title}: {name} has no {function}")
            if above and function not in BY_MESSAGE and not re.search(rf"\b{function}\b", above):
                faults.append(f"{title}: nobody before {name} calls {function}")
            above += source
    print("\n".join(faults) or f"{len(headings)} stories are as told")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
