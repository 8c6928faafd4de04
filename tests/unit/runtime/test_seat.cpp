// SPDX-License-Identifier: MIT
// Who runs the library's loop: its own thread, or one that waits for what it has asked for. With real threads, and
// without a sleep: what has not happened yet is waited for.
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "../support/unit.hpp"
#include "base/random.hpp"
#include "runtime/guest_scope.hpp"
#include "runtime/once.hpp"
#include "runtime/thread_runtime.hpp"

using namespace liblock;

namespace {

// Ends its wait where the loop runs it, and keeps who that was.
struct Call final : LoopTask {
  void run() override {
    ran_on = std::this_thread::get_id();
    if (act) act();
    if (ends) parking.unpark();
  }
  void wait() {
    ThreadRuntime::instance().attend(*this, parking);
    while (!parking.park()) ++nudges;
  }
  std::function<void()> act;
  Parking parking;
  std::thread::id ran_on;
  bool ends = true;
  int nudges = 0;
};

struct Alarm final : Timer {
  void fire(Nanos) override {
    fired_on = std::this_thread::get_id();
    if (act) act();
    done.unpark();
  }
  std::function<void()> act;
  Parking done;
  std::thread::id fired_on;
};

// At the other end of a stream on the loop.
struct Peer final : ByteStream::Listener {
  Peer() {
    char folder[] = "/tmp/liblock-seat-XXXXXX";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = std::string(mkdtemp(folder)) + "/peer";
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT(bind(listening, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0);
    EXPECT(listen(listening, 1) == 0);
    run_once(ThreadRuntime::instance(), [this, path] {
      stream = ThreadRuntime::instance().make_stream(*this);
      stream->open({.path = path, .host = {}, .port = 0});
    });
    socket_ = accept(listening, nullptr, nullptr);
    while (!is_open.park()) {}
    close(listening);
    unlink(path.c_str());
    rmdir(folder);
  }
  ~Peer() {
    Parking closed;
    run_once(ThreadRuntime::instance(), [this, &closed] {
      stream->close();
      closed.unpark();
    });
    while (!closed.park()) {}
    close(socket_);
  }
  bool write_byte() const { return write(socket_, "x", 1) == 1; }
  void on_open() override { is_open.unpark(); }
  void on_bytes(std::string_view more) override { bytes += static_cast<int>(more.size()); }
  void on_end(const std::string &) override {}
  void fill(std::string &) override {}
  ByteStream *stream = nullptr;
  Parking is_open;
  std::atomic<int> bytes{0};

 private:
  int socket_ = -1;
};

// The loop's own thread may be in the middle of a turn, and then that thread runs the call: asked again, it ends.
void call_as_guest(const std::function<void(Call &)> &prepare = {}) {
  for (;;) {
    Call call;
    if (prepare) prepare(call);
    call.wait();
    if (call.ran_on == std::this_thread::get_id()) return;
  }
}

ThreadRuntime &runtime() { return ThreadRuntime::instance(); }

// A thread whose call the loop has begun, and that waits until somebody ends it.
struct Waiting {
  Waiting() {
    call.ends = false;
    call.act = [this] { begun.unpark(); };
    thread = std::thread([this] { call.wait(); });
    while (!begun.park()) {}
  }
  Call call;
  Parking begun;
  std::thread thread;
};

}  // namespace

UNIT_TEST(a_thread_that_waits_alone_runs_the_loop_itself) { call_as_guest(); }

UNIT_TEST(what_a_guest_runs_may_not_block_and_what_comes_after_it_may) {
  bool may_wait = true;
  call_as_guest([&may_wait](Call &call) { call.act = [&may_wait] { may_wait = !NoBlockingScope::active(); }; });
  EXPECT(!may_wait);
  EXPECT(!NoBlockingScope::active());
}

UNIT_TEST(a_guest_is_not_cancelled_and_hears_no_broken_pipe_until_it_leaves) {
  int state_inside = -1, state_after = -1;
  bool is_held = false;
  call_as_guest([&](Call &call) {
    call.act = [&] {
      pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state_inside);
      sigset_t mask;
      pthread_sigmask(SIG_BLOCK, nullptr, &mask);
      is_held = sigismember(&mask, SIGPIPE) == 1;
      raise(SIGPIPE);
      PipeSignal::is_broken();
    };
  });
  EXPECT(state_inside == PTHREAD_CANCEL_DISABLE);
  EXPECT(is_held);
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state_after);
  EXPECT(state_after == PTHREAD_CANCEL_ENABLE);
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  EXPECT(sigismember(&mask, SIGPIPE) == 0);
}

