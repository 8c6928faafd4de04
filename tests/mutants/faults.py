# SPDX-License-Identifier: MIT
"""Faults on purpose in the local engine, in that of one server, in what both share and behind the C API. Each is one
place of a source file written otherwise, as somebody could write it by mistake, and names who must notice."""
from typing import NamedTuple


class Fault(NamedTuple):
    name: str
    what: str
    file: str  # below core/
    before: str  # which is there once
    after: str
    tests: list  # of meson, with a part of a name behind a ':' where a program takes one; until the first that fails


FAULTS = [
    Fault("newest_first", "of those who ask for order the newest is served first", "local/wait_queue.cpp",
          "return waiter.sort_key < other.sort_key ||", "return waiter.sort_key > other.sort_key ||", ["order"]),
    Fault("call_lost", "who was called for a free key and gives up calls nobody else", "local/waiting.cpp",
          "  if (!entry.held()) {\n    pass_on(shard, index, deferred);\n", "  if (!entry.held()) {\n", ["order"]),
    Fault("hand_over_forgotten", "a lease that is over goes to nobody who waits", "local/holds.cpp",
          "  lose(shard, index, EndReason::Expired, deferred);\n  pass_on(shard, index, deferred);\n",
          "  lose(shard, index, EndReason::Expired, deferred);\n", ["lease", "wait_endings"]),
    Fault("place_kept", "who gives up stays in the queue", "local/holds.cpp",
          "  shard.entry(waiter.index).queue->remove(waiter);\n", "", ["cancel", "wait_endings"]),
    Fault("lease_without_end", "the timer of a lease does not end it", "local/leases.cpp",
          "if (end_if_overdue(shard, ref.index, now, deferred)) continue;", "", ["lost"]),
    Fault("ended_by_nobody", "a lease that is over keeps others away until somebody sweeps", "local/holds.cpp",
          "if (!shard.entry(index).held() || shard.deadline(index) > now) return false;", "return false;", ["lease"]),
    Fault("renewal_left_out", "a lease is not renewed", "local/leases.cpp",
          "if (!record->renew || record->owner->closed.load()) {", "if (true) {", ["lost"]),
    Fault("renewed_beyond_max_hold", "renewals go on beyond max_hold_ms", "local/leases.cpp",
          "    const Nanos wanted = std::min(deadline_after(record->ttl), record->hold_until);\n    renewed",
          "    const Nanos wanted = deadline_after(record->ttl);\n    renewed", ["lost"]),
    Fault("handle_of_another", "a context looks at the locks of another one", "local/leases.cpp",
          "if (entry.owner->instance() != instance) return seen;", "", ["handles"]),
    Fault("eldest_gives_way", "of a cycle the eldest wait ends instead of the youngest", "local/deadlock.cpp",
          "waiter->serial.load() > victim->serial.load()", "waiter->serial.load() < victim->serial.load()",
          ["deadlock", "conformance"]),
    Fault("watched_by_one_key", "who watches a lock of several keys hears of the end of one of them",
          "local/admin.cpp", "      watch_elsewhere(*ref, deferred);\n", "", ["watches"]),
    Fault("gates_stay_open", "the global lock does not keep others from the keys", "local/global_lock.cpp",
          "    shard.gated = true;\n", "", ["global"]),
    Fault("keys_forgotten", "the global lock does not wait for those who hold a key", "local/global_lock.cpp",
          "    global_.remaining.fetch_add(others);\n", "", ["global"]),
    Fault("one_too_many", "one more than waiters_max may wait", "local/waiting.cpp",
          "if (waiters_.fetch_add(1) >= static_cast<uint64_t>(options_.waiters_max)) {",
          "if (waiters_.fetch_add(1) > static_cast<uint64_t>(options_.waiters_max)) {", ["limits"]),
    Fault("any_value_will_do", "who changes a lock by its value need not know it", "local/by_value.cpp",
          "return Bytes(*value) == expected ? Status::OK : Status::NOT_OWNER;", "return Status::OK;", ["by_value"]),
    Fault("queue_overrun", "a completion queue takes more than it has room for", "context/completions.cpp",
          "if (count_ + reserved_ >= capacity_) return Status::LIMIT;", "", ["completions"]),
    Fault("old_request_found", "the id of a request that has ended finds the next one in its place",
          "context/request_table.cpp", " || id_of(index) != id) return nullptr;", ") return nullptr;",
          ["cancel"]),
    Fault("fork_unseen", "a child goes on with its parent's contexts", "context/fork.cpp",
          "    context->mark_forked();\n", "", ["fork"]),
    Fault("thread_leaves_locks", "a thread that ends keeps its locks", "context/thread_owners.cpp",
          "context->close_owner_for_good(t.owner);", "{}", ["thread_owner"]),
    Fault("loss_untold", "nobody is told that a lock on a server is lost", "redis/keeper.cpp",
          "  instance_.tell_loss(*lease);\n", "", ["conformance redis", "redis lock:lost", "redis told"]),
    Fault("server_lease_not_renewed", "leases on a server are not renewed", "redis/keeper.cpp",
          "if (lease->renews) set_renewal(*lease, sent_at, lease->first_ttl);", "",
          ["conformance redis", "redis leases"]),
    Fault("lease_longer_than_servers", "a holder believes in a lease for longer than the server", "redis/attempt.cpp",
          "lease->ends_at.store(sent_at_ + Lease::trusted(terms_.first));",
          "lease->ends_at.store(instance_.clock.now() + terms_.first + 200 * kMillisecond);",
          ["redis lock", "redis slow clock", "redis network", "redis stops"]),
    Fault("late_arrival_left", "what may still arrive at a server is undone once, and no more", "redis/cleaner.cpp",
          "if (now_us > not_after_us) return cleaner_.over(*this);", "return cleaner_.over(*this);",
          ["redis network:arrives"]),
    Fault("grant_without_asker_left", "a grant that comes when nobody waits for it any more is left on the server",
          "redis/attempt.cpp", "  is_undone_ = true;\n  undo(0);\n", "  is_undone_ = true;\n",
          ["redis network:canceled", "conformance redis"]),
    Fault("taken_away_believed", "the word that a lock was taken away is not looked into", "redis/instance.cpp",
          "if (!named.empty()) keeper.verify(named, nullptr);", "", ["redis lock", "redis admin"]),
    Fault("closing_leaves_locks", "a context that closes leaves its locks on the server", "remote/remote_instance.cpp",
          "  if (leave) return;\n  const std::vector<Handle> all", "  return;\n  const std::vector<Handle> all",
          ["conformance redis", "redis lock"]),
    Fault("same_token_again", "who is handed a lock within a process has the token of who had it before",
          "remote/front.cpp", "    ++line.token_last;\n", "", ["redis front", "conformance redis"]),
    Fault("token_not_raised", "a grant that joins locks does not raise the token of what was held before",
          "redis/granting.cpp", "  for (const auto &l : bound) instance_.holds.set_token(*l, token);\n", "",
          ["conformance redis", "redis lock"]),
    Fault("released_twice_as_often", "a release gives the key back although another handle holds it",
          "remote/holds.cpp", "std::erase_if(given_back,\n                [](const HeldLock::Part &part) { return "
          "part.lease->keys[part.key].handles != 0; });\n", "", ["conformance redis", "redis lock"]),
]
