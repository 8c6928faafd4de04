# SPDX-License-Identifier: MIT
#
# The few native callbacks that cannot be done without: events, the log, samplers, back-off, places in the queue, and
# ends of requests that want to hear of their places.
#
# Invariants: there is one native function of each kind in a process, never collected, so that one called late finds
# code. What it belongs to is looked up by a number; one that is not found is passed over (see `gone`). Native threads
# reach Ruby through ffi's dispatcher, which dies in a fork and starts again with the first function that a child makes:
# so each process makes its own. No exception passes into C.
require_relative "native/functions"
require_relative "fork_guard"

module Liblock
  # @api private
  module Callbacks
    @objects = {}
    @functions = {}
    @mutex = Thread::Mutex.new

    KINDS = {
      event: [:void, %i[pointer pointer]], log: [:void, %i[pointer pointer]],
      sample: [:int32, %i[int32 pointer uint64 pointer]], backoff: [:int64, %i[uint32 pointer]],
      queued: [:void, %i[int64 int64 pointer]], ended: [:void, %i[pointer pointer]],
      opened: [:void, %i[pointer pointer]]
    }.freeze

    module_function

    # The number under which callbacks find the object, until it is forgotten.
    def remember(object)
      @objects[object.object_id] = object
      FFI::Pointer.new(object.object_id)
    end

    def forget(object)
      @objects.delete(object.object_id)
    end

    # The native function that calls the method of this name of the object behind user_data, the last argument.
    def function(kind)
      kind_here = [kind, ForkGuard.generation]
      @functions[kind_here] || @mutex.synchronize { @functions[kind_here] ||= build(kind) }
    end

    def build(kind)
      answers, takes = KINDS.fetch(kind)
      FFI::Function.new(answers, takes) { |*told, user_data| deliver(kind, told, user_data.address, answers) }
    end

    def deliver(kind, told, number, answers)
      object = @objects[number] or return gone(kind)
      value = object.public_send(:"on_#{kind}", *told)
      answers == :void ? nil : Integer(value)
    rescue Exception => error # rubocop:disable Lint/RescueException -- C must not be unwound
      warn("liblock: #{kind} callback: #{error.full_message(highlight: false)}")
      answers == :void ? nil : -1
    end

    # The answer where nobody is left to be asked. A sampler's 0 is no; a back-off's would be "again at once", for as
    # long as the request lasts, whose queue may have been freed: -1 ends it.
    def gone(kind)
      kind == :backoff ? -1 : 0
    end
  end

  # One block behind a callback of samplers, back-off and opening.
  # @api private
  class CallbackBlock
    def initialize(&block)
      @block = block
    end

    # Seconds before retry number `attempt` (from 0).
    def on_backoff(attempt)
      Numbers.milliseconds(@block.call(attempt))
    end

    def on_sample(percent, key, tag)
      bytes = key.null? ? nil : Native::Bytes.new(key)
      @block.call(percent, bytes && Numbers.text(bytes[:data].get_bytes(0, bytes[:size])), tag) ? 1 : 0
    end

    def on_opened(_context)
      @block.call
    end
  end

  # The loss of a lock whose end went to a queue of the caller's own.
  # @api private
  class LossNotice
    def initialize(block, teller)
      @block, @teller = block, teller
    end

    def on_ended(completion)
      tell(Completion.read(Native::Completion.new(completion)))
    end

    # Where a release says so first.
    def lost(handle)
      untold = { request: 0, token: 0, remaining_ms: 0, waited_ms: 0, user_data: 0 }
      tell(Completion.new(kind: :lost, status: :lost, lock: handle, message: Native.status_text(STATUSES[:lost]),
                          counts: {}.freeze, **untold))
    end

    private

    def tell(completion)
      @teller.tell(completion, [@block]) if Callbacks.forget(self)
    end
  end
end
