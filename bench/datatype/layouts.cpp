// Pack, unpack and direct copies of the layouts that programs send, beside the loops a programmer would write
// by hand.
//
// `bench_datatype_kernels --benchmark_filter=Column` and so on; bytes per second are those of the data.  The
// hand-written loop of each layout is the line `.../loop`.
#include <benchmark/benchmark.h>
#include <mpi.h>

#include <cstring>
#include <random>
#include <vector>

#include "datatype/cursor.hpp"
#include "datatype/functions.hpp"

namespace {

using namespace dunlin;

const Datatype& predefined(MPI_Datatype handle) {
  init_predefined_datatypes();
  return *from_handle<Datatype>(handle);
}

/// One layout: the type, how many, and its loops.
struct Case {
  Datatype* type = nullptr;
  std::int64_t count = 1;
  std::size_t span = 0;  // bytes of the buffer
  void (*pack_loop)(std::byte* to, const std::byte* from) = nullptr;
  void (*copy_loop)(std::byte* to, const std::byte* from) = nullptr;
};

constexpr std::int64_t kSide = 1024;
constexpr std::int64_t kCube = 256;

template <int kColumns>
struct Column {
  struct Values {
    double value[kColumns];
  };
  static void pack(std::byte* to, const std::byte* from) {
    for (std::int64_t i = 0; i < kSide; ++i)
      std::memcpy(to + i * sizeof(Values), from + i * kSide * 8, sizeof(Values));
  }
  static void copy(std::byte* to, const std::byte* from) {
    for (std::int64_t i = 0; i < kSide; ++i)
      std::memcpy(to + i * kSide * 8, from + i * kSide * 8, sizeof(Values));
  }
  static Case make() {
    Case c;
    (void)datatype::type_vector(kSide, kColumns, kSide, predefined(MPI_DOUBLE), false, &c.type);
    c.span = kSide * kSide * 8;
    c.pack_loop = pack;
    c.copy_loop = copy;
    return c;
  }
};

struct FaceX {  // one double of every row of a cube
  static void pack(std::byte* to, const std::byte* from) {
    auto* out = reinterpret_cast<double*>(to);
    const auto* in = reinterpret_cast<const double*>(from);
    for (std::int64_t i = 0; i < kCube * kCube; ++i) out[i] = in[i * kCube];
  }
  static void copy(std::byte* to, const std::byte* from) {
    auto* out = reinterpret_cast<double*>(to);
    const auto* in = reinterpret_cast<const double*>(from);
    for (std::int64_t i = 0; i < kCube * kCube; ++i) out[i * kCube] = in[i * kCube];
  }
  static Case make() {
    Case c;
    (void)datatype::type_vector(kCube * kCube, 1, kCube, predefined(MPI_DOUBLE), false, &c.type);
    c.span = kCube * kCube * kCube * 8;
    c.pack_loop = pack;
    c.copy_loop = copy;
    return c;
  }
};

struct Record {
  int number;
  double value;
  char text[3];
};
constexpr std::int64_t kRecords = 4096;

struct Structs {
  static void pack(std::byte* to, const std::byte* from) {
    const auto* in = reinterpret_cast<const Record*>(from);
    for (std::int64_t i = 0; i < kRecords; ++i, to += 15) {
      std::memcpy(to, &in[i].number, 4);
      std::memcpy(to + 4, &in[i].value, 8);
      std::memcpy(to + 12, in[i].text, 3);
    }
  }
  static void copy(std::byte* to, const std::byte* from) {
    auto* out = reinterpret_cast<Record*>(to);
    const auto* in = reinterpret_cast<const Record*>(from);
    for (std::int64_t i = 0; i < kRecords; ++i) {
      out[i].number = in[i].number;
      out[i].value = in[i].value;
      std::memcpy(out[i].text, in[i].text, 3);
    }
  }
  static Case make() {
    Case c;
    const int lengths[] = {1, 1, 3};
    const MPI_Aint places[] = {offsetof(Record, number), offsetof(Record, value), offsetof(Record, text)};
    const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
    predefined(MPI_INT);
    (void)datatype::type_create_struct(3, {lengths, false}, {places, true}, types, false, &c.type);
    c.count = kRecords;
    c.span = kRecords * sizeof(Record);
    c.pack_loop = pack;
    c.copy_loop = copy;
    return c;
  }
};

constexpr std::int64_t kParticles = 4096;
std::vector<int> particle_places;

struct Particles {
  struct Position {
    double x, y, z;
  };
  static void pack(std::byte* to, const std::byte* from) {
    auto* out = reinterpret_cast<Position*>(to);
    const auto* in = reinterpret_cast<const double*>(from);
    for (int place : particle_places) std::memcpy(out++, in + place, sizeof(Position));
  }
  static void copy(std::byte* to, const std::byte* from) {
    auto* out = reinterpret_cast<double*>(to);
    const auto* in = reinterpret_cast<const double*>(from);
    for (int place : particle_places) std::memcpy(out + place, in + place, sizeof(Position));
  }
  static Case make() {
    std::mt19937 random(5);
    particle_places.clear();
    int at = 0;
    for (int i = 0; i < kParticles; ++i) {
      particle_places.push_back(at);
      at += 3 * static_cast<int>(1 + random() % 5);
    }
    Case c;
    const IntArray places{particle_places.data(), false};
    (void)datatype::type_create_indexed_block(kParticles, 3, places, predefined(MPI_DOUBLE), false, &c.type);
    c.span = static_cast<std::size_t>(at + 3) * 8;
    c.pack_loop = pack;
    c.copy_loop = copy;
    return c;
  }
};

std::vector<int> block_lengths, block_places;

struct Irregular {
  static void pack(std::byte* to, const std::byte* from) {
    for (std::size_t i = 0; i < block_lengths.size(); ++i) {
      const auto bytes = static_cast<std::size_t>(block_lengths[i]) * 4;
      std::memcpy(to, from + std::ptrdiff_t{block_places[i]} * 4, bytes);
      to += bytes;
    }
  }
  static void copy(std::byte* to, const std::byte* from) {
    for (std::size_t i = 0; i < block_lengths.size(); ++i) {
      const std::ptrdiff_t at = std::ptrdiff_t{block_places[i]} * 4;
      std::memcpy(to + at, from + at, static_cast<std::size_t>(block_lengths[i]) * 4);
    }
  }
  static Case make() {
    std::mt19937 random(6);
    block_lengths.clear();
    block_places.clear();
    int at = 0;
    for (int i = 0; i < 4096; ++i) {
      block_lengths.push_back(static_cast<int>(1 + random() % 12));
      block_places.push_back(at);
      at += block_lengths.back() + static_cast<int>(1 + random() % 8);
    }
    Case c;
    (void)datatype::type_indexed(4096, {block_lengths.data(), false}, {block_places.data(), false},
                                 predefined(MPI_INT), false, &c.type);
    c.span = static_cast<std::size_t>(at) * 4;
    c.pack_loop = pack;
    c.copy_loop = copy;
    return c;
  }
};

struct Transpose {
  static void pack(std::byte* to, const std::byte* from) {
    auto* out = reinterpret_cast<double*>(to);
    const auto* in = reinterpret_cast<const double*>(from);
    for (std::int64_t i = 0; i < kCube; ++i)
      for (std::int64_t j = 0; j < kCube; ++j) *out++ = in[j * kCube + i];
  }
  static void copy(std::byte* to, const std::byte* from) { std::memcpy(to, from, kCube * kCube * 8); }
  static Case make() {
    Case c;
    Datatype* column = nullptr;
    (void)datatype::type_vector(kCube, 1, kCube, predefined(MPI_DOUBLE), false, &column);
    (void)datatype::type_create_hvector(kCube, 1, 8, *column, false, &c.type);
    column->release();
    c.span = kCube * kCube * 8;
    c.pack_loop = pack;
    c.copy_loop = copy;
    return c;
  }
};

enum class Work { pack, unpack, copy, pack_loop, copy_loop };

template <class Layout, Work kWork>
void run(benchmark::State& state) {
  const Case c = Layout::make();
  const auto bytes = static_cast<std::size_t>(c.type->size() * c.count);
  std::vector<std::byte> from(c.span, std::byte{1}), to(c.span, std::byte{2}), packed(bytes, std::byte{3});
  for (auto unused : state) {
    (void)unused;
    if constexpr (kWork == Work::pack) Cursor(*c.type, c.count, from.data()).pack(packed.data(), bytes);
    if constexpr (kWork == Work::unpack) Cursor(*c.type, c.count, to.data()).unpack(packed.data(), bytes);
    if constexpr (kWork == Work::copy)
      copy_data(source_of(*c.type, from.data(), c.count), target_of(*c.type, to.data(), c.count));
    if constexpr (kWork == Work::pack_loop) c.pack_loop(packed.data(), from.data());
    if constexpr (kWork == Work::copy_loop) c.copy_loop(to.data(), from.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes));
  c.type->release();
}

template <class Layout>
void add(const std::string& name) {
  benchmark::RegisterBenchmark((name + "/pack").c_str(), run<Layout, Work::pack>);
  benchmark::RegisterBenchmark((name + "/pack_loop").c_str(), run<Layout, Work::pack_loop>);
  benchmark::RegisterBenchmark((name + "/unpack").c_str(), run<Layout, Work::unpack>);
  benchmark::RegisterBenchmark((name + "/copy").c_str(), run<Layout, Work::copy>);
  benchmark::RegisterBenchmark((name + "/copy_loop").c_str(), run<Layout, Work::copy_loop>);
}

void commit(benchmark::State& state) {
  const Datatype& real = predefined(MPI_DOUBLE);
  for (auto unused : state) {
    (void)unused;
    Datatype* type = nullptr;
    (void)datatype::type_vector(100, 2, 5, real, false, &type);
    (void)datatype::type_commit(*type);
    (void)datatype::type_free(*type);
  }
}
BENCHMARK(commit);

const bool kAreAdded = [] {
  add<Column<1>>("column1");
  add<Column<4>>("column4");
  add<FaceX>("faceX");
  add<Structs>("structs");
  add<Particles>("particles");
  add<Irregular>("irregular");
  add<Transpose>("transpose");
  return true;
}();

}  // namespace
