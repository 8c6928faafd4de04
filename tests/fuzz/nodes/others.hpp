// SPDX-License-Identifier: MIT
// Who does not ask for locks: values are changed in two phases, administrators take away, operators mark, free and
// reconfigure nodes, observers are told, foreign clients come, servers forget.
#pragma once

#include "clients.hpp"

namespace nodes {

class Others {
 public:
  Others(Node &node, Clients &clients) : node_(node), clients_(clients) {}

  void promise(uint8_t on, uint8_t how) {
    const Client &client = clients_.at(on);
    if (client.keys.empty()) return;
    const std::string change = std::string(31, 'c') + std::to_string(how % 3);
    const uint64_t number = promised_ + how % 4;
    Words arguments = node_.asking();
    for (const std::string &word : {node_.soon(), change, std::string("1000"), std::to_string(number),
                                    std::string(how % 2 == 0 ? "id" : "value")})
      arguments.push_back(word);
    for (size_t n = 0; n < client.keys.size(); ++n) arguments.push_back(how % 2 == 0 ? client.id : "v");
    const Reply reply = node_.run(scripts::promise, client.keys, arguments);
    if (node_.went_wrong) return;
    if (reply.items[0].text != "OK") return node_.stayed_as_it_was();
    node_.votes(reply.items[2]);
    for (const size_t key : client.keys) {
      LIBLOCK_ASSERT(!node_.is[key].lock.empty() && node_.is[key].lock == node_.was[key].lock);
      // Nobody else may change it for now.
      const Words before = split(node_.was[key].promise, '|');
      LIBLOCK_ASSERT(before.size() < 3 || (std::stoll(before[1]) < node_.now_us && std::stoull(before[0]) < number));
    }
    change_ = change;
    promised_ = number;
  }

  void commit(uint8_t on, uint8_t how) {
    Client &client = clients_.at(on);
    if (client.keys.empty() || change_.empty()) return;
    const bool writes = how % 4 != 0;
    Words arguments = {change_, writes ? "1" : "0", std::to_string(promised_), how % 2 == 0 ? "w" : "v"};
    for (size_t n = 0; n < client.keys.size(); ++n) arguments.push_back(client.id);
    const Reply reply = node_.run(scripts::commit, client.keys, arguments);
    if (node_.went_wrong) return;
    LIBLOCK_ASSERT(reply.items.size() == 2 && (writes || reply.items[1].is(0)));
    for (const size_t key : client.keys) {
      const Shown &before = node_.was[key], &after = node_.is[key];
      if (before.lock != after.lock) LIBLOCK_ASSERT(writes && before.promise.ends_with("|" + change_));
      LIBLOCK_ASSERT(after.record().version >= before.record().version);
      if (reply.items[1].is(1)) LIBLOCK_ASSERT(after.record().version == promised_ && after.promise.empty());
    }
    // Else others of the quorum will tell him.
    if (reply.items[1].is(1) && how % 8 < 4) client.version = promised_;
  }

  void force(uint8_t on, uint8_t how) {
    const Client &client = clients_.at(on);
    const size_t key = on / 4 % kKeys;
    const bool is_named = how % 2 == 0 && !client.id.empty();
    const uint64_t token = how / 2 % 2 == 0 ? client.token : 0;
    Words arguments = node_.asking();
    for (const std::string &word : {node_.soon(), std::string("50"), is_named ? client.id : "",
                                    std::to_string(how / 4 % 4), std::to_string(token),
                                    std::string(how % 8 == 0 ? "1" : "0")})
      arguments.push_back(word);
    const Reply reply = node_.run(scripts::force, {key}, arguments);
    if (node_.went_wrong) return;
    if (reply.items[0].text != "OK") return node_.stayed_as_it_was();
    const Shown &before = node_.was[key], &after = node_.is[key];
    if (reply.items[2].is(0)) return LIBLOCK_ASSERT(is_named && after.lock == before.lock);
    LIBLOCK_ASSERT(after.lock.empty() && reply.items[4].text == before.record().id);
    node_.granted[key].refused = std::max({node_.granted[key].refused, token, before.record().token});
  }

