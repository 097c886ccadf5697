"""A line between a host and the others that loses, doubles, delays and reorders what crosses it.

Two network devices of this process's own (TAP) with this process in between: what netem does in kernels that have it.
"""

import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import threading
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000


def open_tap(name):
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return fd


class BadLine(threading.Thread):
    """Between the bridge br0 and the device `port`, which was in it.  Raises OSError where there are no TAP devices."""

    def __init__(self, port, lost=0.02, doubled=0.02, delayed=0.1, delay_s=0.005, seed=1):
        super().__init__(daemon=True)
        self.lost, self.doubled, self.delayed, self.delay_s = lost, doubled, delayed, delay_s
        self.random = random.Random(seed)
        self.done = {"lost": 0, "doubled": 0, "delayed": 0}
        self.ends = [open_tap("bad0"), open_tap("bad1")]
        for words in ("link add name br1 type bridge", "link set br1 up", "link set bad0 master br0 up",
                      "link set bad1 master br1 up", "link set %s master br1" % port):
            subprocess.run(["ip", *words.split()], check=True)

    def run(self):
        late = []  # (when, number, to which end, frame)
        number = 0
        while True:
            wait = max(0, late[0][0] - time.monotonic()) if late else None
            for fd in select.select(self.ends, [], [], wait)[0]:
                frame, to = os.read(fd, 65536), self.ends[1 - self.ends.index(fd)]
                for _ in range(self.copies()):
                    number += 1
                    heapq.heappush(late, (time.monotonic() + self.lateness(), number, to, frame))
            while late and late[0][0] <= time.monotonic():
                _, _, to, frame = heapq.heappop(late)
                os.write(to, frame)

    def copies(self):
        draw = self.random.random()
        if draw < self.lost:
            return self.count("lost", 0)
        return self.count("doubled", 2) if draw < self.lost + self.doubled else 1

    def lateness(self):
        if self.random.random() >= self.delayed:
            return 0
        return self.count("delayed", self.random.random() * self.delay_s)

    def count(self, what, value):
        self.done[what] += 1
        return value
