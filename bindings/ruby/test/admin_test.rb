# SPDX-License-Identifier: MIT
#
# Looking, taking away, counting, listening.
require_relative "helper"
require "logger"
require "stringio"

class AdminTest < Minitest::Test
  include Helper

  def test_lists_are_enumerators_that_may_be_left_early
    %w[a1 a2 b1].each { |key| context.lock(key) }
    assert_equal %w[a1 a2 b1], context.locks.map(&:key).sort
    assert_equal %w[a1 a2], context.locks(prefix: "a", batch_size: 1).map(&:key).sort
    assert_equal 1, context.keys.first(1).size
    assert_equal 3, context.locks.lazy.select(&:held?).count
    assert_equal 3, context.count_listed(:locks).locks
    assert_equal [], context.queues.to_a
    assert_equal 3, context.locks { |info| assert info.held? }.locks
  end

  def test_a_queue_tells_who_waits_in_order
    context.lock("a")
    waiters = [1, 2].map do |number|
      waiter = Thread.new { context.lock("a", owner: "w#{number}") }
      waiter.report_on_exception = false
      waiter.tap { await_waiter(context, "a", number) }
    end
    names = context.queue("a").waiters.map { |waiter| waiter.owner[/\w+\z/] }
    assert_equal %w[w1 w2], names
    assert context.key_queued?("a")
    context.force_release("a", drop_queue: true).then { |told| assert_includes told.flags, :had_queue }
    waiters.each { |waiter| assert_raises(Liblock::Dequeued) { waiter.value } }
  end

  def test_clearing_counts_what_it_took_away
    lock = context.lock("a")
    owner = context.owner("o")
    context.lock("b", owner: owner)
    assert_equal 1, context.clear_owner(owner).locks
    assert_equal 1, context.clear(batch_size: 1).locks
    assert_raises(Liblock::Lost) { lock.release }
    context.lock("c")
    assert_equal 1, context.clear_instance(context).locks
    assert_equal 0, context.clear_dead(dead_ttl: 60).locks
    assert_raises(Liblock::NotHeld) { context.force_release("a") }
  end

  def test_a_sweep_ends_what_is_overdue
    lock = context.lock("a", ttl: 0.001)
    sleep 0.01
    assert_kind_of Integer, context.sweep
    eventually("the end of a lease") { lock.status == :lost || context.sweep }
    assert_equal :lost, lock.status
  end

  def test_instances_list_this_one_and_zombies_are_not_flushed_here
    mine = context.instances.find(&:self)
    assert_equal context.instance_id, mine.id
    assert_equal [], context.instances(zombies_only: true).to_a
    refute context.zombies_status.enabled
  end

  def test_numbers_histograms_and_prometheus_count
    context.instruments(histograms: true)
    context.lock("a").release
    assert_equal [1, 1], context.stats.to_h.values_at(:acquired, :released)
    assert_equal 1, context.histogram(:acquire).count
    assert_equal 40, context.histogram(:hold).buckets.size
    assert_match(/^liblock_\w+_total\{/, context.prometheus)
  end

  def test_waits_for_a_key_tell_whether_it_came
    refute context.wait_held("a", wait: 0.01)
    lock = context.lock("a")
    assert context.wait_held("a")
    assert context.wait_held_on("a")
    refute context.wait_released("a", wait: 0.15)
    Thread.new { lock.release }
    assert context.wait_released("a", wait: LIMIT_S)
    assert context.wait_released("a", wait: 0)
  end

  def test_events_come_in_order_with_their_lock_and_all_before_close_answers
    heard = []
    context.on_event { |event| heard << event }
    lock = context.lock("a", ttl: 60, event_tag: 17, owner: "me")
    lock.extend(90)
    lock.release
    context.close
    assert_equal %i[obtained extended hold_and_release], heard.map(&:kind) - [:owner_closed]
    first = heard.first
    assert_equal ["a", ["a"], 17, lock.handle, :ok, 60_000],
                 [first.key, first.keys, first.tag, first.lock, first.status, first.ttl_ms]
    assert_in_delta Time.now.to_f, first.at.to_f, 60
  end

  def test_an_instrumenter_gets_names_and_payloads_and_may_raise
    told = Thread::Queue.new
    instrumenter = Object.new
    instrumenter.define_singleton_method(:instrument) do |name, payload|
      told << [name, payload[:key]]
      raise "told" if name.start_with?("obtained")
    end
    context.instrumenter = instrumenter
    _, noise = capture_io do
      context.lock("a").release
      assert_equal ["obtained.liblock", "a"], Timeout.timeout(LIMIT_S) { told.pop }
      assert_equal "hold_and_release.liblock", Timeout.timeout(LIMIT_S) { told.pop }.first
    end
    assert_includes noise, "told"
    context.instrumenter = nil
    context.lock("b").release
    context.close
    assert_empty told
  end

  def test_a_logger_gets_entries_of_its_level_with_their_fields
    out = StringIO.new
    context.log_to(Logger.new(out), level: :debug)
    context.lock("a").release
    context.lock("a")
    context.lock("a", wait: 0.01)
    context.close
    assert_match(/DEBUG -- liblock: obtained .*key="a"/, out.string)
    assert_match(/INFO -- liblock: dequeued_on_limit .*status="TIMEOUT"/, out.string)
  end

  def test_a_sampler_decides_what_is_told
    heard = []
    context.instruments(events_sampler: ->(_percent, key, tag) { key == "yes" && tag == 5 })
    context.on_event(:obtained) { |event| heard << event.key }
    %w[yes no].each { |key| context.lock(key, event_tag: 5) }
    context.close
    assert_equal ["yes"], heard
  end

  def test_requests_are_submitted_and_their_ends_read
    queue = context.completions(capacity: 8)
    held = context.lock("a")
    request = context.submit("a", completions: queue, user_data: 7)
    assert_nil queue.next(wait: 0)
    held.release
    ended = queue.next(wait: LIMIT_S)
    assert_equal [:acquire, :ok, request, 7], [ended.kind, ended.status, ended.request, ended.user_data]
    lock = context.lock_of(ended, "a")
    kinds = { release: -> { context.submit_release(lock, completions: queue) },
              extend: -> { context.submit_extend(lock, 60, completions: queue) },
              update: -> { context.submit_update(lock, "v", completions: queue) },
              verify: -> { context.submit_verify(lock, completions: queue) },
              inspect: -> { context.submit_inspect("a", completions: queue) },
              ping: -> { context.submit_ping(completions: queue) },
              force_release: -> { context.submit_force_release("a", completions: queue) } }
    kinds.keys.rotate.each do |kind|
      asked = kinds[kind].call
      ended = queue.next(wait: LIMIT_S)
      ended = queue.next(wait: LIMIT_S) if ended.kind == :lost # taken away by force
      assert_equal [kind, asked], [ended.kind, ended.request]
      assert_equal "v", ended.info.value if kind == :inspect
    end
  end

  def test_a_request_can_be_canceled_once
    queue = context.completions
    context.lock("a")
    request = context.submit("a", completions: queue)
    context.cancel(request)
    assert_equal :canceled, queue.next(wait: LIMIT_S).status
    assert_raises(Liblock::InvalidHandle) { context.cancel(request) }
  end

  def test_a_full_queue_refuses_and_a_closed_one_says_so
    queue = context.completions(capacity: 1)
    context.lock("a")
    context.submit("a", completions: queue)
    assert_raises(Liblock::Limit) { context.submit("a", completions: queue) }
    other = context.completions
    other.close
    assert_raises(Liblock::Closed) { other.next(wait: LIMIT_S) }
  end
end
