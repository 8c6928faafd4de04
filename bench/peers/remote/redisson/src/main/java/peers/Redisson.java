// SPDX-License-Identifier: MIT
package peers;

import java.io.BufferedOutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Redisson's locks as peers, which are told of a release by pub/sub: RLock, FairLock and FencedLock over one server, RedLock
 * over several. A lock belongs to a thread, and is renewed by the client. See ../../../../../README.md.
 */
public final class Redisson {
  private record Moments(long asked, long had, long letting, long let) {}

  private static final int WARM_UP_PAIRS = 2_000;

  private final List<RedissonClient> clients = new ArrayList<>();
  private final String key;
  private final int threads;
  private final int sections;
  private final long runNs;
  private final long holdUs;
  private final long pauseUs;
  private final String counter;
  private final String variant;

  private Redisson(String[] words) {
    for (String port : words[0].split(",")) {
      Config config = new Config();
      config.useSingleServer().setAddress("redis://127.0.0.1:" + port);
      clients.add(org.redisson.Redisson.create(config));
    }
    key = words[1];
    threads = Integer.parseInt(words[2]);
    sections = Integer.parseInt(words[3]);
    runNs = TimeUnit.MILLISECONDS.toNanos(Long.parseLong(words[4]));
    holdUs = Long.parseLong(words[5]);
    pauseUs = Long.parseLong(words[6]);
    counter = words[8];
    variant = words[9];
  }

  private Lock newLock(String name) {
    RedissonClient first = clients.get(0);
    switch (variant) {
      case "RLock":
        return first.getLock(name);
      case "FairLock":
        return first.getFairLock(name);
      case "FencedLock":
        return first.getFencedLock(name);
      case "RedLock":
        return new RedissonRedLock(clients.stream().map(client -> client.getLock(name)).toArray(RLock[]::new));
      default:
        throw new IllegalArgumentException(variant);
    }
  }

  private static void rest(long us) throws InterruptedException {
    if (us > 0) {
      TimeUnit.MICROSECONDS.sleep(us);
    }
  }

  private void count() throws Exception {
    if (!counter.equals("-")) {
      Path path = Path.of(counter);
      long value = Long.parseLong(Files.readString(path).trim());
      Files.writeString(path, (value + 1) + "\n");
    }
  }

  // System.nanoTime is the monotonic clock of the system here, which other processes read as well.
  private Moments section(Lock lock) throws Exception {
    long asked = System.nanoTime();
    lock.lock();
    long had = System.nanoTime();
    count();
    rest(holdUs);
    long letting = System.nanoTime();
    lock.unlock();
    long let = System.nanoTime();
    rest(pauseUs);
    return new Moments(asked, had, letting, let);
  }

  private List<Moments> takePart() throws Exception {
    Lock lock = newLock(key);
    List<Moments> records = new ArrayList<>();
    long begun = System.nanoTime();
    while ((sections == 0 || records.size() < sections) && (runNs == 0 || System.nanoTime() - begun < runNs)) {
      records.add(section(lock));
    }
    return records;
  }

  /** What a JVM does before it has compiled anything is not what its locks cost. Each process has a key of its own. */
  private void warmUp() {
    Lock first = newLock(key + ":" + ProcessHandle.current().pid());
    for (int i = 0; i < WARM_UP_PAIRS; i++) {
      first.lock();
      first.unlock();
    }
  }

  private void hold() throws Exception {
    warmUp();
    System.out.println("ready");
    if (System.in.read() < 0) {
      throw new IllegalStateException("nobody said go");
    }
    ExecutorService running = Executors.newFixedThreadPool(threads);
    List<Callable<List<Moments>>> parts = new ArrayList<>();
    for (int nth = 0; nth < threads; nth++) {
      parts.add(this::takePart);
    }
    PrintStream out = new PrintStream(new BufferedOutputStream(System.out, 1 << 16), false);
    int nth = 0;
    for (Future<List<Moments>> part : running.invokeAll(parts)) {
      for (Moments at : part.get()) {
        out.println(nth + " " + at.asked() + " " + at.had() + " " + at.letting() + " " + at.let());
      }
      nth++;
    }
    out.flush();
  }

  public static void main(String[] words) throws Exception {
    try {
      new Redisson(words).hold();
    } catch (Throwable error) {
      error.printStackTrace();
      System.exit(1);
    }
    System.exit(0);
  }
}