// The loop's thread sleeps until the earliest timer that it knows of, and nobody calls it.
UNIT_TEST(a_timer_that_a_guest_arms_fires_though_no_thread_comes_again) {
  for (int round = 0; round < 20; ++round) {
    Alarm alarm;
    const std::thread::id here = std::this_thread::get_id();
    call_as_guest([&](Call &call) {
      call.act = [&] {
        if (call.ran_on == here) runtime().arm(alarm, runtime().now() + 3 * kMillisecond);
      };
    });
    while (!alarm.done.park()) {}
    EXPECT(alarm.fired_on != std::this_thread::get_id());
  }
}

UNIT_TEST(a_guest_that_waits_for_long_is_served_by_what_others_ask_for) {
  for (int round = 0; round < 200; ++round) {
    Waiting waiter;
    run_once(runtime(), [&waiter] { waiter.call.parking.unpark(); });
    waiter.thread.join();
  }
}

UNIT_TEST(a_guest_that_is_nudged_leaves_the_loop_and_waits_on) {
  for (int round = 0; round < 200; ++round) {
    Waiting waiter;
    run_once(runtime(), [&waiter] { waiter.call.parking.nudge(); });
    Call beside;
    beside.wait();
    Alarm end;
    end.act = [&waiter] { waiter.call.parking.unpark(); };
    runtime().arm(end, runtime().now() + kMillisecond / 2);
    waiter.thread.join();
    EXPECT(waiter.call.nudges <= 1);
    while (!end.done.park()) {}
  }
}

// A guest leaves while somebody waits whose timer the loop's thread did not know of.
UNIT_TEST(who_waits_beside_a_guest_is_not_forgotten_when_that_one_leaves) {
  for (int round = 0; round < 300; ++round) {
    Alarm late;
    Call waits;
    waits.ends = false;
    Parking begun;
    waits.act = [&] {
      begun.unpark();
      runtime().arm(late, runtime().now() + kMillisecond / 4);
    };
    late.act = [&waits] { waits.parking.unpark(); };
    std::thread waiter([&waits] { waits.wait(); });
    while (!begun.park()) {}
    Call beside;
    beside.wait();
    waiter.join();
    while (!late.done.park()) {}
  }
}

// Whom a message or an answer is for that may come at any time: the loop's own thread looks for it, whoever calls.
UNIT_TEST(nobody_is_a_guest_while_something_is_waited_for_without_a_thread) {
  Attendance &attendance = runtime().attendance;
  attendance.arrive();
  for (int round = 0; round < 50; ++round) {
    Call call;
    call.wait();
    EXPECT(call.ran_on != std::this_thread::get_id());
  }
  attendance.go();
  call_as_guest();
}

