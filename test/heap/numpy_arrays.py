"""Large numpy arrays between two ranks: they arrive whole and without a copy through the library's own memory.

Run by mpirun -n 2 with DUNLIN_VERBOSE=1 (numpy_arrays.sh reads the count of mapped ranges); MPI is called through ctypes,
by the constants of the standard ABI.  Exit status 77: no numpy here.
"""
import ctypes
import sys

try:
    import numpy
except ImportError:
    sys.exit(77)

mpi = ctypes.CDLL(sys.argv[1])
WORLD, BYTE = ctypes.c_void_p(0x101), ctypes.c_void_p(0x247)
ROUNDS, COUNT = 10, 1 << 18  # 2 MiB each
mpi.MPI_Init(None, None)
rank = ctypes.c_int()
mpi.MPI_Comm_rank(WORLD, ctypes.byref(rank))
mpi.MPI_Barrier(WORLD)  # behind it every rank has said how its memory is reached


def move(array):
    at = ctypes.c_void_p(array.ctypes.data)
    if rank.value == 0:
        mpi.MPI_Send(at, array.nbytes, BYTE, 1, 0, WORLD)
    else:
        mpi.MPI_Recv(at, array.nbytes, BYTE, 0, 0, WORLD, None)


for i in range(ROUNDS):
    for wanted in (
        numpy.arange(COUNT, dtype=float) + i,
        numpy.zeros((512, COUNT // 512)) + i,
        numpy.full(COUNT, i, dtype=numpy.complex64),
    ):
        array = wanted if rank.value == 0 else numpy.empty_like(wanted)
        move(array)
        assert numpy.array_equal(array, wanted), "wrong data"
mpi.MPI_Finalize()
