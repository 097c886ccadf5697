"""Every program of zoo.c under mpirun: deadlocks are found and named, what only looks like one ends well.

usage: zoo_test.py MPIRUN ZOO [NAME]...   Several programs run at a time: they mostly sleep.
"""

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

DEADLOCK = 123  # exit code
FOUND_S = 5.0 if os.getloadavg()[0] < os.cpu_count() else 20.0  # from the last wait's begin until it is found
AT_A_TIME = 8

# Name: ranks, and what mpirun says besides the table (a regular expression; lines joined by blanks).
DEADLOCKS = {
    "receive_cycle": (3, r"0 +MPI_Recv +a message of up to 4 bytes +2 +7 +MPI_COMM_WORLD .*zoo\.c:\d+, from zoo\.c:\d+ .*"
                         r"rank 0 \(MPI_Recv\) waits for rank 2 \(MPI_Recv\), which waits for rank 1 \(MPI_Recv\), "
                         r"which waits for rank 0"),
    "send_cycle": (2, r"1 +MPI_Send +a send of 4194304 bytes \(waiting for a matching receive\).*"
                      r"rank 0 \(MPI_Send\) waits for rank 1 \(MPI_Send\), which waits for rank 0"),
    "synchronous_to_self": (1, r"rank 0 \(MPI_Ssend\) waits for itself"),
    "wildcard": (2, r"any +any +MPI_COMM_WORLD.*rank 0 \(MPI_Recv\) waits for a message from any rank, and no rank is"),
    "wildcard_taken": (2, r"rank 0 \(MPI_Recv\) waits for rank 1 \(MPI_Recv\), which waits for rank 0"),
    "wrong_tag": (2, r"rank 1: .*tag 3.*"),
    "wrong_communicator": (2, r"rank 1: .*other.*"),
    "collective_order": (3, r"rank 1 called MPI_Bcast\(root 2\) as its 2nd collective on MPI_COMM_WORLD, "
                            r"rank 0 MPI_Barrier: all must call the same"),
    "missing_partner": (3, r"rank 0 \(MPI_Barrier\) waits for rank 2 \(MPI_Recv\), which waits for rank 0"),
    "lost_root": (3, r"rank 1 called MPI_Bcast\(root 2\) as its 1st collective on MPI_COMM_WORLD, "
                     r"rank 0 MPI_Bcast\(root 1\).*rank 0 \(MPI_Bcast\) waits for rank 1 \(MPI_Bcast\), "
                     r"which waits for rank 2 \(MPI_Bcast\), "
                     r"which waits for rank 0"),
    "one_in_finalize": (2, r"rank 0 \(MPI_Recv\) waits for rank 1 \(MPI_Finalize\), which waits for rank 0"),
    "wait_all": (2, r"rank 0 \(MPI_Waitall\) waits for rank 1 \(MPI_Waitall\), which waits for rank 0"),
    "wait_any": (2, r"MPI_Waitany +any of 2 requests.*rank 0 \(MPI_Waitany\) waits for any of 2 requests"),
    "probe": (2, r"rank 0 \(MPI_Probe\) waits for rank 1 \(MPI_Probe\), which waits for rank 0"),
    "nonblocking_collective": (2, r"rank 0 \(MPI_Wait\) waits for rank 1 \(MPI_Wait\), which waits for rank 0"),
    "two_communicators": (2, r"blue.*red.*rank 0 \(MPI_Barrier\) waits for rank 1 \(MPI_Barrier\)"),
    "duplicate_or_not": (2, r"rank 1 \(MPI_Finalize\) waits for rank 0, which has ended"),
    "lock_held": (2, r" 1 +MPI_Win_lock +the lock of rank 1's memory +0 +a window of 2 ranks .*"
                     r"rank 0 \(MPI_Recv\) waits for rank 1 \(MPI_Win_lock\), which waits for rank 0"),
    "nobody_posts": (2, r" 1 +MPI_Win_start +its MPI_Win_post +0 +halo .*"
                        r"rank 0 \(MPI_Win_start\) waits for rank 1 \(MPI_Win_start\), which waits for rank 0"),
    "many_collectives": (2, r"rank 0: its earlier nonblocking collectives must end first.*"
                            r"rank 0 \(MPI_Wait\) waits for a nonblocking barrier"),
    "persistent_collectives": (2, r" 0 +MPI_Wait +collective 1 +1 .* 1 +MPI_Wait +collective 2 +0 "),
    "missing_partner in its domain": (3, r" 1 +MPI_Barrier +collective 1 +2 .*"
                                         r"rank 1 \(MPI_Barrier\), which waits for rank 2 \(MPI_Recv\)",
                                      {"DUNLIN_COLL_SHARED_RANKS": "2"}),
    "behind_a_library": (2, r" 0 +MPI_Recv .* 1 +3 +MPI_COMM_WORLD +\d\.\d s +zoo_wrapper\.c:\d+, from zoo\.c:\d+ "),
    "threads": (2, r"( 0 +MPI_Recv .*){2}( 1 +MPI_Recv .*){2}rank 0 \(MPI_Recv\) waits for rank 1"),
}
# Name: ranks, environment, and the error that ends the job.
CHECK = {"DUNLIN_CHECK": "collectives"}
ERRORS = {
    "other_count": (2, CHECK, r"MPI_Allreduce failed: rank \d gave \d bytes to collective 1 on MPI_COMM_WORLD, rank"),
    "other_operator": (2, CHECK, r"MPI_Allreduce failed: rank \d gave another operator than rank \d to collective 1"),
    "other_type": (2, CHECK, r"MPI_Bcast failed: rank \d gave other elements than rank \d to collective 1"),
    "other_root": (2, CHECK, r"MPI_Wait failed: rank \d called MPI_Ireduce\(root \d\) as collective 1 on "
                             r"MPI_COMM_WORLD, rank \d MPI_Ireduce\(root \d\)"),
    "other_root_in_session": (2, CHECK, r"MPI_Bcast failed: rank \d called MPI_Bcast\(root \d\) as collective 1 on a "
                                        r"communicator of 2 ranks, rank \d MPI_Bcast\(root \d\)"),
    "other_call": (2, CHECK, r"rank \d called MPI_I\w+ as collective 1 on MPI_COMM_WORLD, rank \d MPI_I\w+"),
    "all_counted_at_once": (2, {}, r"MPI_Gather failed: rank 0 sends itself 4 bytes and is to receive 8 of them, in "
                                   r"collective 1 on MPI_COMM_WORLD.*ended the job after an error of MPI_Gather"),
    "sent_too_little": (2, {"DUNLIN_COLL_GATHER": "linear"},
                        r"MPI_Gather failed: rank 1 sent 4 bytes where 8 are to be received, in collective 1 on "
                        r"MPI_COMM_WORLD.*ended the job after an error of MPI_Gather"),
    "too_long": (2, {}, r"MPI_Recv failed: the message from rank 0 of MPI_COMM_WORLD, tag 6, has 16 bytes, the "
                        r"receive buffer only room for 4 \(MPI_ERR_TRUNCATE\)"),
    "not_a_handle": (1, {}, r"MPI_Send was (given 0x7123456 as a datatype, but there is none at that address|"
                            r"using that address: one of)"),
    "other_file_call": (2, {}, r"the ranks of a window or file call different functions of it: rank \d sent \d+ bytes "
                               r"where \d+ are to be received"),
    "not_a_buffer": (1, {}, r"MPI_Sendrecv was using that address: one of its arguments is no valid buffer or handle"),
}  # fmt: skip
# Name: what --timeout says of two ranks, one of which at least tests in vain.
SUSPECTED = {
    "test_in_vain": r" 0 +MPI_Test +a message of up to 4 bytes +1 +2 .* 1 +MPI_Wait .*rank 0 does not wait, but calls "
                    r"MPI_Test in a loop and finds nothing: \d+ times.*suspected deadlock: rank 0 \(MPI_Test\) waits for "
                    r"rank 1 \(MPI_Wait\), which waits for rank 0",
    "probe_in_vain": r" 0 +MPI_Iprobe +a message to look at +1 +2 .*rank 1 does not wait, but calls MPI_Iprobe in a loop.*"
                     r"suspected deadlock: rank 0 \(MPI_Iprobe\) waits for rank 1 \(MPI_Iprobe\), which waits for rank 0",
}  # fmt: skip
# Name: ranks.
OTHERS = {
    "sleeps": 3, "computes": 2, "test_loop": 2, "probe_loop": 2, "stopped": 2, "stopped_while_waiting": 2,
    "lock_kept_long": 3, "slow_stream": 2, "callback_sleeps": 3, "child_process": 2, "slow_file": 2, "before_init": 2,
    "thread_sleeps": 2, "thread_reads": 2, "thread_waits_for_process": 2, "generalized": 1, "alike": 3,
}  # fmt: skip


