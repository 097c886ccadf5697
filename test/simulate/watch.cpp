#include "test/simulate/watch.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "copy/copy.hpp"
#include "datatype/cursor.hpp"
#include "op/kernels.hpp"
#include "test/simulate/world.hpp"

// Each is called in the place of the library's function of the same parameters, which `real_...` is
// (--wrap of the linker).
namespace dunlin {
namespace copy {
void real_bytes(std::byte* to, const std::byte* from, std::size_t bytes, Hint hint) noexcept
    __asm__("__real__ZN6dunlin4copy5bytesEPSt4bytePKS1_mNS0_4HintE");
void seen_bytes(std::byte* to, const std::byte* from, std::size_t bytes, Hint hint) noexcept
    __asm__("__wrap__ZN6dunlin4copy5bytesEPSt4bytePKS1_mNS0_4HintE");
}  // namespace copy
void real_range(const Source& from, const Target& to, std::size_t position, std::size_t bytes) noexcept
    __asm__("__real__ZN6dunlin10copy_rangeERKNS_6SourceERKNS_6TargetEmm");
void seen_range(const Source& from, const Target& to, std::size_t position, std::size_t bytes) noexcept
    __asm__("__wrap__ZN6dunlin10copy_rangeERKNS_6SourceERKNS_6TargetEmm");
std::size_t real_data(const Source& from, const Target& to) noexcept
    __asm__("__real__ZN6dunlin9copy_dataERKNS_6SourceERKNS_6TargetE");
std::size_t seen_data(const Source& from, const Target& to) noexcept
    __asm__("__wrap__ZN6dunlin9copy_dataERKNS_6SourceERKNS_6TargetE");
}  // namespace dunlin

namespace dunlin::test {
namespace {

Watch* watch = nullptr;
op::Kernel library;
bool is_inside = false;  // one of them: what that calls is not another copy

template <class Do>
auto seen(const Moved& moved, Do go_on) {
  const bool is_outside = !is_inside;
  if (watch && is_outside && moved.bytes > 0) watch->see(moved);
  is_inside = true;
  struct Leave {
    const bool is_outside;
    ~Leave() { is_inside = !is_outside; }
  } const leave{is_outside};
  return go_on();
}

std::size_t bytes_of(std::int64_t count) { return std::size_t(count) * sizeof(std::int64_t); }

void sum_two(const void* a, const void* b, void* out, std::int64_t count) {
  const void* const operands[] = {a, b};
  seen({operands, out, bytes_of(count), true}, [&] { library.two(a, b, out, count); });
}
void sum_many(const void* const* operands, std::int64_t members, void* out, std::int64_t count) {
  seen({{operands, std::size_t(members)}, out, bytes_of(count), true},
       [&] { library.many(operands, members, out, count); });
}

op::Kernel& kernel() {
  make_predefined_objects();  // they fill the table
  return op::kernels.at(op::Operator::sum, Basic::i64);
}

}  // namespace

Watch::Watch() {
  EXPECT_EQ(watch, nullptr);
  watch = this;
  library = kernel();
  kernel() = {sum_two, sum_many};
}

Watch::~Watch() {
  kernel() = library;
  watch = nullptr;
}

}  // namespace dunlin::test

void dunlin::copy::seen_bytes(std::byte* to, const std::byte* from, std::size_t bytes, Hint hint) noexcept {
  const void* const one[] = {from};
  test::seen({one, to, bytes, false}, [&] { real_bytes(to, from, bytes, hint); });
}

void dunlin::seen_range(const Source& from, const Target& to, std::size_t position,
                        std::size_t bytes) noexcept {
  const void* const one[] = {from.address};
  test::seen({one, to.address, bytes, false}, [&] { real_range(from, to, position, bytes); });
}

std::size_t dunlin::seen_data(const Source& from, const Target& to) noexcept {
  const void* const one[] = {from.address};
  return test::seen({one, to.address, std::min(from.bytes, to.bytes), false},
                    [&] { return real_data(from, to); });
}
