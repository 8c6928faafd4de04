// SPDX-License-Identifier: MIT
package peers;

import com.google.common.util.concurrent.Striped;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Lock;
import java.util.function.BiConsumer;

/**
 * The peers are locks: four threads add to plain counters under four keys, and no addition may be lost. The same is first
 * shown of threads without any lock. Prints TAP.
 */
public final class Exclusion {
  private static final int THREADS = 4;
  private static final int KEYS = 4;
  private static final int ROUNDS = 200_000;
  private static int told;
  private static int failed;

  private static void tell(boolean holds, String name, long lost) {
    told++;
    failed += holds ? 0 : 1;
    System.out.println((holds ? "ok " : "not ok ") + told + " - " + name + " # " + lost + " lost");
  }

  private static long lostAdditions(BiConsumer<String, Runnable> section) throws InterruptedException {
    long[] counters = new long[KEYS];
    List<Thread> running = new ArrayList<>();
    for (int nth = 0; nth < THREADS; nth++) {
      int first = nth;
      running.add(new Thread(() -> {
        for (int round = 0; round < ROUNDS; round++) {
          int at = (first + round) % KEYS;
          section.accept("key" + at, () -> counters[at]++);
        }
      }));
    }
    for (Thread thread : running) {
      thread.start();
    }
    for (Thread thread : running) {
      thread.join();
    }
    long sum = 0;
    for (long counter : counters) {
      sum += counter;
    }
    return (long) THREADS * ROUNDS - sum;
  }

  public static void main(String[] words) throws InterruptedException {
    long withoutLock = 0;
    for (int attempt = 0; attempt < 100 && withoutLock == 0; attempt++) {
      withoutLock = lostAdditions((key, inside) -> inside.run());
    }
    tell(withoutLock > 0, "without_a_lock_additions_are_lost", withoutLock);
    CountedLocks counted = new CountedLocks();
    long lost = lostAdditions((key, inside) -> {
      counted.lock(key);
      inside.run();
      counted.unlock(key);
    });
    tell(lost == 0, "counted_locks_lose_no_addition", lost);
    tell(counted.size() == 0, "the_last_user_of_a_counted_lock_removes_it", counted.size());
    Striped<Lock> striped = Striped.lock(4096);
    lost = lostAdditions((key, inside) -> {
      Lock lock = striped.get(key);
      lock.lock();
      inside.run();
      lock.unlock();
    });
    tell(lost == 0, "striped_locks_lose_no_addition", lost);
    System.out.println("1.." + told);
    System.exit(failed == 0 ? 0 : 1);
  }
}
