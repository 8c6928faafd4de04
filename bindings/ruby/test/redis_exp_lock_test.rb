# SPDX-License-Identifier: MIT
#
# RedisExpLock as its manual has it: each option, call, answer and error, on a real server (LIBLOCK_TEST_REDIS).
require_relative "exp_lock_helper"
require "open3"

class RedisExpLockTest < Minitest::Test
  include ExpLockHelper

  # The manual's example, with the require that a user changes.
  EXAMPLE = <<~RUBY
    require 'redis'
    require 'liblock/compat/redis_exp_lock'

    redis = Redis.new

    # Create a new lock client
    lock = RedisExpLock.new('lock_key', :redis => redis)

    # Use the client to provide mutual exclusion.
    lock.synchronize do
      puts redis.exists?('lock_key'), RedisExpLock.new('lock_key', :redis => redis).try_lock
    end
    puts redis.exists?('lock_key')
  RUBY

  def run_program(text)
    Open3.capture2e({ "REDIS_URL" => URL }, RbConfig.ruby, "-I#{File.expand_path("../lib", __dir__)}", "-e", text)
  end

  def test_the_example_of_the_manual_runs_with_another_require
    out, status = run_program(EXAMPLE)
    assert status.success?, out
    assert_equal %w[true false false], out.split
  end

  def test_it_is_not_loaded_over_the_original
    out, status = run_program("class RedisExpLock; end; require 'liblock/compat/redis_exp_lock'")
    refute status.success?
    assert_match(/only one of the two/, out)
  end

  def test_options_have_the_defaults_of_the_manual
    lock = client
    assert_equal [60, 0, 0.01, 0.01], [lock.expiry, lock.retries, lock.interval, lock.retry_interval]
    assert_equal [key, redis, nil], [lock.lock_key, lock.redis, lock.lock_uuid]
    lock = client(expiry: nil, retries: 3, interval: 0.5)
    assert_equal [nil, 3, 0.5, 0.5], [lock.expiry, lock.retries, lock.interval, lock.retry_interval]
    assert_equal 0.25, client(retry_interval: 0.25).interval
  end

  def test_options_may_be_a_hash_of_their_own
    assert RedisExpLock.new(key, { :redis => redis, :expiry => 5 }).try_lock
    assert_includes 4_000..5_000, redis.pttl(key)
  end

  def test_a_lock_lives_for_60_seconds_unless_it_is_told_otherwise
    { {} => 59_000..60_000, { expiry: 7 } => 6_000..7_000, { expiry: 2.5 } => 1_500..2_500 }.each do |options, left|
      lock = client(**options)
      assert lock.try_lock
      assert_includes left, redis.pttl(key)
      assert lock.unlock
    end
    assert client(expiry: nil).try_lock
    assert_equal(-1, redis.pttl(key))
  end

  def test_a_life_shorter_than_a_lease_is_lengthened
    assert client(expiry: 0.001).try_lock
    eventually("its end") { !redis.exists?(key) }
  end

  def test_try_lock_is_true_once_and_false_for_all_others
    lock, other = client, client
    assert_equal true, lock.try_lock
    assert_equal false, other.try_lock
    assert_equal true, lock.unlock
    assert_equal true, other.try_lock
  end

  def test_whoever_has_locked_must_unlock_before_he_locks_again
    lock = client
    lock.lock
    %i[try_lock lock].each { |call| assert_raises(RedisExpLock::AlreadyAcquiredLockError) { lock.public_send(call) } }
    assert_raises(RedisExpLock::AlreadyAcquiredLockError) { lock.synchronize { flunk("runs under another's lock") } }
    assert lock.key_owned?
    assert lock.unlock
    assert_equal 1, lock.lock
  end

  def test_lock_answers_1_where_the_first_attempt_was_granted
    assert_equal 1, client(retries: 5).lock
  end

  def test_lock_answers_the_attempts_that_would_have_been_needed
    holder = client
    holder.lock
    waiter = Thread.new { client(retries: 50, interval: 0.1).lock }
    await_queue(1)
    sleep 0.25
    holder.unlock
    assert_includes 4..51, waiter.value
  end

  def test_the_last_attempt_is_made_when_all_intervals_are_over
    original.try_lock
    lock = client(retries: 2)
    server, name = redis, key
    lock.define_singleton_method(:attempt) do |context, **how|
      super(context, **how).tap { server.del(name) if how.key?(:retries) }
    end
    assert_equal 3, lock.lock
  end

  def test_without_retries_lock_fails_with_the_first_attempt
    original.try_lock
    assert_raises(RedisExpLock::TooManyLockAttemptsError) { client.lock }
    assert_raises(RedisExpLock::TooManyLockAttemptsError) { client.synchronize { flunk("runs without the lock") } }
  end

  def test_intervals_between_attempts_are_waited_for
    client.lock
    lock = client(retries: 3, interval: 0.2)
    took = seconds_of { assert_raises(RedisExpLock::TooManyLockAttemptsError) { lock.lock } }
    assert_operator took, :>=, 0.6
    refute lock.locked?
  end

  def test_retries_without_end_wait_until_the_lock_is_granted
    client(expiry: 0.5).lock
    assert_operator client(retries: Float::INFINITY).lock, :>, 1
  end

  def test_retries_below_zero_fail_without_an_attempt
    assert_raises(RedisExpLock::TooManyLockAttemptsError) { client(retries: -1).lock }
    refute redis.exists?(key)
  end

  def test_an_interval_of_zero_still_makes_every_attempt
    holder = client
    holder.lock
    assert_raises(RedisExpLock::TooManyLockAttemptsError) { client(retries: 3, interval: 0).lock }
    holder.unlock
    assert_equal 1, client(retries: 3, interval: 0).lock
  end

  def test_locked_is_local_and_the_other_questions_ask_the_server
    lock, other = client, client
    assert_equal [false, false, false], [lock.locked?, lock.key_locked?, lock.key_owned?]
    lock.lock
    assert_equal [true, true, true], [lock.locked?, lock.key_locked?, lock.key_owned?]
    assert_equal [false, true, false], [other.locked?, other.key_locked?, other.key_owned?]
    redis.del(key)
    assert_equal [true, false, false], [lock.locked?, lock.key_locked?, lock.key_owned?]
    assert_equal false, lock.unlock
    assert_equal false, lock.locked?
  end

  def test_a_lock_that_expired_is_locked_here_until_unlock_says_false
    lock, other = client(expiry: 0.1), client
    lock.lock
    eventually("its expiry") { other.try_lock }
    assert_equal [true, true, false], [lock.locked?, lock.key_locked?, lock.key_owned?]
    assert_raises(RedisExpLock::AlreadyAcquiredLockError) { lock.try_lock }
    assert_equal false, lock.unlock
    assert other.key_owned?, "unlock took another's lock away"
    assert_equal false, lock.try_lock
    assert_equal true, other.unlock
  end

  def test_unlock_is_false_without_a_lock_and_the_second_time
    lock = client
    assert_equal false, lock.unlock
    lock.lock
    assert_equal [true, false], [lock.unlock, lock.unlock]
  end

  def test_each_attempt_has_a_uuid_of_its_own
    lock = client
    uuids = Array.new(2) do
      lock.lock
      lock.unlock
      lock.lock_uuid
    end
    uuids.each { |uuid| assert_match(/\A\h{8}(-\h{4}){3}-\h{12}\z/, uuid) }
    refute_equal(*uuids)
  end

  def test_the_uuid_stands_at_the_end_of_what_the_key_holds
    lock = client
    lock.lock
    assert redis.get(key).end_with?("|#{lock.lock_uuid}")
  end

  def test_a_key_that_is_no_lock_is_granted_to_nobody
    redis.lpush(key, "one")
    assert_equal false, client.try_lock
    assert_raises(RedisExpLock::TooManyLockAttemptsError) { client(retries: 2).lock }
    assert_raises(Redis::CommandError) { client.key_locked? }
    assert_equal 1, redis.llen(key)
  end

  def test_scripts_that_the_server_forgot_are_sent_again
    lock = client
    lock.lock
    redis.script(:flush)
    assert lock.unlock
    redis.script(:flush)
    assert lock.try_lock
  end

  def test_what_cannot_be_meant_is_an_argument_error
    [nil, "", "k" * 513].each { |name| assert_raises(ArgumentError) { RedisExpLock.new(name, redis: redis) } }
    [{}, { redis: nil }, { redis: Object.new }].each do |options|
      assert_raises(ArgumentError) { RedisExpLock.new(key, options) }
    end
    [{ expiry: 0 }, { expiry: -1 }, { expiry: "60" }, { expiry: 86_401 }, { retries: 1.5 }, { interval: -1 },
     { interval: Float::NAN }].each do |options|
      assert_raises(ArgumentError, options.inspect) { client(**options) }
    end
  end

  def test_an_unknown_option_is_passed_over_aloud
    lock = nil
    _, said = capture_io { lock = client(expires: 5) }
    assert_match(/exp_lock_helper\.rb:\d+: warning: .*does not know: \[:expires\]/, said)
    assert lock.try_lock
  end
end
