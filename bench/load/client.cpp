// SPDX-License-Identifier: MIT
// See client.hpp.
#include "client.hpp"

#include <poll.h>

#include "clocks.hpp"

namespace liblock_bench {

namespace {

void *as_user_data(size_t slot) { return reinterpret_cast<void *>(slot); }

}  // namespace

QueueClient::QueueClient(const Settings &settings, size_t slots)
    : opened_(settings), keys_(make_keys(slots)) {
  must(liblock_ping(opened_, nullptr), "liblock_ping");
  must(liblock_completions_open(opened_, 2 * slots, &queue_, nullptr), "liblock_completions_open");
  must(liblock_completions_fd(queue_, &descriptor_), "liblock_completions_fd");
  opened_.acquire.completions = queue_;
}

QueueClient::~QueueClient() {
  liblock_completions_close(queue_);
  liblock_completions_free(queue_);
}

void QueueClient::acquire(size_t slot) {
  liblock_request request;
  must(liblock_acquire_async(opened_, keys_[slot].data(), keys_[slot].size(), &opened_.acquire, nullptr,
                             as_user_data(slot), &request),
       "liblock_acquire_async");
}

void QueueClient::release(size_t slot, liblock_lock lock) {
  must(liblock_release_async(opened_, lock, queue_, nullptr, as_user_data(slot), nullptr),
       "liblock_release_async");
}

bool QueueClient::take_one(std::vector<End> &ends, int64_t wait_ms) {
  liblock_completion end;
  end.struct_size = sizeof end;
  const liblock_status status = liblock_completions_next(queue_, wait_ms, &end);
  if (status == LIBLOCK_TIMEOUT) return false;
  must(status, "liblock_completions_next");
  must(end.status, end.kind == LIBLOCK_KIND_ACQUIRE ? "an acquire" : "a release");
  ends.push_back({reinterpret_cast<size_t>(end.user_data), end.kind, end.lock});
  return true;
}

void QueueClient::take(std::vector<End> &ends) {
  if (!take_one(ends, -1)) return;
  while (take_one(ends, 0)) {}
}

void QueueClient::take_until(std::vector<End> &ends, int64_t until_ns) {
  // Milliseconds are too coarse for the distances of arrivals, hence the descriptor.
  const int64_t left = until_ns - now_ns();
  if (left > 0) {
    pollfd wanted{descriptor_, POLLIN, 0};
    const timespec most{left / 1'000'000'000, left % 1'000'000'000};
    ppoll(&wanted, 1, &most, nullptr);
  }
  while (take_one(ends, 0)) {}
}

LoopClient::LoopClient(const Settings &settings, size_t slots) {
  if (uv_loop_init(&loop_) != 0) Settings::fail("uv_loop_init");
  opened_ = std::make_unique<Opened>(settings, &loop_);
  const auto keys = make_keys(slots);
  for (size_t i = 0; i < slots; ++i) slots_.push_back({this, i, keys[i]});
}

LoopClient::~LoopClient() {
  bool is_closed = false;
  must(liblock_close_async(
           *opened_, [](const liblock_completion *, void *closed) { *static_cast<bool *>(closed) = true; },
           &is_closed),
       "liblock_close_async");
  while (!is_closed) uv_run(&loop_, UV_RUN_ONCE);
  opened_.reset();
  uv_run(&loop_, UV_RUN_DEFAULT);
  uv_loop_close(&loop_);
}

void LoopClient::on_end(const liblock_completion *completion, void *user_data) {
  const Slot &slot = *static_cast<Slot *>(user_data);
  must(completion->status, completion->kind == LIBLOCK_KIND_ACQUIRE ? "an acquire" : "a release");
  slot.client->ended_.push_back({slot.number, completion->kind, completion->lock});
}

void LoopClient::acquire(size_t slot) {
  liblock_request request;
  must(liblock_acquire_async(*opened_, slots_[slot].key.data(), slots_[slot].key.size(), &opened_->acquire,
                             on_end, &slots_[slot], &request),
       "liblock_acquire_async");
}

void LoopClient::release(size_t slot, liblock_lock lock) {
  must(liblock_release_async(*opened_, lock, nullptr, on_end, &slots_[slot], nullptr),
       "liblock_release_async");
}

void LoopClient::take(std::vector<End> &ends) {
  while (ended_.empty()) uv_run(&loop_, UV_RUN_ONCE);
  ends.insert(ends.end(), ended_.begin(), ended_.end());
  ended_.clear();
}

std::unique_ptr<Client> make_client(const Settings &settings, size_t slots) {
  if (settings.choice("via", {"queue", "loop"}) == 0) return std::make_unique<QueueClient>(settings, slots);
  return std::make_unique<LoopClient>(settings, slots);
}

}  // namespace liblock_bench
