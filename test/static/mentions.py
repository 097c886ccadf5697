"""What documents and comments name is there: files, headings and settings.

usage: mentions.py REPOSITORY DUNLIN_INFO

A file is named by its path from the repository, from src/, or from a folder above the file that names it; a heading in
quotes behind the path of its document and a comma (bold words that begin a paragraph count); a setting in a document, by
its full name.
"""

import re
import subprocess
import sys
from pathlib import Path

SUFFIXES = {".md", ".cpp", ".hpp", ".c", ".h", ".py", ".txt", ".sh", ".f90", ""}
PATH = re.compile(r"(?<![\w/.<>*$}~-])((?:[\w-]+/)+[\w-]+\.(?:cpp|hpp|c|h|py|sh|md|toml))(?![\w*/])")
HEADING = re.compile(r'(docs/\w+\.md), "([^"]+)"(?: and "([^"]+)")?')
SETTING = re.compile(r"\bDUNLIN_([A-Z][A-Z_0-9]*[A-Z0-9])\b(?![_*.])")
# Of the system, of other projects, or made by a build or a test.
ELSEWHERE = re.compile(r"^(sys|linux|netinet|rdma|arpa|asm|bits|gtest|benchmark|CLI|build|install|include|pages)/")
# No settings: what mpirun tells its ranks, options of the build, and examples.
NO_SETTINGS = re.compile(r"^(LAUNCH_\w+|TESTS|SANITIZE|CHECK_ARGUMENTS)$")


def tracked(repository):
    listed = subprocess.run(["git", "-C", repository, "ls-files"], capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        path = repository / name
        if path.suffix in SUFFIXES and path.is_file():
            yield path


def is_there(name, path, repository):
    folders = [repository, repository / "src", *(p for p in path.parents if repository in p.parents)]
    return any((folder / name).is_file() for folder in folders)


def headings(document):
    return re.findall(r"^(?:#+ |\*\*)(.+?)\.?(?:\*\*|$)", document.read_text(), re.M)


def faults(path, repository, settings):
    text = path.read_text(errors="replace")
    plain = "\n".join("" if line.lstrip().startswith(("#include", "# include")) else line for line in text.split("\n"))
    for name in sorted({m[1] for m in PATH.finditer(plain)}):
        if not ELSEWHERE.match(name) and not is_there(name, path, repository):
            yield f"{path}: there is no {name}"
    joined = re.sub(r"\n\s*(//+|#|\*)?\s*", " ", plain)
    for document, *names in HEADING.findall(joined):
        known = headings(repository / document) if (repository / document).is_file() else []
        for name in filter(None, names):
            if name not in known:
                yield f"{path}: {document} has no heading \"{name}\""
    if path.suffix == ".md":
        for name in sorted(set(SETTING.findall(text))):
            if name not in settings and not NO_SETTINGS.match(name):
                yield f"{path}: there is no setting DUNLIN_{name}"


def main():
    repository = Path(sys.argv[1]).resolve()
    listed = subprocess.run([sys.argv[2], "--settings"], capture_output=True, text=True, check=True).stdout
    settings = set(re.findall(r"^DUNLIN_(\w+)", listed, re.M))
    files = list(tracked(repository))
    found = [fault for path in files for fault in faults(path, repository, settings)]
    print("\n".join(found) or f"{len(files)} files name only what is there ({len(settings)} settings)")
    return 1 if found or len(settings) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
