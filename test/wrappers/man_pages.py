"""Every call has its manual page, and the pages are ones that a viewer shows without complaint.

    man_pages.py BUILD_DIR SOURCE_DIR
"""

import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

COMMANDS = ("man1/mpirun.1", "man1/mpiexec.1", "man1/mpicc.1", "man1/mpicxx.1", "man1/dunlin-info.1", "man7/dunlin.7")
RENDERED = 12  # of the calls' pages, by chance; all of them take a minute

WORDS = {  # what an argument is, and whether the call writes it
    "MPI_Waitall": (
        "array_of_requests\\fP (in and out)\n",
        "count\\fP\nhow many requests\n",
        "MPI_ERR_REQUEST",
        "MPI_Testsome(3)",
        "communicator, window or file.",
    ),
    "MPI_Cart_coords": ("coords\\fP (out)\n", "maxdims\\fP\n"),
    "MPI_Igather": ("at the root: elements to receive from each rank\n", "All ranks of the communicator call it"),
    "MPI_Recv": ("MPI_ERR_BUFFER", "error handler of the communicator.", "MPI_Comm\\ comm,"),
    "MPI_Type_get_contents": ("array_of_large_counts\\fP (out)\n",),
    "MPI_Comm_spawn": ("RETURN VALUE\nMPI_ERR_UNSUPPORTED_OPERATION.\n",),
    "MPI_Op_create": ("the class MPI_ERR_ARG.", "MPI_User_function_c,", "MPI_COMM_WORLD where that of MPI_COMM_SELF"),
    "MPI_Init": ("the initial error handler,", "MPI_Finalize(3)"),
    "MPI_Intercomm_create": ("of the communicator local_comm.",),
    "MPI_Comm_create_group": ("MPI_Comm_split(3)",),
    "MPI_Session_init": ("MPI_Session_finalize(3)", "the error handler among its arguments"),
    "MPI_Buffer_attach": ("has size of type MPI_Count,",),
    "MPI_Win_fence": ("All ranks of the window call it",),
    "MPI_File_open": ("error handler of MPI_FILE_NULL",),
    "MPI_File_read_ordered": ("All ranks that opened the file call it",),
}


def names(source):
    listed = (source / "test/static/exports.txt").read_text().split()
    return [name for name in listed if name.startswith("MPI_") and name not in ("MPI_Psend_init_c", "MPI_Precv_init_c")]


def target(pages, path):
    """The page itself, where a page only names another one."""
    found = re.match(r"\.so (\S+)", path.read_text())
    return pages / found[1] if found else path


def rendered(path):
    """Text and complaints of the page in a viewer; None without one."""
    if shutil.which("groff"):
        command = ["groff", "-man", "-Tutf8", "-ww", "-P-cbou", path]
    elif shutil.which("mandoc"):
        command = ["mandoc", "-T", "ascii", path]
    else:
        return None
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.stdout, done.stderr


def main():
    pages, source = Path(sys.argv[1]) / "man", Path(sys.argv[2])
    calls = [f"man3/{name}.3" for name in names(source)]
    faults = [f"there is no {name}" for name in (*COMMANDS, *calls) if not (pages / name).is_file()]
    if "\n.nf\nmpirun \\-n 4 ./program input.dat\nmpirun " not in (pages / "man1/mpirun.1").read_text():
        faults.append("the examples of mpirun(1) are no lines of their own")
    for name, words in WORDS.items():
        page = (pages / f"man3/{name}.3").read_text()
        faults += [f"{name} does not say: {each!r}" for each in words if each not in page]
    for name in calls:
        page = target(pages, pages / name).read_text() if not faults else ""
        if page and not re.search(r"SEE ALSO\nMPI_", page):
            faults.append(f"{name} names no other call under SEE ALSO")
    seed = random.randrange(1 << 30)
    chosen = random.Random(seed).sample(calls, RENDERED)
    longest = ["man3/MPI_Session_create_errhandler.3", "man3/MPI_T_event_register_callback.3"]
    for name in (*COMMANDS, *longest, *chosen) if not faults else ():
        path = target(pages, pages / name)
        shown = rendered(path)
        if shown is None:
            print("no groff and no mandoc: pages are not rendered")
            break
        text, complaints = shown
        sections = re.findall(r"^[A-Z][A-Z ]+$", text, re.M)
        too_wide = [line for line in text.splitlines() if len(line) > 80]
        if too_wide:
            faults.append(f"{path}: a line is wider than 80 columns: {too_wide[0]!r}")
        if complaints or Path(name).stem not in text or not {"NAME", "SEE ALSO"} <= set(sections):
            faults.append(f"{path}: {complaints or f'sections {sections}'}")
    print("\n".join(faults) or f"{len(calls)} calls have a page")
    print(f"seed {seed}")
    return 1 if faults or len(calls) < 600 else 0


if __name__ == "__main__":
    sys.exit(main())
