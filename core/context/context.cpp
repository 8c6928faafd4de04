// SPDX-License-Identifier: MIT
// Opening and closing. See context.hpp.
#include "context/context.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/assert.hpp"
#include "base/not_cancelled.hpp"
#include "context/fork.hpp"
#include "context/struct_size.hpp"
#include "local/local_engine.hpp"
#include "local/table_registry.hpp"
#include "quorum/node_list.hpp"
#include "quorum/quorum_engine.hpp"
#include "redis/redis_engine.hpp"
#include "runtime/thread_runtime.hpp"

namespace liblock {

namespace {

constexpr char kLocalScheme[] = "local:";
constexpr char kQuorumScheme[] = "quorum:";
constexpr int kCloseTriesMax = 1000;  // with a millisecond between them

// Where this process runs, as far as it can stand in a record and in the name of a channel.
std::string host_name() {
  char name[65] = "";
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "unknown";
  for (char *c = name; *c != '\0'; ++c) {
    const bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
    if (!is_plain && *c != '-' && *c != '.' && *c != '_') *c = '_';
  }
  return name;
}

std::string new_instance_id(Random &random) {
  char text[48];
  std::snprintf(text, sizeof text, "%d-%016llx", static_cast<int>(getpid()),
                static_cast<unsigned long long>(random.next()));
  std::string id(text);
  id.push_back('@');
  id += host_name();
  return id;
}

constexpr const char *kServerSchemes[] = {"redis://", "rediss://", "unix://"};

bool has_servers(const liblock_context_options &given) {
  liblock_context_options known = default_context_options();
  return read_struct(&given, known) == Status::OK && known.servers != nullptr;
}

bool starts_with(const char *text, const char *prefix) {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

Status read_local_name(const char *url, std::string &name, std::string &message) {
  name = url + sizeof kLocalScheme - 1;
  if (name.size() <= 255) return Status::OK;
  message = "the name after \"local:\" is longer than 255 bytes";
  return Status::INVALID_ARGUMENT;
}

Status refuse_url(const char *url, std::string &message) {
  if (url == nullptr) {
    message = "url is NULL; use \"local:NAME\", \"redis://host:port/db\" or \"quorum:URL,URL,URL\"";
    return Status::INVALID_ARGUMENT;
  }
  const size_t scheme = std::strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
  const bool has_scheme = scheme > 0 && url[scheme] == ':';
  message = has_scheme ? "the url names no kind of context that this version knows; use \"local:NAME\", "
                         "\"redis://host:port/db\", \"rediss://…\", \"unix:///path\" or \"quorum:URL,URL,URL\", in "
                         "small letters"
                       : "the url has no scheme; use \"local:NAME\", \"redis://host:port/db\" or "
                         "\"quorum:URL,URL,URL\"";
  return has_scheme ? Status::UNSUPPORTED : Status::INVALID_ARGUMENT;
}

// Takes the password over.
ConnectionDefaults connection_defaults(ServerOptions &server) {
  ConnectionDefaults defaults;
  defaults.user = server.username;
  defaults.password = Secret(server.password);
  wipe(server.password);
  defaults.name = server.client_name;
  defaults.connect_timeout = nanos_from_ms(server.connect_timeout_ms);
  defaults.command_timeout = nanos_from_ms(server.command_timeout_ms);
  defaults.tls = {server.tls_ca_file,  server.tls_ca_path,     server.tls_certificate_file,
                  server.tls_key_file, server.tls_server_name, server.tls_verify};
  return defaults;
}

// The servers of the url, or those of the options.
Status read_quorum_nodes(const char *url, const ContextOptions &read, QuorumOptions &quorum,
                         std::string &message) {
  std::vector<Bytes> servers = read.nodes.servers;
  if (url != nullptr) {
    if (!servers.empty()) {
      message = "there are servers in the url and in the options; leave one of the two NULL";
      return Status::INVALID_ARGUMENT;
    }
    servers = split_servers(url + sizeof kQuorumScheme - 1);
  }
  const Status status =
      read_nodes(servers, read.nodes.observers, quorum.defaults, quorum.nodes, quorum.observers, message);
  if (status != Status::OK) return status;
  return check_votes(read.nodes.votes, servers.size(), message);
}

}  // namespace

Status Context::open(const char *url, const liblock_context_options *options,
                     std::shared_ptr<Context> &context, bool &fresh, std::string &message) {
  fresh = true;
  if (url != nullptr && starts_with(url, kLocalScheme))
    return open_local(url, options, context, fresh, message);
  for (const char *scheme : kServerSchemes) {
    if (url != nullptr && starts_with(url, scheme)) return open_server(url, options, context, message);
  }
  const bool names_servers = url == nullptr && options != nullptr && has_servers(*options);
  if (names_servers || (url != nullptr && starts_with(url, kQuorumScheme)))
    return open_quorum(url, options, context, message);
  return refuse_url(url, message);
}

Status Context::open_local(const char *url, const liblock_context_options *options,
                           std::shared_ptr<Context> &context, bool &fresh, std::string &message) {
  std::string name;
  ContextOptions read;
  Status status = read_local_name(url, name, message);
  if (status == Status::OK) status = read_context_options(options, kLocalKind, read, message);
  if (status != Status::OK) return status;
  watch_forks();
  OpenedTable opened = open_table(name, read.table, Clock());
  if (opened.status != Status::OK) {
    message =
        "\"local:" + name + "\" is open with other options; give the same, or NULL where all are defaults";
    return opened.status;
  }
  fresh = opened.fresh;
  try {
    context = make(std::move(read));
    Context *self = context.get();
    context->engine_ = std::make_unique<LocalEngine>(opened.table, context->instance_id_, self,
                                                     [self] { return self->runtime(); });
    context->make_instruments();
    register_context(self);
  } catch (...) {
    if (context != nullptr && context->engine_ != nullptr) {
      context->engine_->close(false, [] {});  // the table knows it already
    } else {
      leave_table(*opened.table);  // it may be the first and last of its name
    }
    context.reset();
    throw;
  }
  return Status::OK;
}

Status Context::open_server(const char *url, const liblock_context_options *options,
                            std::shared_ptr<Context> &context, std::string &message) {
  ContextOptions read;
  InstanceOptions instance;
  Status status = read_context_options(options, kServerKind, read, message);
  ConnectionDefaults defaults = connection_defaults(read.server);
  if (status == Status::OK) status = connection_to(url, defaults, instance.connection, message);
  if (status != Status::OK) return status;
  watch_forks();
  instance.prefix = read.table.prefix;
  instance.alive = nanos_from_ms(read.server.alive_ms);
  instance.foreign_gap_ms = read.server.foreign_gap_ms;
  if (read.server.front_ms != -1) instance.front_budget = nanos_from_ms(read.server.front_ms);
  if (read.server.zombie_interval_ms != -1)
    instance.zombie_interval = nanos_from_ms(read.server.zombie_interval_ms);
  instance.deadlock_delay =
      read.table.deadlock_detection ? nanos_from_ms(read.table.deadlock_delay_ms) : kNever;
  instance.locks_max = static_cast<size_t>(read.table.locks_max);
  instance.waiters_max = static_cast<size_t>(read.table.waiters_max);
  context = make(std::move(read));
  Context *self = context.get();
  context->engine_ = std::make_unique<RedisEngine>(context->runtime(), instance, context->instance_id_, self);
  context->make_instruments();
  register_context(self);
  return Status::OK;
}

Status Context::open_quorum(const char *url, const liblock_context_options *options,
                            std::shared_ptr<Context> &context, std::string &message) {
  ContextOptions read;
  QuorumOptions quorum;
  Status status = read_context_options(options, kQuorumKind, read, message);
  quorum.defaults = connection_defaults(read.server);
  if (status == Status::OK) status = read_quorum_nodes(url, read, quorum, message);
  if (status != Status::OK) return status;
  watch_forks();
  quorum.votes = read.nodes.votes;
  quorum.max_ttl = nanos_from_ms(read.nodes.max_ttl_ms);
  quorum.clock_step = nanos_from_ms(read.nodes.clock_step_ms);
  quorum.restart = static_cast<QuorumOptions::Restart>(read.nodes.restart_policy);
  quorum.prefix = read.table.prefix;
  quorum.alive = nanos_from_ms(read.server.alive_ms);
  if (read.server.zombie_interval_ms != -1)
    quorum.zombie_interval = nanos_from_ms(read.server.zombie_interval_ms);
  quorum.foreign_gap_ms = read.server.foreign_gap_ms;
  if (read.server.front_ms != -1) quorum.front_budget = nanos_from_ms(read.server.front_ms);
  quorum.locks_max = static_cast<size_t>(read.table.locks_max);
  quorum.waiters_max = static_cast<size_t>(read.table.waiters_max);
  read.nodes.servers.clear();  // the caller's
  read.nodes.observers.clear();
  std::shared_ptr<Context> opened = make(std::move(read));
  Context *self = opened.get();
  opened->engine_ = make_quorum_engine(opened->runtime(), std::move(quorum), opened->instance_id_, self);
  opened->make_instruments();
  register_context(self);
  const bool may_wait = opened->loop_ == nullptr && opened->may_block() == Status::OK;
  status = opened->engine_->begin(may_wait, message);
  if (status != Status::OK) {
    opened->close_for_good();
    return status;
  }
  context = std::move(opened);
  return Status::OK;
}

std::shared_ptr<Context> Context::make(ContextOptions options) {
  auto context = std::make_shared<Context>(std::move(options));
  if (context->options_.uv_loop != nullptr)
    context->loop_ = LoopRuntime::make(static_cast<uv_loop_t *>(context->options_.uv_loop));
  return context;
}

Context::Context(ContextOptions options)
    : options_(std::move(options)),
      instance_id_(new_instance_id(random_)),
      requests_(static_cast<size_t>(options_.requests_max), random_) {}

// Where it was not closed it was never open, and what has begun on the caller's loop ends there.
Context::~Context() {
  unregister_context(this);
  if (loop_ != nullptr && !forked()) loop_->close();
}

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
// Without memory for it, the next close goes on with what is left.
void Context::end_everything() try {
  if (traced_.load()) tell_closing();
  engine_->close(options_.leave_on_close, [self = shared_from_this()] { self->engine_closed(); });
} catch (const std::bad_alloc &) {
  const std::lock_guard lock(mutex_);
  end_failed_.store(true);
  left_.notify_all();
}

void Context::engine_closed() {
  instruments_->stop();  // before the last callback is posted
  {
    const std::lock_guard lock(mutex_);
    engine_closed_ = true;
    left_.notify_all();
  }
  requests_.tell_when_idle(*this);  // the end of one that was just being given its lock may still come
}

void Context::nothing_is_pending() {
  // In the order of the calls: who comes when ends_are_told_ is seen posts his own behind these.
  for (std::list<std::unique_ptr<Notice>> after;;) {
    {
      const std::lock_guard lock(mutex_);
      after.swap(after_close_);
      ends_are_told_ = after.empty();
    }
    if (after.empty()) break;
    for (std::unique_ptr<Notice> &call : after) runtime()->post(call.release());
    after.clear();
  }
  if (loop_ != nullptr) loop_->close();
}

Status Context::close() {
  if (forked()) return Status::OK;
  if (NoBlockingScope::active()) return Status::WOULD_DEADLOCK;
  State open = State::Open;
  if (state_.compare_exchange_strong(open, State::Closed) || end_failed_.exchange(false)) end_everything();
  // What is left to say to a server is said by the very loop whose thread this is.
  if (engine_->talks_to_server() && loop_ != nullptr && loop_->on_loop_thread())
    return end_failed_.load() ? Status::NO_MEMORY : Status::OK;
  const NotCancelled here;
  std::unique_lock lock(mutex_);
  left_.wait(lock, [this] { return (waiting_.load() == 0 && engine_closed_) || end_failed_.load(); });
  return engine_closed_ ? Status::OK : Status::NO_MEMORY;
}

Status Context::ask(WaitedAsk &ask, bool waits, Outcome &outcome) {
  if (const Status status = state(); status != Status::OK) return status;
  const bool may_wait = waits || (engine_->talks_to_server() && ask.what != Ask::What::QuorumStatus);
  if (may_wait && may_block() != Status::OK) {
    outcome.message = "a callback or loop thread must not wait; use the _async call";
    return Status::WOULD_DEADLOCK;
  }
  const Waiting waiting(*this);
  const Nanos began_at = engine_->clock().now();
  const uint64_t number = ask.number;  // an engine may use it
  engine_->start(ask);
  ask.parking.park();
  outcome.waited = engine_->clock().now() - began_at;
  tell(ask, number, outcome.waited);
  outcome.grant.votes = ask.votes;
  outcome.grant.nodes = ask.nodes;
  outcome.message = ask.message.empty() ? engine_->explain(ask.status) : ask.message;
  return ask.status;
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
    completion.remaining_ms = completion.queue_position = completion.queue_length = -1;
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

// The calls come behind the ends of all requests, whoever came to the end of everything.
Status Context::close_async(liblock_callback callback, void *user_data) {
  if (forked()) return Status::FORKED;
  // The call, and the thread that will make it: had before anything is closed, which may lack neither behind that.
  std::list<std::unique_ptr<Notice>> call;
  if (callback != nullptr) {
    call.push_back(std::make_unique<CloseCall>(shared_from_this(), callback, user_data));
    static_cast<void>(runtime());
  }
  const Notice *own = call.empty() ? nullptr : call.front().get();
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    State open = State::Open;
    first = state_.compare_exchange_strong(open, State::Closed) || end_failed_.exchange(false);
    if (!first && loop_ != nullptr) return Status::CLOSED;  // its loop may deliver nothing any more
    if (!ends_are_told_) after_close_.splice(after_close_.end(), call);
  }
  if (!call.empty()) runtime()->post(call.front().release());
  if (!first) return Status::OK;
  end_everything();
  if (!end_failed_.load()) return Status::OK;
  const std::lock_guard lock(mutex_);
  const bool is_undone = std::erase_if(after_close_, [own](const auto &c) { return c.get() == own; }) != 0;
  return is_undone || own == nullptr ? Status::NO_MEMORY : Status::OK;  // another close may have gone on with it
}

namespace {

// What must end, and whose caller cannot be told that it has not: others may give memory back.
template <typename End>
void until_ended(End end) {
  const NotCancelled here;  // it sleeps
  for (int tries = 0; tries < kCloseTriesMax; ++tries) {
    if (end() != Status::NO_MEMORY) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  no_memory_left();
}

}  // namespace

void Context::close_for_good() {
  until_ended([this] {
    const Status status = close();
    return status == Status::WOULD_DEADLOCK ? close_async(nullptr, nullptr) : status;
  });
}

void Context::close_owner_for_good(const std::shared_ptr<Owner> &owner) {
  until_ended([&] {
    try {
      if (state() == Status::OK) close_owner(owner);  // a closed context closes its owners itself
      return Status::OK;
    } catch (const std::bad_alloc &) {
      return Status::NO_MEMORY;
    }
  });
}

std::shared_ptr<Completions> Context::open_completions(size_t capacity) {
  const auto no_fork = hold_forks();
  auto opened = std::make_shared<Completions>(capacity, dropped_notices_);
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
