// SPDX-License-Identifier: MIT
// Calls other than acquires, without waiting on the calling thread: the ask is kept until its end was
// delivered to the callback, or read from the completion queue. With neither, nobody hears of it. And what the ends
// of all pending calls say.
#include "context/calls.hpp"

#include <new>
#include <string_view>
#include <utility>

#include "base/lasting_text.hpp"
#include "context/context.hpp"
#include "context/counts.hpp"

namespace liblock {

namespace {

int32_t kind_of(Ask::What what) {
  switch (what) {
    case Ask::What::Release:
    case Ask::What::ReleaseKeys:
      return LIBLOCK_KIND_RELEASE;
    case Ask::What::Extend:
      return LIBLOCK_KIND_EXTEND;
    case Ask::What::Update:
      return LIBLOCK_KIND_UPDATE;
    case Ask::What::Verify:
      return LIBLOCK_KIND_VERIFY;
    case Ask::What::Inspect:
      return LIBLOCK_KIND_INSPECT;
    case Ask::What::WaitLost:
    case Ask::What::WaitHeld:
    case Ask::What::WaitReleased:
      return LIBLOCK_KIND_WATCH;
    case Ask::What::ForceRelease:
      return LIBLOCK_KIND_FORCE_RELEASE;
    case Ask::What::Read:
      return LIBLOCK_KIND_READ;
    case Ask::What::QuorumInit:
      return LIBLOCK_KIND_QUORUM_INIT;
    case Ask::What::SetNodes:
      return LIBLOCK_KIND_SET_NODES;
    default:
      return LIBLOCK_KIND_PING;
  }
}

bool waits(const Ask &ask) {
  return ask.what == Ask::What::WaitLost || ask.what == Ask::What::WaitHeld ||
         ask.what == Ask::What::WaitReleased;
}

// Of itself; it ends when its end was delivered. In the request table's memory.
class AsyncAsk final : public Ask, public PendingCall, private PendingCall::EnginePart, public Notice {
 public:
  AsyncAsk(Context &context, const CallEnd &end)
      : context_(context), end_(end), began_at_(context_.engine().clock().now()) {
    engine_part = this;
    is_awaited = end.completions != nullptr || end.callback != nullptr;
  }
  liblock_request id = 0;

  void ended() override {
    stop_counting();
    set_over();
    context_.tell(*this, 0, context_.engine().clock().now() - began_at_);
    if (end_.completions != nullptr) {
      const liblock_completion told = completion();
      forget_id();  // it counts no longer when its end can be read
      if (!end_.completions->put_reserved(told)) free_info();
      return dispose();
    }
    if (end_.callback == nullptr) return dispose();
    context_.runtime()->post(this);
  }
  void deliver() override {
    const liblock_completion told = completion();
    end_.callback(&told, end_.user_data);
  }
  void dispose() override {
    forget_id();
    unpin();
  }
  Ask *asked() override { return this; }

 private:
  ~AsyncAsk() override = default;
  void ended(const Grant &) override {}
  bool destroy_if_sole() override { return false; }
  void drop() override { gone(); }
  void gone() override {
    Context &context = context_;
    this->~AsyncAsk();
    context.requests().give_back_memory(this);
  }

  // Nothing may be thrown here: the end of what only looked comes also where there is no memory for its answer.
  void make_info() {
    const bool has_info = what == What::Inspect || what == What::Read || what == What::WaitHeld;
    if (status != Status::OK || !has_info || infos.empty()) return;
    info_ = new (std::nothrow) liblock_info{std::move(infos.front())};
    if (info_ == nullptr) status = Status::NO_MEMORY;
  }
  liblock_completion completion() {
    make_info();
    liblock_completion told{};
    told.struct_size = sizeof told;
    told.kind = kind_of(what);
    told.status = static_cast<liblock_status>(status);
    told.request = id;
    told.lock = lock;
    told.remaining_ms = -1;
    const Clock &clock = context_.engine().clock();
    told.waited_ms = (clock.now() - began_at_) / kMillisecond;
    told.user_data = end_.user_data;
    told.message = context_.lasting_message(status, message);
    Grant grant;
    grant.hold_count = view.hold_count;
    grant.votes = votes;
    grant.nodes = nodes;
    tell_counts(told, status == Status::OK, grant);
    if (status != Status::OK) return told;
    told.token = view.token;
    if (view.status == Status::OK && view.deadline != kNever)
      told.remaining_ms = ms_from_nanos(clock.left_until(view.deadline));
    told.info = info_;
    return told;
  }
  void free_info() { delete info_; }
  void forget_id() {
    if (id != 0) context_.requests().forget(std::exchange(id, 0));
  }

  Context &context_;  // kept by the table while it has memory out
  const CallEnd end_;
  const Nanos began_at_;
  liblock_info *info_ = nullptr;  // its reader's, once it was read
};

// A time that counts down would make a text of its own of each millisecond.
std::string without_times(std::string text) {
  constexpr std::string_view kUnit = " ms";
  for (size_t at = text.find(kUnit); at != std::string::npos; at = text.find(kUnit, at)) {
    const size_t before = text.find_last_not_of("0123456789", at == 0 ? 0 : at - 1);
    const size_t from = before == std::string::npos ? 0 : before + 1;
    constexpr std::string_view kInstead = "a while";
    if (from == at) {
      at += kUnit.size();
      continue;
    }
    text.replace(from, at + kUnit.size() - from, kInstead);
    at = from + kInstead.size();
  }
  return text;
}

// In a completion queue, given back unless a call was begun that fills it.
struct GivePlaceBack {
  void operator()(Completions *queue) const { queue->unreserve(); }
};
using Place = std::unique_ptr<Completions, GivePlaceBack>;

}  // namespace

const char *Context::lasting_message(Status status, const std::string &own) const {
  const char *of_status = status_text(static_cast<liblock_status>(status));
  if (status == Status::OK) return of_status;
  try {
    const char *text = lasting_text(without_times(own.empty() ? engine_->explain(status) : own));
    return text == nullptr ? of_status : text;
  } catch (const std::bad_alloc &) {
    return of_status;
  }
}

Status start_call(Context &context, const CallEnd &end, liblock_request *request,
                  const std::function<Status(Ask &)> &fill) {
  if (request != nullptr) *request = 0;
  if (const Status status = context.state(); status != Status::OK) return status;
  if (end.completions != nullptr && end.callback != nullptr) return Status::INVALID_ARGUMENT;
  static_assert(sizeof(AsyncAsk) <= RequestTable::kCallSize);
  void *const memory = context.requests().take_memory(RequestTable::kCallSize, context.shared_from_this());
  std::unique_ptr<Ask, void (*)(Ask *)> kept(new (memory) AsyncAsk(context, end),
                                             [](Ask *ask) { static_cast<AsyncAsk *>(ask)->unpin(); });
  auto *call = static_cast<AsyncAsk *>(kept.get());
  if (const Status status = fill(*call); status != Status::OK) return status;
  // Where no thread can be had, nothing has begun; an end that is called back needs one.
  if (end.callback != nullptr) static_cast<void>(context.runtime());
  if (waits(*call)) call->runtime = context.runtime();
  Place place;
  if (end.completions != nullptr) {
    if (const Status status = end.completions->reserve(); status != Status::OK) return status;
    place.reset(end.completions.get());
  }
  call->id = context.requests().add(*call);
  if (call->id == 0) return Status::LIMIT;
  if (request != nullptr) *request = call->id;
  place.release();
  kept.release();
  context.engine().start(*call);
  return Status::OK;
}

}  // namespace liblock
