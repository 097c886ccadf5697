"""The C functions of MPI as plain data: read from the forum's machine-readable interface (PyPI pympistandard 0.2.0).

Used by generate.py; what MPI 5.0 no longer contains but old programs link is added here, typed from MPI 1.3, A.
"""

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass
class Parameter:
    name: str
    kind: str            # of the forum's data: RANK, COMMUNICATOR, POLYXFER_NUM_ELEM_NNI ...
    base: str            # C type without const and stars: "int", "MPI_Comm"
    text: str            # as declared: "const int dims[]"
    constant: bool
    direction: str       # in, out, inout
    is_array: bool
    stars: int
    length: object = None
    flags: frozenset = frozenset()   # "root_only"


@dataclass
class Function:
    name: str            # "MPI_Send", "MPI_Send_c"
    returns: str         # "int", "double", "MPI_Aint", "MPI_Comm" ...
    parameters: list = field(default_factory=list)
    group: str = "standard"   # standard, interoperability, deprecated, removed
    is_large: bool = False    # a _c variant
    chapter: str = ""

    @property
    def key(self):
        """The name the library uses inside: lower case, without MPI_ and _c."""
        name = self.name[4:]
        return (name[:-2] if self.is_large else name).lower()

    def declaration(self, prefix="", with_names=True):
        parameters = ", ".join(p.text for p in self.parameters) or "void"
        return f"{self.returns} {prefix}{self.name}({parameters})"


# Names removed by MPI-3.0 that programs of 1994 to 2012 link; prototypes of MPI 1.3.
REMOVED = [
    "int MPI_Address(void* location, MPI_Aint* address)",
    "int MPI_Errhandler_create(MPI_Handler_function* function, MPI_Errhandler* errhandler)",
    "int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler* errhandler)",
    "int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler)",
    "int MPI_Type_extent(MPI_Datatype datatype, MPI_Aint* extent)",
    "int MPI_Type_hindexed(int count, int array_of_blocklengths[], MPI_Aint array_of_displacements[], "
    "MPI_Datatype oldtype, MPI_Datatype* newtype)",
    "int MPI_Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype* newtype)",
    "int MPI_Type_lb(MPI_Datatype datatype, MPI_Aint* displacement)",
    "int MPI_Type_struct(int count, int array_of_blocklengths[], MPI_Aint array_of_displacements[], "
    "MPI_Datatype array_of_types[], MPI_Datatype* newtype)",
    "int MPI_Type_ub(MPI_Datatype datatype, MPI_Aint* displacement)",
]

# A widely used header says int and offers _c; the standard says MPI_Count and no _c (facts: MPI 5.0, 4.2.1).
ALIASES_OF_STANDARD = ["MPI_Psend_init", "MPI_Precv_init"]

DEPRECATED = {
    "MPI_Attr_delete", "MPI_Attr_get", "MPI_Attr_put", "MPI_Keyval_create", "MPI_Keyval_free", "MPI_Get_elements_x",
    "MPI_Info_get", "MPI_Info_get_valuelen", "MPI_Status_set_elements_x", "MPI_Type_get_extent_x",
    "MPI_Type_get_true_extent_x", "MPI_Type_size_x",
}

# What the forum's data renders in a way that is no C.
CORRECTIONS = {"\\ldots": "...", "char argv[], MPI_Info": "char* argv[], MPI_Info"}


def parse(text, kinds=None, directions=None):
    """A Function from one prototype."""
    match = re.match(r"\s*([\w ]+?\*?)\s*(MPI_\w+)\((.*)\)\s*$", text)
    returns, name, rest = match.groups()
    function = Function(name, returns.strip())
    parts = [] if rest.strip() in ("", "void") else [p.strip() for p in rest.split(",")]
    for index, part in enumerate(parts):
        function.parameters.append(parse_parameter(part))
    return function


def parse_parameter(part):
    if part == "...":
        return Parameter("", "VARARGS", "...", "...", False, "in", False, 0)
    match = re.match(r"(const\s+)?([\w]+(?:\s+\w+)*?)\s*(\*+|\s)\s*(\w+)((?:\[\d*\])*)$", part)
    constant, base, stars, name, array = match.groups()
    stars = stars.strip()
    text = f"{constant or ''}{base}{stars} {name}{array}"
    return Parameter(name, "", base, text, bool(constant), "in", bool(array), len(stars))


def functions():
    """All functions, sorted by name."""
    import pympistandard as standard
    standard.use_api_version(1, force_bundled=True)
    found = []
    for procedure in standard.PROCEDURES.values():
        narrow = procedure.express.iso_c
        if not narrow:
            continue
        large = procedure.express.embiggen.iso_c if procedure.express.embiggen else None
        for expression in filter(None, [narrow, large]):
            text = str(expression)
            for wrong, right in CORRECTIONS.items():
                text = text.replace(wrong, right)
            function = parse(text)
            function.is_large = expression is large
            described = list(expression.parameters)
            assert len(described) == len(function.parameters), text
            for parameter, source in zip(function.parameters, described):
                parameter.kind = source.kind.name
                parameter.direction = str(source.direction).rsplit(".", 1)[-1].lower()
                parameter.length = source._parseset.get("length")
                if parameter.kind == "WEIGHT":       # MPI_UNWEIGHTED is no array, and compilers warn of that
                    parameter.text = parameter.text.replace(f" {parameter.name}[]", f"* {parameter.name}")
                parameter.flags = frozenset(["root_only"] if source._parseset.get("root_only") else [])
            function.group = group_of(function.name)
            found.append(function)
    removed = [parse(text) for text in REMOVED]
    for function in removed:
        function.group = "removed"
        for parameter in function.parameters:
            if parameter.stars and not parameter.constant and parameter.name not in ("function", "location"):
                parameter.direction = "out"
    return sorted(found + removed, key=lambda f: f.name.lower())


def group_of(name):
    if name in DEPRECATED:
        return "deprecated"
    if re.search(r"_(c2f|f2c|c2f08|f082c|f2f08|f082f)$", name):
        return "interoperability"
    return "standard"


def callbacks():
    """The typedefs of callback functions, as declarations."""
    import pympistandard as standard
    standard.use_api_version(1, force_bundled=True)
    texts = []
    for callback in standard.CALLBACKS.values():
        for expression in [callback.express.iso_c, callback.express.embiggen.iso_c if callback.express.embiggen else None]:
            if expression:
                texts.append(str(expression).replace("\\ldots", "..."))
    return sorted(texts, key=lambda t: re.search(r"MPI_\w+", t)[0].lower())


def constants():
    with open(HERE / "constants.toml", "rb") as file:
        return tomllib.load(file)
