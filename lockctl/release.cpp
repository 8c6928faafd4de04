// SPDX-License-Identifier: MIT
// `lockctl release --force`: takes one key away. Who holds it is shown before anybody is asked, since that is what one
// must know to answer.
#include <algorithm>
#include <cstdio>

#include "commands.hpp"
#include "context.hpp"
#include "exit_code.hpp"
#include "text.hpp"

namespace lockctl {
namespace {

std::string question_for(liblock_context *context, const ReleaseOptions &options) {
  const Info info = inspect(context, options.key, true);
  if (!info) return printable(options.key) + " is free as it seems. Release it all the same?";
  std::string text = printable(options.key);
  if (liblock_info_is_held(info.get()) == 1) {
    text += " is held by " +
            (is_foreign(info.get()) ? "a client of another library" : printable(holder_of(info.get())));
  } else {
    text += " is free";
  }
  const size_t waiting = liblock_info_waiter_count(info.get());
  if (waiting > 0) {
    text += ", " + with_commas(waiting) + " waiting" + (options.drop_queue ? " that are sent away" : "");
  }
  return text + ". Nothing stops its holder from going on. Take it away?";
}

}  // namespace

int release(const Arguments &arguments) {
  const ReleaseOptions &options = arguments.release;
  if (!options.force) {
    throw Failure(kUsage, "release takes " + printable(options.key) +
                              " away from whoever holds it, who is not asked; say --force if that is meant");
  }
  const Context context = open_context(arguments.settings);
  if (!is_confirmed(options.yes, options.yes ? "" : question_for(context.get(), options))) return kNothing;
  liblock_result result = LIBLOCK_RESULT_INIT;
  const liblock_status status =
      expect(liblock_force_release(context.get(), options.key.data(), options.key.size(),
                                   options.drop_queue ? LIBLOCK_DROP_QUEUE : 0, &result),
             result, LIBLOCK_NOT_HELD);
  const bool had_lock = (result.flags & LIBLOCK_RESULT_HAD_LOCK) != 0;
  const bool had_queue = (result.flags & LIBLOCK_RESULT_HAD_QUEUE) != 0;
  const int64_t waiting = had_queue ? std::max<int64_t>(0, result.queue_length) : 0;
  if (arguments.settings.json) {
    std::puts(to_json(Record()
                          .set("key", options.key)
                          .set("had_lock", had_lock)
                          .set("had_queue", had_queue)
                          .set("waiters", waiting)
                          .set("queue_dropped", had_queue && options.drop_queue))
                  .c_str());
  } else {
    std::printf("%s: %s", printable(options.key).c_str(), had_lock ? "taken away" : "nobody held it");
    if (had_queue)
      std::printf(", %s %s", with_commas(static_cast<uint64_t>(waiting)).c_str(),
                  options.drop_queue ? "sent away" : "waiting");
    std::puts("");
  }
  return status == LIBLOCK_OK || (waiting > 0 && options.drop_queue) ? kDone : kNothing;
}

}  // namespace lockctl
