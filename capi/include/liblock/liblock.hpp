/* SPDX-License-Identifier: MIT
 *
 * liblock for C++17: what most programs call, as objects that end what they began. Header-only, over liblock.h alone.
 *
 *  1. Each object owns one handle of the C API, moves, is not copied, and shows the handle by get(): what is not
 *     wrapped (asynchronous calls, lists, administration, instrumentation) is called in C beside it.
 *  2. A Context outlives the locks and owners that came from it, as a mutex outlives its guards.
 *  3. Calls come twice. Without a Result they throw Error; with one as the last argument they throw nothing of their
 *     own and return an empty object when they fail. With -fno-exceptions only the latter are there.
 *  4. Destructors never throw, and never wait for a lock.
 *  5. Texts in, such as keys, are bytes and are read during the call only; durations are std::chrono's.
 *  6. Everything is inline in an inline namespace: it meets no name of the library, also when that is linked in whole.
 */
#ifndef LIBLOCK_HPP
#define LIBLOCK_HPP

#if __cplusplus < 201703L
#error "liblock.hpp needs C++17 (-std=c++17); liblock.h is C"
#endif

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "liblock.h"

#if defined(__cpp_exceptions)
#include <stdexcept>
#endif

namespace liblock {
inline namespace v0 {

using Milliseconds = std::chrono::milliseconds;

/* ------------------------------------------------------------------------------------------------- result --- */

/* What a call came to. It can be used for one call after another; each leaves its own end in it. */
class Result {
 public:
  Result() noexcept { liblock_result_init(&details_, sizeof details_); }
  ~Result() { liblock_info_free(details_.info); }
  Result(const Result &) = delete;
  Result &operator=(const Result &) = delete;

  liblock_status status() const noexcept { return details_.status; }
  bool ok() const noexcept { return details_.status == LIBLOCK_OK; }
  explicit operator bool() const noexcept { return ok(); }
  /* Has the status all these predicates (LIBLOCK_RETRYABLE …, or-ed)? */
  bool is(int32_t predicates) const noexcept { return liblock_status_is(status(), predicates) == 1; }
  const char *name() const noexcept { return liblock_status_name(status()); }
  /* Cause and cure of a failure; where the library has said no more than the status, what that means. */
  const char *message() const noexcept {
    return details_.message[0] != '\0' ? details_.message : liblock_status_text(status());
  }
  /* Everything else that the call has told: attempts, waited_ms, queue_position … */
  const liblock_result &details() const noexcept { return details_; }

  /* For a call in C: where it is to leave its end. */
  liblock_result *fresh() noexcept {
    liblock_info_free(details_.info);
    liblock_result_init(&details_, sizeof details_);
    return &details_;
  }
  /* For a call that returns its status alone. */
  liblock_status set(liblock_status status) noexcept { return fresh()->status = status; }

 private:
  liblock_result details_;
};

#if defined(__cpp_exceptions)
/* A call that has failed; what() reads "TIMEOUT: cause and cure". */
class Error : public std::runtime_error {
 public:
  explicit Error(const Result &result)
      : std::runtime_error(std::string(result.name()) + ": " + result.message()), status_(result.status()) {}
  liblock_status status() const noexcept { return status_; }
  bool is(int32_t predicates) const noexcept { return liblock_status_is(status_, predicates) == 1; }

 private:
  liblock_status status_;
};
#endif

/* ------------------------------------------------------------------------------------------------ options --- */

/* The options of liblock.h with their defaults; its fields can be set as in C. */
struct ContextOptions : liblock_context_options {
  ContextOptions() noexcept : liblock_context_options{} {
    liblock_context_options_init(this, sizeof(liblock_context_options));
  }
};

class Owner;

/* The same for an acquire, with setters that can be chained: AcquireOptions().wait_for(250ms).ttl(30s).renewed() */
struct AcquireOptions : liblock_acquire_options {
  AcquireOptions() noexcept : liblock_acquire_options{} {
    liblock_acquire_options_init(this, sizeof(liblock_acquire_options));
  }
  AcquireOptions &wait_for(Milliseconds longest) noexcept {
    wait_ms = longest.count();
    return *this;
  }
  AcquireOptions &ttl(Milliseconds lease) noexcept {
    ttl_ms = lease.count();
    return *this;
  }
  /* Kept alive while it is held; needs a ttl. */
  AcquireOptions &renewed() noexcept {
    renew = 1;
    return *this;
  }
  AcquireOptions &in_order(int32_t which, int32_t with_priority = 0) noexcept {
    order = which;
    priority = with_priority;
    return *this;
  }
  /* The bytes must live until the acquire has returned. */
  AcquireOptions &carrying(std::string_view bytes) noexcept {
    value = bytes.data();
    value_size = bytes.size();
    return *this;
  }
  inline AcquireOptions &owned_by(const Owner &who) noexcept;
  AcquireOptions &owned_by_thread() noexcept {
    owner = LIBLOCK_OWNER_THREAD;
    return *this;
  }
};

/* --------------------------------------------------------------------------------------------------- lock --- */

/* A guard: a granted lock, given back at the end of its life. Empty when it was not granted, moved from, released or
 * detached. One thread at a time uses a Lock; any thread may. */
class [[nodiscard]] Lock {
 public:
  Lock() noexcept = default;
  /* Takes over a handle that was acquired in C. */
  Lock(liblock_context *context, liblock_lock handle, uint64_t token = 0) noexcept
      : context_(context), handle_(handle), token_(token) {}
  Lock(Lock &&other) noexcept
      : context_(other.context_), handle_(std::exchange(other.handle_, 0)), token_(other.token_) {}
  Lock &operator=(Lock &&other) noexcept {
    if (this != &other) {
      give_back();
      context_ = other.context_;
      handle_ = std::exchange(other.handle_, 0);
      token_ = other.token_;
    }
    return *this;
  }
  ~Lock() { give_back(); }

  explicit operator bool() const noexcept { return handle_ != 0; }
  liblock_lock get() const noexcept { return handle_; }
  /* The fencing token of the grant. */
  uint64_t token() const noexcept { return token_; }

  /* Held right now? From memory, no I/O. */
  bool is_held() const noexcept { return handle_ != 0 && liblock_is_held(context_, handle_) == LIBLOCK_OK; }
  /* What is left of the lease: nothing where it has no expiry, 0 when the lock is not held any more. */
  std::optional<Milliseconds> remaining() const noexcept {
    int64_t left = 0;
    if (handle_ == 0 || liblock_remaining_ms(context_, handle_, &left) != LIBLOCK_OK) return Milliseconds(0);
    return left < 0 ? std::nullopt : std::optional<Milliseconds>(left);
  }

  /* Gives the lock back now, and hears how that ended: LOST where it was not held to the end. Empty afterwards, unless
   * the status says that nothing was done (WOULD_DEADLOCK: in a callback, on a server). */
  liblock_status release(Result &result) noexcept {
    const liblock_status status = liblock_release(context_, handle_, result.fresh());
    if (status != LIBLOCK_WOULD_DEADLOCK) handle_ = 0;
    return status;
  }
  /* The lease ends ttl from now. */
  liblock_status extend(Milliseconds ttl, Result &result) noexcept {
    return liblock_extend(context_, handle_, ttl.count(), LIBLOCK_EXTEND_SET, result.fresh());
  }
  liblock_status update(std::string_view value, Result &result) noexcept {
    return liblock_update(context_, handle_, value.data(), value.size(), result.fresh());
  }
  /* The guard forgets the lock, which stays held: whoever asked has the handle now. */
  [[nodiscard]] liblock_lock detach() noexcept { return std::exchange(handle_, 0); }

#if defined(__cpp_exceptions)
  void release() {
    Result result;
    if (release(result) != LIBLOCK_OK) throw Error(result);
  }
  void extend(Milliseconds ttl) {
    Result result;
    if (extend(ttl, result) != LIBLOCK_OK) throw Error(result);
  }
  void update(std::string_view value) {
    Result result;
    if (update(value, result) != LIBLOCK_OK) throw Error(result);
  }
#endif

 private:
  void give_back() noexcept {
    if (handle_ == 0) return;
    /* A callback may not wait for a server's answer: there the library goes on with it alone. */
    if (liblock_release(context_, handle_, nullptr) == LIBLOCK_WOULD_DEADLOCK) {
      liblock_release_async(context_, handle_, nullptr, nullptr, nullptr, nullptr);
    }
    handle_ = 0;
  }

  liblock_context *context_ = nullptr;
  liblock_lock handle_ = 0;
  uint64_t token_ = 0;
};

/* ------------------------------------------------------------------------------------------------ context --- */

/* A namespace of keys on one backend, closed at the end of its life. Any number of threads may use one at once. */
class Context {
 public:
  Context() noexcept = default;
  Context(Context &&other) noexcept : context_(std::exchange(other.context_, nullptr)) {}
  Context &operator=(Context &&other) noexcept {
    if (this != &other) {
      liblock_context_free(context_);
      context_ = std::exchange(other.context_, nullptr);
    }
    return *this;
  }
  ~Context() { liblock_context_free(context_); }

  explicit operator bool() const noexcept { return context_ != nullptr; }
  liblock_context *get() const noexcept { return context_; }

  /* The url as liblock_open takes it: "local:NAME", "redis://host/0", "quorum:URL,URL,…". */
  static Context open(const std::string &url, Result &result) noexcept {
    return open(url.c_str(), nullptr, result);
  }
  static Context open(const std::string &url, const ContextOptions &options, Result &result) noexcept {
    return open(url.c_str(), &options, result);
  }

  /* Waits as the options say, by default for ever. */
  Lock acquire(std::string_view key, Result &result) const noexcept {
    return take(&liblock_acquire, key, nullptr, result);
  }
  Lock acquire(std::string_view key, const AcquireOptions &options, Result &result) const noexcept {
    return take(&liblock_acquire, key, &options, result);
  }
  /* One attempt; the result says BUSY when somebody else holds the key. */
  Lock try_acquire(std::string_view key, Result &result) const noexcept {
    return take(&liblock_try_acquire, key, nullptr, result);
  }
  Lock try_acquire(std::string_view key, const AcquireOptions &options, Result &result) const noexcept {
    return take(&liblock_try_acquire, key, &options, result);
  }
  /* Several keys as one all-or-nothing lock. */
  Lock acquire_many(const std::vector<std::string_view> &keys, Result &result) const {
    return take_many(keys, nullptr, result);
  }
  Lock acquire_many(const std::vector<std::string_view> &keys, const AcquireOptions &options,
                    Result &result) const {
    return take_many(keys, &options, result);
  }
  /* Excludes every other lock of the table; local contexts only. */
  Lock acquire_global(const AcquireOptions &options, Result &result) const noexcept {
    liblock_lock handle = 0;
    liblock_acquire_global(context_, &options, &handle, result.fresh());
    return Lock(context_, handle, result.details().token);
  }
  /* Does somebody hold the key? */
  bool is_locked(std::string_view key, Result &result) const noexcept {
    int32_t locked = 0;
    result.set(liblock_is_locked(context_, key.data(), key.size(), &locked));
    return locked == 1;
  }

#if defined(__cpp_exceptions)
  explicit Context(const std::string &url) : Context(url.c_str(), nullptr) {}
  Context(const std::string &url, const ContextOptions &options) : Context(url.c_str(), &options) {}

  Lock acquire(std::string_view key) const { return granted(&liblock_acquire, key, nullptr); }
  Lock acquire(std::string_view key, const AcquireOptions &options) const {
    return granted(&liblock_acquire, key, &options);
  }
  /* nullopt: somebody else holds the key. All else that is no grant is thrown. */
  std::optional<Lock> try_acquire(std::string_view key) const {
    return tried(&liblock_try_acquire, key, nullptr);
  }
  std::optional<Lock> try_acquire(std::string_view key, const AcquireOptions &options) const {
    return tried(&liblock_try_acquire, key, &options);
  }
  /* nullopt: the time is over, or the retries that the options permit. */
  std::optional<Lock> try_acquire_for(std::string_view key, Milliseconds longest,
                                      AcquireOptions options = {}) const {
    options.wait_for(longest);
    return tried(&liblock_acquire, key, &options);
  }
  Lock acquire_many(const std::vector<std::string_view> &keys) const { return granted_many(keys, nullptr); }
  Lock acquire_many(const std::vector<std::string_view> &keys, const AcquireOptions &options) const {
    return granted_many(keys, &options);
  }
  Lock acquire_global(const AcquireOptions &options = {}) const {
    Result result;
    return or_throw(acquire_global(options, result), result);
  }
  bool is_locked(std::string_view key) const {
    Result result;
    const bool locked = is_locked(key, result);
    if (!result) throw Error(result);
    return locked;
  }
#endif

 private:
  using Call = decltype(&liblock_acquire);

  static Context open(const char *url, const ContextOptions *options, Result &result) noexcept {
    Context context;
    liblock_open(url, options, &context.context_, result.fresh());
    return context;
  }
  Lock take(Call call, std::string_view key, const AcquireOptions *options, Result &result) const noexcept {
    liblock_lock handle = 0;
    call(context_, key.data(), key.size(), options, &handle, result.fresh());
    return Lock(context_, handle, result.details().token);
  }
  Lock take_many(const std::vector<std::string_view> &keys, const AcquireOptions *options,
                 Result &result) const {
    std::vector<liblock_bytes> bytes;
    bytes.reserve(keys.size());
    for (const std::string_view &key : keys) bytes.push_back({key.data(), key.size()});
    liblock_lock handle = 0;
    liblock_acquire_many(context_, bytes.data(), bytes.size(), options, &handle, result.fresh());
    return Lock(context_, handle, result.details().token);
  }

#if defined(__cpp_exceptions)
  Context(const char *url, const ContextOptions *options) {
    Result result;
    if (liblock_open(url, options, &context_, result.fresh()) != LIBLOCK_OK) throw Error(result);
  }
  static Lock or_throw(Lock lock, const Result &result) {
    if (!result) throw Error(result);
    return lock;
  }
  Lock granted(Call call, std::string_view key, const AcquireOptions *options) const {
    Result result;
    return or_throw(take(call, key, options, result), result);
  }
  Lock granted_many(const std::vector<std::string_view> &keys, const AcquireOptions *options) const {
    Result result;
    return or_throw(take_many(keys, options, result), result);
  }
  std::optional<Lock> tried(Call call, std::string_view key, const AcquireOptions *options) const {
    Result result;
    Lock lock = take(call, key, options, result);
    if (result.status() == LIBLOCK_BUSY || result.status() == LIBLOCK_TIMEOUT ||
        result.status() == LIBLOCK_RETRIES_EXHAUSTED) {
      return std::nullopt;
    }
    return or_throw(std::move(lock), result);
  }
#endif

  liblock_context *context_ = nullptr;
};

/* -------------------------------------------------------------------------------------------------- owner --- */

/* An identity that may hold a key several times and takes part in deadlock detection; its locks end with it. */
class Owner {
 public:
  Owner() noexcept = default;
  Owner(Owner &&other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
  Owner &operator=(Owner &&other) noexcept {
    if (this != &other) {
      liblock_owner_free(owner_);
      owner_ = std::exchange(other.owner_, nullptr);
    }
    return *this;
  }
  ~Owner() { liblock_owner_free(owner_); }

  explicit operator bool() const noexcept { return owner_ != nullptr; }
  liblock_owner *get() const noexcept { return owner_; }

  static Owner open(const Context &context, std::string_view name, Result &result) noexcept {
    Owner owner;
    liblock_owner_open(context.get(), name.data(), name.size(), &owner.owner_, result.fresh());
    return owner;
  }
#if defined(__cpp_exceptions)
  Owner(const Context &context, std::string_view name) {
    Result result;
    if (liblock_owner_open(context.get(), name.data(), name.size(), &owner_, result.fresh()) != LIBLOCK_OK) {
      throw Error(result);
    }
  }
#endif

 private:
  liblock_owner *owner_ = nullptr;
};

inline AcquireOptions &AcquireOptions::owned_by(const Owner &who) noexcept {
  owner = who.get();
  return *this;
}

}  // namespace v0
}  // namespace liblock

#endif
