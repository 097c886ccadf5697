// mpicc, mpicxx, mpic++, mpiCC, mpifort, mpif90, mpif77, mpifc: run the compiler with what a program needs to
// find mpi.h, mpif.h, the modules and the libraries.
//
// One program under several names (links); the name says which compiler.  It finds headers
// and library from its own place, so that build tree, installation and a moved installation work alike.  It
// answers the questions that build systems know from MPICH (-show, -compile-info, -link-info), Open MPI
// (-showme, -showme:compile, ...) and others (-show-incdir, ...).
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "os/answer.hpp"

namespace {

using Words = std::vector<std::string>;

struct Wrapper {
  std::string name;      // "mpicc"
  std::string compiler;  // "cc"
  std::string include_dir;
  std::string library_dir;
  bool is_fortran = false;
  bool has_wide_integers = false;  // an INTEGER of 8 bytes

  Words compile_words() const {
    // A C compiler searches /usr/include itself, and naming it would change the order of its own headers.
    if (include_dir == "/usr/include" && !is_fortran) return {};
    if (has_wide_integers) return {"-I" + include_dir + "/integer8", "-I" + include_dir};
    return {"-I" + include_dir};
  }
  Words libraries() const {
    if (!is_fortran) return {"mpi_abi"};
    if (has_wide_integers) return {"mpifort_addresses_integer8", "mpifort_abi_integer8", "mpi_abi"};
    return {"mpifort_addresses", "mpifort_abi", "mpi_abi"};
  }
  Words link_words() const {
    Words words;
    if (library_dir != "/usr/lib")
      words = {"-L" + library_dir, "-Wl,-rpath," + library_dir, "-Wl,--enable-new-dtags"};
    for (const auto& library : libraries()) words.push_back("-l" + library);
    return words;
  }
};

bool is_there(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

/// The folder above bin/, where this program lies; links are followed.
std::string prefix() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) {
    std::fprintf(stderr, "mpicc: /proc/self/exe, its own place, is not readable; is /proc mounted?\n");
    std::exit(1);
  }
  std::string place(path, std::size_t(length));
  for (int up = 0; up < 2; ++up) place.erase(place.find_last_of('/'));
  return place;
}

std::string from_environment(const char* variable, const char* otherwise) {
  const char* value = std::getenv(variable);
  return value && *value ? value : otherwise;
}

Wrapper make_wrapper(const char* called_as) {
  Wrapper wrapper;
  wrapper.name = called_as;
  wrapper.name.erase(0, wrapper.name.find_last_of('/') + 1);
  wrapper.is_fortran = wrapper.name.starts_with("mpif");
  bool is_cxx = false;
  for (const char* mark : {"xx", "++", "CC"}) is_cxx = is_cxx || wrapper.name.find(mark) != std::string::npos;
  wrapper.compiler = is_cxx ? from_environment("MPICXX_CXX", DUNLIN_DEFAULT_CXX)
                            : from_environment("MPICC_CC", DUNLIN_DEFAULT_CC);
  if (wrapper.is_fortran) wrapper.compiler = from_environment("MPIFORT_FC", DUNLIN_DEFAULT_FC);
  const std::string top = prefix();
  wrapper.include_dir = top + "/" DUNLIN_INCLUDE_DIR;
  wrapper.library_dir = top + "/" DUNLIN_LIBRARY_DIR;
  // The build tree has the short names, whatever the installation uses.
  if (!is_there(wrapper.include_dir + "/mpi.h")) wrapper.include_dir = top + "/include";
  if (!is_there(wrapper.library_dir + "/libmpi_abi.so")) wrapper.library_dir = top + "/lib";
  return wrapper;
}

void append(Words& to, const Words& more) { to.insert(to.end(), more.begin(), more.end()); }

int print(const Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) std::printf("%s%s", i ? " " : "", words[i].c_str());
  std::printf("\n");
  return dunlin::os::end_answer("mpicc");
}

int help(const Wrapper& wrapper) {
  std::printf(
      "%s: compiles MPI programs with Dunlin; all other arguments go to the compiler (%s).\n\n"
      "  -show, -showme                   print the command instead of running it\n"
      "  -compile-info, -showme:compile   what is added when compiling\n"
      "  -link-info, -showme:link         what is added when linking\n"
      "  -show-incdir, -showme:incdirs    the folder of mpi.h\n"
      "  -show-libdir, -showme:libdirs    the folder of the library\n"
      "  -show-libs, -showme:libs         the libraries' names as -l wants them\n"
      "  -showme:command                  the compiler\n"
      "  -showme:version                  the version of Dunlin\n"
      "  -cc=NAME, -cxx=NAME, -fc=NAME    another compiler (or MPICC_CC, MPICXX_CXX, MPIFORT_FC in the "
      "environment)\n",
      wrapper.name.c_str(), wrapper.compiler.c_str());
  return 0;
}

