#include "transport/ofi/address.hpp"

#include <cstdlib>
#include <string_view>

namespace dunlin::transport::ofi {
namespace {

constexpr char kEnd = '\n';

/// The part of `text` up to the next end, which is taken off.
std::string take_part(std::string_view& text) noexcept {
  const std::size_t end = text.find(kEnd);
  const std::string part(text.substr(0, end));
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

}  // namespace

std::string Address::text() const noexcept {
  std::string text = provider + kEnd + place + kEnd;
  for (const std::string& name : names) text += std::to_string(name.size()) + kEnd + name;
  return text;
}

Result<Address> Address::of(const std::string& text) noexcept {
  std::string_view rest(text);
  Address address;
  address.provider = take_part(rest);
  address.place = take_part(rest);
  while (!rest.empty()) {
    const std::size_t bytes = std::strtoul(take_part(rest).c_str(), nullptr, 10);
    if (bytes == 0 || bytes > rest.size()) {
      address.names.clear();
      break;
    }
    address.names.emplace_back(rest.substr(0, bytes));
    rest.remove_prefix(bytes);
  }
  if (!address.names.empty()) return address;
  return fail(Err::other,
              "a rank has published an address that this library cannot read: is it another version?");
}

}  // namespace dunlin::transport::ofi
