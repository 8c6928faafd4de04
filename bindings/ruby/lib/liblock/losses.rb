# SPDX-License-Identifier: MIT
#
# Who hears of losses: one completion queue and one Ruby thread per context, begun with the first lock that asks for it.
# Blocks given to on_lost run on that thread, one after the other.
module Liblock
  # @api private
  class Losses
    CAPACITY = 65_536

    attr_reader :queue

    def initialize(context)
      @queue = Completions.new(context, CAPACITY)
      @mutex = Thread::Mutex.new
      @watched = {}
      @early = {}
      @expected = {}
      start
    end

    # The end of this acquire comes here too; answers the user_data that it is known by.
    def expect(acquisition)
      @mutex.synchronize do
        start if @over
        @expected[acquisition.object_id] = acquisition
      end
      acquisition.object_id
    end

    # Does nobody read any more? Then whoever waits for an end reads himself.
    def over?
      @over
    end

    # One entry, or a moment without any.
    def read_one
      entry = @queue.take
      entry ? hand_on(entry) : @queue.await
    end

    # The request was refused: no end will come.
    def unexpect(acquisition)
      @mutex.synchronize { @expected.delete(acquisition.object_id) }
    end

    # Blocks of this lock run when it is lost, at once where that has happened already.
    def watch(lock, block)
      lost = @mutex.synchronize do
        @watched[lock.handle] = [lock, []] unless @early.key?(lock.handle)
        @early.delete(lock.handle)
      end
      add(lock, block) if block.respond_to?(:call) && !lost
      run([block], lock) if lost && block.respond_to?(:call)
    end

    # A further block. False when the lock is not watched, or was lost before.
    def add(lock, block)
      @mutex.synchronize { @watched[lock.handle]&.last&.push(block) } ? true : false
    end

    def forget(handle)
      @mutex.synchronize do
        @early.delete(handle)
        @watched.delete(handle)
      end
    rescue ThreadError # in a signal handler nobody may wait for a mutex
      Thread.new { forget(handle) }
    end

    # What has come is still told.
    def stop
      @queue.close
      @thread.join unless @thread == Thread.current
    end

    private

    def start
      @over = false
      @thread = Worker.start("losses") { read_all }
    end

    # At the end of the process Ruby ends this thread and those that wait for it in any order.
    def read_all
      loop { (entry = @queue.next) && hand_on(entry) }
    rescue Error
      nil # the context is closed: there is nothing more to hear
    ensure
      @mutex.synchronize do
        @over = true
        @expected.each_value(&:wake)
      end
    end

    def hand_on(entry)
      entry.kind == :lost ? lost(entry.lock) : ended(entry)
    end

    def ended(entry)
      @mutex.synchronize { @expected.delete(entry.user_data) }&.deliver(entry)
    end

    # A notice may overtake the thread that was granted the lock: it is kept until that one asks.
    def lost(handle)
      lock, blocks = @mutex.synchronize do
        @watched.delete(handle) || (@early[handle] = true) && nil
      end
      run(blocks, lock) if lock
    end

    def run(blocks, lock)
      blocks.each { |block| Worker.guard("on_lost") { block.call(lock) } }
    end
  end
end
