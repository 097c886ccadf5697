// Registered memory for frames on their way: what is sent lies here until the network has read it, what comes
// by message is received here.
//
// Used by channel.cpp and transport.cpp.  Cost: `count` frames of `frame_bytes`, made once, however many
// peers there are.  Thread safety: base/big_lock.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/ofi/fabric.hpp"
#include "transport/tagged.hpp"

namespace dunlin::transport::ofi {

class Channel;

struct Frame : Operation {
  std::byte* bytes = nullptr;
  Channel* channel = nullptr;  // which it is sent through
};

class Frames {
 public:
  Frames(Fabric& fabric, Operation::Kind kind, std::size_t count, std::size_t frame_bytes) noexcept
      : memory_(new std::byte[count * frame_bytes]),
        region_(fabric.try_register(memory_.get(), count * frame_bytes, false)),
        frames_(count) {
    for (std::size_t index = 0; index < count; ++index) {
      frames_[index].kind = kind;
      frames_[index].bytes = memory_.get() + index * frame_bytes;
      free_.push_back(&frames_[index]);
    }
  }

  bool is_usable() const noexcept { return bool(region_); }
  void* descriptor() const noexcept { return region_.descriptor(); }
  Frame* try_take() noexcept {
    if (free_.empty()) return nullptr;
    Frame* const frame = free_.back();
    free_.pop_back();
    return frame;
  }
  void give_back(Frame& frame) noexcept { free_.push_back(&frame); }
  std::size_t free() const noexcept { return free_.size(); }
  bool are_all_free() const noexcept { return free_.size() == frames_.size(); }

 private:
  std::unique_ptr<std::byte[]> memory_;
  Region region_;
  std::vector<Frame> frames_;
  std::vector<Frame*> free_;
};

}  // namespace dunlin::transport::ofi
