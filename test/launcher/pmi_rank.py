# A rank that speaks PMI-1 in Python, as MPICH's client does; run under mpirun by pmi_test.py.
import os
import socket
import sys

what = sys.argv[1]
pmi = socket.socket(fileno=int(os.environ["PMI_FD"]))
lines = pmi.makefile("rb")
rank, size = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])


def ask(line):
    pmi.sendall(line.encode() + b"\n")
    answer = lines.readline().decode()
    assert answer.endswith("\n"), "closed after " + line
    return dict(word.split("=", 1) for word in answer.split())


def must(line, **expected):
    answer = ask(line)
    for name, value in expected.items():
        assert answer.get(name) == value, (line, answer)
    return answer


must("cmd=init pmi_version=1 pmi_subversion=1", cmd="response_to_init", rc="0", pmi_version="1")
maxes = must("cmd=get_maxes", cmd="maxes")
assert min(int(maxes[name]) for name in ("kvsname_max", "keylen_max", "vallen_max")) >= 64
name = must("cmd=get_my_kvsname", cmd="my_kvsname")["kvsname"]
must("cmd=get_universe_size", cmd="universe_size", size=str(size))
must("cmd=get_appnum", cmd="appnum", appnum="0")
must(
    "cmd=get kvsname=%s key=PMI_process_mapping" % name,
    cmd="get_result",
    rc="0",
    value="(vector,(0,1,%d))" % size,
)
if what == "exchange":
    for turn in range(5):
        must(
            "cmd=put kvsname=%s key=k%d-%d value=v%d:%s" % (name, rank, turn, rank, "x" * 900),
            cmd="put_result",
            rc="0",
        )
        must("cmd=barrier_in", cmd="barrier_out")
        for other in range(size):
            must(
                "cmd=get kvsname=%s key=k%d-%d" % (name, other, turn),
                cmd="get_result",
                rc="0",
                value="v%d:%s" % (other, "x" * 900),
            )
    must("cmd=get kvsname=%s key=nobody" % name, cmd="get_result", rc="-1")
    must("cmd=nonsense a=b", rc="-1")
    pmi.sendall(b"mcmd=spawn\nnprocs=1\nexecname=x\nendcmd\n")
    assert b"rc=-1" in lines.readline()
if what == "abort" and rank == 0:
    pmi.sendall(b"cmd=abort exitcode=19\n")
if what == "abort":
    lines.readline()  # never comes
if what == "exit":
    sys.exit(0)
must("cmd=finalize", cmd="finalize_ack")
print("ok")
