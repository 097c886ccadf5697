#include "bindings/fortran/callbacks.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <type_traits>
#include <utility>

#include "bindings/fortran/attribute_values.hpp"
#include "bindings/fortran/null_procedures.hpp"

namespace dunlin::fortran {
namespace {

constexpr std::size_t kProcedures = 128;  // different ones of a kind that one program passes

[[noreturn, gnu::noinline]] void too_many(const char* kind) noexcept {
  std::fprintf(stderr, "Dunlin: a program may use at most %zu different Fortran procedures as %s\n",
               kProcedures, kind);
  std::abort();
}

/// C functions that call Fortran procedures.  `Kind` has `Function`, the type in C; `kName`; and
/// `call(procedure, arguments of Function)`.
template <class Kind, class Function = typename Kind::Function>
class Entries;

template <class Kind>
std::atomic<Procedure*> procedures[kProcedures];

/// The place of a procedure, which is taken if it is new.
template <class Kind>
std::size_t place_of(Procedure* wanted) noexcept {
  for (std::size_t i = 0; i < kProcedures; ++i) {
    Procedure* found = nullptr;
    if (procedures<Kind>[i].compare_exchange_strong(found, wanted) || found == wanted) return i;
  }
  too_many(Kind::kName);
}

template <class Kind, class Return, class... Arguments>
class Entries<Kind, Return(Arguments...)> {
 public:
  static auto of(Procedure* procedure) noexcept { return entries_[place_of<Kind>(procedure)]; }

 private:
  template <std::size_t place>
  static Return entry(Arguments... arguments) {
    return Kind::call(procedures<Kind>[place].load(std::memory_order_relaxed), arguments...);
  }
  template <std::size_t... places>
  static constexpr std::array<Return (*)(Arguments...), kProcedures> all(std::index_sequence<places...>) {
    return {&entry<places>...};
  }
  static constexpr auto entries_ = all(std::make_index_sequence<kProcedures>());
};

/// The same for error handlers, which C declares with "...".
template <class Kind, class Handle>
class Entries<Kind, void(Handle*, int*, ...)> {
 public:
  static auto of(Procedure* procedure) noexcept { return entries_[place_of<Kind>(procedure)]; }

