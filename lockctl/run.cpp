// SPDX-License-Identifier: MIT
// `lockctl run`: holds a key while a command runs. One loop over three descriptors' worth of news (the lock, signals,
// the clock), in three states: waiting for the lock, the command runs, the command is being ended.
//
// The command must not outlive the lock. A lease that is not renewed comes to its end in plain sight, so the command is
// ended before: SIGTERM a little earlier (the grace time, a quarter of the lease at most), SIGKILL at the end. A lock
// that was taken away is gone at once: SIGTERM then, SIGKILL after the grace time. Where a lease is found to have ended
// by time (it was very short, or lockctl was stopped), its end is over: SIGKILL at once.
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "child.hpp"
#include "clock.hpp"
#include "commands.hpp"
#include "context.hpp"
#include "exit_code.hpp"
#include "server_news.hpp"
#include "text.hpp"
#include "wording.hpp"

namespace lockctl {
namespace {

constexpr int64_t kSayAfterMs = 500;  // a wait that is shorter is not worth a line
constexpr int64_t kNewsMs = 1000;  // between two looks at what holds up a wait
constexpr int64_t kLookMs = 50;  // between two looks at a lease that may end, or at processes being killed
constexpr int64_t kUsualTtlMs = 30000;
constexpr int64_t kQuarter = 4;  // of the lease: what the command has at most to end before it

int64_t time_of_day_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

std::string base_name(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

class Run {
 public:
  explicit Run(const Arguments &arguments)
      : options_(arguments.run),
        json_(arguments.settings.json),
        may_be_evicted_(!options_.quiet && !is_quorum(arguments.settings)),
        child_(options_.command, signals_),
        context_(open_context(arguments.settings, false, &notice_)) {
    news_.listen(context_.get());
    liblock_result result = LIBLOCK_RESULT_INIT;
    const std::string name = "lockctl:" + base_name(options_.command[0]);
    liblock_owner *owner = nullptr;
    expect(
        liblock_owner_open(context_.get(), name.data(), std::min<size_t>(name.size(), 255), &owner, &result),
        result);
    owner_.reset(owner);
    liblock_completions *ends = nullptr;
    expect(liblock_completions_open(context_.get(), 16, &ends, &result), result);
    ends_.reset(ends);
    expect(liblock_completions_fd(ends, &ends_descriptor_), result);
  }

  int perform() {
    if (const int signal = acquire(); signal != 0) {
      death_ = signal;
      return kSignal + signal;
    }
    if (const int error = start(); error != 0) {
      give_back();
      throw Failure(error == ENOENT ? kNoCommand : kCannotRun,
                    printable(options_.command[0]) + " cannot be run: " + strerror(error));
    }
    while (!is_over()) {
      wait_for_news(next_look_ms());
      take_signals();
      take_notices();
      look_at_lease();
      end_what_runs();
    }
    child_.take_terminal_back();
    return conclude();
  }

  // The signal that ended the command, or the wait; 0 = none, or something else counts.
  int death() const { return death_; }

 private:
  // Returns 0 when the lock is held, the signal that ended the wait, or throws.
  int acquire() {
    liblock_acquire_options wanted;
    liblock_acquire_options_init(&wanted, sizeof wanted);
    wanted.owner = owner_.get();
    wanted.completions = ends_.get();
    const bool has_no_number = options_.ttl_ms == LIBLOCK_TTL_AUTO && options_.no_renew;
    wanted.ttl_ms = has_no_number ? usual_ttl_ms() : options_.ttl_ms;
    wanted.renew = wanted.ttl_ms != LIBLOCK_TTL_AUTO && !options_.no_renew ? 1 : 0;
    wanted.max_hold_ms = options_.max_hold_ms;
    wanted.wait_ms = options_.wait_ms;
    wanted.order = options_.order;
    wanted.priority = options_.priority;
    wanted.value = options_.value.data();
    wanted.value_size = options_.value.size();
    wanted.busy_info = 1;
    liblock_request request = 0;
    if (may_be_evicted_) news_.ask(context_.get());  // before, so that the answer is here when the lock is
    const auto &key = options_.key;
    const liblock_status asked =
        liblock_acquire_async(context_.get(), key.data(), key.size(), &wanted, nullptr, nullptr, &request);
    if (asked != LIBLOCK_OK) throw Failure(exit_code_of(asked), refusal(asked, wanted), asked);
    return await_grant(request);
  }

  // What AUTO stands for, where there must be a number.
  int64_t usual_ttl_ms() const {
    liblock_quorum_state state;
    liblock_quorum_state_init(&state, sizeof state);
    const bool is_quorum = liblock_quorum_status(context_.get(), &state, nullptr, nullptr, nullptr) == LIBLOCK_OK;
    return is_quorum && state.max_ttl_ms > 0 ? std::min(kUsualTtlMs, state.max_ttl_ms) : kUsualTtlMs;
  }

  // The asynchronous call has no result that could say which value was wrong; one that waits has, refuses the same, and
  // does so before it asks a server.
  std::string refusal(liblock_status status, const liblock_acquire_options &wanted) const {
    liblock_result result = LIBLOCK_RESULT_INIT;
    if (status == LIBLOCK_INVALID_ARGUMENT || status == LIBLOCK_UNSUPPORTED) {
      liblock_lock lock = 0;
      const auto &key = options_.key;
      if (liblock_try_acquire(context_.get(), key.data(), key.size(), &wanted, &lock, &result) == LIBLOCK_OK)
        liblock_release(context_.get(), lock, nullptr);
    }
    return message_of(status, result);
  }

  int await_grant(liblock_request request) {
    int ended_by = 0;
    int64_t say_at_ms = now_ms() + kSayAfterMs;
    for (;;) {
      wait_for_news(options_.quiet ? -1 : std::max<int64_t>(0, say_at_ms - now_ms()));
      for (int signal = signals_.next(); signal != 0; signal = signals_.next()) {
        if (signal == SIGCHLD) child_.reap();
        if (signal == SIGTSTP) signals_.stop(SIGTSTP);
        if (signal == SIGCHLD || signal == SIGCONT || signal == SIGTSTP) continue;
        ended_by = signal;
        liblock_cancel(context_.get(), request);
      }
      if (!options_.quiet && now_ms() >= say_at_ms) {
        say_waiting();
        say_at_ms = now_ms() + kNewsMs;
      }
      liblock_completion end = {};
      end.struct_size = sizeof end;
      if (liblock_completions_next(ends_.get(), 0, &end) != LIBLOCK_OK) continue;
      const Info busy(end.info);
      if (end.kind != LIBLOCK_KIND_ACQUIRE) continue;
      if (end.status == LIBLOCK_OK) {
        lock_ = end.lock;
        token_ = end.token;
        if (ended_by != 0) give_back();  // granted while it was canceled
      } else if (ended_by == 0) {
        throw Failure(exit_code_of(end.status), why_not(end, busy.get()), end.status);
      }
      show_progress("");
      return ended_by;
    }
  }

  std::string why_not(const liblock_completion &end, const liblock_info *busy) const {
    std::string text = printable(options_.key) + ": " + cause_of(end);
    if (busy != nullptr && liblock_info_is_held(busy) == 1) {
      text += "; held by " + (is_foreign(busy) ? "a client of another library" : printable(holder_of(busy)));
      if (liblock_info_waiter_count(busy) > 0) {
        text += ", " + with_commas(liblock_info_waiter_count(busy)) + " waiting";
      }
    }
    return text;
  }

  // The end of an asynchronous call has a text for each status; a call that waits says which server, and what it said.
  std::string cause_of(const liblock_completion &end) const {
    const ExitCode code = exit_code_of(end.status);
    // That text cannot say for how long; what the opening told does, and holds still where nothing was waited for.
    if (end.status == LIBLOCK_QUARANTINED && options_.wait_ms == 0 && !notice_.empty()) return notice_;
    if (code == kUnavailable || code == kRefused) {
      liblock_result result = LIBLOCK_RESULT_INIT;
      const liblock_status now = liblock_ping(context_.get(), &result);
      if (now != LIBLOCK_OK && result.message[0] != '\0') return message_of(now, result);
    }
    return reworded(end.message != nullptr ? end.message : liblock_status_text(end.status));
  }

  // Once; and again when a server goes meanwhile, or too many of them.
  void say_waiting() {
    std::string why = news_.trouble(context_.get());
    const std::string notice = std::exchange(notice_, "");  // of the opening: later it says nothing any more
    if (!why.empty() && !notice.empty()) why = notice;
    const bool is_told = std::exchange(has_said_, true) && (why.empty() || is_held_up_);
    is_held_up_ = !why.empty();
    if (is_told) return;
    if (json_) return tell("waiting", why.empty() ? Record() : Record().set("message", why));
    if (!why.empty()) say(printable(options_.key) + ": waiting: " + why);
    if (is_terminal(STDERR_FILENO)) show_progress("lockctl: waiting for " + printable(options_.key) + " …");
  }

  // One line of JSON on standard error; standard output is the command's.
  void tell(const char *what, Record more) const {
    Record record;
    record.set("event", std::string(what)).set("key", options_.key);
    for (auto &field : more.fields) record.fields.push_back(std::move(field));
    fprintf(stderr, "%s\n", to_json(record).c_str());
  }

  void say_what_may_be_evicted() {
    const std::string why = may_be_evicted_ ? news_.danger() : "";
    if (why.empty()) return;
    if (json_) return tell("may_evict", Record().set("message", why));
    say("warning: " + printable(why));
  }

  int start() {
    say_what_may_be_evicted();
    liblock_remaining_ms(context_.get(), lock_, &remaining_ms_);
    lease_ms_ = remaining_ms_;
    if (json_) tell("acquired", Record().set("token", token_).set("remaining_ms", remaining_ms_));
    return child_.start({{"LIBLOCK_KEY", options_.key},
                         {"LIBLOCK_TOKEN", std::to_string(token_)},
                         {"LIBLOCK_DEADLINE_MS", std::to_string(time_of_day_ms() + remaining_ms_)}});
  }

  // While ending what runs, everything that came from the command must go.
  bool is_over() const {
    return is_ending() || options_.descendants ? child_.all_have_ended() : child_.has_ended();
  }
  bool is_ending() const { return kill_at_ms_ >= 0; }

  int64_t stop_before_ms() const { return std::min(options_.grace_ms, lease_ms_ / kQuarter); }

  int64_t next_look_ms() const {
    if (is_ending()) return std::clamp<int64_t>(kill_at_ms_ - now_ms(), 0, kLookMs);
    // A lease of some seconds is looked at a few times while it runs; one that is about to end, all the time.
    // Never later than the command is to be told: a lease can be shorter than the time between two looks.
    const int64_t rest_ms = remaining_ms_ - stop_before_ms();
    return std::max({int64_t{1}, std::min(kLookMs, rest_ms), rest_ms / kQuarter});
  }

  void wait_for_news(int64_t ms) const {
    std::array<pollfd, 2> news = {pollfd{ends_descriptor_, POLLIN, 0},
                                  pollfd{signals_.descriptor(), POLLIN, 0}};
    poll(news.data(), news.size(), static_cast<int>(std::min<int64_t>(ms, 60000)));
  }

  void take_signals() {
    bool is_of_terminal = false;
    for (int signal = signals_.next(&is_of_terminal); signal != 0; signal = signals_.next(&is_of_terminal)) {
      if (signal == SIGCHLD) {
        child_.reap();
        if (const int stop = child_.take_stop(); stop != 0 && !is_ending()) stop_with_it(stop);
      } else if (signal == SIGCONT) {
        go_on();
      } else if (!is_of_terminal || !child_.shares_group()) {  // or the command has had it already
        child_.signal(signal);
      }
    }
  }

  // The shell is to have its prompt again. Nobody renews meanwhile: the lease runs out, unless lockctl goes on in time.
  // Where no shell could give it back, lockctl does not stop, and the command goes on; one that waits for a terminal
  // which it cannot have would only stop again.
  void stop_with_it(int signal) {
    child_.take_terminal_back();
    if (!signals_.stop(signal) && signal == SIGTSTP) go_on();
  }

  void go_on() {
    look_at_lease();
    if (is_ending()) return;  // it wakes up only to be ended
    child_.give_terminal();
    child_.signal(SIGCONT);
  }

  void take_notices() {
    liblock_completion notice = {};
    notice.struct_size = sizeof notice;
    while (liblock_completions_next(ends_.get(), 0, &notice) == LIBLOCK_OK) Info(notice.info).reset();
  }

  void look_at_lease() {
    if (is_ending() || is_over()) return;
    int64_t remaining_ms = 0;
    if (liblock_remaining_ms(context_.get(), lock_, &remaining_ms) != LIBLOCK_OK) {
      return was_taken_away() ? end_by("was lost", options_.grace_ms) : end_by(why_not_renewed(), 0);
    }
    if (remaining_ms > remaining_ms_) lease_ms_ = remaining_ms;  // renewed
    remaining_ms_ = remaining_ms;
    if (remaining_ms <= stop_before_ms()) end_by(why_not_renewed(), remaining_ms);
  }

  // Before its end. The library alone knows whether it was renewed since the last look: its count tells, as the lock is
  // the only one here. A loss that is not counted yet is taken for an end by time, which is never too lenient.
  bool was_taken_away() const {
    liblock_stats stats;
    liblock_stats_init(&stats, sizeof stats);
    return liblock_stats_get(context_.get(), &stats) == LIBLOCK_OK && stats.taken_away > 0;
  }

  // As was wished for, or since the server does not answer.
  const char *why_not_renewed() {
    if (options_.no_renew) return "ends and is not renewed (--no-renew)";
    const bool is_wished = options_.max_hold_ms >= 0 && news_.trouble(context_.get()).empty();
    return is_wished ? "ends and is not renewed (--max-hold)" : "ends and is not renewed";
  }

  void end_by(const char *why, int64_t in_ms) {
    kill_at_ms_ = now_ms() + in_ms;
    const std::string trouble = news_.trouble(context_.get());
    if (json_) {
      Record record;
      record.set("why", std::string(why)).set("token", token_);
      tell("lost", trouble.empty() ? std::move(record) : std::move(record.set("message", trouble)));
    } else {
      say(printable(options_.key) + ": the lock " + why + (trouble.empty() ? "" : ": " + printable(trouble)) +
          "; the command is ended (" + (in_ms > 0 ? "SIGTERM, SIGKILL in " + for_people(in_ms) : "SIGKILL") + ")");
    }
    if (in_ms <= 0)
      return child_.signal_all(SIGKILL);  // which ends also what is stopped, without waking it up
    child_.signal_all(SIGTERM);
    child_.signal_all(SIGCONT);
  }

  void end_what_runs() {
    if (is_ending() && now_ms() >= kill_at_ms_) child_.signal_all(SIGKILL);
    child_.reap();
  }

  liblock_status give_back() {
    liblock_result result = LIBLOCK_RESULT_INIT;
    return liblock_release(context_.get(), lock_, &result);
  }

  int conclude() {
    const liblock_status released = give_back();
    int code = child_.exit_code();
    death_ = child_.death();
    if (is_ending()) {
      code = kLost;
      death_ = 0;
    } else if (released == LIBLOCK_LOST) {
      say(printable(options_.key) + ": the command has ended, but the lock had been lost before");
      code = code == 0 ? static_cast<int>(kLost) : code;
    } else if (released != LIBLOCK_OK) {
      say(printable(options_.key) + ": " + liblock_status_text(released) +
          "; it ends with its lease at the latest");
    }
    if (!child_.all_have_ended()) {
      say("what the command left in the background goes on without the lock; --descendants waits for it");
    }
    if (json_) {
      tell("ended", Record()
                        .set("exit", int64_t{code})
                        .set("command_exit", int64_t{child_.exit_code()})
                        .set("released", std::string(liblock_status_name(released))));
    }
    return code;
  }

  // In the order of what depends on what; the command is forked before the library can have a thread.
  const RunOptions &options_;
  const bool json_;
  const bool may_be_evicted_;  // nodes of a quorum that evict give no vote
  Signals signals_;
  Child child_;
  ServerNews &news_ = ServerNews::of_process();
  std::string notice_;  // of a quorum that could not grant
  bool has_said_ = false;    // that it waits
  bool is_held_up_ = false;  // by servers that do not answer, as far as was said
  Context context_;
  Owner owner_;
  Completions ends_;
  int ends_descriptor_ = -1;
  liblock_lock lock_ = 0;
  uint64_t token_ = 0;
  int64_t remaining_ms_ = 0;
  int64_t lease_ms_ = 0;     // what was left when it was last granted or renewed
  int64_t kill_at_ms_ = -1;  // -1 = the command may run
  int death_ = 0;
};

// A shell ends its loop or script only where it sees that what it ran was ended by the interrupt, too. `$?` is as ever.
void die_like_it(int signal) {
  if (signal != SIGINT && signal != SIGQUIT) return;
  std::fflush(nullptr);
  prctl(PR_SET_DUMPABLE, 0);  // the core that SIGQUIT leaves is to be the command's
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  sigaction(signal, &usual, nullptr);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  raise(signal);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

}  // namespace

int run(const Arguments &arguments) {
  int code = 0, death = 0;
  {
    Run run(arguments);
    code = run.perform();
    death = run.death();
  }
  die_like_it(death);  // at the very end, when the lock is given back and the connections are closed
  return code;
}

}  // namespace lockctl
