// SPDX-License-Identifier: MIT
// See seeds.hpp. Workers draw seeds from memory that all share, where each also says which it is at; what comes of
// a seed goes through a pipe of the worker's own. When one dies, the parent knows where, and starts another.
#include "seeds.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>

// Of clang's runtime, where that is linked: -fprofile-instr-generate.
extern "C" [[gnu::weak]] int __llvm_profile_write_file();

namespace liblock_test {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

constexpr unsigned kWorkersMax = 256;

struct Shared {
  std::atomic<uint64_t> next;
  struct Place {
    std::atomic<uint64_t> seed;
    std::atomic<bool> is_at_work;
  } places[kWorkersMax];
};

// What came of one seed, as bytes: its size, a line of numbers, a line for each counter, what was wrong.
struct Outcome {
  uint64_t seed = 0;
  double seconds = 0;
  Counters counters;
  std::string wrong;
};

std::string to_bytes(const Outcome &outcome) {
  std::string text = std::to_string(outcome.seed) + " " + std::to_string(outcome.seconds) + " " +
                     std::to_string(outcome.counters.all().size()) + "\n";
  for (const auto &[name, value] : outcome.counters.all()) text += std::to_string(value) + " " + name + "\n";
  text += outcome.wrong;
  const auto size = static_cast<uint32_t>(text.size());
  return std::string(reinterpret_cast<const char *>(&size), sizeof size) + text;
}

// Takes one off the front; false: it is not there whole.
bool take(std::string &bytes, Outcome &outcome) {
  uint32_t size = 0;
  if (bytes.size() < sizeof size) return false;
  std::memcpy(&size, bytes.data(), sizeof size);
  if (bytes.size() < sizeof size + size) return false;
  std::string text = bytes.substr(sizeof size, size);
  bytes.erase(0, sizeof size + size);
  const auto take_line = [&] {
    std::string line = text.substr(0, text.find('\n'));
    text.erase(0, line.size() + 1);
    return line;
  };
  outcome = {};
  size_t end = 0, more = 0;
  const std::string head = take_line();
  outcome.seed = std::stoull(head, &end);
  outcome.seconds = std::stod(head.substr(end), &more);
  for (uint64_t left = std::stoull(head.substr(end + more)); left > 0; --left) {
    const std::string line = take_line();
    outcome.counters[line.substr(line.find(' ') + 1)] = std::stoull(line);
  }
  outcome.wrong = std::move(text);
  return true;
}

Outcome run_one(const SeedBody &body, uint64_t seed, bool verbose) {
  Outcome outcome{seed, 0, {}, {}};
  const auto begun = Clock::now();
  try {
    outcome.wrong = body(seed, outcome.counters, verbose);
  } catch (const std::exception &error) {
    outcome.wrong = std::string("exception: ") + error.what();
  } catch (...) {
    outcome.wrong = "an exception that is none of the library's";
  }
  outcome.seconds = seconds_since(begun);
  return outcome;
}

void write_all(int file, const std::string &bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t wrote = write(file, bytes.data() + at, bytes.size() - at);
    if (wrote < 0) _exit(3);  // the parent is gone
    at += static_cast<size_t>(wrote);
  }
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return std::string("its process died: ") + strsignal(WTERMSIG(status));
  return "its process ended with " + std::to_string(WEXITSTATUS(status));
}

class Crew {
 public:
  Crew(const SeedsOptions &options, const SeedBody &body, SeedsReport &report)
      : options_(options), body_(body), report_(report) {
    void *memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("mmap failed");
    shared_ = new (memory) Shared{};
    shared_->next = options.from;
    workers_.resize(report.workers);
  }
  ~Crew() { munmap(shared_, sizeof(Shared)); }
  Crew(const Crew &) = delete;
  Crew &operator=(const Crew &) = delete;

  void run() {
    for (size_t i = 0; i < workers_.size(); ++i) start(i);
    while (std::any_of(workers_.begin(), workers_.end(), [](const Worker &one) { return one.pid != 0; })) {
      listen();
      if (report_.failures.size() >= options_.failures_max) shared_->next = options_.to + 1;
      show_progress();
    }
    if (shows_progress_) std::fprintf(stderr, "\r%*s\r", 70, "");
  }

 private:
  struct Worker {
    pid_t pid = 0;  // 0: it has ended
    int pipe = -1;
    std::string bytes;
    uint64_t at = 0;  // a seed, and since when
    Clock::time_point since;
    bool hangs = false;
  };

