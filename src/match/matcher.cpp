#include "match/matcher.hpp"

#include "base/size_pool.hpp"

namespace dunlin::match {

Posted* Matcher::take_posted(const Key& message, Posted* awaited) noexcept {
  if (!awaited && count_[0] == posted_.size()) [[likely]] {  // no wildcards: one place to look
    Entry* const found = posted_.take(message);
    if (!found) return nullptr;
    --busy_;
    --count_[0];
    return static_cast<Posted*>(found);
  }
  Posted* oldest = awaited;
  const auto consider = [&](unsigned kind, const Key& key) noexcept {
    if (count_[kind] == 0) return;
    auto* found = static_cast<Posted*>(posted_.find(key));
    if (found && (!oldest || found->sequence < oldest->sequence)) oldest = found;
  };
  consider(0, message);
  consider(1, {message.context, kAny, message.tag});
  consider(2, {message.context, message.source, kAny});
  consider(3, {message.context, kAny, kAny});
  if (!oldest) return nullptr;
  if (oldest == awaited)
    stop_awaiting();
  else
    withdraw(*oldest);
  return oldest;
}

Unexpected* Matcher::create(const Key& key, std::uint32_t bytes) noexcept {
  void* memory = SizePool::shared().take(sizeof(Unexpected) + bytes);
  if (!memory) return nullptr;
  auto* message = ::new (memory) Unexpected;
  message->key = key;
  message->bytes = bytes;
  return message;
}

void Matcher::destroy(Unexpected* message) noexcept {
  SizePool::shared().give_back(message, sizeof(Unexpected) + message->bytes);
}

void Matcher::add(Unexpected& message) noexcept {
  ++busy_;
  unexpected_.push(message);
  message.previous_arrived = last_arrived_;
  message.next_arrived = nullptr;
  (last_arrived_ ? last_arrived_->next_arrived : first_arrived_) = &message;
  last_arrived_ = &message;
}

void Matcher::remove(Unexpected& message) noexcept {
  --busy_;
  unexpected_.remove(message);
  (message.previous_arrived ? message.previous_arrived->next_arrived : first_arrived_) = message.next_arrived;
  (message.next_arrived ? message.next_arrived->previous_arrived : last_arrived_) = message.previous_arrived;
}

Unexpected* Matcher::find(const Key& wanted) noexcept {
  if (wildcards(wanted) == 0) return static_cast<Unexpected*>(unexpected_.find(wanted));
  for (Unexpected* each = first_arrived_; each; each = each->next_arrived)
    if (accepts(wanted, each->key)) return each;
  return nullptr;
}

}  // namespace dunlin::match
