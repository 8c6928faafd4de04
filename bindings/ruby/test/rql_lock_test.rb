# SPDX-License-Identifier: MIT
#
# lock and lock! of the layer for users of redis_queued_locks: every option, result and error of the manual.
require_relative "rql_helper"

class RqlLockTest < Minitest::Test
  include RqlHelper

  def test_the_value_of_a_block_is_returned_and_the_lock_given_back
    held = nil
    assert_equal 2, client.lock("my_lock") { held = client.locked?("my_lock"); 1 + 1 }
    assert held
    refute client.locked?("my_lock")
  end

  def test_without_a_block_the_result_is_as_printed_and_the_lock_lives_for_its_ttl
    result = client.lock("my_lock", ttl: 300)
    assert_equal %i[ok result], result.keys
    assert_equal({ lock_key: "rql:lock:my_lock", acq_id: client.current_acquirer_id, ttl: 300 },
                 result[:result].reject { |name, _| name == :ts })
    assert_equal %i[lock_key acq_id ts ttl], result[:result].keys
    assert_in_delta Time.now.to_f, result[:result][:ts], 5
    assert client.locked?("my_lock")
    eventually("the end of its ttl") { !client.locked?("my_lock") }
  end

  def test_an_error_in_the_block_is_passed_on_and_the_lock_given_back
    assert_raises(KeyError) { client.lock("a") { raise KeyError } }
    refute client.locked?("a")
    assert_equal(5, client.lock("a") { break 5 })
    refute client.locked?("a")
  end

  def test_the_example_with_a_timeout_waits_for_it_and_says_so
    held_elsewhere("my_lock") do
      took = seconds { assert_equal({ ok: false, result: :timeout_reached }, client.lock("my_lock", timeout: 1)) }
      assert_in_delta 1, took, 0.5
      assert_equal({ ok: false, result: :timeout_reached }, client.lock("my_lock", timeout: 0))
    end
  end

  def test_the_retries_of_the_configuration_end_a_wait_that_names_no_limit
    held_elsewhere("a") do
      took = seconds { assert_equal({ ok: false, result: :retry_count_reached }, client.lock("a")) }
      assert_operator took, :<, 3 # three tries, 200 ms apart, and not the 10 s of the timeout
      assert_equal({ ok: false, result: :retry_count_reached }, client.lock("a", retry_count: 1, timeout: 5))
      client.configure { |config| config.retry_count = 2 }
      assert_equal({ ok: false, result: :retry_count_reached }, client.lock("a", timeout: 5))
    end
  end

  def test_retry_delay_and_jitter_are_the_time_between_tries
    held_elsewhere("a") do
      took = seconds { client.lock("a", retry_count: 10, retry_delay: 30, retry_jitter: 0) }
      assert_operator took, :<, 1.5 # 200 ms apart it would be 1.8 s
      assert_operator took, :>, 0.25
    end
  end

  def test_without_limits_it_waits_until_the_lock_is_free
    elsewhere { client.lock("a", ttl: 700) }
    took = seconds { assert client.lock("a", retry_count: nil, timeout: nil)[:ok] }
    assert_operator took, :>, 0.4
  end

  def test_every_limit_is_an_error_where_errors_are_wanted
    held_elsewhere("a") do
      errors = { { timeout: 0.1 } => RedisQueuedLocks::LockAcquiermentTimeoutError,
                 { retry_count: 1 } => RedisQueuedLocks::LockAcquiermentRetryLimitError,
                 { fail_fast: true } => RedisQueuedLocks::LockAlreadyObtainedError }
      errors.each do |options, error|
        assert_match(/rql:lock:a/, assert_raises(error) { client.lock!("a", **options) { flunk } }.message)
        assert_raises(error) { client.lock("a", raise_errors: true, **options) }
      end
    end
    assert_equal 7, client.lock!("a") { 7 }
    assert client.lock!("a", ttl: 100)[:ok]
    assert_raises(ArgumentError) { client.lock!("a", raise_errors: true) }
  end

  def test_both_spellings_of_the_errors_are_the_same_class_below_one_error
    assert_same RedisQueuedLocks::LockAcquiermentTimeoutError, RedisQueuedLocks::LockAcquirementTimeoutError
    assert_same RedisQueuedLocks::LockAcquiermentRetryLimitError, RedisQueuedLocks::LockAcquirementRetryLimitError
    assert_operator RedisQueuedLocks::TimedLockTimeoutError, :<, RedisQueuedLocks::Error
    assert_operator RedisQueuedLocks::ArgumentError, :<, ArgumentError
  end

  def test_fail_fast_ends_before_the_try_where_somebody_has_the_lock
    held_elsewhere("a") do
      took = seconds { assert_equal({ ok: false, result: :fail_fast_no_try }, client.lock("a", fail_fast: true)) }
      assert_operator took, :<, 0.38 # the retries would take 0.4
    end
    assert_equal 1, client.lock("a", fail_fast: true) { 1 }
  end

  def test_fail_fast_ends_after_the_try_where_somebody_was_faster
    context = client.send(:context)
    held_elsewhere("a") do
      context.define_singleton_method(:key_locked?) { |_name| false } # it was free a moment ago
      assert_equal({ ok: false, result: :fail_fast_after_try }, client.lock("a", fail_fast: true))
    ensure
      context.singleton_class.send(:remove_method, :key_locked?)
    end
    refute client.queued?("a")
  end

  def test_a_timed_block_is_ended_with_its_lock
    assert_equal 1, client.lock("a", ttl: 1_000, timed: true) { 1 }
    error = assert_raises(RedisQueuedLocks::TimedLockTimeoutError) do
      client.lock("a", ttl: 200, timed: true) do
        sleep 5
      rescue StandardError
        flunk "a rescue of the block kept it running"
      end
    end
    assert_match(/"a".*200/, error.message)
    eventually("the end of the lease on the server") { !client.locked?("a") }
    client.configure { |config| config.is_timed_by_default = true }
    assert_raises(RedisQueuedLocks::TimedLockTimeoutError) { client.lock("a", ttl: 50) { sleep 5 } }
    assert_raises(RedisQueuedLocks::TimedLockTimeoutError) { client.lock!("a", ttl: 50) { sleep 5 } }
  end

  # As it is when the lock is handed over: what the library asks for then has had no answer yet.
  def as_granted
    context = client.send(:context)
    context.define_singleton_method(:synchronize) do |key, **options, &block|
      super(key, **options) do |lock|
        lock.define_singleton_method(:remaining) { result.remaining_ms / 1000.0 }
        block.call(lock)
      end
    end
    yield
  ensure
    context.singleton_class.send(:remove_method, :synchronize)
  end

  def test_a_timed_block_whose_lock_was_waited_for_has_the_whole_ttl
    as_granted do
      thread = held_elsewhere("a") { waiter("a", ttl: 5_000, timed: true) { sleep(3.3) && :worked } }
      assert_equal :worked, thread.value
    end
    soon = held_elsewhere("a") do
      waiter("a", ttl: 500, timed: true) { sleep 5 }.tap { |one| one.report_on_exception = false }
    end
    assert_raises(RedisQueuedLocks::TimedLockTimeoutError) { soon.value }
  end

  def test_a_block_that_outlives_its_lock_runs_to_its_end_and_leaves_the_next_holder_alone
    next_holder = nil
    value = client.lock("a", ttl: 100) do
      eventually("the end of the ttl") { !client.locked?("a") }
      next_holder = elsewhere { client.lock("a", ttl: 5_000) }
      3
    end
    assert_equal 3, value
    assert_equal next_holder[:result][:acq_id], client.lock_info("a")["acq_id"]
  end

  def test_what_cannot_be_is_an_error_that_names_it
    { ttl: 0, retry_count: -1, retry_delay: 1.5, timeout: -1, queue_ttl: "x", conflict_strategy: :other,
      access_strategy: :other, meta: 5 }.each do |name, value|
      error = assert_raises(RedisQueuedLocks::ArgumentError) { client.lock("a", **{ name => value }) }
      assert_match(/#{name}/, error.message)
    end
    error = assert_raises(RedisQueuedLocks::ArgumentError) { client.lock("a", ttl: 5) { flunk } }
    assert_match(/ttl is 5 ms/, error.message)
    assert_match(/:tll/, assert_raises(ArgumentError) { client.lock("a", tll: 5) }.message)
    assert_raises(RedisQueuedLocks::ArgumentError) { client.lock("a", meta: { acq_id: 1 }) }
    refute client.locked?("a")
  end

  def test_what_the_library_cannot_take_is_the_same_error_in_every_option
    error = RedisQueuedLocks::ArgumentError
    [{ ttl: 86_400_001 }, { ttl: 10**30 }, { timeout: 1e30 }, { identity: "x" * 255 }].each do |options|
      assert_raises(error, options.inspect) { client.lock("a", **options) { flunk } }
      assert_raises(error, options.inspect) { client.lock_series("a", "b", **options) }
    end
    ["", "x" * 513].each do |name|
      assert_match(/1 to 512 bytes/, assert_raises(error) { client.lock(name, fail_fast: true) }.message)
      assert_match(/1 to 512 bytes/, assert_raises(error) { client.lock_series("a", name) }.message)
    end
    assert_equal 1, client.lock("x" * 512, ttl: 86_400_000) { 1 }
  end

  def test_an_error_of_the_block_stays_what_it_is
    context = client.send(:context)
    assert_instance_of(Liblock::InvalidArgument,
                       assert_raises(Liblock::InvalidArgument) { client.lock("a") { context.inspect_key("") } })
    assert_instance_of(ArgumentError, assert_raises(ArgumentError) { client.lock("a") { Integer("x") } })
    assert_instance_of(RangeError, assert_raises(RangeError) { client.lock_series("a") { [1].first(2**70) } })
  end

  def test_metadata_fill_what_the_library_has_for_them_but_for_what_the_layer_needs
    most = (1..63).to_h { |number| ["k#{number}", "v"] }
    largest = { "text" => "x" * 3_996 }
    [most, largest, most.merge("k1" => "x" * (4_000 - most.sum { |pair| pair.sum(&:size) } + 1))].each do |meta|
      client.lock("a", ttl: 86_400_000, meta: meta) do
        assert_equal meta, client.lock_info("a").slice(*meta.keys)
      end
    end
    [most.merge("k64" => "v"), { "text" => "x" * 3_997 }].each do |meta|
      error = assert_raises(RedisQueuedLocks::ArgumentError) { client.lock("a", meta: meta) { flunk } }
      assert_match(/63 entries and 4000 bytes/, error.message)
    end
  end

  def test_metadata_comes_back_as_text_whatever_its_names
    client.lock("a", ttl: 5_000, meta: { "some" => "data", key: 123.456, "owner" => nil })
    assert_equal({ "some" => "data", "key" => "123.456", "owner" => "" },
                 client.lock_info("a").slice("some", "key", "owner"))
  end
end
