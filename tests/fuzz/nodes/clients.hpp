// SPDX-License-Identifier: MIT
// Who asks a node for locks, renews, passes on and gives back, each under an attempt of its own, as the library does;
// and what the node must keep to then: who is told that it granted has the keys, all of them, nobody had them, and
// nobody who lives and came before him is passed over; what was granted to another meanwhile never comes back.
#pragma once

#include "node.hpp"

namespace nodes {

constexpr size_t kClients = 4;

struct Client {
  std::string id, waiter, ticket;  // ticket: since he began to wait; else empty
  std::vector<size_t> keys;
  uint64_t token = 0, last = 0;
  uint32_t sequence = 0;
  uint64_t version = 0;
  int64_t restored_us = 0;     // when a node had it anew, as it said
  int64_t lives_until_us = 0;  // by its own clock, which nobody goes on renewing behind
  bool is_over = true;         // its attempt was given up: nobody ever asks under it again
};

class Clients {
 public:
  explicit Clients(Node &node) : node_(node) {
    for (size_t n = 0; n < kClients; ++n) clients_[n].waiter = std::string(31, 'f') + std::to_string(n);
  }
  Client &at(uint8_t on) { return clients_[on % kClients]; }
  static std::string instance_of(uint8_t on) { return on % 2 == 0 ? "i1" : "i2"; }
  // More than any that was seen.
  uint64_t next_token(uint8_t how) { return seen_ += 1 + how % 3; }
  void see(uint64_t token) { seen_ = std::max(seen_, token); }

  void acquire(uint8_t on, uint8_t how) {
    Client &client = at(on);
    begin(client, on, how);
    const bool waits = how / 4 % 2 == 1, barges = how / 8 % 8 == 0;
    if (waits && client.ticket.empty()) client.ticket = std::to_string(node_.now_us - how % 16);
    const std::string ticket = waits ? client.ticket : std::to_string(node_.now_us);
    // A clock may be behind: then the node knows better.
    const uint64_t proposed = how % 8 == 5 ? 1 + how : next_token(how), tokens = how % 16 == 0 ? 8 : 1;
    const bool is_late = how % 64 == 47;
    const int64_t lease_ms = how % 32 == 31 ? kMaxTtlMs + 1 : 100 << how % 9;
    Words arguments = node_.asking();
    for (const std::string &word :
         {is_late ? std::to_string(node_.now_us - 1) : node_.soon(), client.id, std::to_string(lease_ms),
          std::to_string(proposed), std::string("owner"), instance_of(on), ticket, waits ? client.waiter : "",
          std::string(how % 2 == 0 ? "3000" : "200"), std::string(barges ? "1" : "0"),
          std::string(how % 2 == 0 ? "c" : "p"), std::string("v"), std::string(how / 16 % 4 == 0 ? "1:a1:b" : ""),
          std::string(how % 2 == 0 ? "1" : "0"),
          std::string("0"), std::to_string(tokens)})
      arguments.push_back(word);
    const Reply reply = node_.run(scripts::acquire, client.keys, arguments);
    if (node_.went_wrong) return;
    const std::string &answer = reply.items[0].text;
    if (answer != "OK") return refused(answer, reply);
    LIBLOCK_ASSERT(node_.who == node_.field("who") && reply.items.size() == 6 && !is_late);
    LIBLOCK_ASSERT(lease_ms <= std::stoll(node_.field("max_ttl_ms")));
    node_.votes(reply.items[3]);
    const auto token = static_cast<uint64_t>(reply.items[2].integer);
    const bool is_again = std::all_of(client.keys.begin(), client.keys.end(),
                                      [&](size_t key) { return node_.was[key].is_held_by(client.id); });
    for (const size_t key : client.keys) {
      const Shown &before = node_.was[key], &after = node_.is[key];
      LIBLOCK_ASSERT(before.lock.empty() || before.is_held_by(client.id));
      LIBLOCK_ASSERT(after.is_held_by(client.id));
      if (is_again) continue;
      LIBLOCK_ASSERT(after.record().token == token && after.left_ms <= lease_ms);
      node_.grants(key, client.id, token, token - 1 + tokens);
      if (before.lock.empty() && !barges) nobody_was_passed_over(before, waits ? client.waiter : "", ticket);
    }
    client.token = token;
    client.lives_until_us = node_.now_us + kMaxTtlMs * 1'000;
    see(client.last = token - 1 + tokens);
    client.ticket.clear();
  }

