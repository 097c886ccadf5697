/* ranks: 1 3
   variants: none
   What works before MPI_Init and after MPI_Finalize; attributes of MPI_COMM_SELF at finalize; predefined
   attributes; attributes of datatypes; names; error handlers and error codes through the calls of C; handles
   as integers. */
#include <string.h>
#include <unistd.h>

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

static int copy_and_fail(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)in, (void)out;
  *flag = 0;
  return *(int*)extra;
}

/* The string of a program's error code is what the program has said, also after it has failed a call. */
static void strings_of_added_codes(void) {
  MPI_Comm comm, duplicate;
  int class, codes[2], code, keyval, length, error;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Add_error_class(&class);
  MPI_Add_error_code(class, &codes[0]);
  MPI_Add_error_code(class, &codes[1]);
  MPI_Add_error_string(codes[0], "no copies of this");
  MPI_Comm_create_keyval(copy_and_fail, MPI_COMM_NULL_DELETE_FN, &keyval, &code);
  MPI_Comm_set_attr(comm, keyval, NULL);
  for (int i = 0; i < 2; ++i) {
    code = codes[i];
    error = MPI_Comm_dup(comm, &duplicate);
    CHECK(error == code, "the code of the copy function is %d, that of the call %d", code, error);
    MPI_Error_string(error, text, &length);
    CHECK(strcmp(text, i == 0 ? "no copies of this" : "") == 0, "code %d: %s", i, text);
  }
  MPI_Comm_free_keyval(&keyval);
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

/* A handle becomes itself again by way of an integer of C, and of Fortran. */
#define COMES_BACK(Kind, handle)                                                                             \
  CHECK(MPI_##Kind##_fromint(MPI_##Kind##_toint(handle)) == (handle) &&                                      \
            MPI_##Kind##_f2c(MPI_##Kind##_c2f(handle)) == (handle),                                          \
        " ")

static void predefined_integers(void) {
  COMES_BACK(Comm, MPI_COMM_WORLD);
  COMES_BACK(Comm, MPI_COMM_SELF);
  COMES_BACK(Comm, MPI_COMM_NULL);
  COMES_BACK(Type, MPI_DOUBLE);
  COMES_BACK(Type, MPI_DATATYPE_NULL);
  COMES_BACK(Errhandler, MPI_ERRORS_RETURN);
  COMES_BACK(Errhandler, MPI_ERRHANDLER_NULL);
  COMES_BACK(File, MPI_FILE_NULL);
  COMES_BACK(Group, MPI_GROUP_EMPTY);
  COMES_BACK(Group, MPI_GROUP_NULL);
  COMES_BACK(Info, MPI_INFO_ENV);
  COMES_BACK(Info, MPI_INFO_NULL);
  COMES_BACK(Message, MPI_MESSAGE_NO_PROC);
  COMES_BACK(Message, MPI_MESSAGE_NULL);
  COMES_BACK(Op, MPI_SUM);
  COMES_BACK(Op, MPI_OP_NULL);
  COMES_BACK(Request, MPI_REQUEST_NULL);
  COMES_BACK(Session, MPI_SESSION_NULL);
  COMES_BACK(Win, MPI_WIN_NULL);
}

static void add(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

/* One of each kind, all there at once; of files two, since their errors have a handler of their own. */
static void integers(void) {
  enum { kFiles = 2 };
  static char byte;
  const int modes = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
  MPI_Comm comm;
  MPI_Datatype type;
  MPI_Errhandler errhandler;
  MPI_File files[kFiles];
  MPI_Group group;
  MPI_Info info;
  MPI_Message message;
  MPI_Op op;
  MPI_Request request;
  MPI_Session session;
  MPI_Win win;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Comm_create_errhandler(handler, &errhandler);
  for (int i = 0; i < kFiles; ++i) {
    char path[64];
    snprintf(path, sizeof path, "/dev/shm/dunlin-integers-%d-%d", (int)getpid(), i);
    CHECK(MPI_File_open(comm, path, modes, MPI_INFO_NULL, &files[i]) == MPI_SUCCESS, "%s", path);
  }
  MPI_Comm_group(comm, &group);
  MPI_Info_create(&info);
  MPI_Op_create(add, 1, &op);
  MPI_Isend(&byte, 1, MPI_CHAR, 0, 1, comm, &request);
  MPI_Mprobe(0, 1, comm, &message, MPI_STATUS_IGNORE);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Win_create(&byte, 1, 1, MPI_INFO_NULL, comm, &win);

  COMES_BACK(Comm, comm);
  COMES_BACK(Type, type);
  COMES_BACK(Errhandler, errhandler);
  COMES_BACK(File, files[0]);
  COMES_BACK(File, files[1]);
  COMES_BACK(Group, group);
  COMES_BACK(Info, info);
  COMES_BACK(Message, message);
  COMES_BACK(Op, op);
  COMES_BACK(Request, request);
  COMES_BACK(Session, session);
  COMES_BACK(Win, win);
  MPI_File same = MPI_File_fromint(MPI_File_toint(files[1]));
  MPI_Offset bytes = -1;
  CHECK(MPI_File_set_size(same, 5) == MPI_SUCCESS, " ");
  CHECK(MPI_File_get_size(files[1], &bytes) == MPI_SUCCESS && bytes == 5, "%lld", (long long)bytes);
  CHECK(MPI_File_close(&same) == MPI_SUCCESS && same == MPI_FILE_NULL, "close");
  COMES_BACK(File, files[0]);

  MPI_Mrecv(&byte, 1, MPI_CHAR, &message, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_free(&win);
  MPI_Session_finalize(&session);
  MPI_Op_free(&op);
  MPI_Info_free(&info);
  MPI_Group_free(&group);
  MPI_File_close(&files[0]);
  MPI_Errhandler_free(&errhandler);
  MPI_Type_free(&type);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  static int first = 1, second = 2;
  int keys[2];
  info_works("before MPI_Init");
  check_start(&argc, &argv);
  info_works("between MPI_Init and MPI_Finalize");
  predefined_attributes();
  error_handlers();
  strings_of_added_codes();
  attributes_of_types();
  predefined_integers();
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
