// SPDX-License-Identifier: MIT
// The library's objects, freed when they go out of scope, and its failures as exceptions. Declared in the order in
// which they depend on each other, they end in the other one: infos and queues before owners, owners before contexts.
#pragma once

#include <liblock/liblock.h>

#include <memory>
#include <string>
#include <string_view>

#include "arguments.hpp"
#include "record.hpp"

namespace lockctl {

struct Free {
  void operator()(liblock_context *it) const { liblock_context_free(it); }
  void operator()(liblock_owner *it) const { liblock_owner_free(it); }
  void operator()(liblock_completions *it) const { liblock_completions_free(it); }
  void operator()(liblock_info *it) const { liblock_info_free(it); }
  void operator()(liblock_cursor *it) const { liblock_cursor_free(it); }
};
using Context = std::unique_ptr<liblock_context, Free>;
using Owner = std::unique_ptr<liblock_owner, Free>;
using Completions = std::unique_ptr<liblock_completions, Free>;
using Info = std::unique_ptr<liblock_info, Free>;
using Cursor = std::unique_ptr<liblock_cursor, Free>;

// Opens what the settings name. A url of the local context is refused unless allowed: it ends with this process.
// notice: why nobody can be granted a lock yet, and the cure: a quorum is opened also when too few of its nodes vote.
Context open_context(const Settings &settings, bool local_is_allowed = false, std::string *notice = nullptr);
bool is_quorum(const Settings &settings);
// Enough of its nodes vote.
inline bool can_grant(const liblock_quorum_state &state) {
  return state.votes > 0 && state.voting >= state.votes;
}
// The same as it is now: the notice of the opening, or what the nodes say; "" where enough of them vote, or it is no
// quorum.
std::string why_none_is_granted(liblock_context *context, const std::string &notice);
// A quorum whose nodes have forgotten what they had lists what the others know, which may be nothing: said where it was
// so when a list began (notice), or is when it has ended.
void say_what_may_be_missing(liblock_context *context, const std::string &notice);

// OK, or one of the other statuses that the caller deals with himself, else a Failure with the result's message.
liblock_status expect(liblock_status status, const liblock_result &result, liblock_status also = LIBLOCK_OK);
std::string message_of(liblock_status status, const liblock_result &result);

// Nothing where nobody holds the key; with_queue: nor waits for it.
Info inspect(liblock_context *context, const std::string &key, bool with_queue);

// What an info tells, as text and as a record.
std::string key_of(const liblock_info *info);
std::string holder_of(const liblock_info *info);  // the owner, or the instance of a lock without one
bool is_foreign(const liblock_info *info);        // held by a client of another library
Record record_of(const liblock_info *info);
std::vector<Record> waiters_of(const liblock_info *info);

}  // namespace lockctl