/// The answer to a question about the wrapper, or -1 when `argument` is none.
int answer(const Wrapper& wrapper, std::string_view argument) {
  const auto is = [&](std::initializer_list<std::string_view> names) {
    for (const auto name : names)
      if (argument == name) return true;
    return false;
  };
  Words command{wrapper.compiler};
  if (is({"-compile-info", "-compile_info"})) return append(command, wrapper.compile_words()), print(command);
  if (is({"-link-info", "-link_info"})) return append(command, wrapper.link_words()), print(command);
  if (is({"-showme:compile", "--showme:compile"})) return print(wrapper.compile_words());
  if (is({"-showme:link", "--showme:link"})) return print(wrapper.link_words());
  if (is({"-show-incdir", "-showme:incdirs", "--showme:incdirs"})) return print({wrapper.include_dir});
  if (is({"-show-libdir", "-showme:libdirs", "--showme:libdirs"})) return print({wrapper.library_dir});
  if (is({"-show-libs", "-showme:libs", "--showme:libs"})) return print(wrapper.libraries());
  if (is({"-showme:command", "--showme:command"})) return print({wrapper.compiler});
  if (is({"-showme:version", "--showme:version"})) return print({wrapper.name + ": Dunlin " DUNLIN_VERSION});
  if (is({"-showme:help", "--showme:help"})) return help(wrapper);
  return -1;
}

/// A compiler may come with what starts it, or with options: "ccache gcc".
Words words_of(const std::string& compiler) {
  if (is_there(compiler)) return {compiler};
  Words words;
  for (std::size_t at = 0; (at = compiler.find_first_not_of(' ', at)) != std::string::npos;) {
    const std::size_t end = std::min(compiler.find(' ', at), compiler.size());
    words.push_back(compiler.substr(at, end - at));
    at = end;
  }
  return words;
}

/// Whether the compiler will stop before linking, or has nothing to link.
bool is_without_link(const Words& arguments) {
  bool has_input = false;
  for (const auto& argument : arguments) {
    for (const char* stop : {"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "--help", "--version"})
      if (argument == stop) return true;
    if (argument[0] != '-' || argument == "-" || argument.starts_with("-l")) has_input = true;
  }
  return !has_input;
}

}  // namespace

int main(int argc, char** argv) {
  Wrapper wrapper = make_wrapper(argv[0]);
  if (wrapper.is_fortran && !is_there(wrapper.library_dir + "/libmpifort_abi.so")) {
    std::fprintf(stderr,
                 "%s: this Dunlin was built without a Fortran compiler; C and C++ programs are built by "
                 "mpicc and mpicxx\n",
                 wrapper.name.c_str());
    return 1;
  }
  Words arguments;
  bool only_show = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "-show" || argument == "-showme" || argument == "--showme") {
      only_show = true;
    } else if (argument.starts_with("-cc=") || argument.starts_with("-cxx=") ||
               argument.starts_with("-fc=")) {
      wrapper.compiler = argument.substr(argument.find('=') + 1);
    } else if (const int status = answer(wrapper, argument); status >= 0) {
      return status;
    } else if (!argument.empty()) {
      arguments.emplace_back(argument);
      wrapper.has_wide_integers |=
          wrapper.is_fortran && (argument == "-fdefault-integer-8" || argument == "-i8");
    }
  }
  if (argc == 1) return help(wrapper);
  Words command = words_of(wrapper.compiler);
  if (!wrapper.is_fortran) append(command, wrapper.compile_words());
  append(command, arguments);
  if (wrapper.is_fortran) append(command, wrapper.compile_words());  // the program's own modules come first
  // A bare -show is asked by build systems that want to see the link command.
  if ((only_show && arguments.empty()) || !is_without_link(arguments)) append(command, wrapper.link_words());
  if (only_show) return print(command);

  std::vector<char*> words;
  for (auto& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words[0], words.data());
  std::fprintf(stderr, "%s: cannot run the compiler '%s': %s; name another with %s\n", wrapper.name.c_str(),
               wrapper.compiler.c_str(), std::strerror(errno), "-cc=NAME (or -cxx=NAME, -fc=NAME)");
  return 127;
}
