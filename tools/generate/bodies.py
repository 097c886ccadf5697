"""Writes the body of one binding: lock, checks of arguments, one call of the chapter's function, outputs.

The standard's interface says the kind of every parameter, the declaration in src/*/functions.hpp the C++ type it is
wanted as; how to get from one to the other is decided here.
"""

import re
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
RULES = tomllib.loads((HERE / "functions.toml").read_text())

# C type of a handle -> (class, null handle, error)
HANDLES = {
    "MPI_Comm": ("Comm", "MPI_COMM_NULL", "comm"),
    "MPI_Group": ("Group", "MPI_GROUP_NULL", "group"),
    "MPI_Datatype": ("Datatype", "MPI_DATATYPE_NULL", "type"),
    "MPI_Op": ("Op", "MPI_OP_NULL", "op"),
    "MPI_Request": ("Request", "MPI_REQUEST_NULL", "request"),
    "MPI_Message": ("Message", "MPI_MESSAGE_NULL", "request"),
    "MPI_Errhandler": ("Errhandler", "MPI_ERRHANDLER_NULL", "errhandler"),
    "MPI_Info": ("Info", "MPI_INFO_NULL", "info"),
    "MPI_Win": ("Win", "MPI_WIN_NULL", "win"),
    "MPI_File": ("File", "MPI_FILE_NULL", "file"),
    "MPI_Session": ("Session", "MPI_SESSION_NULL", "session"),
}
COUNTS = {"POLYXFER_NUM_ELEM_NNI", "POLYXFER_NUM_ELEM", "XFER_NUM_ELEM_NNI", "POLYDTYPE_NUM_ELEM_NNI",
          "POLYNUM_BYTES_NNI", "ARRAY_LENGTH_NNI", "ARRAY_LENGTH"}
NULL_ALLOWED = {"ARGUMENT_COUNT", "ARGUMENT_LIST", "BUFFER", "EXTRA_STATE", "EXTRA_STATE2",
                "STATUS", "FUNCTION", "POLYFUNCTION", "WEIGHT", "LOGICAL_VOID"}
# What a rank gives whose arguments are wrong, by type, or by type and name (io/functions.hpp).
REFUSED = {"void*": "nullptr", "const void*": "nullptr", "std::int64_t": "io::kRefused", "MPI_Offset offset": "0",
           "MPI_Offset disp": "io::kRefused", "int": "io::kRefused", "const char*": '""', "Info*": "nullptr",
           "MPI_Status*": "MPI_STATUS_IGNORE", "Datatype&": "*from_handle<Datatype>(MPI_BYTE)",
           "const Datatype&": "*from_handle<Datatype>(MPI_BYTE)"}
ENDING = re.compile(r".*_(free|disconnect|close|finalize|free_keyval)|I?mrecv|Mrecv", re.I)


def matches(rule, name):
    return any(re.fullmatch(pattern, name) for pattern in rule)


