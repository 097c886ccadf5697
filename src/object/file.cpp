#include "object/file.hpp"

#include <new>

namespace dunlin {
namespace {

class NoFile final : public File {
 public:
  NoFile() noexcept : File(Ref<Errhandler>(&errors_return())) {}
};

}  // namespace

File& no_file() noexcept {
  // Never destroyed: errors come until the very end of the process.
  alignas(NoFile) static unsigned char storage[sizeof(NoFile)];
  static NoFile* const file = ::new (storage) NoFile;
  return *file;
}

}  // namespace dunlin
