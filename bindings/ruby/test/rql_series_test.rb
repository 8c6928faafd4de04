# SPDX-License-Identifier: MIT
#
# Several locks at once: all or none.
require_relative "rql_helper"

class RqlSeriesTest < Minitest::Test
  include RqlHelper

  def test_a_series_is_held_during_the_block
    locked = client.lock_series("x", "y", "z") { client.locks }
    assert_equal Set["rql:lock:x", "rql:lock:y", "rql:lock:z"], locked
    assert_equal Set.new, client.locks
  end

  def test_a_detailed_result_tells_what_was_locked_and_for_how_long
    told = client.lock_series("x", "y", detailed_result: true) { 5 }
    assert_equal [5, %w[x y], %w[rql:lock:x rql:lock:y], :immediate_release_after_yield],
                 told.values_at(:yield_result, :lock_series, :rql_lock_series, :locks_release_strategy)
    %i[locks_released_at locks_acq_time locks_hold_time].each { |name| assert_kind_of Float, told[name] }
  end

  def test_without_a_block_the_series_lives_for_its_ttl
    assert_equal({ ok: true, result: %w[rql:lock:x rql:lock:y] }, client.lock_series("x", "y", ttl: 1_000))
    refute elsewhere { client.lock("y", timeout: 0) }[:ok]
    eventually("the end of its ttl") { client.locks.empty? }
    detailed = client.lock_series("x", "y", ttl: 300, detailed_result: true)[:result]
    assert_equal :redis_key_ttl, detailed[:lock_release_strategy]
  end

  def test_a_series_of_which_one_is_taken_takes_none
    held_elsewhere("y") do
      failure = client.lock_series("x", "y", timeout: 0.2) { flunk }
      assert_equal [false, :failed_to_acquire_lock_series], [failure[:ok], failure[:result][:error]]
      assert_equal({ "x" => :timeout_reached, "y" => :timeout_reached }, failure[:result][:detailed_errors])
      detailed = client.lock_series("x", "y", fail_fast: true, detailed_result: true)[:result]
      assert_equal [[], %w[x y]], detailed.values_at(:acquired_locks, :missing_locks)
      assert_raises(RedisQueuedLocks::LockAcquiermentTimeoutError) { client.lock_series!("x", "y", timeout: 0.1) }
      assert_equal Set["rql:lock:y"], client.locks
    end
  end

  def test_series_in_opposite_orders_do_not_block_each_other
    orders = [%w[x y], %w[y x]]
    counts = orders.map do |names|
      Thread.new { Array.new(15) { client.lock_series(*names, timeout: 20, ttl: 20_000) { 1 } }.sum }
    end
    assert_equal [15, 15], counts.map(&:value)
  end

  def test_a_name_given_twice_is_one_lock_and_none_is_an_error
    assert_equal 1, client.lock_series("x", "x") { 1 }
    assert_raises(RedisQueuedLocks::ArgumentError) { client.lock_series }
  end

  def test_a_series_has_events_and_entries_of_its_own
    told = RqlHelper::Told.new
    client.lock_series("x", "y", logger: told, instrumenter: told) { 1 }
    assert_equal %w[start_lock_series_obtaining start_try_to_lock_cycle lock_series_obtained expire_lock_series],
                 told.entries
    assert_equal %w[redis_queued_locks.lock_series_obtained redis_queued_locks.lock_series_hold_and_release],
                 told.events.map(&:first)
    assert_equal %w[rql:lock:x rql:lock:y], told.events.first.last[:lock_keys]
  end
end