  void start(size_t index) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("pipe failed");
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid < 0) throw std::runtime_error("fork failed");
    if (pid == 0) work(ends[1], shared_->places[index]);
    close(ends[1]);
    workers_[index] = {pid, ends[0], {}, 0, Clock::now(), false};
  }

  [[noreturn]] void work(int out, Shared::Place &place) {
    for (;;) {
      const uint64_t seed = shared_->next.fetch_add(1);
      if (seed > options_.to) break;
      place.seed = seed;
      place.is_at_work = true;
      write_all(out, to_bytes(run_one(body_, seed, false)));
      place.is_at_work = false;
    }
    std::fflush(nullptr);
    // What of the source ran, in a build that counts it: nothing that is registered for the end of a program is run.
    if (__llvm_profile_write_file != nullptr) __llvm_profile_write_file();
    _exit(0);
  }

  void listen() {
    std::vector<pollfd> asked;
    std::vector<size_t> whose;
    for (size_t i = 0; i < workers_.size(); ++i) {
      if (workers_[i].pid == 0) continue;
      asked.push_back({workers_[i].pipe, POLLIN, 0});
      whose.push_back(i);
      end_if_hung(i);
    }
    if (poll(asked.data(), asked.size(), 200) <= 0) return;
    for (size_t i = 0; i < asked.size(); ++i) {
      if (asked[i].revents != 0) read_from(whose[i]);
    }
  }

  void end_if_hung(size_t index) {
    Worker &worker = workers_[index];
    const Shared::Place &place = shared_->places[index];
    if (!place.is_at_work || place.seed != worker.at) {
      worker.at = place.seed;
      worker.since = Clock::now();
    } else if (!worker.hangs && seconds_since(worker.since) > options_.seed_seconds_max) {
      worker.hangs = true;
      kill(worker.pid, SIGKILL);
    }
  }

  void read_from(size_t index) {
    Worker &worker = workers_[index];
    char piece[65'536];
    const ssize_t size = read(worker.pipe, piece, sizeof piece);
    if (size > 0) {
      worker.bytes.append(piece, static_cast<size_t>(size));
      for (Outcome outcome; take(worker.bytes, outcome);) add(outcome);
      return;
    }
    close(worker.pipe);
    int status = 0;
    waitpid(worker.pid, &status, 0);
    worker.pid = 0;
    Shared::Place &place = shared_->places[index];
    if (!place.is_at_work.exchange(false)) return;
    add({place.seed, 0, {}, worker.hangs ? "it did not end in time" : how_it_ended(status)});
    start(index);
  }

  void add(const Outcome &outcome) {
    ++report_.seeds;
    report_.counters.add(outcome.counters);
    report_.seed_seconds += outcome.seconds;
    if (outcome.seconds > report_.slowest_seconds) {
      report_.slowest_seconds = outcome.seconds;
      report_.slowest_seed = outcome.seed;
    }
    if (!outcome.wrong.empty()) report_.failures.push_back({outcome.seed, outcome.wrong});
  }

  void show_progress() {
    if (!shows_progress_ || seconds_since(shown_) < 0.5) return;
    shown_ = Clock::now();
    std::fprintf(stderr, "\r%s: %llu of %llu seeds, %zu failed, %.0f s ", report_.title.c_str(),
                 static_cast<unsigned long long>(report_.seeds),
                 static_cast<unsigned long long>(options_.to - options_.from + 1), report_.failures.size(),
                 seconds_since(begun_));
  }

  const SeedsOptions &options_;
  const SeedBody &body_;
  SeedsReport &report_;
  Shared *shared_;
  std::vector<Worker> workers_;
  const bool shows_progress_ = isatty(STDERR_FILENO) == 1;
  const Clock::time_point begun_ = Clock::now();
  Clock::time_point shown_ = begun_;
};

}  // namespace

SeedsReport run_seeds(const std::string &title, const SeedsOptions &options, const SeedBody &body) {
  SeedsReport report;
  report.title = title;
  const uint64_t count = options.to < options.from ? 0 : options.to - options.from + 1;
  const auto cpus = static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  const uint64_t wanted = options.workers == 0 ? cpus : options.workers;
  report.workers =
      static_cast<unsigned>(std::max<uint64_t>(1, std::min({wanted, count, uint64_t{kWorkersMax}})));
  const auto begun = Clock::now();
  if (options.verbose) {
    for (uint64_t seed = options.from; seed <= options.to; ++seed) {
      Outcome outcome = run_one(body, seed, true);
      ++report.seeds;
      report.counters.add(outcome.counters);
      report.seed_seconds += outcome.seconds;
      if (!outcome.wrong.empty()) report.failures.push_back({seed, std::move(outcome.wrong)});
    }
  } else if (count != 0) {
    Crew(options, body, report).run();
  }
  report.seconds = seconds_since(begun);
  std::sort(report.failures.begin(), report.failures.end(),
            [](const auto &a, const auto &b) { return a.seed < b.seed; });
  return report;
}

}  // namespace liblock_test
