// SPDX-License-Identifier: MIT
package peers;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The keyed lock that one writes oneself in Java: counted locks in a ConcurrentHashMap, made by the first user and removed
 * by the last one, both under the map's own lock of the key.
 */
final class CountedLocks {
  private static final class Counted extends ReentrantLock {
    int users;
  }

  private final ConcurrentHashMap<String, Counted> locks = new ConcurrentHashMap<>();

  void lock(String key) {
    locks.compute(key, (ignored, found) -> {
      Counted lock = found == null ? new Counted() : found;
      lock.users++;
      return lock;
    }).lock();
  }

  void unlock(String key) {
    locks.compute(key, (ignored, lock) -> {
      lock.unlock();
      return --lock.users == 0 ? null : lock;
    });
  }

  int size() {
    return locks.size();
  }
}
