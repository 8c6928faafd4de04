// SPDX-License-Identifier: MIT
// What seeds are told, and what they tell: the command line, lines of TAP, the table, JSON.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "seeds.hpp"

namespace liblock_test {

namespace {

std::string with_places(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f", number);
  return text;
}

bool read_number(const char *text, uint64_t &number, char end = '\0', const char **rest = nullptr) {
  char *stop = nullptr;
  number = std::strtoull(text, &stop, 10);
  if (rest != nullptr) *rest = stop + 1;
  return stop != text && *stop == end && *text != '-';
}

}  // namespace

std::string quoted(const std::string &text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < ' ') {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

bool write_file(const std::string &name, const std::string &text) {
  std::FILE *const file = std::fopen(name.c_str(), "w");
  const bool wrote = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file != nullptr && std::fclose(file) == 0;
  return wrote && closed;
}

uint64_t &Counters::operator[](std::string_view name) {
  const auto found = values_.find(name);
  return found != values_.end() ? found->second : values_.emplace(std::string(name), 0).first->second;
}

uint64_t Counters::get(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? 0 : found->second;
}

void Counters::add(const Counters &other) {
  for (const auto &[name, value] : other.values_) (*this)[name] += value;
}

bool Tap::check(bool holds, const std::string &name) {
  ++count_;
  failed_ += holds ? 0 : 1;
  std::printf("%s %d - %s\n", holds ? "ok" : "not ok", count_, name.c_str());
  return holds;
}

void Tap::comment(const std::string &text) const {
  std::string line = "# ";
  for (const char c : text) {
    line += c;
    if (c == '\n') line += "# ";
  }
  std::printf("%s\n", line.c_str());
}

int Tap::finish() {
  std::printf("1..%d\n", count_);
  std::fflush(stdout);
  return failed_ == 0 && count_ != 0 ? 0 : 1;
}

bool SeedsOptions::read(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    const char *const word = argv[i], *const value = i + 1 < argc ? argv[i + 1] : "";
    const char *rest = nullptr;
    uint64_t number = 0;
    bool is_fine = false;
    if (std::strcmp(word, "--seed") == 0) {
      is_fine = read_number(value, from);
      to = from;
      verbose = true;
    } else if (std::strcmp(word, "--seeds") == 0) {
      is_fine = read_number(value, from, '-', &rest) && read_number(rest, to) && from <= to;
    } else if (std::strcmp(word, "--jobs") == 0) {
      is_fine = read_number(value, number) && number >= 1 && number <= 256;
      workers = static_cast<unsigned>(number);
    } else if (std::strcmp(word, "--json") == 0) {
      json = value;
      is_fine = !json.empty();
    }
    ++i;
    if (is_fine) continue;
    std::fprintf(stderr, "usage: %s [--seed N | --seeds A-B] [--jobs K] [--json FILE]\n", argv[0]);
    return false;
  }
  return true;
}

std::string SeedsReport::to_json() const {
  std::string text = "{\n  \"title\": " + quoted(title) + ",\n  \"seeds\": " + std::to_string(seeds) +
                     ",\n  \"workers\": " + std::to_string(workers) +
                     ",\n  \"seconds\": " + with_places(seconds) +
                     ",\n  \"seed_seconds\": " + with_places(seed_seconds) +
                     ",\n  \"slowest\": {\"seed\": " + std::to_string(slowest_seed) +
                     ", \"seconds\": " + with_places(slowest_seconds) + "},\n  \"counters\": {";
  const char *between = "\n";
  for (const auto &[name, value] : counters.all()) {
    text += between + ("    " + quoted(name)) + ": " + std::to_string(value);
    between = ",\n";
  }
  text += "\n  },\n  \"failures\": [";
  between = "\n";
  for (const Failure &failure : failures) {
    text += between + ("    {\"seed\": " + std::to_string(failure.seed)) +
            ", \"what\": " + quoted(failure.what) + "}";
    between = ",\n";
  }
  return text + "\n  ]\n}\n";
}

void SeedsReport::print(Tap &tap, const SeedsOptions &options) const {
  tap.check(failures.empty() && seeds != 0, title + ": every seed passes");
  for (const Failure &failure : failures)
    tap.comment("seed " + std::to_string(failure.seed) + ": " + failure.what);
  if (!failures.empty()) tap.comment("replay one with --seed N");
  char line[200];
  std::snprintf(line, sizeof line,
                "%" PRIu64
                " seeds in %.1f s by %u processes; %.1f s of work, the longest %.2f s (seed %" PRIu64 ")",
                seeds, seconds, workers, seed_seconds, slowest_seconds, slowest_seed);
  tap.comment(line);
  for (const auto &[name, value] : counters.all()) {
    std::snprintf(line, sizeof line, "%14" PRIu64 "  %s", value, name.c_str());
    tap.comment(line);
  }
  if (!options.json.empty() && !write_file(options.json, to_json()))
    tap.check(false, "the report is written to " + options.json);
}

}  // namespace liblock_test
