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
}
COLLECTIVES = {  # what all ranks of call it -> calls
    "All ranks of the communicator": re.compile(
        r"I?(barrier|bcast|(all)?gatherv?|scatterv?|alltoall[vw]?|(all)?reduce|reduce_scatter(_block)?|(ex)?scan)(_init)?$|"
        r"I?neighbor_.*|Comm_(i?dup(_with_info)?|create|split(_type)?|free|set_info|disconnect)$|Cart_(create|map|sub)$|"
        r"Graph_(create|map)$|Dist_graph_create(_adjacent)?$|Win_(create(_dynamic)?|allocate(_shared)?)$|File_open$",
        re.I,
    ),
    "All ranks of both groups": re.compile(r"Intercomm_(create|create_from_groups|merge)$"),
    "All ranks of the group": re.compile(r"Comm_create_(from_)?group$"),
    "All ranks of the window": re.compile(r"Win_(free|fence|set_info)$"),
    "All ranks that opened the file": re.compile(
        r"File_(close|i?(read|write)\w*_(all|ordered)(_begin|_end)?|preallocate|seek_shared|"
        r"set_(atomicity|info|size|view)|sync)$"
    ),
}
HEARING = {  # type of an argument -> whose error handler hears of the call's errors
    "MPI_File": "file",
    "MPI_Win": "window",
    "MPI_Comm": "communicator",
    "MPI_Session": "session",
    "MPI_Message": "message\\(aqs communicator",
    "MPI_Request": "request\\(aqs communicator, window or file",
}
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
FAMILIES = (  # calls that belong together though their names do not say so
    "Init Init_thread Initialized Finalize Finalized Abort Session_init",
    "Init_thread Query_thread Is_thread_main",
    "Session_init Session_finalize Session_get_num_psets Session_get_nth_pset Session_get_pset_info Session_get_info "
    "Group_from_session_pset Comm_create_from_group",
    "Alloc_mem Free_mem",
    "Wtime Wtick",
    "Get_version Get_library_version Get_processor_name",
    "Wait Waitall Waitany Waitsome Test Testall Testany Testsome Request_get_status Request_free Cancel",
    "Request_get_status Request_get_status_all Request_get_status_any Request_get_status_some",
    "Cancel Test_cancelled Status_set_cancelled",
    "Start Startall Wait Test Request_free",
    "Send Recv Sendrecv Sendrecv_replace",
    "Probe Iprobe Mprobe Improbe Mrecv Imrecv Recv",
    "Get_count Get_elements Status_set_elements Recv",
    "Get_elements Get_elements_x",
    "Bsend Buffer_attach Buffer_detach Buffer_flush Buffer_iflush Comm_attach_buffer Session_attach_buffer",
    "Comm_attach_buffer Comm_detach_buffer Comm_flush_buffer Comm_iflush_buffer",
    "Session_attach_buffer Session_detach_buffer Session_flush_buffer Session_iflush_buffer",
    "Grequest_start Grequest_complete Status_set_elements Status_set_cancelled",
    "Psend_init Precv_init Pready Pready_list Pready_range Parrived Start",
    "Reduce Allreduce Reduce_scatter Reduce_scatter_block Scan Exscan Reduce_local Op_create",
    "Op_create Op_free Op_commutative",
    "Comm_rank Comm_size Comm_group Comm_remote_size Comm_compare",
    "Comm_create Comm_create_group Comm_create_from_group Comm_split Comm_split_type Comm_dup Comm_free",
    "Comm_dup Comm_dup_with_info Comm_idup Comm_idup_with_info",
    "Intercomm_create Intercomm_create_from_groups Intercomm_merge Comm_test_inter Comm_remote_size Comm_remote_group",
    "Comm_spawn Comm_spawn_multiple Comm_get_parent Comm_accept Comm_connect Comm_disconnect Comm_join Open_port",
    "Open_port Close_port Publish_name Unpublish_name Lookup_name",
    "Group_incl Group_excl Group_range_incl Group_range_excl Group_union Group_intersection Group_difference Group_free",
    "Group_rank Group_size Group_compare Group_translate_ranks",
    "Comm_create_keyval Comm_free_keyval Comm_get_attr Comm_set_attr Comm_delete_attr",
    "Type_create_keyval Type_free_keyval Type_get_attr Type_set_attr Type_delete_attr",
    "Win_create_keyval Win_free_keyval Win_get_attr Win_set_attr Win_delete_attr",
    "Info_create Info_create_env Info_dup Info_free Info_get_nkeys Info_get_nthkey Info_get_string Info_set Info_delete",
    "Error_class Error_string Add_error_class Add_error_code Add_error_string Comm_set_errhandler",
    "Comm_set_errhandler Comm_get_errhandler Comm_create_errhandler Comm_call_errhandler Errhandler_free",
    "File_set_errhandler File_get_errhandler File_create_errhandler File_call_errhandler Errhandler_free",
    "Session_set_errhandler Session_get_errhandler Session_create_errhandler Session_call_errhandler Errhandler_free",
    "Win_set_errhandler Win_get_errhandler Win_create_errhandler Win_call_errhandler Errhandler_free",
    "Cart_create Cart_coords Cart_rank Cart_shift Cart_sub Cart_get Cart_map Cartdim_get Dims_create",
    "Graph_create Graph_get Graph_map Graph_neighbors Graph_neighbors_count Graphdims_get Topo_test",
    "Dist_graph_create Dist_graph_create_adjacent Dist_graph_neighbors Dist_graph_neighbors_count",
    "Type_commit Type_free Type_dup Type_contiguous Type_vector Type_indexed Type_create_struct Type_create_resized",
    "Type_vector Type_create_hvector",
    "Type_indexed Type_create_hindexed Type_create_indexed_block Type_create_hindexed_block",
    "Type_create_struct Get_address",
    "Type_create_subarray Type_create_darray File_set_view",
    "Type_get_extent Type_get_true_extent Type_size Type_create_resized",
    "Type_get_envelope Type_get_contents",
    "Type_create_f90_complex Type_create_f90_integer Type_create_f90_real Type_match_size",
    "Get_address Aint_add Aint_diff",
    "Pack Unpack Pack_size Pack_external Unpack_external Pack_external_size",
    "Win_create Win_create_dynamic Win_allocate Win_allocate_shared Win_free",
    "Win_create_dynamic Win_attach Win_detach",
    "Win_allocate_shared Win_shared_query",
    "Win_fence Win_start Win_lock Win_lock_all Put Get Accumulate",
    "Win_start Win_complete Win_post Win_wait Win_test",
    "Win_lock Win_unlock Win_lock_all Win_unlock_all Win_flush Win_sync",
    "Win_flush Win_flush_all Win_flush_local Win_flush_local_all",
    "Put Get Accumulate Get_accumulate Fetch_and_op Compare_and_swap Win_flush",
    "Rput Rget Raccumulate Rget_accumulate",
    "File_open File_close File_delete File_set_view File_read File_write File_get_amode",
    "File_seek File_get_position File_get_byte_offset File_set_view",
    "File_seek_shared File_get_position_shared",
    "File_set_size File_preallocate File_sync",
    "File_get_type_extent Register_datarep",
    "File_read File_read_at File_read_shared File_read_all File_read_ordered File_write",
    "File_write File_write_at File_write_shared File_write_all File_write_ordered File_read",
    "File_get_group Win_get_group Comm_group",
    "Status_c2f Status_f2c Status_c2f08 Status_f082c Status_f082f Status_f2f08",
    "Remove_error_class Remove_error_code Remove_error_string Add_error_class Add_error_code Add_error_string",
    "Info_get Info_get_valuelen Info_get_string",
    "Abi_get_version Abi_get_info Abi_get_fortran_info Abi_get_fortran_booleans",
    "Get_hw_resource_info Comm_split_type",
    "T_init_thread T_finalize T_cvar_get_num T_pvar_get_num",
    "Pcontrol T_init_thread",
    "Type_get_value_index Type_match_size Type_get_envelope",
)


