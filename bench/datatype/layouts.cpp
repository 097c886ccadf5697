// Pack, unpack and direct copies of the layouts that programs send, beside the loops a programmer would write
// by hand.
//
// `bench_datatype_kernels --benchmark_filter=column` and so on; bytes per second are those of the data.  The
// hand-written loops of each layout are the lines `..._loop`.
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
  void (*unpack_loop)(std::byte* to, const std::byte* from) = nullptr;
  void (*copy_loop)(std::byte* to, const std::byte* from) = nullptr;
};

template <class Layout>
Case case_of() {
  Case c;
  c.pack_loop = Layout::pack;
  c.unpack_loop = Layout::unpack;
  c.copy_loop = Layout::copy;
  return c;
}

/// Blocks of doubles at one distance, in doubles: columns of a matrix, faces of a cube.
template <std::int64_t kBlocks, std::int64_t kDoubles, std::int64_t kStride>
struct Blocks {
  static constexpr std::size_t kBytes = kDoubles * 8;
  static void pack(std::byte* to, const std::byte* from) {
    for (std::int64_t i = 0; i < kBlocks; ++i) std::memcpy(to + i * kBytes, from + i * kStride * 8, kBytes);
  }
  static void unpack(std::byte* to, const std::byte* from) {
    for (std::int64_t i = 0; i < kBlocks; ++i) std::memcpy(to + i * kStride * 8, from + i * kBytes, kBytes);
  }
  static void copy(std::byte* to, const std::byte* from) {
    for (std::int64_t i = 0; i < kBlocks; ++i)
      std::memcpy(to + i * kStride * 8, from + i * kStride * 8, kBytes);
  }
  static Case make() {
    Case c = case_of<Blocks>();
    (void)datatype::type_vector(kBlocks, kDoubles, kStride, predefined(MPI_DOUBLE), false, &c.type);
    c.span = kBlocks * kStride * 8;
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
  static void unpack(std::byte* to, const std::byte* from) {
    auto* out = reinterpret_cast<Record*>(to);
    for (std::int64_t i = 0; i < kRecords; ++i, from += 15) {
      std::memcpy(&out[i].number, from, 4);
      std::memcpy(&out[i].value, from + 4, 8);
      std::memcpy(out[i].text, from + 12, 3);
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
    Case c = case_of<Structs>();
    const int lengths[] = {1, 1, 3};
    const MPI_Aint places[] = {offsetof(Record, number), offsetof(Record, value), offsetof(Record, text)};
    const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
    predefined(MPI_INT);
    (void)datatype::type_create_struct(3, {lengths, false}, {places, true}, types, false, &c.type);
    c.count = kRecords;
    c.span = kRecords * sizeof(Record);
    return c;
  }
};

constexpr std::int64_t kPlaces = 4096;
std::vector<int> places;  // in elements

/// An irregular list of blocks of one size.
template <class Element, std::int64_t kElements>
struct List {
  static constexpr std::size_t kBytes = kElements * sizeof(Element);
  static void pack(std::byte* to, const std::byte* from) {
    for (const int place : places) {
      std::memcpy(to, from + std::size_t(place) * sizeof(Element), kBytes);
      to += kBytes;
    }
  }
  static void unpack(std::byte* to, const std::byte* from) {
    for (const int place : places) {
      std::memcpy(to + std::size_t(place) * sizeof(Element), from, kBytes);
      from += kBytes;
    }
  }
  static void copy(std::byte* to, const std::byte* from) {
    for (const int place : places) {
      const std::size_t at = std::size_t(place) * sizeof(Element);
      std::memcpy(to + at, from + at, kBytes);
    }
  }
  static Case make() {
    std::mt19937 random(5);
    places.clear();
    int at = 0;
    for (int i = 0; i < kPlaces; ++i) {
      places.push_back(at);
      at += static_cast<int>(kElements * (1 + random() % 5));
    }
    Case c = case_of<List>();
    const Datatype& element = predefined(sizeof(Element) == 8 ? MPI_DOUBLE : MPI_INT);
    (void)datatype::type_create_indexed_block(kPlaces, kElements, {places.data(), false}, element, false,
                                              &c.type);
    c.span = std::size_t(at) * sizeof(Element);
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
  static void unpack(std::byte* to, const std::byte* from) {
    for (std::size_t i = 0; i < block_lengths.size(); ++i) {
      const auto bytes = static_cast<std::size_t>(block_lengths[i]) * 4;
      std::memcpy(to + std::ptrdiff_t{block_places[i]} * 4, from, bytes);
      from += bytes;
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
    Case c = case_of<Irregular>();
    (void)datatype::type_indexed(4096, {block_lengths.data(), false}, {block_places.data(), false},
                                 predefined(MPI_INT), false, &c.type);
    c.span = static_cast<std::size_t>(at) * 4;
    return c;
  }
};

constexpr std::int64_t kSide = 256;

struct Transpose {
  static void pack(std::byte* to, const std::byte* from) {
    auto* out = reinterpret_cast<double*>(to);
    const auto* in = reinterpret_cast<const double*>(from);
    for (std::int64_t i = 0; i < kSide; ++i)
      for (std::int64_t j = 0; j < kSide; ++j) *out++ = in[j * kSide + i];
  }
  static void unpack(std::byte* to, const std::byte* from) { pack(to, from); }
  static void copy(std::byte* to, const std::byte* from) { std::memcpy(to, from, kSide * kSide * 8); }
  static Case make() {
    Case c = case_of<Transpose>();
    Datatype* column = nullptr;
    (void)datatype::type_vector(kSide, 1, kSide, predefined(MPI_DOUBLE), false, &column);
    (void)datatype::type_create_hvector(kSide, 1, 8, *column, false, &c.type);
    column->release();
    c.span = kSide * kSide * 8;
    return c;
  }
};

enum class Work { pack, unpack, copy, halves, pack_loop, unpack_loop, copy_loop };

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
    if constexpr (kWork == Work::halves) {  // what each side of a shared copy does
      const Source source = source_of(*c.type, from.data(), c.count);
      const Target target = target_of(*c.type, to.data(), c.count);
      const std::size_t half = bytes / 2 / 64 * 64;
      copy_range(source, target, 0, half);
      copy_range(source, target, half, bytes - half);
    }
    if constexpr (kWork == Work::pack_loop) c.pack_loop(packed.data(), from.data());
    if constexpr (kWork == Work::unpack_loop) c.unpack_loop(to.data(), packed.data());
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
  benchmark::RegisterBenchmark((name + "/unpack_loop").c_str(), run<Layout, Work::unpack_loop>);
  benchmark::RegisterBenchmark((name + "/copy").c_str(), run<Layout, Work::copy>);
  benchmark::RegisterBenchmark((name + "/halves").c_str(), run<Layout, Work::halves>);
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
  add<Blocks<1024, 1, 1024>>("column1");
  add<Blocks<1024, 4, 1024>>("column4");
  add<Blocks<64 * 64, 1, 64>>("faceX64");  // of 64^3, across its rows
  add<Blocks<64, 64, 64 * 64>>("faceY64");
  add<Blocks<256 * 256, 1, 256>>("faceX256");
  add<Structs>("structs");
  add<List<int, 1>>("list");
  add<List<double, 3>>("particles");
  add<Irregular>("irregular");
  add<Transpose>("transpose");
  return true;
}();

}  // namespace
