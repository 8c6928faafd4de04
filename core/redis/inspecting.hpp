// SPDX-License-Identifier: MIT
// Looking at keys on the server: some by name, all page by page, and taking away those that fit. Loop thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/ask.hpp"

namespace liblock {

class Instance;

// Who asked. One of the two is called once, and may end the object.
class Inspection {
 public:
  virtual ~Inspection() = default;
  virtual void seen(std::vector<std::unique_ptr<KeyInfo>> infos) = 0;
  virtual void failed(Status status, const std::string &why) = 0;
};

// One info for each lock key. Of a foreign client's lock it says that it is held, and its string as the value.
void inspect(Instance &instance, const std::vector<std::string> &lock_keys, Inspection &inspection);

using AskDone = std::function<void(Status, const std::string &why)>;
// The locks of one page of all keys into ask.infos; ask.number is where to go on, 0 at the end.
void list_page(Instance &instance, Ask &ask, AskDone done);
// Takes away the locks that ask.number (Engine::Whom) and ask.text name; counts them in ask.count.
void clear_locks(Instance &instance, Ask &ask, AskDone done);

struct Forced {
  std::string lock_key;
  std::string attempt_id;    // that must hold it; empty: whoever does
  bool drops_queue = false;  // the waiters are sent away as well
};
// Takes one key away.
void force_away(Instance &instance, Forced forced, AskDone done);

}  // namespace liblock
