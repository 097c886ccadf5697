// The operands of a short reduction, which all members have put into shared memory, packed.
//
// Used by the reductions called `..._shared`.  Results do not depend on timing: operands are combined from
// the first rank to the last (a program's function, which writes its right operand: from the last to the
// first).
#pragma once

#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

struct SharedOperands {
  const void** list = nullptr;  // where operands are used in place; else null:
  std::byte* value = nullptr;   // room for elements laid out as the type says
  std::byte* other = nullptr;

  /// For up to `members` operands.  With too little memory the run ends at its next step.
  static SharedOperands take(const Cx& cx, const Reduction& r, int members) noexcept {
    SharedOperands made;
    if (r.type->is_contiguous()) {
      made.list = reinterpret_cast<const void**>(cx.take(std::size_t(members) * sizeof(void*)));
    } else {
      made.value = cx.take_elements(r.count, *r.type);
      made.other = cx.take_elements(r.count, *r.type);
    }
    return made;
  }

  /// Combines elements [first, first + count) of members 0 to `members` - 1 into `result`.
  void combine(const Turn& turn, const Reduction& r, int members, std::int64_t first, std::int64_t count,
               std::byte* result) const noexcept {
    const std::size_t all_bytes = r.bytes();
    const auto position = std::size_t(first * r.type->size()), bytes = std::size_t(count * r.type->size());
    if (list) {
      for (int member = 0; member < members; ++member) list[member] = turn.data(member, all_bytes) + position;
      if (members == 2) return r.op->combine3(list[0], list[1], result, count, *r.type);
      return r.op->combine_k({list, std::size_t(members)}, result, count, *r.type);
    }
    Reduction part = r;
    part.count = count;
    std::byte *sum = value, *left = other;
    turn.get(members - 1, part.block(sum), bytes, position, all_bytes);
    for (int member = members - 2; member >= 0; --member) {
      turn.get(member, part.block(left), bytes, position, all_bytes);
      part.fold(sum, left, true);
    }
    copy(part.block(sum), part.block(result));
  }
};

}  // namespace dunlin::coll
