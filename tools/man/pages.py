#!/usr/bin/env python3
"""Writes the manual pages: one for each MPI call, mpirun(1), mpicc(1), dunlin-info(1) and dunlin(7), the settings.

    pages.py --programs BUILD/bin --out FOLDER

The build runs it, offline.  Prototypes come from include/mpi.h, what works from tools/info/coverage.hpp, options and
settings from the programs themselves, words from functions.txt, parameters.txt and commands.toml beside this file, and
which arguments a call writes from directions.txt, which tools/generate writes.
"""

import argparse
import os
import re
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
HANDLES = {  # type of an argument -> what it is, and the error class of a bad one
    "MPI_Comm": ("a communicator", "MPI_ERR_COMM"),
    "MPI_Datatype": ("a datatype", "MPI_ERR_TYPE"),
    "MPI_Errhandler": ("an error handler", "MPI_ERR_ERRHANDLER"),
    "MPI_File": ("a file", "MPI_ERR_FILE"),
    "MPI_Group": ("a group", "MPI_ERR_GROUP"),
    "MPI_Info": ("an info object", "MPI_ERR_INFO"),
    "MPI_Message": ("a message", "MPI_ERR_REQUEST"),
    "MPI_Op": ("an operator", "MPI_ERR_OP"),
    "MPI_Request": ("a request", "MPI_ERR_REQUEST"),
    "MPI_Session": ("a session", "MPI_ERR_SESSION"),
    "MPI_Status": ("a status", "MPI_ERR_ARG"),
    "MPI_Win": ("a window", "MPI_ERR_WIN"),
}
CLASSES = (  # pattern of an argument's name -> the error class of a bad one
    (r"dest|source|.*rank|ranks\d?|.*_leader", "MPI_ERR_RANK"),
    (r"root", "MPI_ERR_ROOT"),
    (r"(send|recv)?tag", "MPI_ERR_TAG"),
    (r"\w*counts?", "MPI_ERR_COUNT"),
    (r"\w*buf", "MPI_ERR_BUFFER"),
    (r"ndims|dims", "MPI_ERR_DIMS"),
    (r"filename", "MPI_ERR_NO_SUCH_FILE"),
    (r"amode", "MPI_ERR_AMODE"),
    (r"disp_unit", "MPI_ERR_DISP"),
    (r"target_disp", "MPI_ERR_RMA_RANGE"),
    (r"assert", "MPI_ERR_ASSERT"),
    (r"lock_type", "MPI_ERR_LOCKTYPE"),
    (r"\w*keyval", "MPI_ERR_KEYVAL"),
)
VARIANTS = {  # how a call differs from the one it is named after
    "I": "It returns at once; MPI_Wait or MPI_Test ends the operation. Until then the program must leave the buffers alone.",
    "_init": "It only prepares: MPI_Start begins the operation, MPI_Wait or MPI_Test ends it, any number of times.",
    "_c": "The form that ends in _c takes counts of type MPI_Count, for more than 2,147,483,647 elements.",
}
COLLECTIVES = re.compile(
    r"I?(barrier|bcast|(all)?gatherv?|scatterv?|alltoall[vw]?|(all)?reduce|reduce_scatter(_block)?|(ex)?scan)(_init)?$|"
    r"I?neighbor_.*|Comm_(i?dup(_with_info)?|create|split(_type)?|free)$|Intercomm_merge$|Cart_(create|map|sub)$|"
    r"Graph_(create|map)$|Dist_graph_create(_adjacent)?$|Win_(create(_dynamic)?|allocate(_shared)?|free)$|File_open$",
    re.I,
)
FILE_VERBS = re.compile(r"File_(i?)(read|write)(_at|_shared|_ordered)?(_all)?(_begin|_end)?$")
FILE_PLACES = {
    "_at": " at an offset",
    "_shared": " at the shared file pointer",
    "_ordered": " at the shared file pointer, in the order of the ranks",
}
CONVERSIONS = {
    "_c2f": "turn a handle of C ({}) into one of Fortran",
    "_f2c": "turn a handle of Fortran ({}) into one of C",
    "_toint": "turn a handle ({}) into an integer",
    "_fromint": "turn an integer back into a handle ({})",
}