def run(mpirun, zoo, name, ranks, environment=CHECK, starter=(), timeout=60):
    job = subprocess.run(
        [mpirun, "--timeout", str(timeout), "-n", str(ranks), *starter, zoo, name],
        env=os.environ | environment, capture_output=True, text=True, cwd=os.path.dirname(zoo),
    )  # fmt: skip
    return job.returncode, job.stderr.replace("\n", " ")


def check_deadlock(mpirun, zoo, name):
    ranks, expected, *environment = DEADLOCKS[name]
    code, said = run(mpirun, zoo, name.partition(" ")[0], ranks, *environment or [{}])
    if code != DEADLOCK or "mpirun: deadlock: every rank waits" not in said:
        return "code %d instead of a deadlock: %s" % (code, said)
    waited = [float(text) for text in re.findall(r" (\d+\.\d) s\b", said)]
    if min(waited) > FOUND_S:
        return "found %g s after the last wait had begun" % min(waited)
    return None if re.search(expected, said) else "said: %s\n  wanted: %s" % (said, expected)


def check_action(mpirun, zoo, name):
    """DUNLIN_DEADLOCK=report and =ignore leave the job to whoever looks at it."""
    action = name.partition(" ")[2]
    code, said = run(mpirun, zoo, "receive_cycle", 3, {"DUNLIN_DEADLOCK": action}, timeout=8)
    is_said = "mpirun: deadlock: every rank waits" in said and "waits for rank 2" in said
    is_right = code == 124 and is_said == (action == "report") and "the job is ended" not in said
    return None if is_right else "code %d: %s" % (code, said)


