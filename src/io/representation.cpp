#include "io/representation.hpp"

#include <algorithm>
#include <climits>
#include <memory>
#include <vector>

#include "base/callback.hpp"
#include "datatype/cursor.hpp"
#include "datatype/functions.hpp"
#include "datatype/recipe.hpp"
#include "datatype/signature.hpp"
#include "io/functions.hpp"

namespace dunlin::io {
namespace {

class Native final : public Representation {
 public:
  explicit Native(const char* name) : Representation(name, true) {}
  Err bytes_of(const Datatype& predefined, std::int64_t* bytes) const noexcept override {
    *bytes = predefined.size();
    return Err::ok;
  }
  Err write(const void* buffer, std::int64_t count, const Datatype& type,
            std::byte* in_file) const noexcept override {
    Cursor cursor(type, count, buffer);
    cursor.pack(in_file, cursor.bytes());
    return Err::ok;
  }
  Err read(void* buffer, std::int64_t elements, const Datatype& type,
           const std::byte* in_file) const noexcept override {
    const std::int64_t bytes = datatype::bytes_of_elements(type.signature(), elements);
    const std::int64_t size = std::max(type.size(), std::int64_t{1});
    Cursor(target_of(type, buffer, (bytes + size - 1) / size)).unpack(in_file, std::size_t(bytes));
    return Err::ok;
  }
};

class External32 final : public Representation {
 public:
  External32() : Representation("external32") {}
  Err bytes_of(const Datatype& predefined, std::int64_t* bytes) const noexcept override {
    *bytes = datatype::external_bytes_of(predefined);
    return Err::ok;
  }
  Err write(const void* buffer, std::int64_t count, const Datatype& type,
            std::byte* in_file) const noexcept override {
    std::int64_t position = 0;
    return datatype::pack_external("external32", buffer, count, type, in_file, INT64_MAX, &position);
  }
  Err read(void* buffer, std::int64_t elements, const Datatype& type,
           const std::byte* in_file) const noexcept override {
    datatype::unpack_external_elements(in_file, elements, buffer, type);
    return Err::ok;
  }
};

/// The program's functions, either of the classic or of the large form.
template <class Function>
class Registered final : public Representation {
 public:
  Registered(const char* name, Function* read, Function* write, MPI_Datarep_extent_function* extent,
             void* state)
      : Representation(name), read_(read), write_(write), extent_(extent), state_(state) {}

  bool calls_program() const noexcept override { return true; }
  Err bytes_of(const Datatype& predefined, std::int64_t* bytes) const noexcept override {
    MPI_Aint extent = 0;
    const Callback callback;
    const int code = extent_(to_handle<MPI_Datatype>(predefined), &extent, state_);
    if (code != MPI_SUCCESS)
      return fail(Err::conversion, "the program's extent function of the data representation \"%s\" failed",
                  name().c_str());
    if (extent < 0)
      return fail(Err::conversion,
                  "the program's extent function of the data representation \"%s\" gave %lld", name().c_str(),
                  (long long)extent);
    *bytes = extent;
    return Err::ok;
  }
  Err write(const void* buffer, std::int64_t count, const Datatype& type,
            std::byte* in_file) const noexcept override {
    if (!write_) {
      const Err error = check_as_memory(type);
      return error == Err::ok ? as_memory_.write(buffer, count, type, in_file) : error;
    }
    const std::int64_t elements = count * type.signature().elements;
    return convert(write_, const_cast<void*>(buffer), elements, type, in_file);
  }
  Err read(void* buffer, std::int64_t elements, const Datatype& type,
           const std::byte* in_file) const noexcept override {
    if (!read_) {
      const Err error = check_as_memory(type);
      return error == Err::ok ? as_memory_.read(buffer, elements, type, in_file) : error;
    }
    return convert(read_, buffer, elements, type, const_cast<std::byte*>(in_file));
  }

 private:
  /// MPI_CONVERSION_FN_NULL says that the file has what memory has.
  Err check_as_memory(const Datatype& type) const noexcept {
    std::int64_t bytes = 0;
    if (const Err e = size_in_file(type, &bytes); e != Err::ok) return e;
    if (bytes == type.size()) return Err::ok;
    return fail(
        Err::conversion,
        "the data representation \"%s\" has MPI_CONVERSION_FN_NULL, but %lld bytes for %lld in memory",
        name().c_str(), (long long)bytes, (long long)type.size());
  }
  /// In as many calls as the width of their count wants.  That counts elements, whatever the type, and so
  /// does the position (MPI 5.0, 14.5.3).
  Err convert(Function* function, void* buffer, std::int64_t elements, const Datatype& type,
              std::byte* in_file) const noexcept {
    constexpr bool kIsLarge = std::is_same_v<Function, MPI_Datarep_conversion_function_c>;
    constexpr std::int64_t kCountMax = kIsLarge ? INT64_MAX : INT_MAX;
    for (std::int64_t done = 0; done < elements;) {
      const std::int64_t n = std::min(elements - done, kCountMax);
      using Count = std::conditional_t<kIsLarge, MPI_Count, int>;
      Length before;
      if (const Err e = find_length(type, {done, INT64_MAX}, &before); e != Err::ok) return e;
      const Callback callback;
      const int code =
          function(buffer, to_handle<MPI_Datatype>(type), Count(n), in_file + before.bytes, done, state_);
      if (code != MPI_SUCCESS)
        return fail(Err::conversion, "a conversion function of the data representation \"%s\" failed",
                    name().c_str());
      done += n;
    }
    return Err::ok;
  }

