# SPDX-License-Identifier: MIT
#
# Acquiring and giving back.
#
# Invariant: a thread that is killed, raised into or timed out while it acquires leaves nothing behind: its request is
# canceled, and a grant that crossed the interruption is given back.
module Liblock
  class Context
    # Ends of an acquire that are no error: somebody else has the lock.
    NOT_GRANTED = %i[busy timeout retries_exhausted].freeze
    private_constant :NOT_GRANTED

    # Acquires one key (1 to 512 bytes), waiting as the options say.
    #
    # @param key [String, Symbol]
    # @param options [Hash] README.md lists them all; the most used:
    # @option options [Numeric, Symbol] :ttl seconds of the lease; :auto (default: as long as this process holds it),
    #   :none
    # @option options [Numeric, nil] :wait seconds to wait; nil = for ever (default), 0 = one attempt
    # @option options [Symbol, String, Owner] :owner :process, :thread, :fiber, :ractor, a name, or an Owner
    # @option options [Boolean] :renew renew the lease while it is held; needs a ttl
    # @option options [Proc, true] :on_lost called with the lock when it is lost
    # @return [Lock, nil] nil where it was not granted in time (Busy, Timeout, RetriesExhausted)
    # @raise [Error] any other end
    def lock(key, **options)
      granted([Context.key(key)], options)
    end

    # The same; an end without the lock is always an error.
    # @return [Lock]
    # @raise [Busy, Timeout, RetriesExhausted, Error]
    def lock!(key, **options)
      granted([Context.key(key)], options, strict: true)
    end

    # The same with one attempt: never waits for a holder (on a server: for one answer).
    # @return [Lock, nil] nil where somebody else holds it
    def try_lock(key, **options)
      granted([Context.key(key)], options, brief: true)
    end

    # Acquires 1 to 1,024 keys as one all-or-nothing lock.
    # @param keys [Array<String, Symbol>]
    # @return [Lock, nil]
    def lock_many(keys, **options)
      granted(keys.map { |key| Context.key(key) }, options, many: true)
    end

    # The same; an end without the lock is always an error.
    # @return [Lock]
    # @raise [Busy, Timeout, RetriesExhausted, Error]
    def lock_many!(keys, **options)
      granted(keys.map { |key| Context.key(key) }, options, many: true, strict: true)
    end

    # Excludes every other lock of the context's table. Local contexts only.
    # @return [Lock, nil]
    # @raise [Unsupported] on a server
    def lock_global(**options)
      granted(nil, options)
    end

    # Runs the block under the lock and gives it back, whatever ends the block.
    # @param key [String, Symbol, Array, nil] several keys are one lock; nil is the global lock
    # @yieldparam lock [Lock]
    # @return what the block answers
    # @raise [Lost] the lease was lost meanwhile: what the block did may not have been alone
    # @raise [Busy, Timeout, Error] it was not granted
    def synchronize(key, **options)
      acquisition = acquisition_of(key, options)
      lock = result_of(acquisition, strict: true)
      value = yield lock
      conclude(lock)
      acquisition.take
      value
    ensure
      Acquisition.settle(acquisition)
    end

    # Gives a lock back; see {Lock#release}.
    # @return [Result]
    def unlock(lock)
      lock.release
    end

    # The library's own blocking call: the result tells everything (attempts, place in the queue, votes), but nothing
    # interrupts it: Thread#kill and Timeout wait for its end. Prefer {#lock!}.
    # @param key as in {#synchronize}
    # @param once [Boolean] one attempt
    # @return [Lock]
    def acquire(key, once: false, **options)
      acquisition = acquisition_of(key, options)
      check_fork
      result = offload { guarded(always: true) { acquisition.run_blocking(once: once) } }
      raise Error.of(result) unless result.ok?

      acquisition.take
    ensure
      Acquisition.settle(acquisition)
    end

    # Takes over a lock that was exported (see {Lock#export}) from a context with the same prefix on the same server. Of
    # the options count owner, ttl, renew, max_hold, on_lost.
    # @return [Lock]
    # @raise [Lost, Unsupported]
    def adopt(exported, **options)
      acquisition = Acquisition.new(self, [], with_owner(options))
      check_fork
      result = offload { guarded { acquisition.run_adopt(String(exported).b) } }
      raise Error.of(result) unless result.ok?

      acquisition.take
    ensure
      Acquisition.settle(acquisition)
    end

    # @api private
    def export(lock)
      needed = FFI::MemoryPointer.new(:size_t)
      room = 4_096 + 1_024
      buffer = FFI::MemoryPointer.new(:char, room)
      status = offload { native { |native| Native.export(native, lock.handle, buffer, room, needed) } }
      raise Error.of(Result.of_status(status)) unless status.zero?

      buffer.get_bytes(0, needed.get(:size_t, 0))
    end

    # @api private
    def release_handle(handle)
      return ask { |native, told| Native.release(native, handle, told) } unless local?

      ask { |native, told| Native.release_briefly(native, handle, told) }
    end

    # @api private
    def release_quietly(handle)
      usable? && guarded { Native.release(pointer, handle, nil) }
    end

    private

    def with_owner(options)
      @default_owner && !options.key?(:owner) ? options.merge(owner: @default_owner) : options
    end

    def acquisition_of(key, options)
      many = key.is_a?(Array)
      keys = key && Array(key).map { |one| Context.key(one) }
      Acquisition.new(self, keys, with_owner(options), many: many)
    end

    def granted(keys, options, strict: false, **how)
      acquisition = Acquisition.new(self, keys, with_owner(options), **how)
      result_of(acquisition, strict: strict) && acquisition.take
    ensure
      Acquisition.settle(acquisition)
    end

    # The lock, or nil where it was not granted in time and that is no error.
    def result_of(acquisition, strict:)
      result = acquisition.run
      return acquisition.lock if result.ok?
      raise Error.of(result) if strict || !NOT_GRANTED.include?(result.status)

      nil
    end

    # What the block did was done under the lock, so a release that is in doubt is left to the library.
    def conclude(lock)
      lock.release
    rescue NotHeld, InDoubt, Partial
      nil
    end
  end
end