class Body:
    """One body, which serves the classic function and its _c variant (`large`) where both exist."""

    def __init__(self, narrow, large, declaration):
        self.narrow, self.large, self.declaration = narrow, large, declaration
        self.model = large or narrow                 # the longer parameter list
        self.name = self.model.name[4:-2] if self.model.is_large else self.model.name[4:]
        self.is_shared = bool(narrow and large)
        self.checks_itself = matches(RULES["checks"]["own"], self.name)
        self.is_hot = self.name in RULES["hot"]["always_inline"]
        self.lines, self.after, self.arguments = [], [], []
        self.kept = {}                               # object of a call that waits -> how to find it by its handle
        self.comm = "nullptr"
        self.owner = None                            # window, session, or error handler of what the call makes
        self.by_name = {p.name: p for p in self.model.parameters}
        self.significance = {}                       # parameter -> bool variable
        self.takes_part_at = None                    # line from which the other ranks are known that wait for this one

    # --- the parameter list of a shared body ---------------------------------------------------------------------

    def narrow_of(self, parameter):
        return next((p for p in (self.narrow or self.model).parameters if p.name == parameter.name), None)

    def is_poly(self, parameter):
        other = self.narrow_of(parameter)
        return self.is_shared and (other is None or other.base != parameter.base)

    def shared_type(self, parameter):
        """How a shared body takes this parameter."""
        if not self.is_poly(parameter):
            return parameter.text
        other = self.narrow_of(parameter)
        if other is None or "MPI_Aint" == other.base and not parameter.is_array:   # both have 64 bits
            return parameter.text
        if parameter.is_array and parameter.constant:
            return f"IntArray {parameter.name}"
        if parameter.is_array:
            return parameter.text
        if parameter.stars:
            return f"CountOut {parameter.name}"
        return f"std::int64_t {parameter.name}"

    def passed(self, parameter, function):
        """What the classic or the large function hands to the shared body."""
        kind = self.shared_type(parameter)
        own = next((p for p in function.parameters if p.name == parameter.name), None)
        if own is None:                              # only the large variant has it
            return "nullptr" if parameter.stars or parameter.is_array else "0"
        wide = "false" if own.base == "int" else "true"
        if kind.startswith(("IntArray", "CountOut")):
            return f"{kind.split()[0]}{{{parameter.name}, {wide}}}"
        return parameter.name

    # --- building ---------------------------------------------------------------------------------------------------

    def check(self, condition, report):
        if self.checks_itself:
            return
        if self.takes_part_at:
            self.lines += [f"  if ({condition}) [[unlikely]] {{", "    take_part();", f"    return {report};", "  }"]
            return
        line = f"  if ({condition}) [[unlikely]] return {report};"
        self.lines += [line] if len(line) <= 110 else [f"  if ({condition}) [[unlikely]]", f"    return {report};"]

    def build(self):
        name, declaration = self.name, self.declaration
        if not matches(RULES["lock"]["never"], name) and not self.is_hot:
            self.lines.append("  BigLock::Guard guard;")
        # A hot call finds out by its communicator: the predefined ones have no handle before init and after finalize.
        finds_out = self.is_hot and any(argument.type == "Comm&" for argument in declaration.arguments)
        if not matches(RULES["usable"]["always"], name) and not finds_out:
            self.lines.append("  if (is_unusable()) [[unlikely]] return not_usable(call);")
        self.answer_null_name()
        wanted = list(declaration.arguments)
        pairs, index = [], 0
        mine = [p for p in self.model.parameters if p.kind != "VARARGS"]
        if len(mine) == len([a for a in wanted if a.name != "large"]) + 1 and "Comm&" not in [a.type for a in wanted]:
            unused = next((p for p in mine if p.base == "MPI_Comm"), None)   # MPI_Pack: only for its error handler
            if unused:
                mine.remove(unused)
                self.convert(unused, "Comm&")
        for argument in wanted:
            if argument.name == "large" and argument.type == "bool":
                pairs.append((None, argument))
                continue
            if index >= len(mine):
                raise SystemExit(f"{declaration.header}: {declaration.name} has more parameters than MPI_{name}")
            pairs.append((mine[index], argument))
            index += 1
        if index != len(mine):
            raise SystemExit(f"{declaration.header}: {declaration.name} has fewer parameters than MPI_{name}: "
                             f"{[p.name for p in mine[index:]]} are left")
        order = sorted(pairs, key=lambda pair: self.rank_of(pair[0]))
        texts = {}
        for parameter, argument in order:
            if parameter is None:
                texts[id(argument)] = "large" if self.is_shared else ("true" if self.model.is_large else "false")
            else:
                texts[id(argument)] = self.convert(parameter, argument.type)
        self.arguments = [texts[id(argument)] for argument in wanted]
        self.check_blocks()
        self.check_reduced()
        self.check_aliases()
        if self.takes_part_at:
            self.lines[self.takes_part_at:self.takes_part_at] = self.part_of_refused(wanted)
        return self

    def part_of_refused(self, wanted):
        """A collective call of a file is made also where its arguments are wrong: with nothing of this rank."""
        made, arguments = [], []
        for argument in wanted:
            kind = re.fullmatch(r"(\w+)\*\*", argument.type)
            if kind:
                made = [f"    {kind[1]}* none = nullptr;"]
            arguments.append("&none" if kind else f"*{argument.name}_object" if argument.type in ("File&", "Comm&")
                             else REFUSED.get(f"{argument.type} {argument.name}") or REFUSED[argument.type])
        call = f"{self.declaration.namespace}::{self.declaration.name}({', '.join(arguments)})"
        who = self.owner if self.owner != "nullptr" and self.owner else self.comm
        return ["  const auto take_part = [&]() noexcept {", f"    const Kept kept({who});", *made,
                f"    (void){call};", "  };"]

    def rank_of(self, parameter):
        """Parameters are looked at in order, but first those whose error handler hears of what is wrong with others."""
        if parameter is None or parameter.stars or parameter.is_array:
            return 2
        return {"MPI_Comm": 0, "MPI_Win": 0, "MPI_File": 0, "MPI_Session": 0, "MPI_Errhandler": 1}.get(parameter.base, 2)

    def answer_null_name(self):
        """The null handles of objects with names have names too (MPI 5.0, 7.8)."""
        if not re.fullmatch(r"(Comm|Type|Win)_get_name", self.name):
            return
        handle, text, length = self.model.parameters
        null = HANDLES[handle.base][1]
        self.lines += [f"  if ({handle.name} == {null}) [[unlikely]]",
                       f"    return null_name(\"{null}\", {text.name}, {length.name}, call);"]

    def convert(self, parameter, wanted):
        if parameter.base in HANDLES and not parameter.is_array:
            return self.convert_handle(parameter, wanted)
        return self.convert_plain(parameter, wanted)

    @property
    def about(self):
        """The object whose error handler hears of the call's errors."""
        if self.is_about_files:
            return self.owner or "&no_file()"
        return self.comm if self.comm != "nullptr" or not self.owner else self.owner

    @property
    def is_about_files(self):
        """Errors go to the file's handler, or to that of MPI_FILE_NULL (MPI 5.0, 14.7)."""
        return matches(RULES["errors"]["files"], self.name)

    @property
    def report(self):
        return f"raise({self.about}, error, call)"

    # --- handles ------------------------------------------------------------------------------------------------------

    def convert_handle(self, p, wanted):
        kind, null, error = HANDLES[p.base]
        name, lines = p.name, self.lines
        if wanted in (f"{p.base}*", f"const {p.base}*"):               # raw, checked by the chapter
            self.check_pointer(p)
            return name
        if wanted == p.base:
            return name
        if p.stars and wanted == f"{kind}**":
            self.check_pointer(p)
            lines.append(f"  {kind}* {name}_made = nullptr;")
            self.after.append(f"  set_handle({name}, {name}_made, {null});")
            return f"&{name}_made"
        handle = f"*{name}" if p.stars else name
        if p.stars:
            self.check_pointer(p)
            if ENDING.fullmatch(self.name):
                self.after.append(f"  *{name} = {null};")
        const = "const " if wanted.startswith("const ") and kind != "Comm" else ""
        significant = self.significant(p) if kind == "Datatype" else None
        if significant and wanted.endswith("&"):
            handle = f"{significant} ? {handle} : MPI_BYTE"
        lines.append(f"  {const}{kind}* const {name}_object = from_handle<{kind}>({handle});")
        raw = f"*{name}" if p.stars else name
        if not p.stars and matches(RULES["waits"]["calls"], self.name):
            self.kept[f"{name}_object"] = f"from_handle<{kind}>({handle})"
        if wanted.endswith("&"):
            self.check(f"is_missing({name}_object)",
                       f"bad_handle({self.about}, Err::{error}, {raw}, \"{name}\", call)")
            result = f"*{name}_object"
        elif significant:                            # a pointer: null where it is not significant and no handle
            self.check(f"{significant} && is_missing({name}_object)",
                       f"bad_handle({self.about}, Err::{error}, {raw}, \"{name}\", call)")
            result = f"{name}_object"
        elif wanted.endswith("*"):
            self.check(f"is_bad_optional({name}_object, {raw}, {null})",
                       f"bad_handle({self.about}, Err::{error}, {raw}, \"{name}\", call)")
            result = f"{name}_object"
        else:
            raise SystemExit(f"{self.declaration.header}: {self.declaration.name}: no way from {p.text} to {wanted}")
        if kind == "Comm" and not p.stars and self.comm == "nullptr":
            self.comm = f"{name}_object"
            self.check_root(p)
        if kind == "Comm" and p.stars and wanted.endswith("&"):
            self.comm = f"{name}_object"             # MPI_Comm_free
        if kind == "File" and wanted.endswith("*"):
            self.owner = f"heard_by({name}_object)"
        is_given_handler = kind == "Errhandler" and not p.stars and not self.owner
        if wanted.endswith("&") and (kind in ("Session", "Win", "File") or is_given_handler):
            self.owner = f"{name}_object"
        if kind in ("Comm", "File") and not p.stars and matches(RULES["awaited"]["calls"], self.name):
            self.takes_part_at = len(lines)
        if kind == "Request" and self.comm == "nullptr" and wanted.endswith("&"):
            self.comm = f"{name}_object->comm"
        if kind == "Datatype" and not p.stars:
            self.check_datatype(p, significant)
        if kind == "Op" and {"datatype", "comm"} <= self.by_name.keys():
            guard = "takes_part && " if "takes_part" in self.significance else ""
            self.check(f"{guard}is_bad_op(*op_object, *datatype_object)", f"raise({self.comm}, Err::op, call)")
        return result

    def check_root(self, comm):
        root = self.by_name.get("root")
        if root is not None and root.base == "int":
            self.check(f"is_bad_root(*{comm.name}_object, root)",
                       f"bad_root({self.comm}, root, call)")

    def check_datatype(self, p, significant):
        if not matches(RULES["committed"]["not_needed"], self.name):
            guard = f"{significant} && " if significant else ""
            self.check(f"kChecked && {guard}!{p.name}_object->is_committed()",
                       f"uncommitted({self.about}, \"{p.name}\", call)")
        buffer, count = self.partners(p)
        if not count:
            self.check_single(p)
            return
        guard = f"{significant} && " if significant else ""
        self.check(f"{guard}is_bad_count({count.name})",
                       f"bad_count({self.about}, {count.name}, \"{count.name}\", call)")
        for forbidden in self.never_in_place(p):
            self.check(f"{guard}is_in_place({forbidden})", f"bad_in_place({self.about}, \"{forbidden}\", call)")
        if buffer:
            self.check(f"{guard}is_bad_buffer({buffer.name}, {count.name}, *{p.name}_object)",
                       f"bad_buffer({self.about}, {buffer.name}, \"{buffer.name}\", call)")

    def check_single(self, datatype):
        """The buffers of the one-sided calls that take one element."""
        if "target_disp" not in self.by_name or "target_datatype" in self.by_name:
            return
        for buffer in [p.name for p in self.model.parameters if p.kind == "BUFFER"]:
            guard = "op != MPI_NO_OP && " if buffer == "origin_addr" and "op" in self.by_name else ""
            self.check(f"{guard}is_bad_buffer({buffer}, 1, *{datatype.name}_object)",
                       f"bad_buffer({self.about}, {buffer}, \"{buffer}\", call)")

    def never_in_place(self, datatype):
        """The buffers of a datatype that must not be MPI_IN_PLACE: receive buffers of collectives, but for scatter's; a
        broadcast's buffer; both of MPI_Reduce_local."""
        if self.name == "Reduce_local":
            return ["inbuf", "inoutbuf"]
        buffer, _ = self.partners(datatype)
        if buffer is None or "comm" not in self.by_name:
            return []
        if buffer.name == "buffer" and "root" in self.by_name:
            return ["buffer"]
        is_receive = buffer.name == "recvbuf" and "sendbuf" in self.by_name
        return ["recvbuf"] if is_receive and not re.match(r"I?[Ss]catter", self.name) else []

    def check_blocks(self):
        """The arrays of counts, displacements and datatypes of the v- and w-forms (bindings/c/blocks.hpp)."""
        if not {"sendbuf", "recvbuf", "comm"} <= self.by_name.keys():
            return
        for side, letter in (("send", "s"), ("recv", "r")):
            counts, types = self.by_name.get(f"{side}counts"), self.by_name.get(f"{side}types")
            if counts is None or not counts.is_array:
                continue
            displs = self.by_name.get(f"{letter}displs") or self.by_name.get("displs")
            datatype = self.by_name.get(f"{side}type") or self.by_name.get("datatype")
            buffer = f"{side}buf, \"{side}buf\""
            if "op" in self.by_name:                 # every rank reads all blocks, and writes its own
                buffer = "sendbuf == MPI_IN_PLACE && may_be_in_place(*comm_object) ? recvbuf : sendbuf, \"sendbuf\""
            members = [f"{self.block_count(side)}, {buffer}", f"{self.as_array(counts)}, \"{counts.name}\""]
            if displs:
                members.append(f"{self.as_array(displs)}, \"{displs.name}\"")
            if types:
                members.append(f"nullptr, {types.name}, \"{types.name}\"")
            elif datatype:
                members.append(("" if displs else "{}, nullptr, ") + f"{datatype.name}_object")
            guard = f"uses_{side}buf" if f"uses_{side}buf" in self.significance else ""
            if types and side == "send" and not self.is_neighborly:
                guard = "!(sendbuf == MPI_IN_PLACE && may_be_in_place(*comm_object))"
            condition = f"if ({guard})" if guard else "if (kChecked)"
            arguments = f"{{{', '.join(members)}}}"
            self.lines += [f"  {condition}",
                           f"    if (const int code = check_blocks(comm_object, {arguments}, call)) [[unlikely]]",
                           "      return code;"]

    @property
    def is_neighborly(self):
        return bool(re.match(r"I?[Nn]eighbor", self.name))

    def block_count(self, side):
        if self.is_neighborly:
            return "destination_count(*comm_object)" if side == "send" else "source_count(*comm_object)"
        return "comm_object->size" if "op" in self.by_name else "comm_object->target_size"

    def as_array(self, p):
        """An array of counts or displacements, whatever it is in this call."""
        if self.is_shared and self.shared_type(p).startswith("IntArray"):
            return p.name
        return f"IntArray{{{p.name}, {'false' if p.base == 'int' else 'true'}}}"

    def check_reduced(self):
        """The buffers of reductions that are not every rank's: what is sent, and a root's or a later rank's result."""
        if not {"op", "sendbuf", "recvbuf", "comm", "datatype"} <= self.by_name.keys():
            return
        scalar = next((name for name in ("count", "recvcount") if name in self.by_name), None)
        if scalar is None:                           # MPI_Reduce_scatter; check_blocks has looked at sendbuf
            own = f"{self.as_array(self.by_name['recvcounts'])}[comm_object->rank]"
            self.check(f"is_bad_buffer(recvbuf, {own}, *datatype_object)",
                       f"bad_buffer({self.about}, recvbuf, \"recvbuf\", call)")
            return
        root = ", root" if "root" in self.by_name else ""
        sends = "!is_idle(*comm_object, root) && " if root else ""
        in_place = f"!(sendbuf == MPI_IN_PLACE && may_be_in_place(*comm_object{root}))"
        self.check(f"{sends}{in_place} && is_bad_buffer(sendbuf, {scalar}, *datatype_object)",
                   f"bad_buffer({self.about}, sendbuf, \"sendbuf\", call)")
        receives = "is_root(*comm_object, root)" if root else "comm_object->rank > 0" if "xscan" in self.name else ""
        if receives:
            self.check(f"{receives} && is_bad_buffer(recvbuf, {scalar}, *datatype_object)",
                       f"bad_buffer({self.about}, recvbuf, \"recvbuf\", call)")

    def check_aliases(self):
        """One buffer to send from and to receive into, in the collectives whose blocks have one length."""
        collective = {"sendbuf", "recvbuf", "comm"} <= self.by_name.keys() and "source" not in self.by_name
        if not collective or re.match(r"I?[Nn]eighbor|I?[Ee]xscan", self.name):
            return
        types = [p for p in self.model.parameters if p.base == "MPI_Datatype" and not p.is_array]
        counts = [count for _, count in map(self.partners, types)]
        if not types or None in counts:
            return
        guard = "!comm_object->is_inter() && is_root(*comm_object, root) && " if "root" in self.by_name else ""
        sides = [f"{count.name}, *{datatype.name}_object" for count, datatype in zip(counts, types)]
        self.check(f"{guard}is_alias(sendbuf, recvbuf, {sides[0]}, {sides[-1]})", f"bad_alias({self.about}, call)")

    def partners(self, datatype):
        """The buffer and the scalar count that belong to a datatype: those right before it."""
        before = self.model.parameters[:self.model.parameters.index(datatype)]
        count = before[-1] if before and before[-1].kind in COUNTS and not before[-1].is_array else None
        buffers = [p for p in before if p.kind == "BUFFER" and datatype.name != "target_datatype"]
        if "op" in self.by_name and ("root" in self.by_name or "xscan" in self.name):
            return None, count                       # the receive buffer need not be there on every rank
        return (buffers[-1] if buffers else None), count

    def significant(self, datatype):
        """The bool variable that says whether this side's buffer is read at all; None: always (collectives only)."""
        buffers = [p for p in self.model.parameters if p.kind == "BUFFER"]
        if self.name in ("Get_accumulate", "Rget_accumulate") and datatype.name == "origin_datatype":
            return self.named("uses_origin", ["op != MPI_NO_OP"])
        names = {b.name for b in buffers}
        if "comm" not in self.by_name or re.match(r"I?[Nn]eighbor|I?[Ss]endrecv", self.name):
            return None
        if "op" in self.by_name:
            return self.named("takes_part", ["!is_outside(*comm_object, root)"] if "root" in self.by_name else [])
        if not ({"sendbuf", "recvbuf"} <= names or "root" in self.by_name):
            return None
        before = [p for p in self.model.parameters[:self.model.parameters.index(datatype)] if p.kind == "BUFFER"]
        buffer = before[-1].name
        in_place = "recvbuf" if "catter" in self.name and "educe" not in self.name else "sendbuf"
        root = ", root" if "root" in self.by_name else ""
        terms = [f"!({buffer} == MPI_IN_PLACE && may_be_in_place(*comm_object{root}))"] if buffer == in_place else []
        if "root" in self.by_name:
            if "root_only" in datatype.flags:
                terms.insert(0, "is_root(*comm_object, root)")
            elif buffer == "buffer":
                terms.insert(0, "!is_outside(*comm_object, root)")
            else:
                terms.insert(0, "!is_idle(*comm_object, root)")
        is_new = f"uses_{buffer}" not in self.significance
        variable = self.named(f"uses_{buffer}", terms)
        if is_new and buffer == in_place:            # before its datatype, which need not mean anything then
            self.check(f"{variable} && is_in_place({buffer})", f"bad_in_place({self.about}, \"{buffer}\", call)")
        return variable

    def named(self, variable, terms):
        if not terms:
            return None
        if variable not in self.significance:
            self.significance[variable] = True
            self.lines.append(f"  const bool {variable} = {' && '.join(terms)};")
        return variable

    # --- everything else --------------------------------------------------------------------------------------------

    def check_pointer(self, p):
        other = self.narrow_of(p)
        if f"{self.name}.{p.name}" in RULES["optional"]["texts"]:
            return
        if p.stars and not p.is_array and p.kind not in NULL_ALLOWED and other is not None:
            place = f"{p.name}.place" if self.is_shared and self.shared_type(p).startswith("CountOut") else p.name
            self.check(f"is_missing({place})",
                       f"bad_pointer({self.about}, \"{p.name}\", call)")

    def check_array(self, p):
        """An array whose length is another argument must be there unless that is 0."""
        if not p.is_array or p.kind in NULL_ALLOWED or p.length not in [q.name for q in self.model.parameters]:
            return
        place = f"{p.name}.data" if self.is_shared and self.shared_type(p).startswith("IntArray") else p.name
        self.check(f"is_missing({place}) && {p.length} > 0", f"bad_pointer({self.about}, \"{p.name}\", call)")

    def convert_plain(self, p, wanted):
        name = p.name
        if p.kind in ("FUNCTION", "POLYFUNCTION") and matches(RULES["functions"]["needed"], f"{self.name}.{name}"):
            self.check(f"is_missing(reinterpret_cast<void*>({name}))",
                       f"bad_pointer({self.about}, \"{name}\", call)")
        if p.kind in ("FUNCTION", "POLYFUNCTION") and wanted not in (f"{p.base}*", p.base):
            return f"reinterpret_cast<{self.qualified(wanted)}>({name})"
        if p.kind in ("F08_STATUS", "F90_STATUS", "STATUS") and (p.constant or self.name.startswith("Status_")):
            self.check(f"is_missing({name})", f"bad_pointer({self.about}, \"{name}\", call)")
        elif p.direction != "in" or p.kind == "STRING":
            self.check_pointer(p)
        self.check_array(p)
        self.check_number(p)
        poly = self.shared_type(p).split()[0] if self.is_shared else ""
        if poly == "CountOut" or (p.stars == 1 and p.base == "int" and wanted == "std::int64_t*"):
            return self.convert_count_out(p, f"{name}" if poly == "CountOut" else f"CountOut{{{name}, false}}")
        if wanted == "bool":
            return f"{name} != 0"
        if wanted == "bool*":
            self.lines.append(f"  bool {name}_value = false;")
            self.after.append(f"  *{name} = {name}_value;")
            return f"&{name}_value"
        if wanted == "IntArray" and poly != "IntArray":
            return f"IntArray{{{name}, {'false' if p.base == 'int' else 'true'}}}"
        return name

    def qualified(self, type_name):
        return f"{self.declaration.namespace}::{type_name}" if re.fullmatch(r"[A-Z]\w+", type_name) else type_name

    def convert_count_out(self, p, place):
        name = p.name
        start = f"load({place})" if p.direction == "inout" else "0"
        self.lines.append(f"  std::int64_t {name}_value = {start};")
        if matches(RULES["overflow"]["undefined"], self.name):
            self.after.append(f"  store({place}, fits({place}, {name}_value) ? {name}_value : MPI_UNDEFINED);")
        else:
            self.after[:0] = [f"  if (!fits({place}, {name}_value)) [[unlikely]]",
                              f"    return too_large({self.about}, {name}_value, \"{name}\", call);"]
            self.after.append(f"  store({place}, {name}_value);")
        return f"&{name}_value"

    def check_number(self, p):
        if p.kind == "RANK_NNI" and "win" in self.by_name:
            self.check(f"is_bad_target(*win_object, {p.name})", f"bad_target(win_object, {p.name}, \"{p.name}\", call)")
        if p.stars or p.is_array or p.direction != "in" or self.comm == "nullptr":
            if p.kind in COUNTS and not p.stars and not p.is_array and not self.is_paired(p):
                self.check(f"is_bad_count({p.name})",
                       f"bad_count({self.about}, {p.name}, \"{p.name}\", call)")
            return
        if p.kind in COUNTS and not self.is_paired(p):
            self.check(f"is_bad_count({p.name})",
                       f"bad_count({self.about}, {p.name}, \"{p.name}\", call)")
        test = None
        if p.kind == "RANK" and p.name == "dest":
            test, report = f"is_bad_dest(*{self.comm}, {p.name})", "bad_rank"
        elif p.kind == "RANK" and p.name == "source":
            test, report = f"is_bad_source(*{self.comm}, {p.name})", "bad_rank"
        elif p.kind == "TAG" and (p.name == "recvtag" or "source" in self.by_name and p.name == "tag"):
            test, report = f"is_bad_receive_tag({p.name})", "bad_tag"
        elif p.kind == "TAG":
            test, report = f"is_bad_tag({p.name})", "bad_tag"
        if test:
            self.check(f"{test}", f"{report}({self.comm}, {p.name}, \"{p.name}\", call)")

    def is_paired(self, count):
        """Whether check_datatype looks at it."""
        after = self.model.parameters[self.model.parameters.index(count) + 1:]
        return bool(after) and after[0].base == "MPI_Datatype" and not after[0].stars and not after[0].is_array
