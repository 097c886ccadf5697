// What all constructors share: remembering the arguments, and the step from a shape to a type.
#pragma once

#include <cstdint>
#include <memory>

#include "base/err.hpp"
#include "datatype/recipe.hpp"
#include "datatype/shape.hpp"

namespace dunlin::datatype {

Ref<Datatype> reference_to(const Datatype& type) noexcept;
std::unique_ptr<Recipe> make_recipe(int combiner, bool large, const Datatype& old_type) noexcept;
/// An `int` argument of the classic form; a large count in the `_c` form.
void add_count(Recipe* recipe, std::int64_t count) noexcept;
/// An `MPI_Aint` argument of the classic form; a large count in the `_c` form.
void add_address(Recipe* recipe, std::int64_t address) noexcept;
/// Rounds the extent and makes the object, which owns the recipe.
Err make_type(Shape shape, std::unique_ptr<Recipe> recipe, Datatype** new_type) noexcept;

}  // namespace dunlin::datatype
