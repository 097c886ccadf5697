// Training by averaged gradients: one allreduce per layer of AlexNet, weights and biases, in the order in
// which back-propagation finishes them.  The value is ms per training step; x is the bytes of all gradients.
#include "sample.h"

// Parameters per layer (A. Krizhevsky and others, 2012): weights, then biases; last layer first.
static const int parameters[] = {4096000, 1000, 16777216, 4096, 37748736, 4096, 442368, 256,
                                 663552,  384,  884736,   384,  307200,   256,  34848,  96};
enum { kParts = sizeof parameters / sizeof parameters[0] };

static void train(long steps, void* opaque) {
  float* gradients = opaque;
  for (long step = 0; step < steps; ++step) {
    float* part = gradients;
    for (int i = 0; i < kParts; ++i) {
      MPI_Allreduce(MPI_IN_PLACE, part, parameters[i], MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
      part += parameters[i];
    }
  }
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "gradients");
  size_t total = 0;
  for (int i = 0; i < kParts; ++i) total += (size_t)parameters[i];
  float* gradients = bench_buffer(total * sizeof(float));
  for (size_t i = 0; i < total; ++i) gradients[i] = (float)((i + (size_t)bench_rank) % 7);
  train(1, gradients);
  int is_right = 1;  // the largest of (i + rank) mod 7 over the ranks
  for (size_t i = 0; i < total; i += 997) {
    float expected = 0;
    for (int rank = 0; rank < bench_ranks; ++rank)
      expected = (float)((i + (size_t)rank) % 7) > expected ? (float)((i + (size_t)rank) % 7) : expected;
    is_right &= gradients[i] == expected;
  }
  bench_expect(is_right, "the reduced gradients");
  const bench_point point = {"step", (double)(total * sizeof(float)), "ms", 1e3, 0};
  bench_measure(&point, train, gradients);
  bench_finish();
  return 0;
}