def check_other(mpirun, zoo, name):
    code, said = run(mpirun, zoo, name, OTHERS[name])
    return None if code == 0 and "deadlock" not in said else "code %d: %s" % (code, said)


def check_behind_a_shell(mpirun, zoo, _):
    """The child of mpirun has one thread; the rank has one more, which sleeps and then goes on."""
    code, said = run(mpirun, zoo, "thread_sleeps", 2, starter=("sh", "-c", '"$0" "$@"; exit $?'))
    return None if code == 0 and "deadlock" not in said else "code %d: %s" % (code, said)


def check_error(mpirun, zoo, name):
    ranks, environment, expected = ERRORS[name]
    code, said = run(mpirun, zoo, name, ranks, environment)
    return None if code not in (0, 124, DEADLOCK) and re.search(expected, said) else "code %d: %s" % (code, said)


def check_suspected(mpirun, zoo, name):
    code, said = run(mpirun, zoo, name, 2, {}, timeout=4)
    return None if code == 124 and re.search(SUSPECTED[name], said) else "code %d: %s" % (code, said)


def check_dump(mpirun, zoo, _):
    """On SIGQUIT and SIGUSR1 mpirun says who waits, and the job goes on."""
    job = subprocess.Popen(
        [mpirun, "--timeout", "60", "-n", "2", zoo, "sleeps"], stderr=subprocess.PIPE, text=True
    )
    time.sleep(2)
    job.send_signal(signal.SIGQUIT)
    job.send_signal(signal.SIGUSR1)
    said = job.communicate()[1].replace("\n", " ")
    wanted = r"SIGQUIT.* 0 +sleeps, does not wait in MPI.* 1 +MPI_Recv .* 0 +1 +MPI_COMM_WORLD"
    is_right = job.returncode == 0 and re.search(wanted, said) and "SIGUSR1" in said and "suspected" not in said
    return None if is_right else said


