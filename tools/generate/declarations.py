"""Finds what is implemented: the functions of src/*/functions.hpp, one for each call of the standard.

`Err send(const void* buffer, ...)` in namespace dunlin::pt2pt, declared there and defined in a source file of the same
folder, makes MPI_Send real; what has none is answered with MPI_ERR_UNSUPPORTED_OPERATION.  So the table of what is real
cannot differ from the code.
"""

import re
from dataclasses import dataclass


@dataclass
class Argument:
    type: str
    name: str


@dataclass
class Declaration:
    name: str
    namespace: str       # below dunlin: "pt2pt"
    header: str          # "pt2pt/functions.hpp"
    returns: str
    arguments: list


def split_arguments(text):
    """At the commas that are in no parentheses or angle brackets."""
    parts, depth, start = [], 0, 0
    for position, letter in enumerate(text):
        depth += {"(": 1, "<": 1, ")": -1, ">": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    last = text[start:].strip()
    return parts + [last] if last and last != "void" else parts


def argument(text):
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"\s*=.*$", "", text)                      # default value
    text = re.sub(r"(\w+)\[\d*\]$", r"* \1", text)           # int dims[]
    pointer_to_function = re.match(r"(.*\(\s*\*)\s*(\w*)\s*(\).*)$", text)
    if pointer_to_function:
        return Argument(pointer_to_function[1] + pointer_to_function[3], pointer_to_function[2])
    match = re.match(r"(.*?[\s*&])(\w+)$", text)
    if not match:
        return Argument(normal(text), "")
    return Argument(normal(match[1]), match[2])


def normal(type_text):
    """ "const Datatype &" -> "const Datatype&" """
    return re.sub(r"\s*([*&])\s*", r"\1", re.sub(r"\s+", " ", type_text.strip()))


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def is_defined(name, folder):
    """Whether a source file of the folder, or the header itself, has a body of that name."""
    body = re.compile(rf"^[\w:\s*&<>\[\]]*\b{name}\s*\((?:[^;{{}}()]|\([^()]*\))*\)\s*(?:noexcept\s*)?\{{", re.M)
    return any(body.search(without_comments(path.read_text()))
               for path in [*sorted(folder.rglob("*.cpp")), folder / "functions.hpp"])


def declarations(root):
    """name -> list of Declaration (several when overloaded)."""
    found = {}
    for path in sorted((root / "src").glob("*/functions.hpp")):
        text = without_comments(path.read_text())
        match = re.search(r"namespace\s+dunlin(?:::(\w+))?\s*\{", text)
        if not match:
            raise SystemExit(f"{path}: no namespace dunlin::...")
        namespace = match[1] or ""
        start_of_one = re.compile(r"(?:^|[;}{])\s*(?:\[\[[^\]]*\]\]\s*)*(?:inline\s+)?([\w:]+)\s+(\w+)\s*\(")
        for each in start_of_one.finditer(text[match.end():]):
            start = match.end() + each.end()
            end, depth = start, 1
            while depth:
                depth += {"(": 1, ")": -1}.get(text[end], 0)
                end += 1
            if each[1] in ("return", "else", "namespace") or not is_defined(each[2], path.parent):
                continue
            arguments = [argument(part) for part in split_arguments(text[start:end - 1])]
            declaration = Declaration(each[2], namespace, f"{path.parent.name}/functions.hpp", each[1], arguments)
            found.setdefault(each[2], []).append(declaration)
    for name, several in found.items():
        own = [d for d in several if d.namespace == "bindings"]  # adapters in bindings/ come first
        found[name] = own or several
        if len({d.header for d in found[name]}) > 1:
            raise SystemExit(f"{name} is declared in {[d.header for d in several]}")
    return found