@dataclass
class Call:
    name: str  # without MPI_ and _c
    prototypes: list = field(default_factory=list)
    parameters: list = field(default_factory=list)  # (type, name), of all prototypes

    @property
    def page(self):
        return f"MPI_{self.name}"

    @property
    def names(self):
        return [re.search(r"MPI_\w+(?=\()", text)[0] for text in self.prototypes]


def read_words(path):
    """`key: words` and the indented lines below each: key -> (words, [lines])."""
    found, key = {}, None
    for line in path.read_text().splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if line[0] != " ":
            key, _, words = line.partition(": ")
            found[key] = (words, [])
        else:
            found[key][1].append(line.strip())
    return found


def read_calls(header):
    """Name -> Call, from mpi.h."""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
    calls, names = {}, set()
    pattern = re.compile(r"^(?!typedef|#)([A-Za-z][\w ]*\*?)\s*\b(MPI_\w+)\(([^;{]*)\)\s*;", re.M)
    found = [(match[2], match) for match in pattern.finditer(text)]
    names = {name for name, _ in found}
    for name, match in found:
        is_large = name.endswith("_c") and name[:-2] in names
        call = calls.setdefault(name[4 : -2 if is_large else None], Call(name[4 : -2 if is_large else None]))
        arguments = re.sub(r"\s+", " ", match[3])
        call.prototypes.append(f"{match[1].strip()} {name}({arguments})")
        if arguments != "void":
            known = {name for _, name in call.parameters}  # those of the form without _c
            found_here = [argument(part.strip()) for part in arguments.split(",")]
            call.parameters += [each for each in found_here if each[1] not in known]
    return calls


def argument(text):
    match = re.match(r"(.*?)(\w*)((?:\[\d*\])*)$", text)
    return (match[1] + match[3]).strip() or "...", match[2] if match[1] else ""


def read_coverage(path):
    """Name -> where the standard describes it, whether it works, whether Fortran has it."""
    rows = re.findall(r'\{"(MPI_\w+)", "([^"]+)", (true|false), (true|false)\}', path.read_text())
    return {name: (where, real == "true", in_fortran == "true") for name, where, real, in_fortran in rows}


class Words:
    def __init__(self):
        self.functions = read_words(HERE / "functions.txt")
        self.parameters = {key: words for key, (words, _) in read_words(HERE / "parameters.txt").items()}
        written = {key: words.split(", ") for key, (words, _) in read_words(HERE / "directions.txt").items()}
        self.directions = {key: dict(each.split(" ", 1) for each in names) for key, names in written.items()}

    def purpose(self, name):
        """What a call does, as a phrase, and paragraphs of its description."""
        if name in self.functions:
            words, lines = self.functions[name]
            return words, [" ".join(lines)] if lines else []
        if match := FILE_VERBS.match(name):
            return file_phrase(*match.groups()), [VARIANTS["I"]] if match[1] else []
        for ending, words in CONVERSIONS.items():
            if name.endswith(ending):
                handle = "MPI_" + name.removesuffix(ending)
                return words.format("MPI_Datatype" if handle == "MPI_Type" else handle), []
        if name.endswith("_init") and (base := self.base(name.removesuffix("_init"))):
            return f"make a persistent request to {self.functions[base][0]}", [VARIANTS["_init"]]
        if name[0] == "I" and (base := self.base(name[1:])):
            return f"begin to {self.functions[base][0]}", [VARIANTS["I"]]
        raise SystemExit(f"pages.py: functions.txt says nothing about MPI_{name}")

    def base(self, name):
        name = name[0].upper() + name[1:]
        return name if name in self.functions else None

    def parameter(self, call, type_text, name):
        if call.name.endswith(("_f2c", "_fromint")) and not call.name.startswith("Status_"):
            return "the handle of Fortran" if call.name.endswith("_f2c") else "the integer"
        owners = [call.name, self.base(re.sub(r"_init$|^I(?=[a-z])", "", call.name)) or call.name]
        owners += [owner.partition("_")[0] + "_" for owner in owners]
        found = [self.parameters.get(key) for key in (*(f"{owner}.{name}" for owner in owners), name)]
        words = next(filter(None, found), None)
        kind = HANDLES.get(type_text.replace("const", "").strip(" *[]"))
        if not words and not kind:
            raise SystemExit(f"pages.py: parameters.txt says nothing about {name} of MPI_{call.name}")
        return words or kind[0]