def check_over_network(mpirun, zoo, _):
    """Messages may be under way where nobody can look: no deadlock is claimed, and --timeout shows who waits."""
    network = {"DUNLIN_NODES": "3", "DUNLIN_OFI_PROVIDER": "tcp"}
    code, said = run(mpirun, zoo, "receive_cycle", 3, network, timeout=6)
    is_right = code == 124 and re.search(r"--timeout:.* 2 +MPI_Recv ", said) and "deadlock" not in said
    return None if is_right else "code %d: %s" % (code, said)


def check_lengths_over_network(mpirun, zoo, _):
    """Lengths by which ranks take different algorithms are named where compared; else --timeout shows who waits."""
    network = {"DUNLIN_NODES": "0,0,1,1", "DUNLIN_OFI_PROVIDER": "tcp"}
    program = os.path.join(os.path.dirname(zoo), "other_length")
    code, said = run(mpirun, program, "", 4, network | CHECK)
    wanted = r"MPI_Gather failed: rank \d gave (32|36000) bytes to collective 1 on MPI_COMM_WORLD, rank \d (32|36000) "
    if code in (0, 124) or not re.search(wanted, said):
        return "compared: code %d: %s" % (code, said)
    code, said = run(mpirun, program, "", 4, network, timeout=6)
    wanted = r"--timeout:.* 0 +MPI_Gather +collective 1 +3 .* 1 +MPI_Barrier +collective 2 +0 .* 2 +MPI_Barrier "
    is_right = code == 124 and re.search(wanted, said) and "deadlock" not in said
    return None if is_right else "code %d: %s" % (code, said)


def check_wait_report(mpirun, zoo, _):
    """DUNLIN_WAIT_REPORT names the call as the user wrote it, once for each long wait."""
    said = []
    for name, ranks in (("sleeps", 2), ("missing_partner", 3)):
        _, text = run(mpirun, zoo, name, ranks, {"DUNLIN_WAIT_REPORT": "1"})
        said.append(text)
    wanted = (r"rank 1: MPI_Recv has waited \d s for a message of up to 4 bytes, rank 0 of the job, tag 1, MPI_COMM",
              r"rank [01]: MPI_Barrier has waited \d s for ")
    return None if all(re.search(*each) for each in zip(wanted, said)) else "said: %s" % said


def main():
    mpirun, zoo, *wanted = sys.argv[1:]
    checks = [(name, check_other) for name in OTHERS]
    checks += [(name, check_deadlock) for name in DEADLOCKS] + [("dump", check_dump)]
    checks += [("behind_a_shell", check_behind_a_shell), ("wait_report", check_wait_report)]
    checks += [("action report", check_action), ("action ignore", check_action)]
    checks += [(name, check_error) for name in ERRORS] + [(name, check_suspected) for name in SUSPECTED]
    if wanted:
        checks += [("over_network", check_over_network), ("lengths_over_network", check_lengths_over_network)]
        checks = [each for each in checks if each[0] in wanted]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        faults = list(pool.map(lambda each: each[1](mpirun, zoo, each[0]), checks))
    for (name, _), fault in zip(checks, faults):
        print("%-29s %s" % (name, fault or "ok"))
    return any(faults)


if __name__ == "__main__":
    sys.exit(main())