  Function* const read_;
  Function* const write_;
  MPI_Datarep_extent_function* const extent_;
  void* const state_;
  const Native as_memory_{"native"};
};

/// How often `one` fits, at most `most` times; never where it is nothing.
std::int64_t repeats_within(const Length& one, const Length& limit, std::int64_t most) noexcept {
  if (one.elements == 0) return 0;
  const std::int64_t by_elements = std::min(most, limit.elements / one.elements);
  return one.bytes == 0 ? by_elements : std::min(by_elements, limit.bytes / one.bytes);
}

/// They stay until the process ends (MPI 5.0, 14.5.3).
std::vector<std::unique_ptr<Representation>>& all() noexcept {
  static auto& representations = *[] {
    auto* const made = new std::vector<std::unique_ptr<Representation>>;
    made->push_back(std::make_unique<Native>("native"));
    made->push_back(std::make_unique<Native>("internal"));
    made->push_back(std::make_unique<External32>());
    return made;
  }();
  return representations;
}

template <class Function>
Err add(const char* name, Function* read, Function* write, MPI_Datarep_extent_function* extent,
        void* state) noexcept {
  if (std::string_view(name).size() >= MPI_MAX_DATAREP_STRING)
    return fail(Err::arg, "argument datarep has more than %d characters", MPI_MAX_DATAREP_STRING - 1);
  if (!extent) return fail(Err::arg, "argument dtype_file_extent_fn is a null pointer");
  if (Representation::find(name))
    return fail(Err::dup_datarep, "there is a data representation \"%s\" already", name);
  all().push_back(std::make_unique<Registered<Function>>(name, read, write, extent, state));
  return Err::ok;
}

/// The numbers of a recipe in the order of its large form.
std::vector<std::int64_t> numbers_of(const datatype::Recipe& recipe) noexcept {
  if (recipe.is_large) return {recipe.large_counts.begin(), recipe.large_counts.end()};
  std::vector<std::int64_t> numbers(recipe.integers.begin(), recipe.integers.end());
  numbers.insert(numbers.end(), recipe.addresses.begin(), recipe.addresses.end());
  return numbers;
}

IntArray from(const std::vector<std::int64_t>& numbers, std::int64_t first) noexcept {
  return {numbers.data() + first, true};
}

/// MPI_Type_create_subarray and darray keep their integers apart in the large form.
Err rebuild_array(const datatype::Recipe& recipe, const Datatype& old_type, Datatype** made) noexcept {
  using namespace datatype;
  const auto& integers = recipe.integers;
  const bool is_darray = recipe.combiner == MPI_COMBINER_DARRAY;
  const int dimensions = integers[is_darray ? 2 : 0];
  const std::size_t d = std::size_t(dimensions);
  if (!is_darray) {
    const auto* sizes = recipe.is_large ? nullptr : integers.data() + 1;
    const int order = integers[recipe.is_large ? 1 : 1 + 3 * d];
    const std::int64_t* wide = recipe.large_counts.data();
    const auto part = [&](std::size_t i) {
      return recipe.is_large ? IntArray{wide + i * d, true} : IntArray{sizes + i * d, false};
    };
    return type_create_subarray(dimensions, part(0), part(1), part(2), order, old_type, true, made);
  }
  const int* const rest = integers.data() + (recipe.is_large ? 3 : 3 + d);
  const IntArray sizes =
      recipe.is_large ? IntArray{recipe.large_counts.data(), true} : IntArray{integers.data() + 3, false};
  return type_create_darray(integers[0], integers[1], dimensions, sizes, rest, rest + d, rest + 2 * d,
                            rest[3 * d], old_type, true, made);
}

/// The same constructor on other old types.
Err rebuild(const datatype::Recipe& recipe, const std::vector<Ref<Datatype>>& types,
            Datatype** made) noexcept {
  using namespace datatype;
  const std::vector<std::int64_t> n = numbers_of(recipe);
  const Datatype& old_type = *types[0];
  switch (recipe.combiner) {
    case MPI_COMBINER_DUP:
      return type_dup(old_type, made);
    case MPI_COMBINER_CONTIGUOUS:
      return type_contiguous(n[0], old_type, true, made);
    case MPI_COMBINER_VECTOR:
      return type_vector(n[0], n[1], n[2], old_type, true, made);
    case MPI_COMBINER_HVECTOR:
      return type_create_hvector(n[0], n[1], n[2], old_type, true, made);
    case MPI_COMBINER_INDEXED:
      return type_indexed(n[0], from(n, 1), from(n, 1 + n[0]), old_type, true, made);
    case MPI_COMBINER_HINDEXED:
      return type_create_hindexed(n[0], from(n, 1), from(n, 1 + n[0]), old_type, true, made);
    case MPI_COMBINER_INDEXED_BLOCK:
      return type_create_indexed_block(n[0], n[1], from(n, 2), old_type, true, made);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return type_create_hindexed_block(n[0], n[1], from(n, 2), old_type, true, made);
    case MPI_COMBINER_RESIZED:
      return type_create_resized(old_type, n[0], n[1], true, made);
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY:
      return rebuild_array(recipe, old_type, made);
    case MPI_COMBINER_STRUCT: {
      std::vector<MPI_Datatype> handles;
      for (const Ref<Datatype>& each : types) handles.push_back(to_handle<MPI_Datatype>(*each));
      return type_create_struct(n[0], from(n, 1), from(n, 1 + n[0]), handles.data(), true, made);
    }
    default:
      return fail(Err::type, "a type of this kind cannot be used in a view that converts data");
  }
}

}  // namespace

const Representation* Representation::find(const char* name) noexcept {
  for (const auto& each : all())
    if (each->name() == name) return each.get();
  return nullptr;
}

Err Representation::size_in_file(const Datatype& type, std::int64_t* bytes) const noexcept {
  if (!is_native()) return bytes_in_file(type.signature(), bytes);
  *bytes = type.size();
  return Err::ok;
}

Err Representation::bytes_in_file(const datatype::Signature& signature, std::int64_t* bytes) const noexcept {
  *bytes = 0;
  for (const datatype::SignatureEntry& entry : signature.entries) {
    std::int64_t one = 0;
    const Err error = entry.type ? bytes_of(*entry.type, &one) : bytes_in_file(*entry.inner, &one);
    if (error != Err::ok) return error;
    *bytes += entry.count * one;
  }
  return Err::ok;
}

Err Representation::find_length(const Datatype& type, const Length& limit, Length* length) const noexcept {
  Length one{type.signature().elements, 0};
  if (const Err e = size_in_file(type, &one.bytes); e != Err::ok) return e;
  const std::int64_t whole = repeats_within(one, limit, INT64_MAX);
  *length = {whole * one.elements, whole * one.bytes};
  return add_length(type.signature(), limit, length);
}

/// What of one signature is within the limit.
Err Representation::add_length(const datatype::Signature& signature, const Length& limit,
                               Length* sum) const noexcept {
  for (const datatype::SignatureEntry& entry : signature.entries) {
    Length one{entry.type ? entry.type->signature().elements : entry.inner->elements, 0};
    const Err error =
        entry.type ? bytes_of(*entry.type, &one.bytes) : bytes_in_file(*entry.inner, &one.bytes);
    if (error != Err::ok) return error;
    const Length left{limit.elements - sum->elements, limit.bytes - sum->bytes};
    const std::int64_t n = repeats_within(one, left, entry.count);
    sum->elements += n * one.elements;
    sum->bytes += n * one.bytes;
    if (n < entry.count) return entry.type ? Err::ok : add_length(*entry.inner, limit, sum);
  }
  return Err::ok;
}

Err Representation::type_in_file(const Datatype& type, Ref<Datatype>* result) const noexcept {
  auto& same = const_cast<Datatype&>(type);  // only its references are counted
  if (is_native()) {
    *result = Ref<Datatype>(&same);
    return Err::ok;
  }
  Datatype* made = nullptr;
  if (!type.recipe() || type.basic() != Basic::none) {
    std::int64_t bytes = 0;
    if (const Err e = bytes_of(type, &bytes); e != Err::ok) return e;
    if (bytes == type.size() && bytes == type.extent()) {
      *result = Ref<Datatype>(&same);
      return Err::ok;
    }
    const Err e = datatype::type_contiguous(bytes, *from_handle<Datatype>(MPI_BYTE), true, &made);
    if (e != Err::ok) return e;
  } else {
    std::vector<Ref<Datatype>> inner;
    bool is_same = true;
    for (const Ref<Datatype>& each : type.recipe()->types) {
      Ref<Datatype> in_file;
      if (const Err e = type_in_file(*each, &in_file); e != Err::ok) return e;
      is_same = is_same && in_file.get() == each.get();
      inner.push_back(std::move(in_file));
    }
    if (is_same) {
      *result = Ref<Datatype>(&same);
      return Err::ok;
    }
    if (const Err e = rebuild(*type.recipe(), inner, &made); e != Err::ok) return e;
  }
  made->set_committed();
  *result = Ref<Datatype>::adopt(made);
  return Err::ok;
}

Err register_datarep(const char* datarep, MPI_Datarep_conversion_function* read_conversion_fn,
                     MPI_Datarep_conversion_function* write_conversion_fn,
                     MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state) noexcept {
  return add(datarep, read_conversion_fn, write_conversion_fn, dtype_file_extent_fn, extra_state);
}

Err register_datarep(const char* datarep, LargeConversion read_conversion_fn,
                     LargeConversion write_conversion_fn, MPI_Datarep_extent_function* dtype_file_extent_fn,
                     void* extra_state) noexcept {
  return add(datarep, read_conversion_fn, write_conversion_fn, dtype_file_extent_fn, extra_state);
}

}  // namespace dunlin::io
