// Reading ELF headers; see program_file.hpp.
#include "launcher/program_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

namespace dunlin::launcher {
namespace {

/// A file mapped for reading.  Nothing in it is trusted: every access is checked against its size.
class Image {
 public:
  explicit Image(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // a FIFO would block
    struct stat status;
    if (fd >= 0 && ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
      void* memory = ::mmap(nullptr, std::size_t(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
      if (memory != MAP_FAILED) bytes_ = {static_cast<const char*>(memory), std::size_t(status.st_size)};
    }
    if (fd >= 0) ::close(fd);
  }
  ~Image() {
    if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  Image(const Image&) = delete;

  /// A copy of the `T` at an offset; false when it is not all there.
  template <class T>
  bool try_read(std::size_t at, T& value) const noexcept {
    if (at > bytes_.size() || bytes_.size() - at < sizeof value) return false;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return true;
  }

  /// The text at an offset up to its NUL; "" when there is none.
  std::string text(std::size_t at) const {
    if (at >= bytes_.size()) return {};
    const std::string_view rest(bytes_.data() + at, bytes_.size() - at);
    const std::size_t end = rest.find('\0');
    return end == std::string_view::npos ? std::string() : std::string(rest.substr(0, end));
  }

  std::string first_line() const {
    const std::string_view all(bytes_.data(), bytes_.size());
    return std::string(all.substr(0, all.find('\n')));
  }

 private:
  std::span<const char> bytes_;
};

bool is_readable_elf(const Elf64_Ehdr& header) noexcept {
  constexpr unsigned char kOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == kOrder && header.e_phentsize == sizeof(Elf64_Phdr);
}

/// Where in the file an address of the running program comes from; 0 when nowhere.
std::size_t offset_of(const Image& image, const Elf64_Ehdr& header, Elf64_Addr address) noexcept {
  Elf64_Phdr segment;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    if (!image.try_read(header.e_phoff + i * sizeof segment, segment)) return 0;
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz)
      return segment.p_offset + (address - segment.p_vaddr);
  }
  return 0;
}

/// The program that the kernel starts in its place: of a script, or an ELF program's dynamic linker.
std::string interpreter_of(const Image& image) {
  const std::string line = image.first_line();
  if (line.starts_with("#!")) {
    const std::size_t begin = line.find_first_not_of(" \t", 2);
    if (begin == std::string::npos) return "";
    return line.substr(begin, line.find_first_of(" \t", begin) - begin);
  }
  Elf64_Ehdr header;
  if (!image.try_read(0, header) || !is_readable_elf(header)) return "";
  Elf64_Phdr segment;
  for (unsigned i = 0; i < header.e_phnum; ++i)
    if (image.try_read(header.e_phoff + i * sizeof segment, segment) && segment.p_type == PT_INTERP)
      return image.text(segment.p_offset);
  return "";
}

}  // namespace

std::string find_in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path ? path : "/bin:/usr/bin"; !rest.empty();) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string file = std::string(rest.substr(0, end)) + '/' + name;
    struct stat status;
    const bool is_file = end > 0 && ::stat(file.c_str(), &status) == 0 && !S_ISDIR(status.st_mode);
    if (is_file && ::access(file.c_str(), X_OK) == 0) return file;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return "";
}

std::string why_not_started(const std::string& path, int error) {
  struct stat status;
  const bool is_there = ::stat(path.c_str(), &status) == 0;
  if (is_there && S_ISDIR(status.st_mode)) return "it is a folder";
  if (is_there && !S_ISREG(status.st_mode)) return "it is no regular file";
  struct statvfs system;
  if (is_there && error == EACCES && (status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0)
    return "it is not executable; \"chmod +x\" makes it so";
  if (is_there && error == EACCES && ::statvfs(path.c_str(), &system) == 0 && (system.f_flag & ST_NOEXEC))
    return "no program may run from its file system (it is mounted \"noexec\")";
  if (is_there && error == ENOEXEC) return "it is a program for another kind of CPU, or damaged";
  if (!is_there || error != ENOENT) return std::strerror(error);
  std::string interpreter = interpreter_of(Image(path));
  if (!interpreter.ends_with('\r')) return "its interpreter " + interpreter + " is not there";
  interpreter.pop_back();
  return "its first line ends like those of Windows, so that its interpreter " + interpreter +
         " is not found";
}

bool is_machine_code(const std::string& path) {
  char magic[SELFMAG];
  return Image(path).try_read(0, magic) && std::memcmp(magic, ELFMAG, SELFMAG) == 0;
}

std::vector<std::string> needed_libraries(const std::string& path) {
  const Image image(path);
  Elf64_Ehdr header;
  if (!image.try_read(0, header) || !is_readable_elf(header)) return {};
  std::vector<std::size_t> name_offsets;
  std::size_t names_at = 0;
  Elf64_Phdr segment;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    if (!image.try_read(header.e_phoff + i * sizeof segment, segment)) return {};
    if (segment.p_type != PT_DYNAMIC) continue;
    Elf64_Dyn entry;
    for (std::size_t at = 0; at < segment.p_filesz; at += sizeof entry) {
      if (!image.try_read(segment.p_offset + at, entry) || entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_NEEDED) name_offsets.push_back(entry.d_un.d_val);
      if (entry.d_tag == DT_STRTAB) names_at = offset_of(image, header, entry.d_un.d_ptr);
    }
  }
  std::vector<std::string> names;
  if (names_at != 0)
    for (const std::size_t offset : name_offsets) names.push_back(image.text(names_at + offset));
  return names;
}

bool is_sanitized(const std::string& path) {
  static constexpr std::string_view kRuntimes[] = {"libasan.so", "libtsan.so", "liblsan.so", "libhwasan.so",
                                                   "libclang_rt."};
  const std::vector<std::string> libraries = needed_libraries(path);
  return std::any_of(libraries.begin(), libraries.end(), [](const std::string& name) {
    return std::any_of(std::begin(kRuntimes), std::end(kRuntimes),
                       [&name](std::string_view runtime) { return name.starts_with(runtime); });
  });
}

}  // namespace dunlin::launcher
