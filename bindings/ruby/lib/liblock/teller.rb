# SPDX-License-Identifier: MIT
#
# Runs the blocks of on_lost, one after the other, on a thread of its own that begins with the first of them. Whoever
# reads a queue that others wait for must not run them himself: a block may be slow, and may wait for such an end.
require_relative "ending"
require_relative "fork_guard"
require_relative "worker"

module Liblock
  # @api private
  class Teller
    def initialize
      @generation = ForkGuard.generation
      @told = Thread::Queue.new
      @mutex = Thread::Mutex.new
    end

    # The blocks are called with what was lost (a lock, or the notice of a caller's own queue), soon.
    def tell(lost, blocks)
      return if blocks.empty?

      @mutex.synchronize do
        @told << [lost, blocks]
        work
      end
    rescue ClosedQueueError # the context is closed, and this loss was read late
      Worker.start("on_lost") { run(lost, blocks) }
    rescue ThreadError # in a signal handler nobody may wait for a mutex
      Thread.new { tell(lost, blocks) }
    end

    # Everything that was told before is run, then the thread ends. One of its own blocks may ask for that.
    def finish
      @told.close
      while (thread = @thread)&.alive? && thread != Thread.current
        thread.join
      end
    end

    private

    def work
      @thread = Worker.start("on_lost") { run_all } unless @thread&.alive?
    end

    # A block that forks without a block goes on in the child, where what is left is the parent's.
    def run_all
      while @generation == ForkGuard.generation && (lost, blocks = @told.pop)
        run(lost, blocks)
      end
    ensure
      go_on unless Ending.begun? || @generation != ForkGuard.generation
    end

    # A block may have ended the thread with Thread.exit: what is left is run by another.
    def go_on
      @mutex.synchronize do
        @thread = nil
        work unless @told.empty?
      end
    end

    def run(lost, blocks)
      blocks.each { |block| Worker.guard("on_lost") { block.call(lost) } }
    end
  end
end
