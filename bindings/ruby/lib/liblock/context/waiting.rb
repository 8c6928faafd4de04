# SPDX-License-Identifier: MIT
#
# Waiting for a key or a lock to change hands: a request, whose end is read as that of an acquire is, and which is
# canceled where its thread is interrupted.
module Liblock
  class Context
    # Waits until somebody holds the key, for up to `wait` seconds (nil: for ever).
    # @return [Boolean] false when nobody did in time
    def wait_held(key, wait: nil)
      key = Context.key(key)
      !waited(wait, :wait_held_async, key, key.bytesize).nil?
    end

    # Waits until its present holder no longer holds the key.
    # @return [Boolean] false when he still does; true also when nobody did
    def wait_released(key, wait: nil)
      key = Context.key(key)
      !waited(wait, :wait_released_async, key, key.bytesize).nil?
    end

    # Waits until one node of a quorum, or an observer, knows that the key is held.
    # @param node [String, nil] its address or id; nil is {#wait_held}, and answers what was seen
    # @return [Info, true, nil] nil in time nobody did; true: the lock was gone again
    def wait_held_on(key, node: nil, wait: nil)
      key = Context.key(key)
      waited(wait, :wait_held_on_async, key, key.bytesize, node)&.then { |told| told.info || true }
    end

    # @api private
    def wait_lost(lock, wait: nil)
      waited(wait, :wait_lost_async, lock.handle)&.status
    end

    private

    ENDED = %i[ok not_held lost].freeze
    private_constant :ENDED

    # The result of the wait, or nil when it timed out. What still comes of one that was interrupted goes with its
    # queue.
    def waited(wait, name, *words)
      check_fork
      queue, request = nil, FFI::MemoryPointer.new(:uint64)
      take_queue { |taken| queue = taken }
      words << Numbers.wait_ms(wait) << queue.pointer
      status = native { |native| Native.public_send(name, native, *words, nil, nil, request) }
      raise Error.of(Result.of_status(status)) unless status.zero?

      told = end_of(queue, request.read_uint64).to_result
      done = true
      return nil if told.status == :timeout
      raise Error.of(told) unless ENDED.include?(told.status)

      told
    ensure
      Thread.handle_interrupt(UNINTERRUPTED) { leave_wait(queue, done ? 0 : request.read_uint64) if queue }
    end

    # request: one that may be pending still, or 0.
    def leave_wait(queue, request)
      return give_queue(queue) if request.zero?

      native { |native| Native.cancel(native, request) } if usable?
      queue.free
    end

    def end_of(queue, request)
      loop do
        entry = queue.take
        return entry if entry && entry.request == request

        queue.await(nil) unless entry
      end
    end
  end
end
