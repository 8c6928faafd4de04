// SPDX-License-Identifier: MIT
// See calls.hpp. Arguments stand in the order that the heads of the scripts give.
#include "calls.hpp"

#include <algorithm>
#include <cstdio>

namespace schedules {

using Kind = Message::Kind;

namespace {

constexpr int64_t kFarUs = 1'000'000'000;

std::string text(int64_t number) { return std::to_string(number); }

std::string hex(uint64_t number, int digits) {
  char out[40];
  std::snprintf(out, sizeof out, "%0*llx", digits, static_cast<unsigned long long>(number));
  return out;
}

}  // namespace

std::string lock_key(const std::string &key) { return "liblock:" + key; }
std::string side_key(char side, const std::string &key) {
  return std::string("ll1:") + side + ":{" + lock_key(key) + "}";
}
std::string who(int64_t epoch, size_t node) {
  return "0123456789abcdef0123456789abcdef|" + text(epoch) + "|h" + text(epoch) + "|n" +
         text(int64_t(node) + 1);
}

int64_t time_of(Servers &servers, size_t node) {
  const Reply time = servers.command(node, {"TIME"});
  return to_number(time.items.at(0).text) * 1'000'000 + to_number(time.items.at(1).text);
}

std::string Calls::next_id() { return hex(++ids_, 32); }

Words Calls::call(const std::string &script, size_t, const std::vector<std::string> &keys,
                  const std::vector<std::string> &arguments) const {
  Words words = {"EVAL", bodies_.at(script), text(1 + 7 * int64_t(keys.size())), "ll1:node"};
  for (const std::string &key : keys) {
    words.push_back(lock_key(key));
    for (const char side : {'f', 'm', 'k', 'a', 'c', 'p'}) words.push_back(side_key(side, key));
  }
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

std::string Calls::not_after(const Step &step, size_t node) const {
  const auto found = step.options.find("not_after");
  const int64_t us = found == step.options.end() ? kFarUs : to_number(found->second) * 1'000;
  return text(time_of(servers_, node) + us);
}

void Calls::begin_attempt(Client &client, const Step &step) {
  if (step.words.empty()) throw Failure("acquire what?");
  client.attempt = std::make_shared<Attempt>(next_id(), split(step.words.front(), ','), schedule_.rule);
  Attempt &attempt = *client.attempt;
  attempt.options = step.options;
  attempt.waits = step.has("waits");
  attempt.barges = step.has("any");
  attempt.lease_ms = step.number("lease", std::min<int64_t>(30'000, schedule_.max_ttl_ms));
  attempt.value = step.option("value", "");
  attempt.wins_before = wins;
  const int64_t ahead = step.number("proposal", 0);
  attempt.proposal = std::max(client.seen, base) + 1;
  if (ahead != 0) attempt.proposal = static_cast<uint64_t>(static_cast<int64_t>(base) + ahead);
  if (step.option("token", "") != "") attempt.proposal = static_cast<uint64_t>(step.number("token", 0));
  if (attempt.waits && client.line_id.empty()) client.line_id = next_id();
}

void Calls::begin_round(Client &client, const Step &step) {
  if (client.attempt == nullptr) throw Failure("extend what?");
  Attempt &attempt = *client.attempt;
  round_ = std::make_shared<Round>();
  round_->asked_at = servers_.now();
  round_->ttl_ms = step.number("ttl", attempt.lease_ms);
  if (step.has("set")) ++attempt.sequence;
  if (step.options.contains("value")) ++attempt.version, attempt.value = step.option("value", "");
}

void Calls::begin_change(Client &client, const Step &step) {
  client.change = std::make_shared<Change>();
  client.change->id = next_id();
  client.change->key = step.words.front();
  client.change->number = step.number("number", ++changes_);
}

Words Calls::acquire(const Client &client, const Step &step, size_t node) const {
  const Attempt &attempt = *client.attempt;
  const auto option = [&](const std::string &name, const std::string &otherwise) {
    const auto found = attempt.options.find(name);
    return found == attempt.options.end() ? otherwise : found->second;
  };
  const std::string ticket = option("ticket", "1");
  return call("acquire", node, attempt.keys,
              {who(client.epoch, node), servers_.boot(node), not_after(step, node), attempt.id,
               text(attempt.lease_ms), text(static_cast<int64_t>(attempt.proposal)), client.name,
               client.instance, text(static_cast<int64_t>(base) + to_number(ticket)),
               attempt.waits ? client.line_id : "", option("alive", "3000"), attempt.barges ? "1" : "0",
               option("state", "c"), attempt.value, option("metadata", ""), "0", "0", "1"});
}

Words Calls::extend(const Client &client, const Step &step, size_t node) const {
  const Attempt &attempt = *client.attempt;
  std::vector<std::string> arguments = {who(client.epoch, node), servers_.boot(node), not_after(step, node),
                                        step.has("set")    ? "set"
                                        : step.has("only") ? "only"
                                                           : "renew"};
  const auto restored = attempt.restored_us.find(node);
  const bool is_settled = step.has("settled") && restored != attempt.restored_us.end();
  const std::string settled = is_settled ? text(restored->second) : step.has("asks") ? "1" : "0";
  for (size_t i = 0; i < attempt.keys.size(); ++i) {
    const uint64_t token = attempt.token != 0 ? attempt.token : attempt.ballot.token();
    for (const std::string &field :
         {attempt.id, hex(attempt.sequence, 8), text(round_->ttl_ms), text(static_cast<int64_t>(token)),
          text(attempt.version), client.name, client.instance, text(attempt.lease_ms), std::string("1"),
          attempt.value, std::string(), std::string("0"), settled})
      arguments.push_back(field);
  }
  return call("extend", node, attempt.keys, arguments);
}

// An observer has no mark and no lines: three names belong to a key there.
Words Calls::observe(const Client &client, const Step &step) const {
  const Attempt &attempt = *client.attempt;
  const bool is_taken = step.has("taken"), is_gone = is_taken || step.has("gone");
  const std::string token = text(static_cast<int64_t>(attempt.ballot.token()));
  Words words = {"EVAL", bodies_.at("observe"), text(3 * int64_t(attempt.keys.size()))};
  for (const std::string &key : attempt.keys) {
    for (const std::string &name : {lock_key(key), side_key('d', key), side_key('m', key)})
      words.push_back(name);
  }
  const std::string record = "ll1|" + attempt.id + "|" + hex(attempt.sequence, 8) + "|" + token + "|" +
                             client.name + "|" + client.instance + "|@1," + text(attempt.lease_ms) + ",c," +
                             text(attempt.version) + ",1,0|" + attempt.value;
  for (size_t i = 0; i < attempt.keys.size(); ++i) {
    for (const std::string &field : {attempt.id, is_taken ? "0" : token, is_gone ? std::string() : record,
                                     text(step.number("ttl", attempt.lease_ms)), std::string()})
      words.push_back(field);
  }
  return words;
}

Words Calls::promise(const Client &client, const Step &step, size_t node) const {
  const bool by_value = step.options.contains("value");
  std::string wanted = step.option("value", "");
  if (!by_value) wanted = client.change->lock_id;
  return call(
      "promise", node, {client.change->key},
      {who(client.epoch, node), servers_.boot(node), not_after(step, node), client.change->id,
       text(step.number("promise", 30'000)), text(client.change->number), by_value ? "value" : "id", wanted});
}

// What others know whom one asks for the sake of a node that forgot.
int64_t Calls::floor_of(const Client &client, const Step &step) const {
  if (step.options.contains("raw")) return step.number("raw", 0);
  if (step.options.contains("value")) return static_cast<int64_t>(base) + step.number("value", 0);
  int64_t largest = 1;
  for (const size_t node : to_nodes(step.after("from"))) {
    const Reply hello = servers_.command(node, about_node(client, Kind::Hello, step, node));
    if (hello.items.size() < 7) throw Failure("hello: " + hello.to_text());
    if (hello.items[5].is(0)) largest = std::max(largest, hello.items[6].integer);
  }
  return largest;
}

// Until when it is to be silent as it knows by now: nothing is asked that could tell it of a restart.
int64_t Calls::silence_of(size_t node) const {
  const Reply until = servers_.command(node, {"HGET", "ll1:node", "silent_until"});
  return until.text.empty() ? 0 : std::stoll(until.text);
}

Words Calls::about_node(const Client &client, Kind kind, const Step &step, size_t node) const {
  const std::string boot = servers_.boot(node), self = who(client.epoch, node);
  const std::string max_ttl = text(step.number("max_ttl", schedule_.max_ttl_ms));
  switch (kind) {
    case Kind::Hello:
      return call("hello", node, {}, {boot});
    case Kind::Floor:
      return call("floor", node, {}, {self, boot, text(floor_of(client, step)), text(silence_of(node))});
    case Kind::Mark:
      return call("mark", node, {},
                  {self, boot, "record " + text(client.epoch), max_ttl, schedule_.trusts_disk ? "1" : "0",
                   step.words.front()});
    default: {
      const int64_t epoch = step.number("to", 2);
      std::string before;
      for (const std::string &from : split(step.option("from", "1"), ','))
        before += (before.empty() ? "" : " ") + who(to_number(from), node);
      return call("configure", node, {}, {before, who(epoch, node), boot, "record " + text(epoch), max_ttl});
    }
  }
}

Message Calls::compose(Client &client, Kind kind, const Step &step, size_t node) {
  Message message;
  message.kind = kind;
  message.client = &client;
  message.node = node;
  message.asked_at = servers_.now();
  message.attempt = client.attempt;
  message.change = client.change;
  const bool has_attempt = client.attempt != nullptr;
  const bool needs_attempt =
      kind == Kind::Acquire || kind == Kind::Raise || kind == Kind::Extend || kind == Kind::Release;
  if (needs_attempt && !has_attempt) throw Failure(client.name + " has no attempt");
  switch (kind) {
    case Kind::Acquire:
      client.attempt->ballot.asked(NodeSet{1} << node);
      message.words = acquire(client, step, node);
      break;
    case Kind::Raise: {
      std::vector<std::string> arguments = {who(client.epoch, node), servers_.boot(node),
                                            text(static_cast<int64_t>(client.attempt->ballot.token())), "1"};
      for (size_t i = 0; i < client.attempt->keys.size(); ++i) arguments.push_back(client.attempt->id);
      message.words = call("raise", node, client.attempt->keys, arguments);
      break;
    }
    case Kind::Extend:
      message.round = round_;
      message.words = extend(client, step, node);
      break;
    case Kind::Release:
    case Kind::Leave: {
      const bool leaves = kind == Kind::Leave || step.has("leaves");
      std::vector<std::string> arguments = {text(step.number("claim", 30'000)), leaves ? client.line_id : ""};
      const std::string id = kind == Kind::Leave ? "" : client.attempt->id;
      for (size_t i = 0; i < client.attempt->keys.size(); ++i) arguments.push_back(id);
      message.words = call("release", node, client.attempt->keys, arguments);
      break;
    }
    case Kind::Promise:
      message.words = promise(client, step, node);
      break;
    case Kind::Commit: {
      if (client.change == nullptr) throw Failure(client.name + " has no change");
      const Change &change = *client.change;
      message.words = call("commit", node, {change.key},
                           {change.id, step.has("gives_up") ? "0" : "1", text(change.number),
                            step.option("value", ""), change.lock_id});
      break;
    }
    case Kind::Force: {
      const auto known = static_cast<int64_t>(client.attempt->ballot.token());
      const std::string token = text(step.has("unread") ? 0 : known);
      message.words = call("force", node, {step.words.front()},
                           {who(client.epoch, node), servers_.boot(node), not_after(step, node), "30000",
                            step.has("whoever") ? "" : client.attempt->id, text(step.number("version", 0)),
                            token, step.has("sends_away") ? "1" : "0"});
      break;
    }
    case Kind::Observe:
      if (!has_attempt) throw Failure(client.name + " has no attempt");
      message.words = observe(client, step);
      break;
    case Kind::Read:
      message.words = call("read", node, split(step.words.front(), ','), {who(client.epoch, node), "0", "0"});
      break;
    default:
      message.words = about_node(client, kind, step, node);
  }
  return message;
}

}  // namespace schedules