@dataclass
class Call:
    name: str  # without MPI_ and _c
    prototypes: list = field(default_factory=list)
    parameters: list = field(default_factory=list)  # (type, name), of all prototypes

    @property
    def page(self):
        return f"MPI_{self.name}"

    @property
    def large(self):
        """What the form that ends in _c changes, as a sentence; empty without one."""
        if len(self.prototypes) < 2:
            return ""
        plain, large = (dict(map(reversed, arguments_of(text))) for text in self.prototypes)
        changed = {}
        for name, type_text in large.items():
            if plain.get(name) != type_text:
                changed.setdefault(re.sub(r"const |[ *\[\]]+$", "", type_text), []).append(name)
        kinds = [f"{listed(names)} of type {kind}" for kind, names in changed.items()]
        return f"The form that ends in _c has {listed(kinds)}, for numbers above 2,147,483,647."

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
        known = {name for _, name in call.parameters}  # those of the form without _c
        call.parameters += [each for each in arguments_of(call.prototypes[-1]) if each[1] not in known]
    return calls


def listed(words):
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def arguments_of(prototype):
    """(type, name) of each argument."""
    inner = prototype[prototype.index("(") + 1 : -1]
    return [] if inner == "void" else [argument(part.strip()) for part in inner.split(",")]


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