  void clear(uint8_t on, uint8_t how) {
    static const char *const kWhom[] = {"all", "owner", "instances"};
    const std::string whom = kWhom[how % 3], name = how % 3 == 1 ? "owner" : Clients::instance_of(how / 4);
    const bool waiters_only = how / 8 % 2 == 1;
    Words arguments = node_.asking();
    const std::string until = on % 16 == 15 ? std::to_string(node_.now_us - 1) : node_.soon();
    for (const std::string &word : {until, std::string("50"), whom, std::string(on % 2 == 0 ? "0" : "1000"),
                                    std::string(waiters_only ? "1" : "0"), name})
      arguments.push_back(word);
    const Reply reply = node_.run(scripts::clear, {0, 1}, arguments);
    if (node_.went_wrong) return;
    if (reply.items[0].text != "OK") return node_.stayed_as_it_was();
    LIBLOCK_ASSERT(reply.items.size() == 2 + 2 * kKeys);
    for (size_t key = 0; key < kKeys; ++key) {
      const Shown &before = node_.was[key], &after = node_.is[key];
      const bool is_taken = !reply.items[2 + 2 * key].text.empty();
      LIBLOCK_ASSERT(is_taken ? after.lock.empty() && !waiters_only : after.lock == before.lock);
      if (is_taken) node_.granted[key].refused = std::max(node_.granted[key].refused, before.record().token);
      if (whom == "all" && !waiters_only) LIBLOCK_ASSERT(after.record().id.empty());
      if (whom == "all") LIBLOCK_ASSERT(after.line.empty());
    }
  }

  void look(uint8_t on, uint8_t how) {
    const Reply reply = node_.run(scripts::read, {0, 1}, {how % 2 == 0 ? "" : node_.who, std::to_string(on % 3), "1"});
    if (node_.went_wrong) return;
    node_.stayed_as_it_was();
    if (!reply.items[0].text.empty()) return LIBLOCK_ASSERT(reply.items[0].text == "CONFIG");
    LIBLOCK_ASSERT(reply.items.size() == 1 + kKeys);
    for (const Reply &key : reply.items) LIBLOCK_ASSERT(&key == &reply.items[0] || key.items.size() == 6);
  }

  // What comes late does not take back what is known.
  void observe(uint8_t on, uint8_t how) {
    const Words names = {"seen", "told", "of it"};
    const auto told = [this] {
      const std::string text = node_.server.command({"GET", "told"}).text;
      return text.empty() ? 0 : std::stoull(text);
    };
    const uint64_t before = told(), token = 1'000 + on;
    const std::string id = std::string(30, '0') + (on % 4 == 0 ? "e1" : "e2");
    const std::string record = "ll1|" + id + "|00000001|" + std::to_string(token) + "|owner|i1|@" +
                               std::to_string(node_.now_us) + ",3000,c," + std::to_string(how / 8 % 3) + ",5,0|v";
    const Words arguments = {id, std::to_string(how % 4 == 0 ? 0 : token), how % 2 == 0 ? "" : record, "3000", ""};
    const std::string was = node_.server.command({"GET", "seen"}).text;
    const Reply reply = node_.tell(scripts::observe, names, arguments);
    if (node_.went_wrong) return;
    LIBLOCK_ASSERT(reply.items.size() == 1 && told() >= before);
    const std::string is = node_.server.command({"GET", "seen"}).text;
    LIBLOCK_ASSERT(is.empty() || is == was || Record::of(is).token >= before);
    for (const std::string &name : names) LIBLOCK_ASSERT(node_.server.command({"PTTL", name}).integer != -1);
  }