  void release(uint8_t on, uint8_t how) {
    Client &client = at(on);
    if (client.keys.empty()) return;
    Words arguments = {"50", how % 2 == 0 ? client.waiter : ""};
    for (size_t n = 0; n < client.keys.size(); ++n) arguments.push_back(client.id);
    const Reply reply = node_.run(scripts::release, client.keys, arguments);
    client.is_over = true;
    if (how % 2 == 0) client.ticket.clear();
    if (node_.went_wrong) return;
    const bool are_all = reply.kind == Reply::Kind::Integer;
    for (size_t n = 0; n < client.keys.size(); ++n) {
      const Shown &before = node_.was[client.keys[n]], &after = node_.is[client.keys[n]];
      LIBLOCK_ASSERT((are_all || reply.items[n + 1].is(1)) == before.is_held_by(client.id));
      LIBLOCK_ASSERT(!after.is_held_by(client.id) && (before.is_held_by(client.id) || after.lock == before.lock));
      if (before.is_held_by(client.id)) is_kept_for_the_next(after);
    }
  }

  void raise(uint8_t on, uint8_t how) {
    Client &client = at(on);
    if (client.keys.empty() || client.is_over) return;
    const uint64_t token = next_token(how), tokens = how % 4 == 0 ? 8 : 1;
    Words arguments = node_.asking();
    arguments.push_back(std::to_string(token));
    arguments.push_back(std::to_string(tokens));
    for (size_t n = 0; n < client.keys.size(); ++n) arguments.push_back(client.id);
    const Reply reply = node_.run(scripts::raise, client.keys, arguments);
    if (node_.went_wrong) return;
    const bool has_all = std::all_of(client.keys.begin(), client.keys.end(),
                                     [&](size_t key) { return node_.was[key].is_held_by(client.id); });
    if (reply.items[0].text != "OK") {
      LIBLOCK_ASSERT(!has_all || node_.who != node_.field("who"));
      return node_.stayed_as_it_was();
    }
    LIBLOCK_ASSERT(has_all);
    node_.votes(reply.items[2]);
    for (const size_t key : client.keys) {
      LIBLOCK_ASSERT(node_.is[key].record().token == token);
      node_.grants(key, client.id, token, token - 1 + tokens);
    }
    client.token = token;
    see(client.last = token - 1 + tokens);
  }

  void extend(uint8_t on, uint8_t how) {
    static const char *const kHow[] = {"renew", "renew", "set", "only"};
    Client &client = at(on);
    if (client.keys.empty() || client.token == 0 || client.is_over || node_.now_us > client.lives_until_us) return;
    const std::string way = kHow[how % 4];
    Words arguments = node_.asking();
    arguments.push_back(on == 255 ? std::to_string(node_.now_us - 1) : node_.soon());
    arguments.push_back(way);
    // Now and then it is said once more, or with a token that others have raised since.
    char sequence[9];
    std::snprintf(sequence, sizeof sequence, "%08x", client.sequence += on / 8 % 4 == 0 ? 0 : 1);
    const int64_t ttl_ms = on == 254 ? 10 * kMaxTtlMs * 60 : 100 << how / 8 % 9;
    for (size_t n = 0; n < client.keys.size(); ++n) {
      for (const std::string &word :
           {client.id, std::string(sequence), std::to_string(ttl_ms), std::to_string(client.token),
            std::to_string(client.version), std::string("owner"), instance_of(on), std::string("3000"),
            std::string("7"), std::string("v"), std::string(how / 4 % 2 == 0 ? "1:a1:b" : ""), std::string("0"),
            how / 16 % 4 == 0 ? std::string("0") : std::to_string(std::max<int64_t>(1, client.restored_us))})
        arguments.push_back(word);
    }
    const Reply reply = node_.run(scripts::extend, client.keys, arguments);
    if (node_.went_wrong) return;
    if (reply.items[0].text != "OK") return node_.stayed_as_it_was();
    LIBLOCK_ASSERT(reply.items.size() == 3 + 5 * client.keys.size());
    node_.votes(reply.items[2]);
    client.lives_until_us = node_.now_us + kMaxTtlMs * 1'000;
    for (size_t n = 0; n < client.keys.size(); ++n) {
      was_extended(client, client.keys[n], way, reply.items[3 + 5 * n]);
      client.restored_us = -reply.items[7 + 5 * n].integer;
    }
  }

