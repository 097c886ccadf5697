"""Writes test/fortran/calls_*.f90: every procedure of every interface, called once with arguments of the standard's names,
types and order, which mean nothing: null handles, counts of 0.
"""

import re

from fortran_modules import NOTE, wrapped

# Start and end.
NOT_CALLED = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Abort"}
HANDLES = {"COMMUNICATOR": ("MPI_Comm", "MPI_COMM_NULL"), "DATATYPE": ("MPI_Datatype", "MPI_DATATYPE_NULL"),
           "ERRHANDLER": ("MPI_Errhandler", "MPI_ERRHANDLER_NULL"), "FILE": ("MPI_File", "MPI_FILE_NULL"),
           "GROUP": ("MPI_Group", "MPI_GROUP_NULL"), "INFO": ("MPI_Info", "MPI_INFO_NULL"),
           "MESSAGE": ("MPI_Message", "MPI_MESSAGE_NULL"), "OPERATION": ("MPI_Op", "MPI_OP_NULL"),
           "REQUEST": ("MPI_Request", "MPI_REQUEST_NULL"), "SESSION": ("MPI_Session", "MPI_SESSION_NULL"),
           "WINDOW": ("MPI_Win", "MPI_WIN_NULL")}
# The type of a dummy argument -> stem of the variables: x_in is never written, x_out is.
STEMS = [(r"TYPE\(\*\).*|<type>", "choice"), (r"TYPE\(C_PTR\).*", "pointer"), (r"INTEGER\(KIND.*", "long"),
         (r"INTEGER.*", "int"), (r"LOGICAL.*", "logical"), (r"CHARACTER.*", "text")]


def variables(is_f08):
    status = "type(MPI_Status) :: {}" if is_f08 else "integer :: {}(MPI_STATUS_SIZE{})"
    lines = ["  integer :: error, called = 0",
             "  integer :: int_in = 0, int_out, ints_in(12) = 0, ints_out(12), intss_in(3, 2) = 0",
             "  integer(kind=8) :: long_in = 0, long_out, longs_in(12) = 0, longs_out(12)",
             "  logical :: logical_in = .false., logical_out, logicals_in(4) = .false., logicals_out(4)",
             "  real(8) :: choice_in(16) = 0, choice_out(16) = 0",
             "  character(len=8192) :: text_in = ' ', text_out",
             "  character(len=8) :: texts_in(2) = ' ', textss_in(2, 2) = ' '",
             "  type(C_PTR) :: pointer_out"]
    for name in ("status_in", "status_out"):
        lines.append("  " + status.format(name, ""))
    lines.append("  type(MPI_Status) :: statuses_out(2)" if is_f08 else "  integer :: statuses_out(MPI_STATUS_SIZE, 2)")
    lines.append("  type(MPI_Status) :: f08_status")
    lines.append("  integer :: f_status(MPI_STATUS_SIZE) = 0")
    for kind, (name, null) in HANDLES.items():
        stem, declared = kind.lower(), f"type({name})" if is_f08 else "integer"
        lines += [f"  {declared} :: {stem}_in = {null}, {stem}_out",
                  f"  {declared} :: {stem}s_in(12) = {null}, {stem}s_out(12)"]
    return lines


def actual(parameter, procedure_name):
    kind, data = parameter.kind.name, parameter._parseset
    is_written = data["param_direction"] == "out"
    ending = "_out" if is_written else "_in"
    dimensions = re.search(r"\((.*)\)$", str(parameter))
    plural = "" if not dimensions else "s" * (dimensions[1].count(",") + 1)
    declared = str(getattr(parameter, "descriptor", parameter.type))
    if kind == "STATUS":
        return ("statuses" if data["length"] is not None else "status") + ending
    if kind in ("F08_STATUS", "F90_STATUS"):
        return "f08_status" if kind == "F08_STATUS" else "f_status"
    if kind in HANDLES:
        return f"{kind.lower()}{plural}{ending}"
    if kind in ("FUNCTION", "POLYFUNCTION"):
        return re.sub(r"PROCEDURE\((?:MPI_)?(\w+)\)", r"\1", declared).lower() if "PROC" in declared else "any_procedure"
    if procedure_name == "MPI_Free_mem":
        return "MPI_BOTTOM"
    stem = next(stem for pattern, stem in STEMS if re.fullmatch(pattern, declared))
    return stem + ending if stem in ("choice", "pointer") else f"{stem}{plural}{ending}"


