// Kernels with the message profiles of four applications that were profiled on a large machine (share of
// short messages, the calls that take the time): the communication of each, with a token computation between.
//
//   hydrodynamics     all-to-all transposes of long messages, one small allreduce a step particle_in_cell
//   shifts of particles to both neighbours, half short and half long, then an allreduce of a field ocean
//   halo swaps of a few hundred bytes and very many 8-byte allreduces combustion        nonblocking swaps of
//   long faces with six neighbours, hardly any collective The value is us per time step.  --kernels=ocean,...
#include "sample.h"

enum {
  kLongBytes = 128 << 10,
  kShortBytes = 400,
  kFieldCount = 4096,
  kSolverIterations = 30,
  kFaces = 6,
  kBufferBytes = 4 << 20
};

static char *send_data, *recv_data;

static int neighbour(int distance) {
  return ((bench_rank + distance) % bench_ranks + bench_ranks) % bench_ranks;
}

static double sum_over_ranks(double value) {
  double sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

static void hydrodynamics(long steps, void* unused) {
  (void)unused;
  const int bytes = kBufferBytes / bench_ranks;
  for (long step = 0; step < steps; ++step) {
    for (int direction = 0; direction < 2; ++direction)
      MPI_Alltoall(send_data, bytes, MPI_BYTE, recv_data, bytes, MPI_BYTE, MPI_COMM_WORLD);
    bench_expect(sum_over_ranks(1) == bench_ranks, "the time step's allreduce");
  }
}

static void particle_in_cell(long steps, void* unused) {
  (void)unused;
  for (long step = 0; step < steps; ++step) {
    for (int side = -1; side <= 1; side += 2) {
      int leaving = kLongBytes - (int)(step % 7) * 64, coming = 0;
      MPI_Sendrecv(&leaving, 1, MPI_INT, neighbour(side), 1, &coming, 1, MPI_INT, neighbour(-side), 1,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Sendrecv(send_data, leaving, MPI_BYTE, neighbour(side), 2, recv_data, coming, MPI_BYTE,
                   neighbour(-side), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(send_data, recv_data, kFieldCount, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
}

static void swap_faces(int count, int bytes) {
  MPI_Request requests[2 * kFaces];
  for (int face = 0; face < count; ++face) {
    const int distance = face % 2 ? 1 : -1;
    MPI_Irecv(recv_data + face * bytes, bytes, MPI_BYTE, neighbour(-distance), face, MPI_COMM_WORLD,
              &requests[face]);
  }
  for (int face = 0; face < count; ++face) {
    const int distance = face % 2 ? 1 : -1;
    MPI_Isend(send_data + face * bytes, bytes, MPI_BYTE, neighbour(distance), face, MPI_COMM_WORLD,
              &requests[count + face]);
  }
  MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE);
}

static void ocean(long steps, void* unused) {
  (void)unused;
  for (long step = 0; step < steps; ++step)
    for (int iteration = 0; iteration < kSolverIterations; ++iteration) {
      swap_faces(4, kShortBytes);
      bench_expect(sum_over_ranks(1) == bench_ranks, "the solver's dot product");
    }
}

static void combustion(long steps, void* unused) {
  (void)unused;
  for (long step = 0; step < steps; ++step)
    for (int stage = 0; stage < 6; ++stage) swap_faces(kFaces, kLongBytes);
}

static const struct {
  const char* name;
  bench_work steps;
} kernels[] = {{"hydrodynamics", hydrodynamics},
               {"particle_in_cell", particle_in_cell},
               {"ocean", ocean},
               {"combustion", combustion}};

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "profiles");
  send_data = bench_buffer(kBufferBytes);
  recv_data = bench_buffer(kBufferBytes);
  for (int i = 0; i < 4; ++i) {
    if (!bench_wants("kernels", kernels[i].name)) continue;
    const bench_point point = {kernels[i].name, i + 1, "us", 1e6, 0};
    bench_measure(&point, kernels[i].steps, NULL);
  }
  bench_finish();
  return 0;
}