def related(call, calls, phrase):
    """Pages of the same operation in other forms, those that end it, and those that its NAME speaks of."""
    stem = stem_of(call.name)
    is_conversion = call.name.endswith(tuple(CONVERSIONS))
    found = [other.page for other in calls.values() if stem_of(other.name) == stem]
    if not is_conversion:
        found = [name for name in found if not name.endswith(tuple(CONVERSIONS))]
    found += [name for name in re.findall(r"MPI_\w+", phrase) if name[4:] in calls]
    for family in FAMILIES:
        found += [f"MPI_{name}" for name in family.split() if call.name in family.split()]
    if any(type_text == "MPI_Request*" for type_text, _ in call.parameters) and not call.name.startswith(("Wait", "Test")):
        found += ["MPI_Start"] if call.name.endswith("_init") else []
        found += ["MPI_Wait", "MPI_Test"]
    return [f"{name}(3)" for name in dict.fromkeys(found) if name != call.page] + ["dunlin-info(1)", "dunlin(7)"]


def stem_of(name):
    """Allgatherv_init, Iallgatherv and Allgather are one family; so are Comm_get_name and Comm_set_name."""
    if name.startswith("T_"):
        return "_".join(name.split("_")[:2])
    name = re.sub(r"(_init|_begin|_end|_x|_c2f|_f2c|_toint|_fromint)$", "", name)
    if re.match(r"I[a-z]", name) and not re.match(r"(Info|Init|Inter|Is_)", name):
        name = name[1:].capitalize()
    name = re.sub(r"^([BSR]|Bs|Ss|Rs)end$", "Send", name)
    name = re.sub(r"(alltoall|gather|scatter)[vw]$", r"\1", name, flags=re.I)
    return re.sub(r"_(get|set|create|free|delete)_", "_", name).lower()


def support(call, coverage):
    _, is_real, in_fortran = coverage[call.page]
    if is_real:
        return [f"Works in this version, in C{' and Fortran' if in_fortran else ''}."]
    return ["Not supported yet: the call does nothing but fail. dunlin\\-info \\-\\-coverage lists the calls that work."]


def call_page(call, calls, coverage, words):
    phrase, notes = words.purpose(call.name)
    lines = heading(call.page, 3, "MPI calls")
    lines += paragraph("NAME", [", ".join(call.names) + " \\- " + escape(phrase)])
    lines += paragraph("SYNOPSIS", [".nf", "#include <mpi.h>", ".PP", ".fi"])
    for text in call.prototypes:
        lines += [".HP", "\\fB" + unbroken(escape(text)) + ";\\fP"]
    description = [*notes, *collective(call.name), *filter(None, [call.large])]
    if description:  # more than NAME says
        description.insert(0, phrase[0].upper() + phrase[1:] + ".")
        lines += paragraph("DESCRIPTION", [line for text in description for line in (".PP", escape(text))][1:])
    if call.parameters and call.parameters != [("...", "")]:
        lines.append(".SH PARAMETERS")
        for type_text, name in call.parameters:
            if name:
                direction = words.directions.get(call.name, {}).get(name)
                lines += [".TP", f"\\fI{name}\\fP" + (f" ({direction})" if direction else "")]
                lines.append(escape(words.parameter(call, type_text, name)))
    lines += return_value(call, words, coverage[call.page][1])
    lines += paragraph("SUPPORT", support(call, coverage))
    lines += paragraph("STANDARD", [escape(coverage[call.page][0]) + "."])
    return lines + paragraph("SEE ALSO", [escape(",\n".join(related(call, calls, phrase))).replace("\\-info", "\\-info")])


