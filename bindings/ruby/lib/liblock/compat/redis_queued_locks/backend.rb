# SPDX-License-Identifier: MIT
#
# One context per server and process, shared by all clients of it: so an acquirer is one owner, whichever client it
# comes through. A forked child opens its own.
#
# Invariants: a lock without a block outlives the thread, and the process, that took it: it ends with its ttl. So owners
# are closed only when nothing of theirs is held any more, contexts leave their locks when they are closed, and a
# context of this layer flushes no zombies.
module RedisQueuedLocks
  # @api private
  class Backend
    # Beside the original's keys, never on them.
    PREFIX = "liblock:rql:"
    OWNERS_KEPT = 1_024
    LOOK_EVERY = 256
    NAME_BYTES = 255

    @all = {}
    @mutex = Thread::Mutex.new
    class << self
      # The one of this process and server.
      def of(connection)
        key = [Process.pid, connection.key]
        @all[key] || @mutex.synchronize do
          @all.delete_if { |(pid, _), _| pid != Process.pid }
          @all[key] ||= new(connection)
        end
      end
    end

    attr_reader :context, :journal

    def initialize(connection)
      @context = Liblock.open(connection.url, prefix: PREFIX, on_close: :leave, zombie_interval_ms: -1,
                                              deadlock_detection: false, **connection.options)
      @journal = Journal.new(@context)
      @mutex = Thread::Mutex.new
      @owners, @held, @busy = {}, {}, Hash.new(0)
      @count = 0
    end

    # The owner of an acquirer; it stays open while the block runs.
    def with_owner(acquirer_id)
      if acquirer_id.bytesize > NAME_BYTES
        raise ArgumentError, "an acquirer's identifier has #{NAME_BYTES} bytes at most: #{acquirer_id}"
      end

      owner = uninterrupted do
        close_idle if @owners.size >= OWNERS_KEPT
        (@owners[acquirer_id] ||= @context.owner(acquirer_id)).tap { @busy[acquirer_id] += 1 }
      end
      yield owner
    ensure
      uninterrupted { (@busy[acquirer_id] -= 1).zero? and @busy.delete(acquirer_id) } if owner
    end

    # Remembers what an acquirer holds, for extensions and releases by name. What it held of that name before is over.
    def hold(acquirer_id, name, lock)
      before = uninterrupted do
        forget_ended if ((@count += 1) % LOOK_EVERY).zero?
        mine = (@held[acquirer_id] ||= {})
        mine[name].tap { mine[name] = lock }
      end
      give_back(before) if before
    end

    def forget(acquirer_id, name, lock)
      uninterrupted do
        mine = @held[acquirer_id]
        mine&.delete(name) if mine && mine[name].equal?(lock)
        @held.delete(acquirer_id) if mine&.empty?
      end
    end

    # @return [Liblock::Lock, nil] a lock that this acquirer holds, as far as this process knows
    def held(acquirer_id, name)
      lock = @mutex.synchronize { @held[acquirer_id]&.fetch(name, nil) }
      lock if lock&.held?
    end

    private

    # Locks without a block end by themselves; their handles are given back here.
    def forget_ended
      @held.each_value do |locks|
        locks.delete_if { |_name, lock| !lock.held? && give_back(lock) }
      end
      @held.delete_if { |_acquirer_id, locks| locks.empty? }
    end

    def give_back(lock)
      @context.release_quietly(lock.handle)
      true
    end

    def close_idle
      @owners.each_key.to_a.each do |acquirer_id|
        next if @busy.key?(acquirer_id) || @held[acquirer_id]&.each_value&.any?(&:held?)

        @held.delete(acquirer_id)
        owner = @owners.delete(acquirer_id)
        owner.close
        owner.free
      end
    end

    def uninterrupted(&block)
      Thread.handle_interrupt(Object => :never) { @mutex.synchronize(&block) }
    end
  end
end
