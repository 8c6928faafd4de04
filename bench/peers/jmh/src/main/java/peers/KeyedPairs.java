// SPDX-License-Identifier: MIT
package peers;

import com.google.common.util.concurrent.Striped;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Lock and unlock by one thread over 1,024 keys of 16 bytes, as the C++ and Go programs do: row L2. The process that
 * measures is a fresh one, which the JVM's own threads keep from ever being single-threaded.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 300, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 200, timeUnit = TimeUnit.MILLISECONDS)
public class KeyedPairs {
  private static final int KEYS = 1024;
  private static final int STRIPES = 4096;

  private final String[] keys = new String[KEYS];
  private final CountedLocks counted = new CountedLocks();
  private final Striped<Lock> striped = Striped.lock(STRIPES);
  private int at;

  @Setup
  public void makeKeys() {
    for (int i = 0; i < KEYS; i++) {
      long bits = i + 0x9e3779b97f4a7c15L;
      bits = (bits ^ (bits >>> 30)) * 0xbf58476d1ce4e5b9L;
      bits = (bits ^ (bits >>> 27)) * 0x94d049bb133111ebL;
      keys[i] = String.format("%016x", bits ^ (bits >>> 31));
    }
  }

  private String next() {
    return keys[at++ & (KEYS - 1)];
  }

  @Benchmark
  public void countedPair() {
    String key = next();
    counted.lock(key);
    counted.unlock(key);
  }

  /** Not exact: two keys may share a stripe. */
  @Benchmark
  public void stripedPair() {
    Lock lock = striped.get(next());
    lock.lock();
    lock.unlock();
  }
}
