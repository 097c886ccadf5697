"""Python's ways to start processes, under the preloaded allocator: multiprocessing (fork), subprocess, system."""
import array
import hashlib
import multiprocessing
import os
import subprocess

data = array.array("q", range(2_000_000))  # 16 MB in one block
digest = hashlib.md5(data).hexdigest()


def work(value):
    assert hashlib.md5(data).hexdigest() == digest, "the child sees changed data"
    for i in range(0, len(data), 1000):
        data[i] = value
    return sum(data[i] for i in range(0, len(data), 1000))


def unchanged(what):
    assert hashlib.md5(data).hexdigest() == digest, f"the parent sees the child's writes after {what}"


context = multiprocessing.get_context("fork")
for _ in range(3):
    with context.Pool(3) as pool:
        assert pool.map(work, [1]) == [2000]
    unchanged("a pool")
    process = context.Process(target=work, args=(5,))
    process.start()
    process.join()
    assert process.exitcode == 0
    unchanged("a process")
    assert subprocess.run(["true"], check=False).returncode == 0
    assert subprocess.check_output("echo hi", shell=True) == b"hi\n"
    assert os.system("true") == 0
    subprocess.run(["true"], preexec_fn=lambda: work(7), check=False)
    unchanged("preexec_fn")

from_parent, parent_end = os.pipe()
child = os.fork()
if child == 0:
    os.read(from_parent, 1)
    os._exit(0 if hashlib.md5(data).hexdigest() == digest else 1)
for i in range(len(data)):
    data[i] = 9
os.write(parent_end, b"x")
assert os.waitpid(child, 0)[1] == 0, "the child saw its parent's writes"
print("ok")
