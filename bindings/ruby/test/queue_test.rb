# SPDX-License-Identifier: MIT
#
# Queues of completions that are freed while somebody is inside a call on them, at each point of the library that the
# call passes, as another thread can between any two of them. Each in a process of its own, which the use of memory that
# is gone would end.
require_relative "helper"
require_relative "points"

class QueueTest < Minitest::Test
  include Helper

  CALLS = { next: ->(_locks, queue) { queue.next(wait: 0.001) }, close: ->(_locks, queue) { queue.close },
            submit: ->(locks, queue) { locks.submit("a", completions: queue, on_lost: ->(_) {}) },
            submit_that_is_refused: ->(locks, queue) { locks.submit("a", completions: queue, priority: -2_000_000) },
            submit_ping: ->(locks, queue) { locks.submit_ping(completions: queue) } }.freeze
  EVENTS = %i[line return b_return].freeze # where Ruby changes threads, and more
  REFUSALS = [Liblock::Closed, Liblock::InvalidArgument].freeze

  CALLS.each do |name, call|
    define_method("test_a_queue_that_is_freed_within_#{name}_is_there_until_that_has_ended_and_is_closed_then") do
      in_child { freed_at_each_point(&call) }
    end
  end

  private

  def freed_at_each_point(&call)
    before = callbacks.dup
    passed = (1..).find do |number|
      queue = context.completions
      where = freed_at(number, queue) { call.call(context, queue) }
      queue.free unless where
      assert_raises(Liblock::Closed) { queue.next(wait: 0) }
      eventually("nothing left (freed at #{where})") { nothing_left? && callbacks == before }
      where.nil?
    end
    assert_operator passed, :>, 10
  end

  # Where it was freed: the point of this number; nil = there are fewer.
  def freed_at(number, queue)
    seen, where, thread = 0, nil, Thread.current
    points = TracePoint.new(*EVENTS) do |point|
      next unless Thread.current == thread && point.path.start_with?(Points::LIBRARY) && (seen += 1) == number

      where = "#{point.event} of #{point.method_id}, #{point.path.delete_prefix(Points::LIBRARY)}:#{point.lineno}"
      queue.free
    end
    points.enable { yield }
    where
  rescue *REFUSALS
    where
  end

  # Neither of the queue nor of what it was granted.
  def nothing_left?
    context.instance_variable_get(:@handle).instance_variable_get(:@queues).empty? &&
      context.stats.locks_held.zero?
  end

  # Those of tests before this one are there, too.
  def callbacks
    Liblock::Callbacks.instance_variable_get(:@objects)
  end
end
