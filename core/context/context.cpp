// SPDX-License-Identifier: MIT
// Opening and closing. See context.hpp.
#include "context/context.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "context/fork.hpp"
#include "local/local_engine.hpp"
#include "local/table_registry.hpp"
#include "runtime/thread_runtime.hpp"

namespace liblock {

namespace {

constexpr char kLocalScheme[] = "local:";

std::string new_instance_id(Random &random) {
  char text[48];
  std::snprintf(text, sizeof text, "%d-%016llx", static_cast<int>(getpid()),
                static_cast<unsigned long long>(random.next()));
  return text;
}

Status read_url(const char *url, std::string &name, std::string &message) {
  if (url == nullptr) {
    message = "url is NULL; use \"local:NAME\", or \"local:\" for a table of its own";
    return Status::INVALID_ARGUMENT;
  }
  if (std::strncmp(url, kLocalScheme, sizeof kLocalScheme - 1) == 0) {
    name = url + sizeof kLocalScheme - 1;
    if (name.size() <= 255) return Status::OK;
    message = "the name after \"local:\" is longer than 255 bytes";
    return Status::INVALID_ARGUMENT;
  }
  for (const char *scheme : {"redis://", "rediss://", "unix://", "quorum:"}) {
    if (std::strncmp(url, scheme, std::strlen(scheme)) != 0) continue;
    message = std::string("this version has no ") + scheme + " contexts yet; use \"local:NAME\"";
    return Status::UNSUPPORTED;
  }
  const size_t scheme = std::strspn(url, "abcdefghijklmnopqrstuvwxyz0123456789+.-");
  const bool has_scheme = scheme > 0 && url[scheme] == ':';
  message = has_scheme ? "the url names no kind of context that this version knows; use \"local:NAME\""
                       : "the url has no scheme; use \"local:NAME\", or \"local:\" for a table of its own";
  return has_scheme ? Status::UNSUPPORTED : Status::INVALID_ARGUMENT;
}

}  // namespace

Status Context::open(const char *url, const liblock_context_options *options,
                     std::shared_ptr<Context> &context, bool &fresh, std::string &message) {
  std::string name;
  ContextOptions read;
  Status status = read_url(url, name, message);
  if (status == Status::OK) status = read_context_options(options, read, message);
  if (status != Status::OK) return status;
  watch_forks();
  OpenedTable opened = open_table(name, read.table, Clock());
  if (opened.status != Status::OK) {
    message =
        "\"local:" + name + "\" is open with other options; give the same, or NULL where all are defaults";
    return opened.status;
  }
  fresh = opened.fresh;
  context = std::make_shared<Context>(std::move(read));
  if (context->options_.uv_loop != nullptr) {
    context->loop_ = LoopRuntime::make(static_cast<uv_loop_t *>(context->options_.uv_loop));
  }
  Context *self = context.get();
  context->engine_ = std::make_unique<LocalEngine>(std::move(opened.table), context->instance_id_, self,
                                                   [self] { return self->runtime(); });
  register_context(self);
  return Status::OK;
}

Context::Context(ContextOptions options)
    : options_(std::move(options)),
      instance_id_(new_instance_id(random_)),
      requests_(static_cast<size_t>(options_.requests_max), random_) {}

Context::~Context() { unregister_context(this); }

std::shared_ptr<Runtime> Context::runtime() {
  if (loop_ != nullptr) return loop_;
  return {std::shared_ptr<void>(), &ThreadRuntime::instance()};  // never destroyed: nothing to own
}

void Context::stop_waiting() {
  const std::shared_ptr<Context> kept = shared_from_this();  // close() may return, and free() follow, at once
  if (waiting_.fetch_sub(1) != 1 || state_.load() == State::Open) return;
  const std::lock_guard lock(mutex_);
  left_.notify_all();
}

// Ends waits and holds; afterwards threads that waited are on their way out.
void Context::end_everything() { engine_->close(options_.leave_on_close); }

Status Context::close() {
  if (forked()) return Status::OK;
  if (NoBlockingScope::active()) return Status::WOULD_DEADLOCK;
  State open = State::Open;
  if (state_.compare_exchange_strong(open, State::Closed)) {
    end_everything();
    if (loop_ != nullptr) loop_->close();
  }
  std::unique_lock lock(mutex_);
  left_.wait(lock, [this] { return waiting_.load() == 0; });
  return Status::OK;
}

namespace {

class CloseCall final : public Notice {
 public:
  CloseCall(std::shared_ptr<Context> context, liblock_callback callback, void *user_data)
      : context_(std::move(context)), callback_(callback), user_data_(user_data) {}
  void deliver() override {
    liblock_completion completion{};
    completion.struct_size = sizeof completion;
    completion.kind = LIBLOCK_KIND_CLOSE;
    completion.remaining_ms = -1;
    completion.user_data = user_data_;
    completion.message = status_text(LIBLOCK_OK);
    callback_(&completion, user_data_);
  }

 private:
  const std::shared_ptr<Context> context_;
  const liblock_callback callback_;
  void *const user_data_;
};

}  // namespace

Status Context::close_async(liblock_callback callback, void *user_data) {
  if (forked()) return Status::FORKED;
  const std::shared_ptr<Runtime> where = runtime();
  State open = State::Open;
  const bool first = state_.compare_exchange_strong(open, State::Closed);
  if (first) end_everything();
  if (!first && loop_ != nullptr) return Status::CLOSED;  // its loop may deliver nothing any more
  // Behind the ends of all requests, which end_everything() posted.
  if (callback != nullptr) where->post(new CloseCall(shared_from_this(), callback, user_data));
  if (first && loop_ != nullptr) loop_->close();
  return Status::OK;
}

std::shared_ptr<Completions> Context::open_completions(size_t capacity) {
  auto opened = std::make_shared<Completions>(capacity, dropped_notices_);
  const std::lock_guard lock(mutex_);
  std::erase_if(completions_, [](const auto &c) { return c.expired(); });
  completions_.push_back(opened);
  return opened;
}

// In the child of a fork, where one thread runs: no lock may be taken, whoever held it is gone.
void Context::close_descriptors_after_fork() {
  for (const auto &weak : completions_) {
    if (const auto c = weak.lock()) c->close_fd_after_fork();
  }
}

}  // namespace liblock
