# SPDX-License-Identifier: MIT
#
# RedisExpLock#synchronize, whatever ends its block, and what interruptions leave behind: nothing.
require_relative "exp_lock_helper"
require_relative "points"
require_relative "scheduler"

class RedisExpLockSynchronizeTest < Minitest::Test
  include ExpLockHelper
  include Points

  def test_the_block_runs_under_the_lock_and_is_told_the_attempts
    lock = client
    told = []
    assert_equal true, lock.synchronize { |attempts| told << attempts << lock.locked? << client.try_lock }
    assert_equal [1, true, false], told
    refute redis.exists?(key)
    client(expiry: 0.5).lock
    client(retries: 100, interval: 0.05).synchronize { |attempts| assert_includes 2..101, attempts }
  end

  def test_it_answers_false_where_the_lock_expired_meanwhile
    assert_equal false, client(expiry: 0.05).synchronize { eventually("its expiry") { !redis.exists?(key) } }
  end

  def test_it_unlocks_whatever_ends_the_block
    lock = client
    assert_raises(IOError) { lock.synchronize { raise IOError, "of the block" } }
    refute redis.exists?(key)
    catch(:out) { lock.synchronize { throw :out } }
    refute redis.exists?(key)
    lock.synchronize { break }
    refute redis.exists?(key)
    assert_equal 1, lock.lock
  end

  def test_it_unlocks_where_its_thread_is_killed
    inside = Thread::Queue.new
    thread = Thread.new { client.synchronize { inside << sleep } }
    eventually("the block to sleep") { redis.exists?(key) && thread.status == "sleep" && inside.empty? }
    thread.kill.join
    refute redis.exists?(key)
  end

  def test_a_block_may_unlock_itself
    lock = client
    assert_equal false, lock.synchronize { assert lock.unlock }
    refute lock.locked?
  end

  def test_it_needs_a_block_and_locks_nothing_without
    assert_raises(LocalJumpError) { client.synchronize }
    refute redis.exists?(key)
  end

  def test_a_wait_that_is_timed_out_leaves_neither_lock_nor_waiter
    client.lock
    lock = client(retries: Float::INFINITY)
    assert_raises(Timeout::Error) { Timeout.timeout(0.2) { lock.lock } }
    await_queue(0)
    refute lock.locked?
  end

  def test_threads_that_are_killed_anywhere_leave_the_key_free
    random = Random.new(seed = Random.new_seed % 1_000_000)
    12.times do
      threads = Array.new(3) { Thread.new { loop { client(retries: 1000).synchronize { Thread.pass } } } }
      sleep(random.rand * 0.02)
      threads.each(&:kill).each { |thread| assert thread.join(LIMIT_S), "does not end (seed #{seed})" }
    end
    eventually("nobody holds (seed #{seed})") { !redis.exists?(key) }
    await_queue(0)
  end

  def test_a_thread_that_is_killed_at_a_given_point_leaves_the_key_free_whatever_the_point
    killed_at_each_point(->(key) { !redis.exists?(key) }) do |key|
      RedisExpLock.new(key, redis: redis).synchronize { nil }
    end
  end

  def test_an_unlock_that_was_interrupted_may_be_called_again
    locks = {}
    unlocked = lambda do |key|
      locks[key]&.unlock
      !redis.exists?(key)
    end
    killed_at_each_point(unlocked) do |key|
      locks[key] = RedisExpLock.new(key, redis: redis)
      locks[key].lock
      locks[key].unlock
    end
  end

  def test_fibers_of_one_thread_wait_for_each_other
    log = []
    locks = Array.new(2) { client(retries: 10_000) }
    thread = Thread.new do
      Fiber.set_scheduler(Scheduler.new)
      locks.each_with_index do |lock, number|
        Fiber.schedule do
          lock.synchronize do
            log << [:in, number]
            sleep 0.02
            log << [:out, number]
          end
        end
      end
    end
    assert thread.join(LIMIT_S)
    assert_equal %i[in out in out], log.map(&:first)
    log.each_slice(2) { |into, out| assert_equal into.last, out.last }
  end

  def test_who_waits_is_served_in_order
    holder = client
    holder.lock
    served = Thread::Queue.new
    waiters = Array.new(3) do |number|
      thread = Thread.new { client(retries: 10_000).synchronize { served << number } }
      await_queue(number + 1)
      thread
    end
    holder.unlock
    waiters.each { |thread| assert thread.join(LIMIT_S) }
    assert_equal [0, 1, 2], Array.new(3) { served.pop }
  end
end