  // What an operator, or a context that opens, does to the node itself.
  void rule(uint8_t on, uint8_t how) {
    static const char *const kMarking[] = {"join", "begin", "replace"};
    const std::string boot = node_.server.run_id();
    Reply reply;
    switch (on % 8) {
      case 0: return hello(boot);
      case 1:
      case 2:
        reply = node_.run(scripts::floor, {}, {node_.who, boot, std::to_string(clients_.next_token(how)),
                                               how % 4 == 0 ? "0" : node_.field("silent_until")});
        break;
      case 3: {
        const bool was_marked = !node_.field("who").empty();
        const bool trusts = how / 4 % 4 == 0;
        reply = node_.run(scripts::mark, {}, node_.marking(kMarking[how % 3], trusts));
        if (node_.went_wrong || reply.items[0].text != "OK" || (how % 3 == 0 && was_marked)) break;
        // Whoever says that it is new as a whole says that nothing is held.
        begin_anew(how % 3 != 0);
        node_.trusts_disk = trusts;
        break;
      }
      case 4:
        reply = node_.run(scripts::configure, {},
                          {how % 2 == 0 ? kWho : kOtherWho, how % 4 < 2 ? kOtherWho : kWho, boot, "record",
                           std::to_string(how % 8 < 4 ? kMaxTtlMs : 60 * kMaxTtlMs)});
        break;
      case 5:
        node_.who = node_.who == kWho ? kOtherWho : kWho;
        return;
      default: return decide(boot, how);
    }
    if (node_.went_wrong) return;
    node_.stayed_as_it_was();
  }

  void disturb(uint8_t on, uint8_t how) {
    const size_t key = on % kKeys;
    switch (on / 2 % 10) {
      case 0: node_.server.command({"SET", lock_name(key), "foreign", "NX", "PX", std::to_string(1 + how)}); return;
      case 1: node_.server.command({"DEL", lock_name(key)}); return;
      case 2:
        if (!look_at(key).empty()) return;
        node_.server.command({"HSET", lock_name(key), "field", "value"});
        node_.server.command({"PEXPIRE", lock_name(key), "100"});
        node_.is_broken = true;
        return;
      case 3: node_.is_deaf = !node_.is_deaf; return;
      case 4: node_.server.out_of_memory = !node_.server.out_of_memory; return;
      case 5:
        node_.server.restart();
        if (!node_.trusts_disk) node_.forgot_at_us = node_.now_us;
        return;
      case 6:
        node_.server.wipe();
        begin_anew(false);
        return;
      case 7:
        // The clock is set back.
        node_.now_us -= (int64_t{1} << how % 16) * 1'000;
        return;
      case 8: return forbid(key, how);
      default:
        // What was evicted.
        node_.server.command({"DEL", name_of(key, "mkcp"[how % 4])});
        if (how % 4 == 1) node_.server.command({"DEL", name_of(key, 'a')});
    }
  }

 private:
  std::string look_at(size_t key) { return node_.server.command({"GET", lock_name(key)}).text; }

  // Its user may not write one kind of key any more; or may again.
  void forbid(size_t key, uint8_t how) {
    node_.is_forbidden = !node_.is_forbidden;
    if (!node_.is_forbidden) return static_cast<void>(node_.server.on_permission = nullptr);
    const std::string name = how % 2 == 0 ? lock_name(key) : name_of(key, "fmp"[how / 2 % 3]);
    node_.server.on_permission = [name](std::span<const std::string_view> words) {
      return words.size() < 2 || words[1] != name || (words[0] != "SET" && words[0] != "HSET");
    };
  }

  void begin_anew(bool may_vote) {
    for (size_t key = 0; key < kKeys; ++key) node_.forget(key);
    node_.forgot_at_us = may_vote ? 0 : node_.now_us;
  }

  void hello(const std::string &boot) {
    const Reply reply = node_.run(scripts::hello, {}, {boot});
    if (node_.went_wrong) return;
    LIBLOCK_ASSERT(reply.items.size() == 9 && reply.items[1].text == node_.field("who"));
    node_.stayed_as_it_was();
  }

  // Who promised a ballot hears of no lower one.
  void decide(const std::string &boot, uint8_t how) {
    const std::string ballot(1 + how % 4, static_cast<char>('1' + how / 4 % 4));
    const std::string promised = node_.field("ballot");
    const Reply reply = node_.run(scripts::decide, {}, {node_.who, boot, ballot, how % 2 == 0 ? "" : "record"});
    if (node_.went_wrong || reply.items[0].text == "CONFIG") return;
    LIBLOCK_ASSERT((reply.items[0].text == "NO") == (ballot < promised));
    LIBLOCK_ASSERT(node_.field("ballot") == std::max(promised, ballot));
  }

  Node &node_;
  Clients &clients_;
  std::string change_;
  uint64_t promised_ = 1;
};

}  // namespace nodes