def call(name, procedure, expression, by_keyword):
    pairs = [(p.name.lower(), "error" if p.name.lower() == "ierror" else actual(p, procedure.name))
             for p in expression.parameters]
    arguments = ", ".join(f"{dummy}={value}" if by_keyword else value for dummy, value in pairs)
    if procedure.is_subroutine or not procedure.f90.return_type:
        text = f"call {name}({arguments})"
    else:
        kind = "long_out" if "INTEGER" in procedure.f90.return_type else "choice_out(1)"
        text = f"{kind} = {name}({arguments})"
    return [*wrapped(text, 4), "    called = called + 1"]


def program(name, uses, rows, is_f08, callbacks):
    """The calls in subroutines of at most 60 of them: compilers take long for long ones."""
    parts = [rows[i:i + 60] for i in range(0, len(rows), 60)]
    lines = [f"! Every procedure of {name}, called once with arguments that mean nothing.", f"! {NOTE}",
             f"program calls_{name}", *uses, *variables(is_f08), "  external any_procedure", "  call MPI_Init(error)"]
    lines += [f"  call part{number}()" for number in range(1, len(parts) + 1)]
    lines += ['  print *, called, "calls"', f"  if (called /= {len(rows)}) error stop 1",
              "  call MPI_Finalize(error)", "contains"]
    for number, part in enumerate(parts, 1):
        lines += [f"  subroutine part{number}()", *[line for row in part for line in row], f"  end subroutine part{number}"]
    return "\n".join([*lines, *callbacks, "end program", "", "subroutine any_procedure()", "end subroutine", ""])


def callback_bodies():
    """A procedure of each type, which nobody calls."""
    import pympistandard as standard
    standard.use_api_version(1, force_bundled=True)
    lines = []
    for callback in standard.CALLBACKS.values():
        large = callback.express.embiggen.f08 if callback.express.embiggen else None
        for expression in filter(None, [callback.express.f08, large]):
            text = [line.strip() for line in str(expression).splitlines()[1:]]
            head = re.sub(r"^MPI_(\w+)", lambda match: match[1].lower(), text[0], flags=re.I)
            lines += [*wrapped(f"subroutine {head}", 2), *[line for each in text[1:] for line in wrapped(each, 4)],
                      "  end subroutine"]
    return lines


def texts(found):
    called = [p for p in found if p.name not in NOT_CALLED]
    use = ["  use, intrinsic :: iso_c_binding, only : C_PTR", "  implicit none"]
    in_f08 = [call(p.name, p, p.f08, True) for p in called if p.in_f08]
    for p in called:
        if p.large and not p.is_alike_when_large:
            in_f08.append(call(p.f08_large.name, p, p.f08_large, True))
    in_mpi = [call(p.name, p, p.f90, True) for p in called]
    in_mpif = [call(p.name, p, p.f90, False) for p in called if p.name != "MPI_Sizeof"]
    status = ["  type, bind(C) :: MPI_Status", "    integer :: fields(8)", "  end type"]
    return {
        "test/fortran/calls_mpi_f08.f90": program("mpi_f08", ["  use mpi_f08", *use], in_f08, True, callback_bodies()),
        "test/fortran/calls_mpi.f90": program("mpi", ["  use mpi", *use], in_mpi, False, []),
        "test/fortran/calls_mpif.f90": program("mpif", [*use, "  include 'mpif.h'", *status], in_mpif, False, []),
    }
