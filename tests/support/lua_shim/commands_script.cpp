// SPDX-License-Identifier: MIT
// EVAL and its relatives: from the words of the command to keys and arguments.
#include "commands.hpp"
#include "errors.hpp"
#include "sha1.hpp"
#include "text.hpp"

namespace liblock_test::lua_shim {

namespace {

Reply evaluate(const Call &call, bool by_sha1, bool only_reads) {
  int64_t keys = 0;
  if (!parse_int(call[2], keys)) return not_an_integer();
  if (keys > static_cast<int64_t>(call.count()) - 3) {
    return Reply::error("ERR Number of keys can't be greater than number of args");
  }
  if (keys < 0) return Reply::error("ERR Number of keys can't be negative");
  const auto count = static_cast<size_t>(keys);
  return call.in.interpreter.run(
      {call[1], by_sha1, only_reads, call.args.subspan(3, count), call.args.subspan(3 + count)});
}

}  // namespace

Reply run_eval(const Call &call) { return evaluate(call, false, false); }
Reply run_eval_ro(const Call &call) { return evaluate(call, false, true); }

// A word that cannot be a name is unknown before anything else is looked at.
Reply run_evalsha(const Call &call) {
  return call[1].size() != 40 ? Reply::error(kUnknownScript) : evaluate(call, true, false);
}
Reply run_evalsha_ro(const Call &call) {
  return call[1].size() != 40 ? Reply::error(kUnknownScript) : evaluate(call, true, true);
}

Reply run_script_load(const Call &call) { return call.in.interpreter.load(call[2]); }

Reply run_script_exists(const Call &call) {
  Reply known = Reply::array();
  for (size_t i = 2; i < call.count(); ++i) {
    known.items.push_back(Reply::of(call.in.interpreter.knows(call[i]) ? 1 : 0));
  }
  return known;
}

Reply run_script_flush(const Call &call) {
  if (call.count() > 3 ||
      (call.count() == 3 && !same_name(call[2], "sync") && !same_name(call[2], "async"))) {
    return Reply::error("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
  }
  call.in.interpreter.forget_scripts();
  return Reply::ok();
}

}  // namespace liblock_test::lua_shim
