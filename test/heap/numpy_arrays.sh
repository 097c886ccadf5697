#!/bin/sh
# numpy_arrays.py on two ranks, and whether each of its 30 messages went by mapping the sender's memory.
# usage: numpy_arrays.sh BUILD_FOLDER PROGRAM_FOLDER     Exit status 77: no Python with numpy.
for python in python3 /usr/bin/python3; do
  "$python" -c 'import numpy' 2>/dev/null && break
  python=
done
[ -n "$python" ] || { echo "skipped: no Python here has numpy (apt-get install python3-numpy)"; exit 77; }
said=$(DUNLIN_VERBOSE=1 "$1/bin/mpirun" --timeout 60 -n 2 "$python" "$2/numpy_arrays.py" "$1/lib/libmpi_abi.so.1" 2>&1) ||
  { echo "FAILED: $said"; exit 1; }
mapped=$(echo "$said" | sed -n 's/.*rank 1: shared_heap: \([0-9]*\) ranges.*/\1/p')
echo "messages: 30, ranges of the sender mapped: ${mapped:-none}"
[ "${mapped:-0}" -ge 30 ]
