# SPDX-License-Identifier: MIT
#
# Acquirers and their queue: who is who, who goes first, what a conflict with oneself does, and what outlives whom.
require_relative "rql_helper"
require_relative "points"

class RqlQueueTest < Minitest::Test
  include RqlHelper
  include Points

  def test_waiters_are_served_in_their_order
    served = Thread::Queue.new
    threads = held_elsewhere("a") do
      Array.new(3) { |index| waiter("a", place: index + 1) { served << index } }
    end
    threads.each(&:join)
    assert_equal [0, 1, 2], Array.new(3) { served.pop }
  end

  def test_a_request_goes_to_the_end_of_the_queue_after_its_queue_ttl
    told = RqlHelper::Told.new
    held_elsewhere("a") do
      first = waiter("a", queue_ttl: 1, logger: told, log_lock_try: true) { 1 }
      early = client.queue_info("a")["queue"].first["acq_id"]
      second = waiter("a", place: 2) { 2 }
      assert_equal early, client.queue_info("a")["queue"].first["acq_id"]
      eventually("it goes to the end") { client.queue_info("a")["queue"].last["acq_id"] == early }
      eventually("it is logged") { told.entries.include?("dead_score_reached__reset_acquier_position") }
      assert_includes told.entries, "try_lock.exit__queue_ttl_reached"
      @threads = [first, second]
    end
    assert_equal [1, 2], @threads.map(&:value)
  end

  def test_with_random_access_nobody_stands_in_a_queue_order
    thread = nil
    held_elsewhere("a") { thread = waiter("a", access_strategy: :random) { 4 } }
    assert_equal 4, thread.value
  end

  def test_the_same_acquirer_waits_for_itself_unless_told_otherwise
    client.lock("a", ttl: 5_000)
    assert_equal({ ok: false, result: :timeout_reached }, client.lock("a", timeout: 0.1))
    strategy = { conflict_strategy: :dead_locking }
    assert_equal({ ok: false, result: :conflict_dead_lock }, client.lock("a", **strategy))
    assert_raises(RedisQueuedLocks::ConflictLockObtainError) { client.lock!("a", **strategy) }
    assert_equal 6, client.lock("a", conflict_strategy: :work_through) { 6 }
    assert client.locked?("a"), "the inner one took the outer lock with it"
    refute elsewhere { client.lock("a", conflict_strategy: :work_through, timeout: 0.1) }[:ok]
  end

  def test_working_through_says_so_and_ends_with_the_outer_lock
    client.lock("a") do
      inner = client.lock("a", conflict_strategy: :work_through)
      assert_equal :conflict_work_through, inner[:result][:process]
      assert_equal client.current_host_id, inner[:result][:hst_id]
      client.lock("a", conflict_strategy: :work_through, fail_fast: true) do
        assert_equal 1, client.lock_info("a")["spc_cnt"]
      end
      assert client.locked?("a")
    end
    refute client.locked?("a")
  end

  def test_an_extending_conflict_adds_its_ttl_and_takes_it_off_behind_its_block
    client.lock("a", ttl: 10_000)
    options = { conflict_strategy: :extendable_work_through, ttl: 20_000 }
    assert_operator client.lock("a", **options) { client.lock_info("a")["rem_ttl"] }, :>, 25_000
    assert_operator client.lock_info("a")["rem_ttl"], :<=, 10_000
    assert_equal :extendable_conflict_work_through, client.lock("a", **options)[:result][:process]
    assert_operator client.lock_info("a")["rem_ttl"], :>, 25_000
  end

  def test_threads_fibers_and_identities_are_acquirers_of_their_own
    client.lock("a", ttl: 5_000)
    through = { conflict_strategy: :work_through, timeout: 0.1 }
    assert client.lock("a", **through)[:ok]
    refute elsewhere { client.lock("a", **through) }[:ok]
    refute Fiber.new { client.lock("a", **through) }.resume[:ok]
    refute client.lock("a", identity: "another", **through)[:ok]
    other = RedisQueuedLocks::Client.new(redis)
    refute other.lock("a", **through)[:ok]
    other.uniq_identity = client.uniq_identity
    assert other.lock("a", **through)[:ok], "another client with the same identity is the same acquirer"
  end

  def test_identifiers_are_made_of_process_thread_fiber_ractor_and_identity
    id = "rql:acq:#{Process.pid}/#{Thread.current.object_id}/#{Fiber.current.object_id}/" \
         "#{Ractor.current.object_id}/#{client.uniq_identity}"
    assert_equal id, client.current_acquirer_id
    assert_match(/\A\h{16}\z/, client.uniq_identity)
    assert_equal "rql:acq:1/2/3/4/x", client.current_acquirer_id(process_id: 1, thread_id: 2, fiber_id: 3,
                                                                 ractor_id: 4, identity: "x")
    assert_equal "rql:hst:1/2/4/x", client.current_host_id(process_id: 1, thread_id: 2, ractor_id: 4, identity: "x")
    assert_equal client.current_host_id, Fiber.new { client.current_host_id }.resume
  end

  def test_a_lock_without_a_block_outlives_its_thread_and_its_process
    Thread.new { client.lock("a", ttl: 10_000) }.join
    in_child { client.lock("b", ttl: 10_000) }
    sleep 0.2 # owners of ended threads would be closed by now
    assert client.locked?("a")
    assert client.locked?("b")
    refute_equal Process.pid.to_s, client.lock_info("b")["acq_id"][%r{\d+}]
  end

  def test_parent_and_child_exclude_each_other
    client.lock("a", ttl: 10_000)
    in_child do
      refute client.lock("a", timeout: 0.1)[:ok]
      assert_equal 1, client.lock("b") { 1 }
    end
    assert_equal 2, client.lock("b") { 2 }
  end

  def test_waiters_that_are_killed_leave_nothing_behind
    held_elsewhere("a") do
      thread = waiter("a") { flunk }
      thread.kill.join
      eventually("nobody waits") { !client.queued?("a") }
    end
    assert_equal 1, client.lock("a") { 1 }
  end

  def test_a_thread_that_is_killed_at_a_given_point_leaves_no_lock_whatever_the_point
    killed_at_each_point(->(key) { !client.locked?(key) }) { |key| client.lock(key, ttl: 60_000) { nil } }
    killed_at_each_point(->(key) { !client.locked?(key) && !client.locked?("b") }) do |key|
      client.lock_series(key, "b", ttl: 60_000) { nil }
    end
  end

  def test_a_killed_or_timed_out_holder_gives_the_lock_back
    taken = Thread::Queue.new
    thread = Thread.new { client.lock("a", ttl: 20_000) { (taken << 1) && sleep } }
    taken.pop
    thread.kill.join
    assert_equal 1, client.lock("a", timeout: 5) { 1 }
    assert_raises(Timeout::Error) { Timeout.timeout(0.1) { client.lock("a", ttl: 20_000) { sleep } } }
    refute client.locked?("a")
  end

  def test_a_lock_that_is_taken_again_and_again_leaves_no_handles_behind
    context = client.send(:context)
    given_back = []
    context.define_singleton_method(:release_quietly) { |handle| super(given_back.push(handle).last) }
    3.times do
      client.lock("a", ttl: 20)
      eventually("the end of its ttl") { !client.locked?("a") }
    end
    assert_equal 2, given_back.uniq.size
  ensure
    context.singleton_class.send(:remove_method, :release_quietly)
  end

  def test_thousands_of_acquirers_do_not_pile_up
    backend = client.send(:backend)
    1_030.times { |number| client.lock("a", identity: "job-#{number}") { number } }
    owners = backend.instance_variable_get(:@owners)
    assert_operator owners.size, :<=, RedisQueuedLocks::Backend::OWNERS_KEPT
    300.times { |number| client.lock("b-#{number}", ttl: 20) }
    sleep 0.05
    300.times { |number| client.lock("c-#{number}", ttl: 20) }
    kept = backend.instance_variable_get(:@held).values.sum(&:size)
    assert_operator kept, :<, 560, "handles of ended locks are kept"
  end
end