  void pass_on(uint8_t on, uint8_t how) {
    Client &client = at(on);
    if (client.keys.size() != 1 || client.token == 0 || client.is_over) return;
    // The next hand, or a word of one before that comes late.
    const bool is_next = client.token < client.last && how % 8 != 6;
    const uint64_t token = how % 8 == 6 ? client.token - 1 : client.token + is_next;
    const uint64_t last = how % 2 == 0 ? next_token(how) : client.last;
    const std::string instance = how % 8 == 7 ? "another" : instance_of(on);
    Words arguments = node_.asking();
    for (const std::string &word :
         {client.id, std::to_string(token), std::string("next"), instance, std::to_string(node_.now_us),
          std::to_string(last), std::to_string(how % 3)})
      arguments.push_back(word);
    const size_t key = client.keys[0];
    const Reply reply = node_.run(scripts::pass_on, client.keys, arguments);
    if (node_.went_wrong) return;
    if (reply.items[0].text != "OK") return node_.stayed_as_it_was();
    LIBLOCK_ASSERT(node_.was[key].is_held_by(client.id) && node_.is[key].is_held_by(client.id));
    node_.votes(reply.items[2]);
    LIBLOCK_ASSERT(node_.is[key].record().token >= node_.was[key].record().token);
    node_.granted[key].token = std::max(node_.granted[key].token, last);
    client.token = std::max(client.token, token);
    see(client.last = std::max(client.last, last));
  }

 private:
  // Another attempt, unless the one that he has is asked once more.
  void begin(Client &client, uint8_t on, uint8_t how) {
    if (!client.is_over && how % 8 != 7) return;
    static const std::vector<size_t> kWhich[] = {{0}, {1}, {0, 1}, {0}};
    char id[33];
    std::snprintf(id, sizeof id, "%032x", ++attempts_);
    // Who waits in a line goes on waiting in that one.
    if (client.ticket.empty()) client.keys = kWhich[on / 4 % 4];
    client.id = id;
    client.token = client.last = client.version = 0;
    client.restored_us = 0;
    client.is_over = false;
  }

  void refused(const std::string &answer, const Reply &reply) const {
    LIBLOCK_ASSERT(answer == "BUSY" || answer == "LATE" || answer == "TTL" || answer == "CONFIG");
    LIBLOCK_ASSERT((answer == "CONFIG") == (node_.who != node_.field("who")));
    for (size_t key = 0; key < kKeys; ++key) LIBLOCK_ASSERT(node_.is[key].lock == node_.was[key].lock);
    if (answer == "BUSY") LIBLOCK_ASSERT(reply.items.size() == 11 || reply.items.size() == 13);
  }

  void nobody_was_passed_over(const Shown &before, const std::string &waiter, const std::string &ticket) const {
    LIBLOCK_ASSERT(before.claim.empty() || before.claim == waiter);
    if (before.claim == waiter && !waiter.empty()) return;
    const auto [first, first_ticket] = Node::first_of(before, node_.now_us);
    LIBLOCK_ASSERT(first.empty() || first == waiter || (!waiter.empty() && first_ticket >= std::stoll(ticket)));
  }

  // Whoever lives and is first, where anybody listens.
  void is_kept_for_the_next(const Shown &after) const {
    const std::string first = Node::first_of(after, node_.now_us).first;
    LIBLOCK_ASSERT(node_.is_deaf || first.empty() ? true : after.claim == first);
  }

  void was_extended(const Client &client, size_t key, const std::string &way, const Reply &code) {
    const Shown &before = node_.was[key], &after = node_.is[key];
    LIBLOCK_ASSERT(code.is(1) == before.is_held_by(client.id));
    LIBLOCK_ASSERT(code.is(0) == (!before.lock.empty() && !before.is_held_by(client.id)));
    if (code.is(1) && way != "set") LIBLOCK_ASSERT(after.left_ms >= before.left_ms);
    if (code.is(1)) LIBLOCK_ASSERT(after.record().version >= before.record().version);
    if (code.integer < 1) return LIBLOCK_ASSERT(after.lock == before.lock);
    Granted &last = node_.granted[key];
    if (code.is(2)) {
      LIBLOCK_ASSERT(way != "only" && after.is_held_by(client.id) && after.record().state.starts_with("r"));
      LIBLOCK_ASSERT(last.id == client.id || last.token < client.token);
      LIBLOCK_ASSERT(client.token > last.refused);
    }
    last.id = client.id;
    last.token = std::max(last.token, client.token);
  }

  Node &node_;
  Client clients_[kClients];
  uint32_t attempts_ = 0;
  uint64_t seen_ = 1'700'000'000'000'000;
};

}  // namespace nodes
