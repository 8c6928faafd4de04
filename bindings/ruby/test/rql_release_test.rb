# SPDX-License-Identifier: MIT
#
# unlock, extend_lock_ttl and the clears of the layer for users of redis_queued_locks: the manual's results, and the one
# deviation: nobody's lock is taken or extended by another without his saying so.
require_relative "rql_helper"

class RqlReleaseTest < Minitest::Test
  include RqlHelper

  def results(answer)
    answer[:result].slice(:queue_res, :lock_res).values
  end

  def test_unlock_releases_and_answers_as_printed
    client.lock("a", ttl: 10_000)
    answer = client.unlock("a")
    assert_equal [true, %i[rel_time rel_key rel_queue queue_res lock_res]], [answer[:ok], answer[:result].keys]
    assert_equal %w[rql:lock:a rql:lock_queue:a], answer[:result].values_at(:rel_key, :rel_queue)
    assert_equal %i[nothing_to_release released], results(answer)
    assert_kind_of Float, answer[:result][:rel_time]
    refute client.locked?("a")
    again = client.unlock("a")
    assert_equal [true, %i[nothing_to_release nothing_to_release]], [again[:ok], results(again)]
  end

  def test_unlock_releases_the_queue_too_and_waiters_ask_again
    client.lock("a", ttl: 20_000)
    threads = [waiter("a") { 1 }, waiter("a", place: 2) { 2 }]
    assert_equal %i[released released], results(client.unlock("a"))
    assert_equal [1, 2], threads.map(&:value)
  end

  def test_unlock_in_a_block_leaves_nothing_to_the_end_of_the_block
    value = client.lock("a") do
      assert_equal %i[nothing_to_release released], results(client.unlock("a"))
      elsewhere { client.lock("a", ttl: 10_000) }
      4
    end
    assert_equal 4, value
    assert client.locked?("a"), "the end of the block took the next holder's lock"
  end

  def test_unlock_by_another_is_refused_and_logged_unless_forced
    told = RqlHelper::Told.new
    client.lock("a", ttl: 10_000)
    ttl = client.lock_info("a")["rem_ttl"]
    answer = elsewhere { client.unlock("a", logger: told) }
    assert_equal [false, %i[nothing_to_release refused_not_holder]], [answer[:ok], results(answer)]
    assert_equal 1, told.warnings.size
    assert_match(/unlock of "a" by one who does not hold it/, told.warnings.first)
    assert client.locked?("a")
    assert_operator client.lock_info("a")["rem_ttl"], :<=, ttl, "a refused unlock has extended the lock"
    assert_output(nil, /\[redis_queued_locks.refused\] unlock of "a"/) { elsewhere { client.unlock("a") } }
    assert_equal %i[nothing_to_release released], results(elsewhere { client.unlock("a", force: true) })
    refute client.locked?("a")
  end

  def test_a_lock_that_was_taken_away_is_not_unlocked_or_extended_for_its_next_holder
    client.lock("a", ttl: 20_000)
    in_child do
      assert client.unlock("a", force: true)[:ok]
      assert client.lock("a", ttl: 20_000)[:ok]
    end
    assert_equal :refused_not_holder, client.extend_lock_ttl("a", 5_000, logger: RqlHelper::Told.new)[:result]
    assert_equal %i[nothing_to_release refused_not_holder], results(client.unlock("a", logger: RqlHelper::Told.new))
    assert client.locked?("a")
  end

  def test_a_lock_that_somebody_takes_while_it_is_found_free_is_left_to_him
    context = client.send(:context)
    held_elsewhere("a") do
      free = Liblock::Error.of(Liblock::Result.of_status(Liblock::STATUSES[:not_held]))
      context.define_singleton_method(:extend_key) { |*, **| raise free } # it was, a moment ago
      assert_equal [:nothing_to_release] * 2, results(client.unlock("a"))
      assert client.locked?("a")
    ensure
      context.singleton_class.send(:remove_method, :extend_key)
    end
  end

  def test_another_client_of_the_same_acquirer_unlocks
    other = RedisQueuedLocks::Client.new(RqlHelper::URL)
    other.uniq_identity = client.uniq_identity
    client.lock("a", ttl: 10_000)
    assert_equal %i[nothing_to_release released], results(other.release_lock("a"))
  end

  def test_a_name_of_any_class_is_its_text_in_every_call_and_an_extension_may_be_short
    name = Class.new { def to_s = "named" }.new
    [:a, 17, name].each do |one|
      client.lock(one, ttl: 5_000, queue_ttl: Float::INFINITY) do
        assert client.locked?(one) && !client.queued?(one)
        assert_equal "rql:lock:#{one}", client.lock_info(one)["lock_key"]
        assert_nil client.queue_info(one)
        assert_equal :ttl_extended, client.extend_lock_ttl(one, 1)[:result]
        assert_equal :ttl_extended, elsewhere { client.extend_lock_ttl(one, 1, force: true) }[:result]
        assert_equal :released, client.unlock(one)[:result][:lock_res]
      end
    end
    [nil, ""].each { |none| assert_raises(ArgumentError) { client.lock(none) } }
  end

  def test_extend_lock_ttl_adds_milliseconds
    client.lock("a", ttl: 10_000)
    assert_equal({ ok: true, result: :ttl_extended }, client.extend_lock_ttl("a", 5_000))
    assert_includes 12_000..15_000, client.lock_info("a")["rem_ttl"]
    assert_equal({ ok: false, result: :async_expire_or_no_lock }, client.extend_lock_ttl("b", 5_000))
    assert_raises(RedisQueuedLocks::ArgumentError) { client.extend_lock_ttl("a", -5_000) }
    assert client.locked?("a")
  end

  def test_a_release_or_extension_that_cannot_be_is_an_argument_error_and_changes_nothing
    client.lock("a", ttl: 10_000)
    [-> { client.extend_lock_ttl("a", 100_000_000) }, -> { client.extend_lock_ttl("a", 10**30, force: true) },
     -> { client.extend_lock_ttl("nobody's", 100_000_000) }, -> { client.extend_lock_ttl("", 5_000) },
     -> { client.unlock("x" * 513) }, -> { client.release_lock("", force: true) },
     -> { client.clear_locks(batch_size: 0) }, -> { client.clear_locks_of(acquirer_id: "x", queue_scan_size: 0) },
     -> { client.clear_current_locks(lock_scan_size: 65_537) },
     -> { client.clear_dead_requests(scan_size: 0) }].each do |call|
      assert_raises(RedisQueuedLocks::ArgumentError) { call.call }
    end
    assert_includes 5_000..10_000, client.lock_info("a")["rem_ttl"]
  end

  def test_an_unlock_of_a_name_that_nobody_holds_leaves_its_queue_alone
    context = client.send(:context)
    held_elsewhere("a") do
      waiting = waiter("a", timeout: 1)
      free = Liblock::Error.of(Liblock::Result.of_status(Liblock::STATUSES[:not_held]))
      context.define_singleton_method(:extend_key) { |*, **| raise free } # it was, a moment ago
      before = client.queue_info("a")
      assert_equal [:nothing_to_release] * 2, results(client.unlock("a"))
      assert_equal before, client.queue_info("a")
      assert_equal :timeout_reached, waiting.value[:result]
    ensure
      context.singleton_class.send(:remove_method, :extend_key)
    end
  end

  def test_an_extended_lock_is_held_until_the_end_of_its_block
    client.lock("a", ttl: 500) do
      assert client.extend_lock_ttl("a", 5_000)[:ok]
      sleep 0.7
      refute elsewhere { client.lock("a", timeout: 0) }[:ok]
    end
    refute client.locked?("a")
  end

  def test_extending_a_lock_of_another_is_refused_and_logged_unless_forced
    told = RqlHelper::Told.new
    client.lock("a", ttl: 10_000)
    answer = elsewhere { client.extend_lock_ttl("a", 50_000, logger: told) }
    assert_equal({ ok: false, result: :refused_not_holder }, answer)
    assert_match(/extend_lock_ttl of "a" by one who does not hold it/, told.warnings.first)
    assert_operator client.lock_info("a")["rem_ttl"], :<=, 10_000
    assert_equal :ttl_extended, elsewhere { client.extend_lock_ttl("a", 50_000, force: true) }[:result]
    assert_operator client.lock_info("a")["rem_ttl"], :>, 50_000
  end

  def test_clear_locks_takes_everything_away_and_counts_it
    client.lock("a", ttl: 20_000)
    client.lock("b", ttl: 20_000)
    answer = client.clear_locks(batch_size: 1)
    assert_equal [true, %i[rel_time rel_key_cnt], 2], [answer[:ok], answer[:result].keys, answer[:result][:rel_key_cnt]]
    assert_kind_of Float, answer[:result][:rel_time]
    assert_equal Set.new, client.keys
  end

  def test_clear_locks_sends_waiters_away_and_they_ask_again
    client.lock("a", ttl: 20_000)
    thread = waiter("a") { 1 }
    # The lock and its queue; who comes back meanwhile may have gone with the lock, or be met once more.
    assert_includes 1..3, client.clear_locks(batch_size: 1)[:result][:rel_key_cnt]
    assert_equal 1, thread.value
    assert_equal Set.new, client.keys
  end

  def test_clear_locks_of_takes_from_one_acquirer_or_host_only
    client.lock("a", ttl: 20_000)
    mine = { host_id: client.current_host_id, acquirer_id: client.current_acquirer_id }
    held_elsewhere("b") do
      assert_equal({ rel_key_cnt: 1, tch_queue_cnt: 0 },
                   client.clear_locks_of(**mine)[:result].reject { |name, _| name == :rel_time })
      assert_equal Set["rql:lock:b"], client.locks
    end
    client.lock("a", ttl: 20_000)
    Fiber.new { client.lock("c", ttl: 20_000) }.resume
    assert_equal 1, client.clear_current_locks[:result][:rel_key_cnt]
    assert_equal 1, client.release_locks_of(host_id: client.current_host_id)[:result][:rel_key_cnt]
    assert_raises(RedisQueuedLocks::ArgumentError) { client.clear_locks_of }
  end

  def test_clear_locks_of_takes_a_waiter_off_its_queue
    held_elsewhere("a") do
      thread = waiter("a", timeout: 1)
      acquirer = client.queue_info("a")["queue"].first["acq_id"]
      assert_equal 1, client.clear_locks_of(acquirer_id: acquirer)[:result][:tch_queue_cnt]
      assert_equal({ ok: false, result: :timeout_reached }, thread.value)
    end
  end

  def test_clear_dead_requests_answers_the_queues_it_went_through_and_leaves_locks
    assert_equal({ ok: true, processed_queues: Set.new }, client.clear_dead_requests)
    in_child { client.lock("of an ended process", ttl: 20_000) }
    thread = held_elsewhere("a") do
      waiting = waiter("a") { 1 }
      first = client.queue_info("a")
      queues = { ok: true, processed_queues: Set["rql:lock_queue:a"] }
      assert_equal queues, client.clear_dead_requests(dead_ttl: 60 * 60 * 1000)
      assert_equal first, client.queue_info("a"), "it has not waited for an hour"
      sleep 0.1
      assert_equal queues, client.clear_dead_requests(dead_ttl: 50, scan_size: 10)
      assert client.clear_dead_requests(sacn_size: 10)[:ok]
      eventually("it asks again") { ![nil, first].include?(client.queue_info("a")) }
      waiting
    end
    assert_equal 1, thread.value
    assert client.locked?("of an ended process")
  end

  def test_clear_dead_requests_takes_no_lock_from_one_who_waits_for_another
    held_elsewhere("a") do
      thread = Thread.new { client.lock("b", ttl: 20_000) { client.lock("a", timeout: 1) } }
      eventually("it waits") { client.queued?("a") && sleep(0.1) }
      assert client.clear_dead_requests(dead_ttl: 1)[:ok]
      assert client.locked?("b")
      assert_equal({ ok: false, result: :timeout_reached }, thread.value)
    end
  end
end
