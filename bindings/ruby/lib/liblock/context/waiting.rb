# SPDX-License-Identifier: MIT
#
# Waiting for a key or a lock to change hands. A local table has no request for that: there the wait is made of short
# blocking calls, between which the thread can be interrupted. Contexts with a server have one, whose end is read as
# that of an acquire is.
module Liblock
  class Context
    # How long a blocking call of a local wait may keep an interruption waiting.
    SLICE_S = 0.1
    private_constant :SLICE_S

    # Waits until somebody holds the key, for up to `wait` seconds (nil: for ever).
    # @return [Boolean] false when nobody did in time
    def wait_held(key, wait: nil)
      key = Context.key(key)
      !waited(wait, [:wait_held, key, key.bytesize]).nil?
    end

    # Waits until its present holder no longer holds the key.
    # @return [Boolean] false when he still does; true also when nobody did
    def wait_released(key, wait: nil)
      key = Context.key(key)
      return !waited(wait, [:wait_released, key, key.bytesize]).nil? unless local?

      # Between two slices the key may have changed hands: another token is another holder.
      token = inspect_key(key)&.token
      !waited(wait, [:wait_released, key, key.bytesize]) { inspect_key(key)&.token == token }.nil?
    end

    # Waits until one node of a quorum, or an observer, knows that the key is held.
    # @param node [String, nil] its address or id; nil is {#wait_held}, and answers what was seen
    # @return [Info, true, nil] nil in time nobody did; true: the lock was gone again
    def wait_held_on(key, node: nil, wait: nil)
      key = Context.key(key)
      return waited(wait, [:wait_held_on, key, key.bytesize, node])&.then { |told| told.info || true } unless local?

      out, info = FFI::MemoryPointer.new(:pointer), nil
      told = sliced(wait) do |ms|
        ask_wait do |native, memory|
          guarded(always: true) do
            status = Native.wait_held_on(native, key, key.bytesize, node, ms, out, memory)
            info = Info.take(out.read_pointer) unless out.read_pointer.null?
            status
          end
        end
      end
      told && (info || true)
    end

    # @api private
    def wait_lost(lock, wait: nil)
      told = waited(wait, [:wait_lost, lock.handle])
      told && told.status
    end

    private

    ENDED = %i[ok not_held lost].freeze
    private_constant :ENDED

    # The result of the wait, or nil when it timed out. The block says of a slice that timed out: does the wait go on?
    def waited(wait, call, &go_on)
      check_fork
      return waited_async(wait, call) unless local?

      name, *words = call
      sliced(wait, go_on) { |ms| ask_wait { |native, told| Native.public_send(name, native, *words, ms, told) } }
    end

    def ask_wait(&block)
      ask(also: %i[timeout not_held lost], &block)
    end

    def sliced(wait, go_on = nil)
      wait = nil if Numbers.wait_ms(wait) == Numbers::FOREVER
      limit = wait && Process.clock_gettime(Process::CLOCK_MONOTONIC) + wait
      loop do
        left = limit ? limit - Process.clock_gettime(Process::CLOCK_MONOTONIC) : SLICE_S
        slice = left.clamp(0, SLICE_S)
        ms = Numbers.milliseconds(slice)
        result = Fiber.current_scheduler ? thread_value { yield ms } : yield(ms)
        return result unless result.status == :timeout
        return Result.of_status(0) if go_on && !go_on.call
        return nil if limit && left <= SLICE_S
      end
    end

    def thread_value
      Thread.new { Thread.current.report_on_exception = false; yield }.value
    end

    # Such a request cannot be canceled, so an interrupted wait leaves its queue to it: the queue is freed, and what
    # still comes is dropped.
    def waited_async(wait, call)
      queue, request = take_queue, FFI::MemoryPointer.new(:uint64)
      name, *words = call
      words << Numbers.wait_ms(wait) << queue.pointer
      status = native { |native| Native.public_send(:"#{name}_async", native, *words, nil, nil, request) }
      raise Error.of(Result.of_status(status)) unless status.zero?

      told = end_of(queue, request.read_uint64).to_result
      done = true
      return nil if told.status == :timeout
      raise Error.of(told) unless ENDED.include?(told.status)

      told
    ensure
      done || status != 0 ? give_queue(queue) : queue&.free
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
