// What a process tells the others of how it is reached over the network, and who tells it.
//
// Made by ofi::Transport, carried by the launcher's key-value store (runtime/).
#pragma once

#include <string>
#include <vector>

#include "base/err.hpp"

namespace dunlin::transport::ofi {

struct Address {
  std::string provider;            // libfabric's name, the same in all processes of a job
  std::string place;               // "host, interface address", for messages
  std::vector<std::string> names;  // libfabric's addresses of the endpoints, that for messages first

  /// As bytes for the store, and back.
  std::string text() const noexcept;
  static Result<Address> of(const std::string& text) noexcept;
};

/// Where addresses are found; the runtime asks its launcher.
class Directory {
 public:
  /// What that process has published, in full.
  virtual Result<std::string> address_of(int peer) noexcept = 0;

 protected:
  ~Directory() = default;
};

}  // namespace dunlin::transport::ofi
