# SPDX-License-Identifier: MIT
#
# Blocks of on_lost: they may be slow, raise, acquire and close, and nobody else waits for them.
require_relative "helper"

class LossTest < Minitest::Test
  include Helper

  def test_an_on_lost_block_may_itself_acquire_with_on_lost
    heard = Thread::Queue.new
    context.lock("busy")
    ask = -> { [context.lock("busy", wait: 0.01, on_lost: true), context.lock("b", on_lost: true)] }
    context.lock("a", on_lost: ->(_) { heard << ask.call })
    context.force_release("a")
    refused, granted = of(heard)
    assert_nil refused
    assert granted.held?
  end

  def test_a_slow_on_lost_block_delays_neither_an_acquire_that_listens_for_losses_nor_its_end
    inside, go_on = Thread::Queue.new, Thread::Queue.new
    context.lock("a", on_lost: ->(_) { inside << 1 && go_on.pop })
    held = context.lock("b")
    context.force_release("a")
    of(inside)
    waiter = Thread.new { context.lock("b", on_lost: true) }
    await_waiter(context, "b")
    held.release
    assert waiter.join(LIMIT_S), "the lock is free, and its acquire has not ended"
    assert waiter.value.held?
  ensure
    go_on << 1
    waiter&.join
  end

  def test_on_lost_blocks_run_in_the_order_of_the_losses_also_after_one_that_raises_or_ends_its_thread
    heard = Thread::Queue.new
    _out, err = capture_io do
      { "a" => -> { raise NotImplementedError, "of the test" }, "b" => -> { heard << :b }, "c" => -> { Thread.exit },
        "d" => -> { heard << :d } }.each do |key, block|
        context.lock(key, on_lost: ->(_) { block.call })
        context.force_release(key)
      end
      assert_equal %i[b d], [of(heard), of(heard)]
    end
    assert_includes err, "of the test"
  end

  def test_closing_waits_for_the_on_lost_blocks_of_all_that_was_lost_before_and_their_thread_ends
    inside, go_on, heard = Array.new(3) { Thread::Queue.new }
    context.lock("a", on_lost: ->(_) { inside << 1 && go_on.pop })
    %w[b c].each { |key| context.lock(key, on_lost: ->(lock) { heard << lock.key }) }
    %w[a b c].each { |key| context.force_release(key) }
    of(inside)
    closer = Thread.new { context.close }
    eventually("the closing") { context.closed? }
    assert closer.alive?
    go_on << 1
    assert closer.join(LIMIT_S)
    assert_equal %w[b c], [of(heard), of(heard)]
    assert_empty tellers
  end

  def test_an_on_lost_block_may_close_the_context_and_what_was_lost_before_is_told_all_the_same
    heard, go_on = Thread::Queue.new, Thread::Queue.new
    context.lock("a", on_lost: ->(_) { go_on.pop && context.close || heard << :closed })
    context.lock("b", on_lost: ->(lock) { heard << lock.key })
    %w[a b].each { |key| context.force_release(key) }
    go_on << 1
    assert_equal [:closed, "b"], [of(heard), of(heard)]
    eventually("the end of the thread") { tellers.empty? }
  end

  def test_a_slow_on_lost_block_beside_a_queue_of_ones_own_delays_no_other_callback
    inside, go_on, places = Array.new(3) { Thread::Queue.new }
    context.submit("a", completions: context.completions, on_lost: ->(_) { inside << 1 && go_on.pop })
    held = context.lock("b")
    context.force_release("a")
    of(inside)
    waiter = Thread.new { context.lock("b", on_queued: ->(*place) { places << place }) }
    assert_equal [0, 1], of(places)
    held.release
    assert waiter.join(LIMIT_S)&.value&.held?
  ensure
    go_on << 1
  end

  def test_an_on_lost_block_that_forks_leaves_the_losses_that_follow_to_the_parent
    heard, go_on = Thread::Queue.new, Thread::Queue.new
    reader, writer = IO.pipe
    context.lock("a", on_lost: ->(_) { go_on.pop && heard << fork })
    context.lock("b", on_lost: ->(_) { writer.write("told in #{Process.pid}") })
    %w[a b].each { |key| context.force_release(key) }
    go_on << 1
    reap(of(heard))
    context.close
    writer.close
    assert_equal "told in #{Process.pid}", reader.read
  end

  def test_a_loss_that_a_release_answers_before_its_notice_is_read_is_told_once_and_leaves_nothing
    heard, go_on = Thread::Queue.new, slow_reader
    locks = Array.new(20) { |number| context.lock("a-#{number}", on_lost: ->(lock) { heard << lock.key }) }
    locks.each { |lock| context.force_release(lock.key) }
    locks.each { |lock| assert_raises(Liblock::Lost) { lock.release } }
    assert_equal locks.map(&:key), locks.map { of(heard) }
    go_on.close
    context.close
    assert_empty heard
    assert_empty kept_of_losses
  ensure
    go_on.close
  end

  def test_a_loss_that_the_end_of_a_block_finds_first_is_told_though_the_block_raises
    heard, go_on = Thread::Queue.new, slow_reader
    assert_raises(IOError) do
      context.synchronize("a", on_lost: ->(lock) { heard << lock.key }) do
        context.force_release("a")
        raise IOError, "of the test"
      end
    end
    assert_equal "a", of(heard)
    go_on.close
    context.close
    assert_empty heard
  ensure
    go_on.close
  end

  def test_a_loss_whose_notice_overtakes_the_one_that_was_granted_the_lock_is_told_once
    heard, read = Thread::Queue.new, Thread::Queue.new
    context.losses.define_singleton_method(:hand_on) { |entry| super(entry).tap { read << entry.kind } }
    locks = context
    locks.losses.define_singleton_method(:watch) do |lock, block|
      locks.force_release(lock.key)
      read.pop
      super(lock, block)
    end
    context.lock("a", on_lost: ->(lock) { heard << lock.key })
    assert_equal "a", of(heard)
    context.close
    assert_empty heard
    assert_empty kept_of_losses
  end

  def test_a_loss_of_a_submitted_lock_that_its_release_answers_first_is_told_once
    heard, go_on, queue = Thread::Queue.new, Thread::Queue.new, context.completions
    context.lock("b", on_queued: ->(*) {}) # functions of callbacks are there
    slow = Module.new { define_method(:on_ended) { |completion| go_on.pop && super(completion) } }
    context.submit("a", completions: queue, on_lost: ->(notice) { heard << [notice.kind, notice.lock] })
    queue.instance_variable_get(:@kept).each_value { |_, notice| notice.extend(slow) }
    lock = context.lock_of(queue.next(wait: LIMIT_S), "a", completions: queue)
    context.force_release("a")
    assert_raises(Liblock::Lost) { lock.release }
    assert_equal [:lost, lock.handle], of(heard)
    go_on << 1
    context.close
    assert_empty heard
  ensure
    go_on.close
  end

  def test_an_acquire_that_is_interrupted_before_it_is_made_is_expected_by_nobody
    context.lock("a")
    context.losses.define_singleton_method(:expect) { |one| super(one) && raise(IOError, "of the test") }
    assert_raises(IOError) { context.lock("a", on_lost: true) }
    assert_empty kept_of_losses
  end

  private

  # The reader of losses stands before each until there is something in the queue, or that is closed.
  def slow_reader
    Thread::Queue.new.tap do |go_on|
      context.losses.define_singleton_method(:hand_on) { |entry| super(entry) if go_on.pop || true }
    end
  end

  def kept_of_losses
    losses = context.losses
    losses.instance_variables.map { |name| losses.instance_variable_get(name) }.grep(Hash).reject(&:empty?)
  end

  def of(queue)
    Timeout.timeout(LIMIT_S) { queue.pop }
  end

  def tellers
    Thread.list.select { |thread| thread.name == "liblock on_lost" }
  end
end
