// SPDX-License-Identifier: MIT
// What a schedule may expect of clients and of nodes.
#include <algorithm>
#include <array>

#include "play.hpp"

namespace schedules {

namespace {

// The fields of a lock's string, as record.lua has them; of another client's, none.
struct Record {
  explicit Record(const std::string &text) {
    size_t at = 0;
    for (std::string &field : bars) {
      const size_t bar = text.find('|', at);
      if (bar == std::string::npos) return;
      field = text.substr(at, bar - at);
      at = bar + 1;
    }
    value = text.substr(at);
    is_ours = bars[0] == "ll1";
    const auto parts = split(bars[6], ',');
    if (parts.size() == 6) version = to_number(parts[3]), state = parts[2];
  }
  std::array<std::string, 7> bars;  // ll1, id, sequence, token, owner, instance, the rest
  std::string value, state;
  int64_t version = 0;
  bool is_ours = false;
};

bool compares(int64_t left, const std::string &how, int64_t right) {
  if (how == "<=") return left <= right;
  if (how == ">=") return left >= right;
  if (how == "<") return left < right;
  if (how == ">") return left > right;
  if (how == "=") return left == right;
  throw Failure("no such comparison: " + how);
}

const char *name_of(Ballot::Verdict verdict) {
  switch (verdict) {
    case Ballot::Verdict::Open:
      return "open";
    case Ballot::Verdict::Won:
      return "won";
    case Ballot::Verdict::Raise:
      return "raise";
    case Ballot::Verdict::Failed:
      return "failed";
  }
  return "";
}

}  // namespace

// "+7" as a token that is so much above the schedule's base, a name as the token of that client's attempt.
uint64_t Play::token_of(const std::string &text) {
  if (text.starts_with('+')) return calls_.base + static_cast<uint64_t>(to_number(text));
  return attempt_of(text).ballot.token();
}

void Play::expect(const Step &step) {
  const bool is_of_key = step.words.size() >= 4 && step.words[1] == "on";
  if (is_of_key) {
    for (const size_t node : to_nodes(step.words[2])) expect_of_key(step, step.words[0], node);
    return;
  }
  if (step.words.size() < 2 || !holds_for_client(client(step.words[0]), step)) throw Failure("it is not so");
}

bool Play::holds_for_client(Client &client, const Step &step) {
  const std::string &what = step.words[1];
  if (what == "changed" || what == "unchanged") {
    if (client.change == nullptr) throw Failure("it changes nothing");
    return schedule_.rule.is_reached(client.change->written) == (what == "changed");
  }
  if (what == "promised" || what == "unpromised")
    return schedule_.rule.is_reached(client.change->promised) == (what == "promised");
  const Attempt &attempt = attempt_of(client.name);
  const bool holds = attempt.is_won && !attempt.is_over && servers_.now() < attempt.valid_until;
  if (what == "holds") return holds;
  if (what == "holds_not") return !holds;
  if (what == "token") {
    const uint64_t token = attempt.ballot.token();
    if (compares(static_cast<int64_t>(token), step.words.at(2),
                 static_cast<int64_t>(token_of(step.words.at(3)))))
      return true;
    throw Failure("it has " + relative(token));
  }
  if (what == name_of(attempt.ballot.verdict())) return true;
  throw Failure(std::string("its ballot is ") + name_of(attempt.ballot.verdict()));
}

void Play::expect_of_key(const Step &step, const std::string &key, size_t node) {
  const auto ask = [&](const Words &words) { return servers_.command(node, words); };
  const std::string &what = step.words[3];
  const auto word = [&](size_t at) { return step.words.at(at); };
  const Reply held = ask({"GET", lock_key(key)});
  const Record record(held.text);
  const auto fail = [&](const std::string &is) {
    throw Failure("node " + std::to_string(node + 1) + " has " + is);
  };
  const auto same = [&](const std::string &is, const std::string &expected) {
    if (is != expected) fail(is);
  };
  if (what == "free") {
    if (!held.is_nil()) fail(held.to_text());
  } else if (what == "foreign") {
    if (held.is_nil() || record.is_ours) fail(held.to_text());
  } else if (what == "held") {
    same(record.bars[4], word(4));
  } else if (what == "token") {
    if (!record.is_ours || std::stoull(record.bars[3]) != token_of(word(4))) fail(held.to_text());
  } else if (what == "register" || what == "told") {
    const Reply fence = ask({"GET", side_key(what == "told" ? 'd' : 'f', key)});
    if (fence.is_nil() || std::stoull(fence.text) != token_of(word(4))) fail(fence.to_text());
  } else if (what == "value") {
    same(record.value, word(4));
  } else if (what == "state") {
    same(record.state, word(4));
  } else if (what == "version") {
    same(std::to_string(record.version), word(4));
  } else if (what == "ttl") {
    const int64_t left = ask({"PTTL", lock_key(key)}).integer;
    if (!compares(left, word(4), to_number(word(5)))) fail(std::to_string(left));
  } else if (what == "kept") {
    const Reply claim = ask({"GET", side_key('c', key)});
    same(claim.text, word(4) == "nobody" ? "" : client(word(4)).line_id);
  } else if (what == "line") {
    std::string line;
    for (const Reply &waiter : ask({"ZRANGE", side_key('k', key), "0", "-1"}).items) {
      const auto is_his = [&](const Client &c) { return c.line_id == waiter.text; };
      const auto who = std::find_if(clients_.begin(), clients_.end(), is_his);
      line += (line.empty() ? "" : ",") + (who == clients_.end() ? waiter.text : who->name);
    }
    same(line.empty() ? "nobody" : line, word(4));
  } else {
    throw Failure("expect what? " + what);
  }
}

}  // namespace schedules
