/* ranks: 1 3
   variants: none
   What works before MPI_Init and after MPI_Finalize; attributes of MPI_COMM_SELF at finalize; predefined
   attributes; attributes of datatypes; names; error handlers and error codes through the calls of C. */
#include <string.h>

#include "check.h"

static int order[2], deleted;

static int note(MPI_Comm comm, int keyval, void* value, void* extra) {
  int initialized, finalized;
  (void)comm, (void)keyval, (void)extra;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized && !finalized) order[deleted++] = *(int*)value;
  return MPI_SUCCESS;
}

static void info_works(const char* when) {
  MPI_Info info, env;
  char value[16];
  int length = sizeof value, flag = 0;
  if (MPI_Info_create(&info) != MPI_SUCCESS || MPI_Info_set(info, "key", "value") != MPI_SUCCESS ||
      MPI_Info_get_string(info, "key", &length, value, &flag) != MPI_SUCCESS || !flag ||
      strcmp(value, "value") != 0 || MPI_Info_free(&info) != MPI_SUCCESS || info != MPI_INFO_NULL ||
      MPI_Info_create_env(0, NULL, &env) != MPI_SUCCESS) {
    fprintf(stderr, "info does not work %s\n", when);
    exit(1);
  }
  MPI_Info_free(&env);
}

static int calls, last_code;

static void handler(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  ++calls;
  last_code = *code;
}

static void error_handlers(void) {
  MPI_Comm comm;
  MPI_Errhandler mine, found;
  int code, class, length, error;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_create_errhandler(handler, &mine);
  MPI_Comm_set_errhandler(comm, mine);
  MPI_Comm_get_errhandler(comm, &found);
  CHECK(found == mine, "another handler");
  MPI_Errhandler_free(&found);
  MPI_Errhandler_free(&mine);
  CHECK(mine == MPI_ERRHANDLER_NULL, "free left the handle");
  MPI_Add_error_class(&class);
  MPI_Add_error_code(class, &code);
  MPI_Add_error_string(code, "the cat is on the keyboard");
  MPI_Comm_call_errhandler(comm, code);
  CHECK(calls == 1 && last_code == code, "%d calls, code %d", calls, last_code);
  MPI_Error_string(code, text, &length);
  CHECK(strcmp(text, "the cat is on the keyboard") == 0 && length == (int)strlen(text), "%s", text);
  error = MPI_Comm_set_attr(comm, MPI_TAG_UB, NULL);
  CHECK(calls == 2, "an error of the library reached the handler %d times", calls - 1);
  MPI_Error_class(error, &class);
  CHECK(class == MPI_ERR_KEYVAL, "class %d", class);
  MPI_Comm_free(&comm);
}

static int copied, erased;

static int copy_type(MPI_Datatype type, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)type, (void)keyval, (void)extra;
  ++copied;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}

static int erase_type(MPI_Datatype type, int keyval, void* value, void* extra) {
  (void)type, (void)keyval, (void)value, (void)extra;
  ++erased;
  return MPI_SUCCESS;
}

/* A duplicate gets each attribute once; what a freed key still holds can be deleted by its old number. */
static void attributes_of_types(void) {
  MPI_Datatype type, duplicate;
  int keyval, old, value = 7, *found, flag;
  MPI_Type_create_keyval(copy_type, erase_type, &keyval, NULL);
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_set_attr(type, keyval, &value);
  MPI_Type_dup(type, &duplicate);
  CHECK(copied == 1 && erased == 0, "copied %d times, deleted %d times", copied, erased);
  old = keyval;
  MPI_Type_free_keyval(&keyval);
  MPI_Type_free(&type);
  CHECK(erased == 1, "deleted %d times", erased);
  MPI_Type_get_attr(duplicate, old, &found, &flag);
  CHECK(flag && *found == 7, "the duplicate lacks the attribute");
  MPI_Type_delete_attr(duplicate, old);
  CHECK(erased == 2, "deleted %d times", erased);
  MPI_Type_free(&duplicate);
  CHECK(erased == 2, "deleted %d times", erased);
}

static void predefined_attributes(void) {
  int *value, flag;
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
  CHECK(flag && *value >= 32767, "MPI_TAG_UB");
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag);
  CHECK(flag && (*value == 0 || *value == 1), "MPI_WTIME_IS_GLOBAL");
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag);
  CHECK(flag && *value >= MPI_ERR_LASTCODE, "MPI_LASTUSEDCODE");
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &flag);
  CHECK(strcmp(name, "MPI_COMM_WORLD") == 0, "%s", name);
  MPI_Comm_get_name(MPI_COMM_SELF, name, &flag);
  CHECK(strcmp(name, "MPI_COMM_SELF") == 0, "%s", name);
}

static void integers(void) {
  MPI_Comm dup;
  CHECK(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)) == MPI_COMM_WORLD, "world");
  CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_SELF)) == MPI_COMM_SELF, "self");
  CHECK(MPI_Group_fromint(MPI_Group_toint(MPI_GROUP_EMPTY)) == MPI_GROUP_EMPTY, "empty group");
  CHECK(MPI_Info_f2c(MPI_Info_c2f(MPI_INFO_NULL)) == MPI_INFO_NULL, "null info");
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  CHECK(MPI_Comm_fromint(MPI_Comm_toint(dup)) == dup, "duplicate");
  MPI_Comm_free(&dup);
}

int main(int argc, char** argv) {
  static int first = 1, second = 2;
  int keys[2];
  info_works("before MPI_Init");
  check_start(&argc, &argv);
  info_works("between MPI_Init and MPI_Finalize");
  predefined_attributes();
  error_handlers();
  attributes_of_types();
  integers();
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note, &keys[0], NULL);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note, &keys[1], NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, keys[0], &first);
  MPI_Comm_set_attr(MPI_COMM_SELF, keys[1], &second);
  MPI_Comm_free_keyval(&keys[0]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  if (deleted != 2 || order[0] != 2 || order[1] != 1) {
    fprintf(stderr,
            "rank %d: attributes of MPI_COMM_SELF: %d deleted at finalize, %d then %d instead of 2 then 1\n",
            check_rank, deleted, order[0], order[1]);
    return 1;
  }
  info_works("after MPI_Finalize");
  return 0;
}
