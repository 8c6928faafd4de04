# SPDX-License-Identifier: MIT
#
# Locks as Ruby users meet them, in a local context.
require_relative "helper"

class LockTest < Minitest::Test
  include Helper

  def test_a_lock_that_somebody_holds_is_nil_at_once_or_after_the_wait_and_an_error_with_a_bang
    context.lock("a")
    assert_nil context.try_lock("a")
    assert_nil context.lock("a", wait: 0)
    assert_nil context.lock("a", wait: 0.01)
    assert_equal :timeout, assert_raises(Liblock::Timeout) { context.lock!("a", wait: 0.01) }.status
    error = assert_raises(Liblock::Busy) { context.lock!("a", wait: 0) }
    assert error.retryable?
    refute_empty error.result.message
  end

  def test_tokens_rise_and_a_release_is_answered_once
    first = context.lock("a")
    token = first.token
    assert_equal token, first.result.token
    first.release
    assert_equal :not_held, first.status
    assert_raises(Liblock::NotHeld) { first.release }
    assert_operator context.lock("a").token, :>, token
  end

  def test_synchronize_answers_its_blocks_value_and_gives_back_however_the_block_ends
    assert_equal 42, context.synchronize("a") { |lock| lock.held? ? 42 : 0 }
    assert_raises(RuntimeError) { context.synchronize("a") { raise "no" } }
    catch(:out) { context.synchronize("a") { throw :out } }
    [1].each { context.synchronize("a") { break } }
    refute context.key_locked?("a")
    assert_equal 0, context.stats.locks_held
  end

  def test_synchronize_raises_lost_when_the_lease_ended_meanwhile
    done = false
    assert_raises(Liblock::Lost) do
      context.synchronize("a", ttl: 0.01) do |lock|
        lock.wait_lost(wait: LIMIT_S)
        done = true
      end
    end
    assert done
  end

  def test_synchronize_does_not_run_its_block_without_the_lock
    context.lock("a")
    assert_raises(Liblock::Timeout) { context.synchronize("a", wait: 0.01) { flunk("ran") } }
  end

  def test_seconds_are_integers_or_floats_and_never_round_to_nothing
    assert_in_delta 60, context.lock("a", ttl: 60).remaining, 5
    assert_in_delta 1.5, context.lock("b", ttl: 1.5).remaining, 1.5
    assert_nil context.lock("c", ttl: :none).remaining
    assert_equal 1, Liblock::Numbers.milliseconds(0.0001)
    assert_equal(-1, Liblock::Numbers.wait_ms(nil))
    assert_raises(ArgumentError) { context.lock("d", ttl: Float::NAN) }
    assert_raises(ArgumentError) { context.lock("d", wait: "1") }
  end

  def test_an_option_that_is_unknown_is_an_argument_error
    assert_raises(ArgumentError) { context.lock("a", timeout: 1) }
    assert_raises(ArgumentError) { context.lock("a", order: :filo) }
    assert_raises(ArgumentError) { open("local:", ttl: 1) }
    assert_raises(ArgumentError) { context.locks(suffix: "x").to_a }
  end

  def test_keys_are_bytes_and_may_be_symbols
    binary = "\x00\xff\x00".b
    assert_equal [binary], context.lock(binary).keys
    assert context.key_locked?(binary)
    refute context.key_locked?("\x00\xff".b)
    context.lock(:symbol)
    assert context.key_locked?("symbol")
    assert_raises(Liblock::InvalidArgument) { context.lock("") }
    assert_raises(Liblock::InvalidArgument) { context.lock("k" * 513) }
  end

  def test_several_keys_are_one_lock_and_the_global_lock_excludes_all
    many = context.lock_many(%w[a b])
    assert_nil context.try_lock("b")
    assert_nil context.lock_global(wait: 0.01)
    many.release
    context.lock_global.tap { assert_nil context.try_lock("a") }.release
    assert_equal 1, context.synchronize(%w[a b]) { context.locks.to_a.size / 2 }
    assert_equal 1, context.synchronize(nil) { 1 }
  end

  def test_extend_update_verify_and_hold_count_speak_of_the_lease_and_the_value
    lock = context.lock("a", ttl: 1, value: "one", metadata: { "who" => "me" })
    lock.extend(60)
    assert_operator lock.remaining, :>, 30
    lock.extend(60, add: true)
    assert_operator lock.remaining, :>, 90
    lock.update("two")
    assert lock.verify.ok?
    assert_equal 1, lock.hold_count
    info = context.inspect_key("a")
    assert_equal ["two", { "who" => "me" }, lock.token], [info.value, info.metadata, info.token]
  end

  def test_calls_by_value_need_the_value
    context.lock("a", ttl: 60, value: "v")
    assert_raises(Liblock::NotOwner) { context.release_key("a", "w") }
    assert context.extend_key("a", "v", 90).ok?
    assert context.update_key("a", "v", "w").ok?
    assert context.release_key("a", "w").ok?
    assert_raises(Liblock::NotHeld) { context.release_key("a", "w") }
  end

  def test_on_lost_is_called_once_with_the_lock_whether_it_was_asked_for_before_or_after
    lost = Thread::Queue.new
    early = context.lock("a", ttl: 0.02, on_lost: ->(lock) { lost << lock })
    assert_same early, Timeout.timeout(LIMIT_S) { lost.pop }
    late = context.lock("b", ttl: 0.1).on_lost { |lock| lost << lock }
    assert_same late, Timeout.timeout(LIMIT_S) { lost.pop }
    added = context.lock("c", on_lost: true).on_lost { |lock| lost << lock }
    context.force_release("c")
    assert_same added, Timeout.timeout(LIMIT_S) { lost.pop }
    assert_empty lost
  end

  def test_on_lost_is_told_of_a_lock_that_was_waited_for_and_not_of_one_that_was_released
    lost = Thread::Queue.new
    first = context.lock("a", ttl: 0.03)
    second = context.lock!("a", ttl: 0.03, on_lost: ->(lock) { lost << lock })
    refute first.held?
    assert_same second, Timeout.timeout(LIMIT_S) { lost.pop }
    context.lock("b", ttl: 0.02, on_lost: ->(lock) { lost << lock }).release
    sleep 0.1
    assert_empty lost
  end

  def test_places_in_the_queue_are_told_while_waiting
    places = Thread::Queue.new
    first = context.lock("a")
    waiter = Thread.new { context.lock!("a", retry_interval: 0.01, on_queued: ->(*place) { places << place }) }
    assert_equal [0, 1], Timeout.timeout(LIMIT_S) { places.pop }
    first.release
    assert waiter.value.held?
  end

  def test_a_back_off_of_ones_own_is_asked
    asked = Thread::Queue.new
    context.lock("a")
    back_off = lambda do |attempt|
      asked << attempt
      0.01
    end
    assert_raises(Liblock::RetriesExhausted) { context.lock!("a", retries: 2, backoff_callback: back_off) }
    assert_equal 0, asked.pop
  end

  def test_a_busy_key_can_be_looked_at_in_the_error
    context.lock("a", value: "mine")
    error = assert_raises(Liblock::Timeout) { context.lock!("a", wait: 0.01, busy_info: true) }
    assert_equal "mine", error.result.info.value
  end

  def test_what_only_a_server_can_do_is_unsupported
    lock = context.lock("a")
    assert_raises(Liblock::Unsupported) { lock.export }
    assert_raises(Liblock::Unsupported) { context.adopt("x") }
    assert_raises(Liblock::Unsupported) { context.quorum_status }
    assert_raises(Liblock::Unsupported) { context.quorum_init }
    assert_raises(Liblock::Unsupported) { context.read("a") }
    assert_raises(Liblock::Unsupported) { context.set_nodes(["redis://x"]) }
  end

  def test_a_closed_context_answers_closed_and_wakes_those_who_wait
    context.lock("a")
    waiter = Thread.new { assert_raises(Liblock::Closed) { context.lock("a") } }
    await_waiter(context, "a")
    context.close
    waiter.join
    assert_raises(Liblock::Closed) { context.lock("b") }
    context.close
  end

  def test_the_block_form_closes_and_answers
    kept = nil
    assert_equal 7, Liblock.open { |locks| (kept = locks) && 7 }
    assert kept.closed?
  end

  def test_close_async_calls_its_block_at_the_end
    ended = Thread::Queue.new
    open.close_async { |completion| ended << completion.status }
    assert_equal :ok, Timeout.timeout(LIMIT_S) { ended.pop }
  end

  def test_a_server_that_is_not_there_is_named_by_whatever_is_asked_of_it
    locks = open("redis://127.0.0.1:1") # nobody listens there
    calls = { lock: ["a"], try_lock: ["a"], acquire: ["a"], ping: [], inspect_key: ["a"] }
    calls.each do |call, arguments|
      error = assert_raises(Liblock::Connect, call) { locks.public_send(call, *arguments) }
      assert_match(%r{\ACONNECT: redis://127\.0\.0\.1:1/0: .*refused}, error.message)
    end
  end
end