def unbroken(prototype):
    """A line ends only between two arguments, or before the first one where that is too long."""
    is_long = len(prototype.partition(",")[0]) > 70  # of a line of 80, less margin and comma
    return prototype.replace(" ", "\\ ").replace(",\\ ", ", ").replace("(", "(\\:" if is_long else "(")


def collective(name):
    order = "in the same order as its other collective calls"
    for who, pattern in COLLECTIVES.items():
        if pattern.match(name):
            return [f"{who} call it" + ("." if "group" in who else f", {order}.")]
    return []


def hearing(call, words, is_real):
    """Whose error handler hears of the call's errors."""
    written = words.directions.get(call.name, {})
    read = [(type_text.strip(" *[]"), name) for type_text, name in call.parameters if written.get(name) != "out"]
    given = [kind for kind, _ in read]
    if "MPI_Errhandler" in given and call.name.endswith(("_init", "_from_group", "_from_groups")):
        return "the error handler among its arguments"
    if call.name in ("Init", "Init_thread"):
        return "the initial error handler, which mpirun \\-\\-initial\\-errhandler sets"
    if call.name in ("File_open", "File_delete", "Register_datarep"):
        return "the error handler of MPI_FILE_NULL"
    has_origin = is_real and not call.name.startswith("Grequest")  # of a request
    kinds = [kind for kind in HEARING if kind in given and (has_origin or kind != "MPI_Request")]
    if kinds:
        names = [name for kind, name in read if kind == kinds[0]]
        return f"the error handler of the {HEARING[kinds[0]]}" + (f" {names[0]}" if len(names) > 1 else "")
    return "the error handler of MPI_COMM_SELF, or of MPI_COMM_WORLD where that of MPI_COMM_SELF was never set"


def return_value(call, words, is_real):
    if not call.prototypes[0].startswith("int ") or call.name.endswith(("_toint", "_c2f")):
        return []
    is_tool = call.name.startswith("T_")
    if not is_real:
        lines = ["MPI_ERR_UNSUPPORTED_OPERATION" + ("; no error handler is called." if is_tool else ".")]
        if not is_tool:
            lines += [f"The error goes to {hearing(call, words, is_real)}. Where the handler returns, the call returns"]
            lines += ["the error code and says once on standard error that it did nothing."]
        return paragraph("RETURN VALUE", lines)
    if is_tool:
        return paragraph("RETURN VALUE", ["MPI_SUCCESS, or an error code MPI_T_ERR_...; no error handler is called."])
    classes = errors_of(call, words)
    lines = [
        f"MPI_SUCCESS. An error goes to {hearing(call, words, is_real)}.",
        "Where the handler returns, the call returns an error code.",
        f"Wrong arguments have the class{'es' if len(classes) > 1 else ''} {', '.join(classes)}.",
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


def help_options(text):
    """A program's help without what it says before its options: an entry per option, other lines as paragraphs."""
    lines = []
    for line in text.splitlines():
        if option := re.match(r" {1,3}(-.*?)(?: {2,}(\S.*))?$", line):
            lines += [".TP", "\\fB" + escape(option[1]) + "\\fP", *filter(None, [escape(option[2] or "")])]
        elif lines and line.strip():
            lines += [] if line.startswith(" ") else [".PP"]
            lines.append(escape(line.strip()))
    return lines


def command_page(name, entry, programs):
    lines = heading(name, entry.get("section", 1), "Dunlin")
    lines += paragraph("NAME", [", ".join([name, *entry.get("links", [])]) + " \\- " + escape(entry["purpose"])])
    if "synopsis" in entry:
        lines += paragraph("SYNOPSIS", verbatim(entry["synopsis"].strip()))
    lines += paragraph("DESCRIPTION", markup(entry["description"]))
    if "options_from" in entry:
        lines += paragraph("OPTIONS", help_options(output_of(programs, entry["options_from"])))
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
