// SPDX-License-Identifier: MIT
// See play.hpp.
#include "play.hpp"

#include <algorithm>

#include "remote/lease.hpp"

namespace schedules {

using Kind = Message::Kind;
using liblock::kMillisecond;

namespace {

Kind kind_of(const std::string &verb) {
  static const std::map<std::string, Kind> kKinds = {
      {"acquire", Kind::Acquire},     {"ask", Kind::Acquire},     {"raise", Kind::Raise},
      {"extend", Kind::Extend},       {"release", Kind::Release}, {"leave", Kind::Leave},
      {"hello", Kind::Hello},         {"floor", Kind::Floor},     {"mark", Kind::Mark},
      {"configure", Kind::Configure}, {"promise", Kind::Promise}, {"commit", Kind::Commit},
      {"read", Kind::Read},           {"observe", Kind::Observe}, {"force", Kind::Force}};
  const auto found = kKinds.find(verb);
  if (found == kKinds.end()) throw Failure("no such verb: " + verb);
  return found->second;
}

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

void Play::run() {
  set_up();
  for (const Line &line : schedule_.steps) {
    try {
      run_step(Step(line.text));
      look_for_wins();
      check_exclusion();
    } catch (const std::exception &error) {
      throw Failure(schedule_.file + ":" + std::to_string(line.number) + ": " + line.text + ": " +
                    error.what());
    }
  }
}

void Play::set_up() {
  servers_.begin(schedule_.nodes);
  if (!schedule_.is_unmarked) {
    for (size_t node = 0; node < schedule_.nodes; ++node) {
      Message mark = calls_.compose(client("founder"), Kind::Mark, Step("mark begin"), node);
      if (calls_.answered(mark, servers_.command(node, mark.words), true).front() != "OK")
        throw Failure("a node could not be marked");
    }
  }
  for (size_t node = 0; node < schedule_.nodes; ++node)
    calls_.base = std::max(calls_.base, static_cast<uint64_t>(time_of(servers_, node)));
}

Client &Play::client(const std::string &name) {
  for (Client &known : clients_) {
    if (known.name == name) return known;
  }
  clients_.emplace_back();
  clients_.back().name = name;
  clients_.back().instance = name;
  return clients_.back();
}

// Whom an administrator means.
Client &Play::client_whose(const Step &step) { return client(step.after("of")); }

Attempt &Play::attempt_of(const std::string &name) {
  const std::shared_ptr<Attempt> &attempt = client(name).attempt;
  if (attempt == nullptr) throw Failure(name + " has no attempt");
  return *attempt;
}

void Play::run_step(const Step &step) {
  if (step.verb == "expect") return expect(step);
  step.actor.empty() ? of_world(step) : of_client(client(step.actor), step);
}

void Play::of_world(const Step &step) {
  if (step.words.empty()) throw Failure("what?");
  const std::string &verb = step.verb, &last = step.words.back();
  if (verb == "wait") return servers_.wait_ms(to_number(last));
  if (verb == "deliver") {
    const auto found = under_way_.find(step.words.front());
    if (found == under_way_.end()) throw Failure("nothing is under way under that name");
    return deliver(found->second, step);
  }
  if (verb == "evict") {
    for (const size_t node : to_nodes(step.after("on")))
      servers_.command(node, {"DEL", lock_key(step.words.front())});
    return;
  }
  for (const size_t node : to_nodes(step.words.front())) {
    if (verb == "wipe") {
      servers_.restart(node, Servers::Data::Lost);
    } else if (verb == "restart") {
      servers_.restart(node, Servers::Data::Kept);
    } else if (verb == "rollback") {
      servers_.restart(node, Servers::Data::RolledBack);
    } else if (verb == "snapshot") {
      servers_.take_snapshot(node);
    } else if (verb == "oom") {
      servers_.set_out_of_memory(node, last == "on");
    } else if (verb == "clock") {
      servers_.move_clock(node, to_number(last));
    } else if (verb == "command") {
      const std::string said =
          servers_.command(node, Words(step.words.begin() + 1, step.words.end())).to_text();
      if (!step.expected.empty() && said != joined(step.expected)) throw Failure("it answers " + said);
    } else {
      throw Failure("no such verb: " + verb);
    }
  }
}

void Play::of_client(Client &client, const Step &step) {
  if (step.verb == "send") return send(client, step);
  if (step.verb == "epoch") {
    client.epoch = to_number(step.words.at(0));
    return;
  }
  if (step.verb == "listens") {
    for (const size_t node : to_nodes(step.after("on"))) servers_.subscribe(node, "ll1:i:" + client.instance);
    return;
  }
  for (const Message &message : compose(client, step)) deliver(message, step);
}

void Play::send(Client &client, const Step &step) {
  Step inner = step;
  inner.verb = step.words.at(0);
  inner.words.erase(inner.words.begin());
  const std::vector<Message> messages = compose(client, inner);
  if (messages.size() != 1) throw Failure("one message has one name");
  under_way_.insert_or_assign(step.after("as"), messages.front());
}

// All that the step says is said now; what the nodes know arrives one after the other.
std::vector<Message> Play::compose(Client &client, const Step &step) {
  const Kind kind = kind_of(step.verb);
  if (step.verb == "acquire") {
    calls_.wins = wins_.size();
    calls_.begin_attempt(client, step);
    attempts_.push_back({&client, client.attempt});
  }
  if (kind == Kind::Extend) calls_.begin_round(client, step);
  if (step.verb == "promise" && !step.has("again")) {
    calls_.begin_change(client, step);
    if (step.has("of")) client.change->lock_id = attempt_of(step.after("of")).id;
  }
  if (kind == Kind::Raise && !attempt_of(client.name).ballot.is_raising())
    attempt_of(client.name).ballot.raise();
  if (kind == Kind::Release) attempt_of(client.name).is_over = true;
  if (kind == Kind::Force) client.attempt = client_whose(step).attempt;
  std::vector<Message> messages;
  for (const size_t node : to_nodes(step.after("on")))
    messages.push_back(calls_.compose(client, kind, step, node));
  return messages;
}

void Play::deliver(Message message, const Step &step) {
  const Reply reply = servers_.command(message.node, message.words);
  const std::vector<std::string> said = calls_.answered(message, reply, !step.has("unheard"));
  for (const std::string &word : step.expected) {
    if (std::find(said.begin(), said.end(), word) == said.end())
      throw Failure("node " + std::to_string(message.node + 1) + " answers " + joined(said) + ": " +
                    reply.to_text());
  }
  look_for_wins();
}

void Play::look_for_wins() {
  for (const Live &live : attempts_) {
    const Attempt &attempt = *live.attempt;
    if (!attempt.is_won && !attempt.is_over && attempt.ballot.verdict() == Ballot::Verdict::Won) won(live);
  }
}

void Play::won(const Live &live) {
  Attempt &attempt = *live.attempt;
  attempt.valid_until = attempt.ballot.asked_at() + liblock::Lease::trusted(attempt.lease_ms * kMillisecond);
  if (servers_.now() >= attempt.valid_until) {
    attempt.is_over = true;  // it was won too late
    return;
  }
  attempt.is_won = true;
  attempt.token = attempt.ballot.token();
  for (const std::string &key : attempt.keys) {
    for (size_t i = 0; i < wins_.size(); ++i) {
      const Win &win = wins_[i];
      if (win.key != key) continue;
      const bool regresses = i < attempt.wins_before && attempt.token < win.token;
      if (attempt.token == win.token || regresses)
        throw Failure(live.client->name + " wins " + key + " with " + relative(attempt.token) + " after " +
                      win.client + " with " + relative(win.token));
    }
  }
  for (const std::string &key : attempt.keys) wins_.push_back({key, live.client->name, attempt.token});
}

void Play::check_exclusion() const {
  std::map<std::string, std::string> holders;
  const Nanos now = servers_.now();
  for (const Live &live : attempts_) {
    const Attempt &attempt = *live.attempt;
    if (!attempt.is_won || attempt.is_over || now >= attempt.valid_until) continue;
    for (const std::string &key : attempt.keys) {
      const auto [held, is_first] = holders.emplace(key, live.client->name);
      if (!is_first) throw Failure(key + " is held by " + held->second + " and by " + live.client->name);
    }
  }
}

std::string Play::relative(uint64_t token) const {
  const int64_t ahead = static_cast<int64_t>(token) - static_cast<int64_t>(calls_.base);
  return (ahead < 0 ? "" : "+") + std::to_string(ahead);
}

}  // namespace schedules
