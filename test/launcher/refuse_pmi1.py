"""Between a rank and its launcher: refuses PMI-1, as launchers do that speak PMI-2 alone, and passes on all else.

refuse_pmi1.py PROGRAM ARGUMENTS..., started by a launcher that speaks both (PMI_FD).
"""

import os
import select
import socket
import subprocess
import sys

launcher = socket.socket(fileno=int(os.environ["PMI_FD"]))
here, rank = socket.socketpair()
os.set_inheritable(rank.fileno(), True)
program = subprocess.Popen(sys.argv[1:], pass_fds=[rank.fileno()], env={**os.environ, "PMI_FD": str(rank.fileno())})
rank.close()

asked = b""
while not asked.endswith(b"\n"):
    piece = here.recv(1)
    if not piece:
        break
    asked += piece
if asked.startswith(b"cmd=init pmi_version=1"):
    here.sendall(b"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1\n")
else:
    launcher.sendall(asked)

ends = {here: launcher, launcher: here}
while ends:
    for each in select.select(list(ends), [], [])[0]:
        piece = each.recv(65536)
        if piece:
            ends[each].sendall(piece)
        else:
            ends = {}
            break
sys.exit(program.wait() & 0xff)
