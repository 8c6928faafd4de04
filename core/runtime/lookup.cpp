// SPDX-License-Identifier: MIT
// See lookup.hpp. The thread touches nothing of the lookup once it has rung, and libuv lets no ringing thread fall
// behind the closing of the bell.
#include "runtime/lookup.hpp"

#include <cstring>
#include <system_error>
#include <utility>

#include "base/assert.hpp"
#include "runtime/thread.hpp"

namespace liblock {

std::atomic<int> Lookup::under_way_{0};

Lookup::Lookup(std::string host, uint16_t port, Done done)
    : host_(std::move(host)), port_(std::to_string(port)), done_(std::move(done)) {}

int Lookup::begin(uv_loop_t *loop, std::string host, uint16_t port, Done done) {
  if (++under_way_ > kLookupsMax) {
    --under_way_;
    return UV_EAGAIN;
  }
  auto *lookup = new Lookup(std::move(host), port, std::move(done));
  const auto rung = [](uv_async_t *bell) {
    uv_close(reinterpret_cast<uv_handle_t *>(bell), [](uv_handle_t *handle) {
      auto *over = static_cast<Lookup *>(handle->data);
      LIBLOCK_ASSERT(over->is_over_.load(std::memory_order_acquire));
      or_end_without_memory([over] {
        if (over->done_ != nullptr) over->done_(over->status_, std::move(over->addresses_));
      });
      delete over;
    });
  };
  lookup->over_.data = lookup;
  const int status = uv_async_init(loop, &lookup->over_, rung);
  if (status != 0) {
    delete lookup;
    return status;
  }
  try {
    start_thread("liblock-lookup", [lookup] { lookup->run(); });
  } catch (const std::system_error &) {
    lookup->status_ = UV_EAGAIN;
    lookup->ring();
  }
  return 0;
}

void Lookup::run() {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo *list = nullptr;
  switch (getaddrinfo(host_.c_str(), port_.c_str(), &hints, &list)) {
    case 0:
      break;
    case EAI_AGAIN:
      status_ = UV_EAI_AGAIN;
      break;
    case EAI_MEMORY:
      status_ = UV_EAI_MEMORY;
      break;
    case EAI_FAIL:
      status_ = UV_EAI_FAIL;
      break;
    default:
      status_ = UV_EAI_NONAME;
  }
  for (const addrinfo *a = list; a != nullptr; a = a->ai_next) {
    sockaddr_storage address{};
    std::memcpy(&address, a->ai_addr, a->ai_addrlen);
    addresses_.push_back(address);
  }
  if (list != nullptr) freeaddrinfo(list);
  ring();
}

// What was found is handed over here and not by libuv: it may answer the bell before it has said in its own way that it
// was rung, as ThreadSanitizer noticed.
void Lookup::ring() {
  is_over_.store(true, std::memory_order_release);
  uv_async_send(&over_);
}

}  // namespace liblock