// The loop's thread leaves the descriptors to guests as long as one follows the other.
UNIT_TEST(guests_whose_calls_end_at_once_read_what_has_come_all_the_same) {
  Peer peer;
  for (int round = 1; round <= 20; ++round) {
    EXPECT(peer.write_byte());
    int calls = 0;
    for (; peer.bytes.load() < round && calls < 1'000; ++calls) Call().wait();
    EXPECT(calls < 1'000);
  }
}

// What the loop has posted for the callback thread comes before what a callback brings about itself.
UNIT_TEST(a_callback_does_not_run_the_loop_for_what_nobody_waits_for) {
  struct Callback final : Notice {
    void deliver() override {
      for (int time = 0; time < 100; ++time) {
        Call call;
        runtime().run_unattended(call);
        while (!call.parking.park()) {}
        ran_here = ran_here || call.ran_on == std::this_thread::get_id();
      }
    }
    void dispose() override { done.unpark(); }
    bool ran_here = false;
    Parking done;
  } callback;
  runtime().post(&callback);
  while (!callback.done.park()) {}
  EXPECT(!callback.ran_here);
}

// However much there is to do: here something that asks for another turn in each.
UNIT_TEST(a_guest_leaves_soon_after_its_call_has_ended) {
  struct Again final : LoopTask {
    void run() override {
      here += std::this_thread::get_id() == guest;
      if (++turns < 1'000) return runtime().run_on_loop(*this);
      done.unpark();
    }
    const std::thread::id guest = std::this_thread::get_id();
    int turns = 0, here = 0;
    Parking done;
  };
  for (int round = 0; round < 20; ++round) {
    Again again;
    Call call;
    call.act = [&again] { again.run(); };
    call.wait();
    while (!again.done.park()) {}
    EXPECT(again.here <= 16);
  }
}

UNIT_TEST(what_nobody_waits_for_is_run_at_once_where_the_loop_is_idle) {
  for (bool was_here = false; !was_here;) {
    Call call;
    runtime().run_unattended(call);
    while (!call.parking.park()) {}
    was_here = call.ran_on == std::this_thread::get_id();
  }
}

// One thing at a time is run on the loop, whoever runs it; nothing that was asked for is lost, and nobody sleeps on.
UNIT_TEST(many_threads_that_come_and_go_run_one_thing_at_a_time_and_lose_nothing) {
  const uint64_t rounds = unit::scaled(2'000, 10'000, 50'000) / unit::slowness();
  std::atomic<uint64_t> run{0}, told{0};
  uint64_t inside = 0, overlaps = 0;  // of who runs the loop
  const auto step = [&] {
    if (++inside != 1) ++overlaps;
    run.fetch_add(1, std::memory_order_relaxed);
    --inside;
  };
  std::vector<std::thread> threads;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    threads.emplace_back([&, seed] {
      Random random(seed);
      for (uint64_t round = 0; round < rounds; ++round) {
        Alarm alarm;
        Call call;
        switch (random.next() % 4) {
          case 0:  // ends at once
            call.act = step;
            break;
          case 1:  // by a timer
            call.ends = false;
            call.act = [&] {
              step();
              runtime().arm(alarm, runtime().now() + random.up_to(50'000));
            };
            alarm.act = [&] { call.parking.unpark(); };
            break;
          case 2:  // by what this thread asked for before
            call.act = step;
            run_once(runtime(), [&told] { told.fetch_add(1); });
            break;
          default:  // by what the loop asks for itself
            call.ends = false;
            call.act = [&] {
              step();
              run_once(runtime(), [&call] { call.parking.unpark(); });
            };
        }
        const bool has_alarm = !call.ends && alarm.act != nullptr;
        call.wait();
        if (has_alarm) {
          while (!alarm.done.park()) {}
        }
        if (random.next() % 64 == 0) std::this_thread::yield();
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT(run.load() == 4 * rounds);
  EXPECT(overlaps == 0);
  Call last;  // behind all that was asked for
  last.wait();
}

UNIT_MAIN("seat", cmocka_unit_test(a_thread_that_waits_alone_runs_the_loop_itself),
          cmocka_unit_test(what_a_guest_runs_may_not_block_and_what_comes_after_it_may),
          cmocka_unit_test(a_guest_is_not_cancelled_and_hears_no_broken_pipe_until_it_leaves),
          cmocka_unit_test(a_timer_that_a_guest_arms_fires_though_no_thread_comes_again),
          cmocka_unit_test(a_guest_that_waits_for_long_is_served_by_what_others_ask_for),
          cmocka_unit_test(a_guest_that_is_nudged_leaves_the_loop_and_waits_on),
          cmocka_unit_test(who_waits_beside_a_guest_is_not_forgotten_when_that_one_leaves),
          cmocka_unit_test(nobody_is_a_guest_while_something_is_waited_for_without_a_thread),
          cmocka_unit_test(guests_whose_calls_end_at_once_read_what_has_come_all_the_same),
          cmocka_unit_test(a_callback_does_not_run_the_loop_for_what_nobody_waits_for),
          cmocka_unit_test(a_guest_leaves_soon_after_its_call_has_ended),
          cmocka_unit_test(what_nobody_waits_for_is_run_at_once_where_the_loop_is_idle),
          cmocka_unit_test(many_threads_that_come_and_go_run_one_thing_at_a_time_and_lose_nothing))