 private:
  template <std::size_t place>
  static void entry(Handle* handle, int* code, ...) {
    Kind::call(procedures<Kind>[place].load(std::memory_order_relaxed), handle, code);
  }
  template <std::size_t... places>
  static constexpr std::array<void (*)(Handle*, int*, ...), kProcedures> all(std::index_sequence<places...>) {
    return {&entry<places>...};
  }
  static constexpr auto entries_ = all(std::make_index_sequence<kProcedures>());
};

template <class... Arguments>
void call(Procedure* procedure, Arguments*... arguments) noexcept {
  reinterpret_cast<void (*)(Arguments * ...)>(procedure)(arguments...);
}

MPI_Aint integer(void* value) noexcept { return reinterpret_cast<MPI_Aint>(value); }

template <class FunctionInC, class Count>
struct Operator {
  using Function = FunctionInC;
  static constexpr const char* kName = "operators";
  static void call(Procedure* procedure, void* in, void* inout, Count* count, MPI_Datatype* datatype) {
    Fint type = to_fortran(*datatype);
    std::conditional_t<std::is_same_v<Count, int>, Fint, MPI_Count> elements = *count;
    fortran::call(procedure, static_cast<char*>(in), static_cast<char*>(inout), &elements, &type);
  }
};

template <class FunctionInC, class Handle>
struct ErrorHandler {
  using Function = FunctionInC;
  static constexpr const char* kName = "error handlers";
  static void call(Procedure* procedure, Handle* handle, int* code) {
    Fint object = to_fortran(*handle), error = *code;
    fortran::call(procedure, &object, &error);
    *code = narrow(error);
  }
};

/// `Value` is the type of attributes and extra states in Fortran.
template <class Handle, class Value>
struct CopyAttribute {
  using Function = int(Handle, int, void*, void*, void*, int*);
  static constexpr const char* kName = "functions that copy attributes";
  static int call(Procedure* procedure, Handle handle, int keyval, void* extra_state, void* in, void* out,
                  int* flag) {
    Fint object = to_fortran(handle), key = keyval, is_copied = 0, error = MPI_SUCCESS;
    Value state = Value(integer(extra_state)), old_value = Value(value_of_attribute(in)), new_value = 0;
    fortran::call(procedure, &object, &key, &state, &old_value, &new_value, &is_copied, &error);
    *flag = is_copied != 0;
    if (*flag) *static_cast<void**>(out) = boxed(new_value);
    return narrow(error);
  }
};

template <class Handle, class Value>
struct DeleteAttribute {
  using Function = int(Handle, int, void*, void*);
  static constexpr const char* kName = "functions that delete attributes";
  static int call(Procedure* procedure, Handle handle, int keyval, void* attribute, void* extra_state) {
    Fint object = to_fortran(handle), key = keyval, error = MPI_SUCCESS;
    Value value = Value(value_of_attribute(attribute)), state = Value(integer(extra_state));
    fortran::call(procedure, &object, &key, &value, &state, &error);
    return narrow(error);
  }
};

struct GrequestQuery {
  using Function = MPI_Grequest_query_function;
  static constexpr const char* kName = "query functions of generalized requests";
  static int call(Procedure* procedure, void* extra_state, MPI_Status* status) {
    MPI_Aint state = integer(extra_state);
    Fint given[MPI_F_STATUS_SIZE], error = MPI_SUCCESS;
    auto* const fields = reinterpret_cast<int*>(status);
    std::copy_n(fields, MPI_F_STATUS_SIZE, given);
    fortran::call(procedure, &state, given, &error);
    std::copy_n(given, MPI_F_STATUS_SIZE, fields);
    return narrow(error);
  }
};

struct GrequestFree {
  using Function = MPI_Grequest_free_function;
  static constexpr const char* kName = "free functions of generalized requests";
  static int call(Procedure* procedure, void* extra_state) {
    MPI_Aint state = integer(extra_state);
    Fint error = MPI_SUCCESS;
    fortran::call(procedure, &state, &error);
    return narrow(error);
  }
};

struct GrequestCancel {
  using Function = MPI_Grequest_cancel_function;
  static constexpr const char* kName = "cancel functions of generalized requests";
  static int call(Procedure* procedure, void* extra_state, int complete) {
    MPI_Aint state = integer(extra_state);
    Fint is_complete = complete, error = MPI_SUCCESS;
    fortran::call(procedure, &state, &is_complete, &error);
    return narrow(error);
  }
};

template <class FunctionInC, class Count>
struct DatarepConversion {
  using Function = FunctionInC;
  static constexpr const char* kName = "conversions of data representations";
  static int call(Procedure* procedure, void* userbuf, MPI_Datatype datatype, Count count, void* filebuf,
                  MPI_Offset position, void* extra_state) {
    MPI_Aint state = integer(extra_state);
    Fint type = to_fortran(datatype), error = MPI_SUCCESS;
    std::conditional_t<std::is_same_v<Count, int>, Fint, MPI_Count> elements = count;
    fortran::call(procedure, static_cast<char*>(userbuf), &type, &elements, static_cast<char*>(filebuf),
                  &position, &state, &error);
    return narrow(error);
  }
};

struct DatarepExtent {
  using Function = MPI_Datarep_extent_function;
  static constexpr const char* kName = "extents of data representations";
  static int call(Procedure* procedure, MPI_Datatype datatype, MPI_Aint* extent, void* extra_state) {
    MPI_Aint state = integer(extra_state);
    Fint type = to_fortran(datatype), error = MPI_SUCCESS;
    fortran::call(procedure, &type, extent, &state, &error);
    return narrow(error);
  }
};

template <class Target>
bool is(Procedure* procedure, Target* predefined) noexcept {
  return procedure == reinterpret_cast<Procedure*>(predefined);
}

}  // namespace

MPI_User_function* user_function(Procedure* procedure) noexcept {
  return Entries<Operator<MPI_User_function, int>>::of(procedure);
}
MPI_User_function_c* user_function_c(Procedure* procedure) noexcept {
  return Entries<Operator<MPI_User_function_c, MPI_Count>>::of(procedure);
}

MPI_Comm_errhandler_function* comm_errhandler_function(Procedure* procedure) noexcept {
  return Entries<ErrorHandler<MPI_Comm_errhandler_function, MPI_Comm>>::of(procedure);
}
MPI_File_errhandler_function* file_errhandler_function(Procedure* procedure) noexcept {
  return Entries<ErrorHandler<MPI_File_errhandler_function, MPI_File>>::of(procedure);
}
MPI_Session_errhandler_function* session_errhandler_function(Procedure* procedure) noexcept {
  return Entries<ErrorHandler<MPI_Session_errhandler_function, MPI_Session>>::of(procedure);
}
MPI_Win_errhandler_function* win_errhandler_function(Procedure* procedure) noexcept {
  return Entries<ErrorHandler<MPI_Win_errhandler_function, MPI_Win>>::of(procedure);
}

MPI_Comm_copy_attr_function* comm_copy_attr_function(Procedure* procedure) noexcept {
  if (is(procedure, mpi_comm_null_copy_fn_)) return MPI_COMM_NULL_COPY_FN;
  if (is(procedure, mpi_comm_dup_fn_)) return MPI_COMM_DUP_FN;
  return Entries<CopyAttribute<MPI_Comm, MPI_Aint>>::of(procedure);
}
MPI_Comm_delete_attr_function* comm_delete_attr_function(Procedure* procedure) noexcept {
  if (is(procedure, mpi_comm_null_delete_fn_)) return MPI_COMM_NULL_DELETE_FN;
  return Entries<DeleteAttribute<MPI_Comm, MPI_Aint>>::of(procedure);
}
MPI_Type_copy_attr_function* type_copy_attr_function(Procedure* procedure) noexcept {
  if (is(procedure, mpi_type_null_copy_fn_)) return MPI_TYPE_NULL_COPY_FN;
  if (is(procedure, mpi_type_dup_fn_)) return MPI_TYPE_DUP_FN;
  return Entries<CopyAttribute<MPI_Datatype, MPI_Aint>>::of(procedure);
}
MPI_Type_delete_attr_function* type_delete_attr_function(Procedure* procedure) noexcept {
  if (is(procedure, mpi_type_null_delete_fn_)) return MPI_TYPE_NULL_DELETE_FN;
  return Entries<DeleteAttribute<MPI_Datatype, MPI_Aint>>::of(procedure);
}
MPI_Win_copy_attr_function* win_copy_attr_function(Procedure* procedure) noexcept {
  if (is(procedure, mpi_win_null_copy_fn_)) return MPI_WIN_NULL_COPY_FN;
  if (is(procedure, mpi_win_dup_fn_)) return MPI_WIN_DUP_FN;
  return Entries<CopyAttribute<MPI_Win, MPI_Aint>>::of(procedure);
}
MPI_Win_delete_attr_function* win_delete_attr_function(Procedure* procedure) noexcept {
  if (is(procedure, mpi_win_null_delete_fn_)) return MPI_WIN_NULL_DELETE_FN;
  return Entries<DeleteAttribute<MPI_Win, MPI_Aint>>::of(procedure);
}
MPI_Copy_function* copy_function(Procedure* procedure) noexcept {
  if (is(procedure, mpi_null_copy_fn_)) return MPI_NULL_COPY_FN;
  if (is(procedure, mpi_dup_fn_)) return MPI_DUP_FN;
  return Entries<CopyAttribute<MPI_Comm, Fint>>::of(procedure);
}
MPI_Delete_function* delete_function(Procedure* procedure) noexcept {
  if (is(procedure, mpi_null_delete_fn_)) return MPI_NULL_DELETE_FN;
  return Entries<DeleteAttribute<MPI_Comm, Fint>>::of(procedure);
}

MPI_Grequest_query_function* grequest_query_function(Procedure* procedure) noexcept {
  return Entries<GrequestQuery>::of(procedure);
}
MPI_Grequest_free_function* grequest_free_function(Procedure* procedure) noexcept {
  return Entries<GrequestFree>::of(procedure);
}
MPI_Grequest_cancel_function* grequest_cancel_function(Procedure* procedure) noexcept {
  return Entries<GrequestCancel>::of(procedure);
}

MPI_Datarep_conversion_function* datarep_conversion_function(Procedure* procedure) noexcept {
  if (is(procedure, mpi_conversion_fn_null_)) return MPI_CONVERSION_FN_NULL;
  return Entries<DatarepConversion<MPI_Datarep_conversion_function, int>>::of(procedure);
}
MPI_Datarep_conversion_function_c* datarep_conversion_function_c(Procedure* procedure) noexcept {
  if (is(procedure, mpi_conversion_fn_null_c_)) return MPI_CONVERSION_FN_NULL_C;
  return Entries<DatarepConversion<MPI_Datarep_conversion_function_c, MPI_Count>>::of(procedure);
}
MPI_Datarep_extent_function* datarep_extent_function(Procedure* procedure) noexcept {
  return Entries<DatarepExtent>::of(procedure);
}

}  // namespace dunlin::fortran
