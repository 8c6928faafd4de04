# SPDX-License-Identifier: MIT
#
# Native callbacks on the thread of a call: a thread that is ended inside one must leave C the ordinary way, or the
# native thread, on which other Ruby threads go on, is taken for one that is still in a callback.
require_relative "helper"

class CallbackTest < Minitest::Test
  include Helper

  # What a callback reads is read with a pause, in threads that ask for one.
  module Pause
    def read(pointer)
      super.tap { Thread.current[:inside_callback]&.call }
    end
  end
  [Liblock::LogEntry, Liblock::Instance].each { |type| type.singleton_class.prepend(Pause) }

  CALLS = { lock: ->(locks, key) { locks.lock(key) }, try_lock: ->(locks, key) { locks.try_lock(key) },
            synchronize: ->(locks, key) { locks.synchronize(key) { 1 } },
            acquire: ->(locks, key) { locks.acquire(key) },
            lock_many: ->(locks, key) { locks.lock_many([key]) } }.freeze

  CALLS.each do |name, call|
    define_method("test_a_thread_that_is_killed_in_the_log_of_#{name}_leaves_the_native_thread_as_it_was") do
      context.on_log(level: :debug) { 1 }
      killed_inside { call.call(context, "a") }
      goes_on
    end
  end

  def test_a_thread_that_is_killed_while_instances_are_shown_leaves_the_native_thread_as_it_was
    killed_inside { context.instances.to_a }
    goes_on
  end

  def test_a_thread_that_is_killed_in_a_sampler_leaves_neither_a_lock_nor_a_waiter
    inside = Thread::Queue.new
    context.on_log(level: :debug) { 1 }
    context.instruments(log_sampler: ->(*) { linger(inside) })
    kill_inside(inside) { context.lock("a") }
    goes_on
  end

  def test_a_thread_that_is_killed_in_its_back_off_leaves_neither_a_lock_nor_a_waiter
    inside = Thread::Queue.new
    held = context.lock("a")
    slow = ->(_attempt) { linger(inside) && 0.001 }
    kill_inside(inside) { context.acquire("a", backoff_callback: slow, retries: 3) }
    held.release
    goes_on
  end

  def test_a_back_off_whose_queue_was_freed_ends_its_request_and_is_not_asked_again
    queue, asked = context.completions, Thread::Queue.new
    held = context.lock("a")
    context.submit("a", completions: queue, backoff_callback: ->(attempt) { asked << attempt && 0.01 })
    Timeout.timeout(LIMIT_S) { asked.pop }
    queue.free
    eventually("the end of the wait") { !context.key_queued?("a") }
    held.release
    goes_on
  end

  private

  # Lets the thread that runs the block be killed while it reads what it was called back with.
  def killed_inside
    inside = Thread::Queue.new
    kill_inside(inside) do
      Thread.current[:inside_callback] = -> { linger(inside) }
      yield
    end
  end

  def kill_inside(inside)
    victim = Thread.new do
      Thread.current[:victim] = true
      yield
    end
    Timeout.timeout(LIMIT_S) { inside.pop }
    victim.kill
    inside.clear
    assert victim.join(LIMIT_S), "the killed thread does not end"
  end

  # Where Ruby looks for interruptions, until there is one; the undoing that follows is not stopped at.
  def linger(inside)
    return true unless Thread.current[:victim]

    Thread.current[:victim] = false
    inside << true
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + LIMIT_S
    Thread.pass until Thread.current.pending_interrupt? || Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
    true
  end

  def goes_on
    eventually("nobody holds or waits") { context.stats.locks_held.zero? && context.stats.waiters.zero? }
    # A native thread that is free again carries the next Ruby threads.
    Array.new(4) { Thread.new { context.synchronize("a") { :done } } }.each do |thread|
      assert_equal :done, thread.join(LIMIT_S)&.value
    end
  end
end
