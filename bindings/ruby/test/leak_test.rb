# SPDX-License-Identifier: MIT
#
# What many calls leave behind: nothing that grows with their number.
require_relative "helper"
require_relative "points"

class LeakTest < Minitest::Test
  include Helper
  include Points

  MANY = 300
  FEW = 30 # what Ruby's collector, which looks at the stack, may still take for used

  def test_callbacks_of_requests_go_with_their_ends_and_with_their_locks
    queue = context.completions(capacity: MANY * 2)
    context.lock("busy")
    before = known_callbacks
    MANY.times do
      context.submit("busy", completions: queue, wait: 0, backoff_callback: ->(_) { 1 }, on_lost: ->(_) {})
      assert_equal :busy, queue.next(wait: LIMIT_S).status
      context.submit("free", completions: queue, on_lost: ->(_) {})
      context.lock_of(queue.next(wait: LIMIT_S), completions: queue).release
    end
    assert_equal before, known_callbacks
    context.submit("free", completions: queue, on_lost: ->(_) {})
    context.close
    queue.free
    assert_equal before, known_callbacks
  end

  def test_a_submitted_lock_that_is_lost_calls_its_block_once_and_is_forgotten
    queue, heard = context.completions, Thread::Queue.new
    before = known_callbacks
    context.submit("a", completions: queue, ttl: 0.01, on_lost: ->(notice) { heard << notice.kind })
    assert_equal :lost, Timeout.timeout(LIMIT_S) { heard.pop }
    assert_equal %i[acquire lost], Array.new(2) { queue.next(wait: LIMIT_S).kind }
    eventually("nothing is kept") { known_callbacks == before }
  end

  def test_a_release_that_is_submitted_ends_the_watch_for_its_loss
    queue = context.completions
    watched = context.losses.instance_variable_get(:@watched)
    10.times do
      context.submit_release(context.lock("a", on_lost: true), completions: queue)
      assert_equal :ok, queue.next(wait: LIMIT_S).status
    end
    assert_empty watched
  end

  def test_lists_that_are_left_in_the_middle_are_freed_when_they_are_forgotten
    3.times { |index| context.lock("key-#{index}") }
    Thread.new { MANY.times { context.locks.next } }.join
    cursors = context.instance_variable_get(:@handle).instance_variable_get(:@cursors)
    eventually("the collection of lists") do
      GC.start
      cursors.size < FEW
    end
    assert_equal 3, context.locks.to_a.size
    assert_equal "key-0", context.locks(prefix: "key-0").first.key
  end

  def test_descriptors_and_threads_do_not_grow_with_interrupted_waits
    context.lock("a")
    interrupt = lambda do
      MANY.times do
        thread = Thread.new { context.lock("a") }
        Thread.pass
        thread.kill.join
      end
    end
    interrupt.call
    before = Dir.children("/proc/self/fd").size
    interrupt.call
    assert_operator Dir.children("/proc/self/fd").size, :<=, before + 1 # the queue that is kept for the next
    assert_equal 0, context.stats.waiters
  end

  # One queue is kept for the next; two are those of the two points before the mask of Acquisition.settle, at which Ruby
  # itself does not look: left to the collector, which does not run here.
  def test_a_thread_that_is_killed_while_it_waits_leaves_no_queue_whatever_the_point
    context.lock("busy")
    [-> { context.lock("busy", wait: 0.001) }, -> { context.wait_released("busy", wait: 0.001) }].each do |wait|
      killed_at_each_point(->(_key) { queues.size <= 3 }) { wait.call }
    end
  end

  def test_a_queue_that_nobody_was_given_is_freed_when_it_is_forgotten_and_one_with_a_request_is_kept
    context.submit("a", completions: context.completions)
    Thread.new { MANY.times { context.completions } }.join
    eventually("the collection of queues") do
      GC.start
      queues.size < FEW
    end
    assert context.key_locked?("a")
  end

  # What C is given must be there until C is done with it. Nothing is moved: ffi 1.15 does not stand that.
  def test_calls_stand_a_collector_that_runs_all_the_time
    locks = context
    locks.lock("busy")
    while_collecting do
      text = "v" * rand(1..40)
      value = locks.synchronize("a", value: text, metadata: { text => text }) { locks.inspect_key("a").value }
      assert_equal text, value
      locks.synchronize([text, "b"], ttl: 60, on_lost: ->(_) {}) { locks.locks.map(&:key) }
      assert_nil locks.lock("busy", wait: 0.001, on_queued: ->(*) {}, owner: text)
      assert_nil locks.lock("busy", retries: 1, backoff_callback: ->(_) { 0.0001 }, busy_info: true)
    end
    assert_equal 1, locks.stats.locks_held
  end

  private

  def queues
    context.instance_variable_get(:@handle).instance_variable_get(:@queues)
  end

  def known_callbacks
    Liblock::Callbacks.instance_variable_get(:@objects).size
  end

  def while_collecting(&call)
    over = false
    collector = Thread.new { GC.start until over }
    6.times(&call)
  ensure
    over = true
    collector.join
  end
end
