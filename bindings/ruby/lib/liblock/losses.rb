# SPDX-License-Identifier: MIT
#
# Who hears of losses: one completion queue and one Ruby thread per context, begun with the first lock that asks for it.
# That thread only reads and delivers, because acquires wait for the ends that it reads: blocks given to on_lost run on
# the teller's thread, where they may be slow and acquire, too.
module Liblock
  # @api private
  class Losses
    CAPACITY = 65_536

    attr_reader :queue

    def initialize(context)
      @queue = Completions.new(context, CAPACITY)
      @mutex = Thread::Mutex.new
      @teller = context.teller
      @watched = {}
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

    # No end will come: the request was refused or not made, or nobody waits for it any more.
    def unexpect(acquisition)
      locked { @expected.delete(acquisition.object_id) }
    end

    # Blocks of this lock run when it is lost, soon where that has happened already: its notice may have overtaken the
    # thread that was granted the lock, and found nobody.
    def watch(lock, block)
      @mutex.synchronize { @watched[lock.handle] = [lock, block.respond_to?(:call) ? [block] : []] }
      lost(lock.handle) if lock.status == :lost
    end

    # A further block. False when the lock is not watched, or was lost before.
    def add(lock, block)
      @mutex.synchronize { @watched[lock.handle]&.last&.push(block) } ? true : false
    end

    def forget(handle)
      locked { @watched.delete(handle) }
    end

    # A notice says so, or the lock's release, or the lock itself: whoever comes first has it told, the others find
    # nothing.
    def lost(handle)
      locked do
        lock, blocks = @watched.delete(handle)
        @teller.tell(lock, blocks) if lock
      end
    end

    # What has come is still delivered, and given to the teller.
    def stop
      @queue.close
      @thread.join
    end

    private

    # In a signal handler nobody may wait for a mutex.
    def locked(&block)
      Thread.handle_interrupt(Object => :never) { @mutex.synchronize(&block) }
    rescue ThreadError
      Thread.new { @mutex.synchronize(&block) }
    end

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
  end
end
