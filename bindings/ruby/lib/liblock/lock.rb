# SPDX-License-Identifier: MIT
#
# A granted hold, as Ruby has it. It knows its handle and its token; everything else is asked of the library.
module Liblock
  # A lock that was granted. May be used by any number of threads at once, and released by any of them. It is not
  # released when it is garbage: release each lock once, or use {Context#synchronize}.
  class Lock
    # @return [Context]
    attr_reader :context
    # @return [Array<String>] the keys that it is on; none for the global lock
    attr_reader :keys
    # @return [Result] what the acquire told
    attr_reader :result
    # @return [Integer] the library's number for it
    attr_reader :handle

    # @api private
    def initialize(context, handle, keys, result, losses = nil)
      @context, @handle, @keys, @result, @losses = context, handle, keys || [], result, losses
    end

    # @return [String, nil] the (first) key; nil for the global lock
    def key
      keys.first
    end

    # The fencing token: strictly increasing per key over all grants. Give it to what you write to, and let that refuse
    # smaller ones.
    # @return [Integer]
    # @raise [Lost, NotHeld]
    def token
      number(:fencing_token, :uint64)
    end

    # @return [Float, nil] seconds left of the lease, answered from memory; nil = no expiry
    # @raise [Lost, NotHeld]
    def remaining
      Numbers.seconds(remaining_ms)
    end

    # @return [Integer] milliseconds left of the lease; -1 = no expiry
    # @raise [Lost, NotHeld]
    def remaining_ms
      number(:remaining_ms, :int64)
    end

    # @return [Integer] handles that share the hold
    # @raise [Lost, NotHeld]
    def hold_count
      number(:hold_count, :uint32)
    end

    # Held right now? Local knowledge: answered from memory, no server is asked ({#verify} does).
    def held?
      status == :ok
    end
    alias locked? held?

    # @return [Symbol] :ok (held), :lost, :not_held (released) or :invalid_handle
    def status
      Numbers::STATUS_NAMES.fetch(@context.native { |native| Native.is_held(native, @handle) }, :unknown)
    end

    # Sets the lease to end `ttl` seconds from now; with add: true, adds to what is left. :none takes the expiry away.
    # @return [Result]
    # @raise [Lost, NotHeld, InDoubt]
    def extend(ttl, add: false)
      ttl_ms = Numbers.ttl_ms(ttl)
      @context.ask { |native, told| Native.extend_lease(native, @handle, ttl_ms, add ? 1 : 0, told) }
    end

    # Replaces the value that the lock carries (0 to 4,096 bytes).
    # @return [Result]
    # @raise [Lost, NotHeld]
    def update(value)
      value = String(value).b
      @context.ask { |native, told| Native.update(native, @handle, value, value.bytesize, told) }
    end

    # Asks the backend itself whether it is held.
    # @return [Result]
    # @raise [Lost, NotHeld]
    def verify
      @context.ask { |native, told| Native.verify(native, @handle, told) }
    end

    # Gives the lock back.
    # @return [Result]
    # @raise [Lost] the lease had ended, or the lock was taken away (answered once; then NotHeld)
    # @raise [NotHeld] released before
    # @raise [InDoubt, Partial] no answer; the library goes on in the background
    def release
      @context.release_handle(@handle)
    rescue Lost
      @losses&.lost(@handle)
      raise
    ensure
      forget_loss
    end
    alias unlock release

    # Nobody is told of its loss any more.
    # @api private
    def forget_loss
      @losses&.forget(@handle)
    end

    # Waits until it is no longer held, for up to `wait` seconds (nil: for ever).
    # @return [Symbol, nil] :lost, :not_held (released), nil = held still
    def wait_lost(wait: nil)
      @context.wait_lost(self, wait: wait)
    end

    # Hands the lock to another process: what {Context#adopt} takes there. A secret: whoever has it, has the lock. This
    # object is NotHeld afterwards. On a server only.
    # @return [String] binary
    # @raise [Lost, NotHeld, Unsupported]
    def export
      @context.export(self)
    end

    # The block is called with the lock when it is lost (not when it is released), on a thread of the context; a notice:
    # {#held?} is the authority. Costs nothing where the lock was acquired with `on_lost: true` or a block; else a
    # thread waits for it.
    # @return [self]
    def on_lost(&block)
      return self if @losses&.add(self, block)

      Worker.start("loss") do
        Worker.guard("on_lost") { block.call(self) } if @context.wait_lost(self) == :lost
      end
      self
    end

    # @return [String] for people
    def inspect
      "#<#{self.class} #{keys.empty? ? "global" : keys.map(&:inspect).join(", ")} #{status}>"
    end

    private

    def number(name, type)
      out = FFI::MemoryPointer.new(type)
      status = @context.native { |native| Native.public_send(name, native, @handle, out) }
      raise Error.of(Result.of_status(status)) unless status.zero?

      out.public_send(:"read_#{type}")
    end
  end
end
