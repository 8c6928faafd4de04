# SPDX-License-Identifier: MIT
#
# A queue where ends of requests are read. The wait is Ruby's own wait for a descriptor, so other threads run meanwhile,
# a Fiber scheduler can do it, and Thread#kill and Timeout end it at once.
require "io/wait"
require_relative "native/functions"
require_relative "errors"
require_relative "info"
require_relative "wording"

module Liblock
  # The end of a request, or the notice that a lock was lost.
  # @!attribute kind [Symbol] :acquire, :lost, :watch and so on
  # @!attribute status [Symbol]
  # @!attribute request [Integer] 0 for a notice
  # @!attribute lock [Integer] handle; 0 = none
  # @!attribute token [Integer]
  # @!attribute remaining_ms [Integer] -1 = no expiry
  # @!attribute waited_ms [Integer]
  # @!attribute user_data [Integer] as it was given
  # @!attribute message [String]
  # @!attribute info [Info, nil]
  # @!attribute counts [Hash] attempts, place, hold count, flags, votes and replicas, as {Result} names them
  Completion = Struct.new(:kind, :status, :request, :lock, :token, :remaining_ms, :waited_ms, :user_data, :message,
                          :info, :counts, keyword_init: true) do
    # @api private
    def self.read(end_of)
      info = end_of[:info]
      new(kind: Numbers::KINDS.fetch(end_of[:kind], :unknown), request: end_of[:request], lock: end_of[:lock],
          status: Numbers::STATUS_NAMES.fetch(end_of[:status], :unknown), token: end_of[:token],
          remaining_ms: end_of[:remaining_ms], waited_ms: end_of[:waited_ms], user_data: end_of[:user_data].address,
          message: end_of[:message].null? ? "" : Wording.reworded(Numbers.text(end_of[:message].read_string)),
          info: info.null? ? nil : Info.take(info), counts: counts_of(end_of))
    end

    # @api private
    def self.counts_of(end_of)
      names = %i[attempts hold_count queue_position queue_length votes nodes replicas]
      names.to_h { |name| [name, end_of[name]] }.merge!(flags: Numbers.flags(end_of[:flags])).freeze
    end

    # What it tells of the call that it ended.
    def to_result
      told = { token: token, waited_ms: waited_ms, remaining_ms: remaining_ms, info: info, **counts }
      return Result.of_status(0, **told) if status == :ok

      told[:message] = message unless message.empty?
      Result.of_status(STATUSES.fetch(status, 69), **told)
    end
  end

  # Where ends of requests and notices of losses are read instead of being called back. May be read by several threads:
  # each entry goes to one of them, and be freed by one while others are inside. Opened by {Context#completions}.
  class Completions
    # Looked at so often by whoever waits, for what moves no descriptor: the queue's own end.
    LOOK_S = 0.5
    LOST = Numbers::KINDS.key(:lost)
    UNINTERRUPTED = { Object => :never }.freeze
    private_constant :LOOK_S, :LOST, :UNINTERRUPTED

    # For who knows that nobody frees the queue meanwhile; everybody else has {#use}.
    # @api private
    attr_reader :pointer

    # @api private
    def initialize(context, capacity)
      @context = context
      @uses = Thread::Queue.new # as many as there are entries: no mutex, for which a signal handler could not wait
      @kept, @notices = {}, {}
      out = FFI::MemoryPointer.new(:pointer)
      result = Native::Result.blank
      context.check_fork
      context.guarded(always: true) do
        status = Native.completions_open(context.pointer, capacity, out, result)
        @pointer = context.adopt_queue(out.read_pointer) if status.zero?
        context.free_queue_later(self) if @pointer
      end
      raise Error.of(Result.read(result.to_ptr)) unless @pointer

      fd = FFI::MemoryPointer.new(:int32)
      Native.completions_fd(@pointer, fd)
      @io = IO.for_fd(fd.read_int32, "r", autoclose: false)
    end

    # The next entry, waiting for up to `wait` seconds (nil: for ever, 0: not at all).
    # @return [Completion, nil] nil when none came in time
    # @raise [Closed] the queue is closed, and empty
    def next(wait: nil)
      limit = monotonic + wait unless Numbers.wait_ms(wait) == Numbers::FOREVER
      loop do
        entry = take and return entry
        left = limit ? limit - monotonic : LOOK_S
        return nil if limit && left <= 0

        await([left, LOOK_S].min)
      end
    end

    # No new requests; what is pending still arrives and can be read.
    def close
      status = @context.native { use { |queue| Native.completions_close(queue) } }
      raise Error.of(Result.of_status(status)) unless status.zero?
    end

    # Frees the queue: calls on it raise Closed from then on. Locks granted to it unread are released; where other
    # threads are inside a call on it, at the end of that.
    def free
      Thread.handle_interrupt(UNINTERRUPTED) do
        @freed = true
        free_unused
      end
    end

    # Runs a call of the library on the queue, which is there until that has ended, whoever frees it meanwhile.
    # @api private
    def use
      Thread.handle_interrupt(UNINTERRUPTED) do
        @uses << true
        raise Error.of(Result.of_status(STATUSES[:closed])) if @freed

        yield @pointer
      ensure
        @uses.pop
        free_unused
      end
    end

    # The same for a request: one whose end may come is kept, also where nobody knows the queue any more.
    # @api private
    def use_for_request(&call)
      ObjectSpace.undefine_finalizer(self)
      use(&call)
    end

    # What the library may call: a back-off until the request has ended, the notice of a loss until the lock has.
    # @api private
    def keep(request, backoff, notice)
      @kept[request] = [backoff, notice] if backoff || notice
    end

    # The lock was released: nobody is told of its loss.
    # @api private
    def forget(handle)
      Callbacks.forget(@notices.delete(handle))
    end

    # Its release has told of the loss, which may be before the library's notice comes.
    # @api private
    def lost(handle)
      @notices.delete(handle)&.lost(handle)
    end

    # Blocks that are added later are not called from here.
    # @api private
    def add(_lock, _block)
      false
    end

    # One entry, or nil; the memory given is filled in before anything can interrupt the caller.
    # @api private
    def take(memory = Native::Completion.blank)
      @context.check_fork
      memory[:kind] = 0
      use do |queue|
        status = Native.completions_next_briefly(queue, 0, memory)
        if status.zero?
          ended(memory) unless @kept.empty? && @notices.empty?
          next Completion.read(memory)
        end
        raise Error.of(Result.of_status(status)) unless STATUSES[:timeout] == status
      end
    end

    # Waits until there may be an entry; for up to LOOK_S, or less where that is given.
    # @api private
    def await(seconds = LOOK_S)
      @io.wait_readable(seconds)
    rescue Errno::EBADF
      nil # freed meanwhile: the next call says so
    end

    private

    # Who sees both that it was freed and that nobody is inside: the last one, or more than one. Once is enough.
    def free_unused
      return unless @freed && @uses.empty?

      @context.free_queue(@pointer)
      [*@kept.values.flatten, *@notices.values].each { |callback| Callbacks.forget(callback) }
      [@kept, @notices].each(&:clear)
    end

    def ended(memory)
      return @notices.delete(memory[:lock]) if memory[:kind] == LOST

      backoff, notice = @kept.delete(memory[:request])
      Callbacks.forget(backoff)
      memory[:status].zero? && notice ? @notices[memory[:lock]] = notice : Callbacks.forget(notice)
    end

    def monotonic
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