def file_phrase(nonblocking, verb, place, together, part):
    words = f"{verb} a file{FILE_PLACES.get(place, '')}" + (", all ranks together" if together else "")
    if part == "_end":
        return f"end what MPI_File_{verb}{place or ''}{together or ''}_begin began"
    return f"begin to {words}" if nonblocking or part else words


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return "\\&" + text if text.startswith(".") else text


def heading(name, section, what):
    version = re.search(r"project\(dunlin VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    return [f'.TH {name} {section} "" "Dunlin {version}" "{what}"', ".nh", ".ad l"]


def paragraph(title, lines):
    return [f".SH {title}", *lines]


def verbatim(text):
    return [".nf", *(escape(line) for line in text.splitlines()), ".fi"]


def errors_of(call, words):
    """Error classes that bad arguments of the call have."""
    found = []
    for type_text, name in call.parameters:
        if words.directions.get(call.name, {}).get(name) == "out" and not name.endswith("buf"):  # where it goes may be wrong
            continue
        base = type_text.replace("const", "").strip(" *[]")
        classes = [HANDLES[base][1]] if base in HANDLES else []
        classes += [found for pattern, found in CLASSES if re.fullmatch(pattern, name) and base not in HANDLES]
        found += [each for each in classes if each not in found]
    return [*found, *(["MPI_ERR_ARG"] if "MPI_ERR_ARG" not in found else [])]


def related(call, calls):
    """Pages of the same operation in other forms, and those that end it."""
    stem = stem_of(call.name)
    found = [other.page for other in calls.values() if other is not call and stem_of(other.name) == stem]
    if any(type_text == "MPI_Request*" for type_text, _ in call.parameters) and not call.name.startswith(("Wait", "Test")):
        found += ["MPI_Start"] if call.name.endswith("_init") else []
        found += ["MPI_Wait", "MPI_Test"]
    return [f"{name}(3)" for name in found if name != call.page] + ["dunlin-info(1)", "dunlin(7)"]


def stem_of(name):
    """Allgatherv_init, Iallgatherv and Allgather are one family; so are Comm_get_name and Comm_set_name."""
    name = re.sub(r"(_init|_begin|_end|_c2f|_f2c|_toint|_fromint)$", "", name)
    if re.match(r"I[a-z]", name) and not re.match(r"(Info|Init|Inter|Is_)", name):
        name = name[1:].capitalize()
    name = re.sub(r"^([BSR]|Bs|Ss|Rs)end$", "Send", name)
    name = re.sub(r"(alltoall|gather|scatter)[vw]$", r"\1", name, flags=re.I)
    return re.sub(r"_(get|set|create|free|delete)_", "_", name).lower()


def support(call, coverage):
    _, is_real, in_fortran = coverage[call.page]
    if is_real:
        return [f"Works in this version, in C{' and Fortran' if in_fortran else ''}."]
    what = "the call does nothing, says so once on standard error, and returns"
    return [f"Not supported yet: {what}", "MPI_ERR_UNSUPPORTED_OPERATION."]


def call_page(call, calls, coverage, words):
    phrase, notes = words.purpose(call.name)
    lines = heading(call.page, 3, "MPI calls")
    lines += paragraph("NAME", [", ".join(call.names) + " \\- " + escape(phrase)])
    lines += paragraph("SYNOPSIS", [".nf", "#include <mpi.h>", ".PP", ".fi"])
    for text in call.prototypes:
        lines += [".HP", "\\fB" + escape(text) + ";\\fP"]
    description = [phrase[0].upper() + phrase[1:] + ".", *notes]
    if COLLECTIVES.match(call.name):
        description.append("All ranks of the communicator call it, in the same order as its other collective calls.")
    if len(call.prototypes) > 1:
        description.append(VARIANTS["_c"])
    lines += paragraph("DESCRIPTION", [line for text in description for line in (".PP", escape(text))][1:])
    if call.parameters and call.parameters != [("...", "")]:
        lines.append(".SH PARAMETERS")
        for type_text, name in call.parameters:
            if name:
                direction = words.directions.get(call.name, {}).get(name)
                lines += [".TP", f"\\fI{name}\\fP" + (f" ({direction})" if direction else "")]
                lines.append(escape(words.parameter(call, type_text, name)))
    lines += return_value(call, words)
    lines += paragraph("SUPPORT", support(call, coverage))
    lines += paragraph("STANDARD", [escape(coverage[call.page][0]) + "."])
    return lines + paragraph("SEE ALSO", [escape(",\n".join(related(call, calls))).replace("\\-info", "\\-info")])


def return_value(call, words):
    if not call.prototypes[0].startswith("int ") or call.name.endswith(("_toint", "_c2f")):
        return []
    if call.name.startswith("T_"):
        return paragraph("RETURN VALUE", ["MPI_SUCCESS, or an error code MPI_T_ERR_...; no error handler is called."])
    classes = ", ".join(errors_of(call, words))
    lines = [
        "MPI_SUCCESS. An error goes to the error handler of the call\\(aqs communicator, window, file or session, or of",
        "MPI_COMM_SELF if it has none of these; where the handler returns, the call returns an error code.",
        f"Wrong arguments have the classes {classes}.",
        "MPI_Error_string gives a sentence that names call, argument and value.",
    ]
    return paragraph("RETURN VALUE", lines)


def output_of(programs, command):
    """What one of our programs prints where no setting is changed."""
    name, *words = command
    kept = {key: value for key, value in os.environ.items() if not key.startswith("DUNLIN_")}
    printed = subprocess.run([programs / name, *words], capture_output=True, text=True, check=True, env=kept).stdout
    return printed.replace(str(programs / name), name)


def settings(text):
    """The output of dunlin-info --settings as a list."""
    pattern = re.compile(r"^(DUNLIN_\w+) = .*?(?: \((.*)\))?\n    (.*)\n    (default .*), now from the .*$", re.M)
    lines = []
    for name, unit, meaning, preset in pattern.findall(text):
        words = escape(unit).replace("|", "|\\:")  # a list of words may be broken after each
        lines += [".TP", f"\\fB{name}\\fP" + (f" ({words})" if unit else ""), escape(f"{meaning}; {preset}")]
    return lines


def command_page(name, entry, programs):
    lines = heading(name, entry.get("section", 1), "Dunlin")
    lines += paragraph("NAME", [", ".join([name, *entry.get("links", [])]) + " \\- " + escape(entry["purpose"])])
    if "synopsis" in entry:
        lines += paragraph("SYNOPSIS", verbatim(entry["synopsis"].strip()))
    lines += paragraph("DESCRIPTION", markup(entry["description"]))
    if "options_from" in entry:
        lines += paragraph("OPTIONS", verbatim(output_of(programs, entry["options_from"]).strip()))
    if "settings_from" in entry:
        lines += paragraph("SETTINGS", settings(output_of(programs, entry["settings_from"])))
    for title, text in entry.get("sections", {}).items():
        lines += paragraph(title, markup(text))
    return lines + paragraph("SEE ALSO", [escape(entry["see"])])


def markup(text):
    """Paragraphs; a line `term: words` that begins with "* " is an entry of a list, indented lines are shown as they are."""
    lines = []
    for block in text.strip("\n").split("\n\n"):
        if block.startswith("    "):
            lines += [".PP", *verbatim(re.sub(r"^ {4}", "", block, flags=re.M))]
        elif block.startswith("* "):
            for entry in re.split(r"\n?^\* ", block, flags=re.M)[1:]:
                term, _, words = entry.partition(": ")
                lines += [".TP", "\\fB" + escape(term) + "\\fP", escape(words.replace("\n", " "))]
        else:
            lines += [".PP", escape(block.replace("\n", " "))]
    return lines[1:] if lines[0] == ".PP" else lines


def write(out, section, name, lines):
    folder = out / f"man{section}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.{section}").write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    words, coverage = Words(), read_coverage(ROOT / "tools/info/coverage.hpp")
    calls = read_calls(ROOT / "include/mpi.h")
    for call in calls.values():
        write(options.out, 3, call.page, call_page(call, calls, coverage, words))
        for name in call.names[1:]:
            write(options.out, 3, name, [f".so man3/{call.page}.3"])
    for name, entry in tomllib.loads((HERE / "commands.toml").read_text()).items():
        section = entry.get("section", 1)
        write(options.out, section, name, command_page(name, entry, options.programs))
        for link in entry.get("links", []):
            write(options.out, section, link, [f".so man{section}/{name}.{section}"])


if __name__ == "__main__":
    main()
