# SPDX-License-Identifier: MIT
#
# RedisExpLock among others: processes that are still on the original gem, by the commands that it sends, and processes
# that fork, or end while they hold.
require_relative "exp_lock_helper"

class RedisExpLockMixedTest < Minitest::Test
  include ExpLockHelper

  def test_it_does_not_get_what_the_original_holds_and_the_original_not_what_it_holds
    theirs, ours = original, client
    assert theirs.try_lock
    assert_equal [false, true, false], [ours.try_lock, ours.key_locked?, ours.key_owned?]
    assert_equal false, ours.unlock
    assert theirs.unlock
    assert ours.try_lock
    refute theirs.try_lock
    refute theirs.unlock
    assert ours.key_owned?
    assert ours.unlock
    assert theirs.try_lock
  end

  def test_who_waits_gets_what_the_original_unlocks
    theirs = original
    theirs.lock
    waiter = Thread.new { client(retries: 1000).lock }
    await_queue(1)
    assert theirs.unlock
    assert_operator waiter.value, :>, 1
    refute theirs.try_lock
  end

  def test_who_waits_gets_what_the_original_let_expire
    assert original.try_lock(500)
    assert_operator client(retries: 1000).lock, :>, 1
  end

  def test_the_original_gets_what_is_unlocked_or_expires
    ours, theirs = client, original
    ours.lock
    waiter = Thread.new { theirs.lock }
    assert ours.unlock
    assert waiter.join(LIMIT_S)
    assert theirs.unlock
    client(expiry: 0.1).lock
    eventually("its expiry") { theirs.try_lock }
  end

  def test_a_lock_that_the_original_took_after_its_expiry_is_not_unlocked
    ours, theirs = client(expiry: 0.05), original
    ours.lock
    eventually("its expiry") { theirs.try_lock }
    assert_equal false, ours.unlock
    assert theirs.unlock
  end

  # Without the locks these sections would overwrite each other's numbers.
  def test_processes_of_both_kinds_exclude_each_other
    file = File.join(Dir.mktmpdir, "counter")
    File.write(file, "0")
    add_one = -> { File.write(file, (Integer(File.read(file)).tap { sleep 0.001 } + 1).to_s) }
    workers = Array.new(4) do |number|
      fork do
        server = Redis.new(url: URL)
        15.times { number.even? ? section_of_ours(server, &add_one) : section_of_theirs(server, &add_one) }
        exit!(0)
      end
    end
    workers.each { |pid| reap(pid) }
    assert_equal 60, Integer(File.read(file))
    refute redis.exists?(key)
  end

  def section_of_ours(server)
    RedisExpLock.new(key, redis: server, retries: 10_000).synchronize { yield }
  end

  def section_of_theirs(server)
    lock = Original.new(server, key)
    lock.lock
    yield
    lock.unlock
  end

  def test_a_lock_outlives_its_process_with_the_life_it_had
    in_child { RedisExpLock.new(key, redis: Redis.new(url: URL), expiry: 30).lock }
    refute client.try_lock
    assert_includes 1..30_000, redis.pttl(key)
  end

  # What a dead process held, liblock gives back soon; the original leaves it to its expiry, and programs count on that.
  def test_its_locks_are_no_zombies_locks
    in_child do
      client.lock
      locks = Liblock.open(URL, prefix: "").tap(&:ping)
      eventually("the first sign of life, of a context that gives one") { locks.instances.any?(&:self) }
      mine = locks.instances.select { |instance| instance.id.start_with?("#{Process.pid}-") }
      raise "#{mine.map(&:id)} are listed" unless mine.all?(&:self)
    end
    assert redis.exists?(key)
  end

  def test_a_child_goes_on_with_the_objects_of_its_parent
    lock = client
    assert lock.synchronize { true }
    in_child do
      assert_equal true, lock.synchronize { raise "not held" unless lock.key_owned? && lock.locked? }
    end
    assert_equal 1, lock.lock
  end

  def test_a_child_unlocks_what_its_parent_was_granted
    lock = client
    lock.lock
    in_child do
      raise "does not own" unless lock.locked? && lock.key_owned?
      raise "does not unlock" unless lock.unlock
      raise "unlocks twice" if lock.unlock || lock.key_owned?
    end
    assert_equal [true, false, false], [lock.locked?, lock.key_owned?, lock.key_locked?]
    assert_equal false, lock.unlock
  end

  def test_a_child_does_not_unlock_what_another_took_after_its_parent
    lock = client
    lock.lock
    redis.del(key)
    other = client
    other.lock
    in_child { raise "took another's away" if lock.key_owned? || lock.unlock }
    assert other.unlock
  end
end
