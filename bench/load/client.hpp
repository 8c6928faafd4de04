// SPDX-License-Identifier: MIT
// The two ways in which a program can hear of the ends of its asynchronous calls, behind one face: a completion queue,
// which the driver's thread reads while the library's own threads talk to the server, and callbacks on a loop that the
// driver runs itself, in which case there is one thread in all. Only the public interface is used.
#pragma once

#include <liblock/liblock.h>
#include <uv.h>

#include <memory>
#include <string>
#include <vector>

#include "../support/keys.hpp"
#include "../support/table.hpp"
#include "settings.hpp"

namespace liblock_bench {

struct End {
  size_t slot;
  int32_t kind;
  liblock_lock lock;
};

// A context on a server. The lightest lock that there is waits for nobody and looks at no queue.
class Opened {
 public:
  explicit Opened(const Settings &settings, uv_loop_t *loop = nullptr, bool leaves_locks = false) {
    auto options = context_options();
    options.uv_loop = loop;
    options.on_close = leaves_locks ? LIBLOCK_ON_CLOSE_LEAVE : LIBLOCK_ON_CLOSE_RELEASE;
    must(liblock_open(settings.text("url").c_str(), &options, &context_, nullptr), "liblock_open");
    if (settings.choice("form", {"fenced", "plain"}) == 1) {
      acquire.order = LIBLOCK_ORDER_ANY;
      acquire.wait_ms = 0;
    }
  }
  ~Opened() {
    liblock_close(context_);
    liblock_context_free(context_);
  }
  Opened(const Opened &) = delete;
  Opened &operator=(const Opened &) = delete;

  operator liblock_context *() const { return context_; }

  liblock_acquire_options acquire = acquire_options();

 private:
  liblock_context *context_ = nullptr;
};

class Client {
 public:
  virtual ~Client() = default;
  // One call under way per slot; a slot stands for a key.
  virtual void acquire(size_t slot) = 0;
  virtual void release(size_t slot, liblock_lock lock) = 0;
  // Waits until something has ended, and appends all that has.
  virtual void take(std::vector<End> &ends) = 0;
};

class QueueClient final : public Client {
 public:
  QueueClient(const Settings &settings, size_t slots);
  ~QueueClient() override;
  void acquire(size_t slot) override;
  void release(size_t slot, liblock_lock lock) override;
  void take(std::vector<End> &ends) override;
  // Waits no longer than until then.
  void take_until(std::vector<End> &ends, int64_t until_ns);

 private:
  bool take_one(std::vector<End> &ends, int64_t wait_ms);

  Opened opened_;
  const std::vector<Key16> keys_;
  liblock_completions *queue_ = nullptr;
  int32_t descriptor_ = -1;
};

class LoopClient final : public Client {
 public:
  LoopClient(const Settings &settings, size_t slots);
  ~LoopClient() override;
  void acquire(size_t slot) override;
  void release(size_t slot, liblock_lock lock) override;
  void take(std::vector<End> &ends) override;

 private:
  struct Slot {
    LoopClient *client;
    size_t number;
    Key16 key;
  };
  static void on_end(const liblock_completion *completion, void *user_data);

  uv_loop_t loop_{};
  std::unique_ptr<Opened> opened_;
  std::vector<Slot> slots_;
  std::vector<End> ended_;
};

// By --via: queue, or loop.
std::unique_ptr<Client> make_client(const Settings &settings, size_t slots);

}  // namespace liblock_bench
