// Every rank exchanges a message with every other by MPI_Irecv, MPI_Isend and MPI_Waitall: us per exchange,
// against message size.  With more ranks than CPUs this shows how copies and waiting share them.
//
// --mode=...     clean, fresh or off_cache: see data.h
// --sizes=4096   or --min, --max, --factor: sizes in bytes
#include "data.h"

enum { kRanksMax = 256 };

static void exchange(long iterations, void* opaque) {
  Data* data = opaque;
  const int bytes = (int)data->bytes;
  MPI_Request requests[2 * kRanksMax];
  size_t offsets[kRanksMax];
  for (long i = 0; i < iterations; ++i) {
    int count = 0;
    for (int k = 1; k < bench_ranks; ++k) {
      offsets[k] = data->pool_bytes ? data_next(data) : (size_t)k * data->bytes;
      data_produce(data, offsets[k], i + k);
    }
    for (int k = 1; k < bench_ranks; ++k)
      MPI_Irecv(data->recv + offsets[k], bytes, MPI_BYTE, (bench_rank + bench_ranks - k) % bench_ranks, 1,
                MPI_COMM_WORLD, &requests[count++]);
    for (int k = 1; k < bench_ranks; ++k)
      MPI_Isend(data->send + offsets[k], bytes, MPI_BYTE, (bench_rank + k) % bench_ranks, 1, MPI_COMM_WORLD,
                &requests[count++]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    for (int k = 1; k < bench_ranks; ++k) data_consume(data, offsets[k]);
  }
}

// What rank r sends to the rank k after it is filled with a seed of both.
static void check(Data* data) {
  const Data kept = *data;
  data->pool_bytes = 0;
  data->is_fresh = 0;
  for (int k = 1; k < bench_ranks; ++k)
    bench_fill(data->send + (size_t)k * data->bytes, data->bytes, (unsigned)(bench_rank * kRanksMax + k));
  exchange(1, data);
  for (int k = 1; k < bench_ranks; ++k)
    bench_verify(data->recv + (size_t)k * data->bytes, data->bytes,
                 (unsigned)((bench_rank + bench_ranks - k) % bench_ranks * kRanksMax + k));
  *data = kept;
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "all_to_all");
  long sizes[kBenchSizesMax];
  const int count = bench_sizes(sizes, 4096, 1 << 20, 4);
  Data data = data_open((size_t)bench_size_max(sizes, count), (size_t)bench_ranks, 1);
  for (int i = 0; i < count && bench_ranks <= kRanksMax; ++i) {
    data.bytes = (size_t)sizes[i];
    check(&data);
    const bench_point point = {data_series("all_to_all"), (double)sizes[i], "us", 1e6, 0};
    bench_measure(&point, exchange, &data);
  }
  bench_finish();
  return 0;
}
