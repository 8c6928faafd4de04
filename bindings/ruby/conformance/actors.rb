# SPDX-License-Identifier: MIT
#
# Named threads. Each performs one call at a time and is otherwise parked, so that the order in which the steps of all
# threads run is the order in which they are written.
require_relative "base"

module Conformance
  class Actors
    LIMIT_S = 10

    Actor = Struct.new(:thread, :calls, :over, :call)

    def initialize
      @actors = {}
    end

    # Runs the call on the named thread, which begins with its first call. True when it is over and can be settled.
    def run(name, call, background)
      actor = @actors[name] ||= start
      Conformance.blame("thread \"#{name}\" still has a call: finish it first") if actor.call
      actor.call = call
      actor.calls << call
      return false if background

      wait(actor) || Conformance.blame("the call on thread \"#{name}\" did not end")
      true
    end

    def settled(name)
      actor = @actors[name]
      over = actor&.call && wait(actor)
      over || Conformance.blame("thread \"#{name}\" has no call, or its call did not end")
    end

    # Ends the thread and joins it.
    def end_thread(name)
      actor = @actors[name] || Conformance.blame("no thread is named \"#{name}\"")
      Conformance.blame("thread \"#{name}\" still has a call: finish it first") if actor.call
      @actors.delete(name)
      join(actor)
    end

    def finish
      left = @actors.select { |_, actor| actor.call }.keys
      @actors.each_value { |actor| join(actor) }
      @actors.clear
      return if left.empty?

      Conformance.blame("at the end: the background call of thread \"#{left.first}\" was never finished")
    end

    private

    def start
      calls, over = Thread::Queue.new, Thread::Queue.new
      thread = Thread.new do
        while (call = calls.pop)
          call.perform
          over << call
        end
      end
      Actor.new(thread, calls, over, nil)
    end

    # Thread::Queue#pop takes no limit in Ruby 3.1.
    def wait(actor)
      limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + LIMIT_S
      while actor.over.empty?
        return nil if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit

        actor.thread.join(0.0005)
      end
      actor.call = nil
      actor.over.pop
    end

    def join(actor)
      actor.calls << nil
      actor.thread.join
    end
  end
end
