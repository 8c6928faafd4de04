# SPDX-License-Identifier: MIT
#
# One acquire on its way. It first tries at once where that costs no journey, then hands the request over and waits for
# its end as Ruby waits for a descriptor.
#
# Invariant: whatever the library writes goes into memory that belongs to this object, so that wherever the thread is
# interrupted, `settle` knows what was asked and what was granted, cancels the one and gives back the other. Only
# `take` hands the grant over.
require_relative "options"
require_relative "completions"
require_relative "callbacks"
require_relative "ending"

module Liblock
  # The memory of an acquire, used again by later ones of its context.
  # @api private
  class Slot
    LOCK = 0
    REQUEST = 8
    RESULT = 16
    NOTHING = ("\0" * RESULT).freeze

    attr_reader :memory, :lock, :request, :result, :completion

    def initialize
      @memory = FFI::MemoryPointer.new(:char, RESULT + Native::Result.size)
      @lock = @memory
      @request = @memory + REQUEST
      @result = @memory + RESULT
      @result.put_uint64(0, Native::Result.size)
      @completion = Native::Completion.blank
    end

    def clear
      @memory.put_bytes(0, NOTHING)
      @completion[:request] = 0
      self
    end
  end

  # @api private
  class Acquisition
    UNINTERRUPTED = { Object => :never }.freeze
    # At the end of the process an end that comes through the dispatcher of ffi may never come: Ruby may have ended it.
    PATIENCE_S = 1
    WORDED = %i[invalid_argument unsupported].freeze
    private_constant :UNINTERRUPTED, :PATIENCE_S, :WORDED

    attr_reader :result, :fields

    # @param keys [Array<String>, nil] nil is the global lock
    # @param brief [Boolean] one attempt only
    def initialize(context, keys, options, brief: false, many: false)
      @context, @keys, @brief, @many = context, keys, brief, many
      @on_lost, @on_queued = options[:on_lost], options[:on_queued]
      check_block(:on_lost, @on_lost, true)
      check_block(:on_queued, @on_queued)
      @slot = context.take_slot
      @fields = read(options) unless options.empty?
    end

    # Asks, and waits for the end. Afterwards `result` says what came of it.
    def run
      @context.check_fork
      return @result if at_once?

      submit and await_end
      @result ||= @end.to_result
    end

    # The same as the library's own blocking call: its result tells everything, and nothing interrupts it.
    def run_blocking(once: false)
      native, options, list = @context.pointer, @fields&.struct, @many && KeyList.new(@keys)
      told = [options, @slot.lock, @slot.result]
      status = with_completions do
        if @many then Native.acquire_many(native, list.pointer, list.count, *told)
        elsif @keys.nil? then Native.acquire_global(native, *told)
        elsif once then Native.try_acquire(native, @keys.first, @keys.first.bytesize, *told)
        else Native.acquire(native, @keys.first, @keys.first.bytesize, *told)
        end
      end
      @result = @context.told(status, @slot.result)
    end

    def run_adopt(exported)
      options = @fields&.struct
      with_completions do
        Native.adopt(@context.pointer, exported, exported.bytesize, options, @slot.lock, @slot.result)
      end
      @result = Result.read(@slot.result)
    end

    # Hands the request over and leaves its end to the queue given. The request's number, 0 where it was refused.
    def run_async(completions, user_data)
      raise ArgumentError, "on_queued has no queue to come to: lock tells it, submit does not" if @on_queued

      completions.use_for_request do |queue|
        options = (@fields ||= Options.acquire({})).struct
        options[:completions] = queue
        status = @context.guarded { call_async(options, nil, FFI::Pointer.new(user_data)) }
        request = @slot.request.get_uint64(0)
        if request.zero?
          @result = refusal(status, options)
          next 0
        end
        @taken = true
        completions.keep(request, @backoff, @notice)
        @backoff = @notice = nil
        request
      end
    end

    # The lock. Still given back by `settle` unless it is taken.
    def lock
      @lock ||= Lock.new(@context, handle, @keys, @result, @losses).tap { |lock| @losses&.watch(lock, @on_lost) }
    end

    # From now on the grant is the caller's.
    def take
      lock.tap { @taken = true }
    end

    # Undoes what was not taken of an acquisition (or nil), whatever state it is in. For ensure clauses: a second
    # interruption may follow at the heels of the first, so nothing stands before the mask where Ruby looks for one,
    # which is at every branch and return.
    def self.settle(acquisition)
      Thread.handle_interrupt(UNINTERRUPTED) { acquisition&.settle }
    end

    # Never raises for what the library answers.
    def settle
      unless @taken || !@context.usable?
        cancel if pending?
        number = handle
        unless number.zero?
          lost = @context.release_quietly(number) == STATUSES[:lost]
          lost ? @losses&.lost(number) : @losses&.forget(number)
        end
      end
      give_back_slot
    end

    # Called by the hub or the callback thread, where the end does not come through a queue of this acquire's own.
    def deliver(completion)
      @end = completion
      @mail << true
    end

    # Nobody may be left who delivers.
    def wake
      @mail << true
    end

    def on_ended(pointer)
      deliver(Completion.read(Native::Completion.new(pointer)))
    end

    def on_queued(position, length)
      @on_queued.call(position, length)
    end

    private

    def check_block(name, block, *others)
      return if !block || block.respond_to?(:call) || others.include?(block)

      raise ArgumentError, "#{name} is something that can be called, not #{block.inspect}"
    end

    def read(options)
      fields = Options.fill(Native::AcquireOptions, Options::ACQUIRE,
                            options.reject { |name, _| RUBY_ONLY.include?(name) })
      @owner = @context.owner_of(options[:owner])
      fields.struct[:owner] = @owner.pointer if @owner
      set_backoff(fields, options[:backoff_callback])
      if options[:completions]
        @completions = options[:completions]
        set_notice(fields) if @on_lost
      elsif @on_lost
        @losses = @context.losses
        fields.struct[:completions] = @losses.queue.pointer
      end
      fields
    end

    # A queue of the caller's own is there until the call has ended.
    def with_completions
      return yield unless @completions

      @completions.use_for_request do |queue|
        @fields.struct[:completions] = queue
        yield
      end
    end

    # A queue of the caller's own tells him of the loss; for a block beside it the library calls.
    def set_notice(fields)
      @notice = LossNotice.new(@on_lost, @context.teller)
      fields.struct[:on_lost] = Callbacks.function(:ended)
      fields.struct[:on_lost_user_data] = Callbacks.remember(@notice)
    end

    RUBY_ONLY = %i[owner on_lost on_queued backoff_callback completions].freeze
    private_constant :RUBY_ONLY

    def set_backoff(fields, callback)
      return unless callback

      @backoff = CallbackBlock.new(&callback)
      fields.struct[:backoff_callback] = Callbacks.function(:backoff)
      fields.struct[:backoff_user_data] = Callbacks.remember(@backoff)
    end

    # A local table answers without waiting; whoever may wait and found the key busy goes on as a request.
    def at_once?
      return false unless @context.local? && (one_attempt? || !told_of?)

      status = with_completions { @context.guarded(always: @on_queued || @backoff) { call_briefly } }
      return false if status == STATUSES[:busy] && !one_attempt?

      @result = Result.read(@slot.result)
      true
    end

    # Then an acquire is one call, and not a try and a request.
    def told_of?
      @context.listening? || (@fields && @fields.struct[:busy_info].positive?)
    end

    def one_attempt?
      return @brief unless @fields

      @brief || @fields.struct[:wait_ms].zero? || @fields.struct[:retries].zero?
    end

    def call_briefly
      native = @context.pointer
      options = @fields&.struct
      if @many || @keys.nil?
        options = attempt_of(options)
        return Native.acquire_global_briefly(native, options, @slot.lock, @slot.result) unless @keys

        list = KeyList.new(@keys)
        Native.acquire_many_briefly(native, list.pointer, list.count, options, @slot.lock, @slot.result)
      else
        key = @keys.first
        Native.try_acquire_briefly(native, key, key.bytesize, options, @slot.lock, @slot.result)
      end
    end

    # The same options with one attempt; those given stay as they are for the request that may follow.
    def attempt_of(options)
      copy = Native::AcquireOptions.prepared
      copy.to_ptr.put_bytes(0, options.to_ptr.get_bytes(0, options.size)) if options
      copy[:wait_ms] = 0
      copy
    end

    # True when there is a request whose end will come.
    def submit
      options = (@fields ||= Options.acquire({})).struct
      options[:wait_ms] = 0 if @brief
      callback, user_data = destination(options)
      @slot.memory.put_uint64(Slot::LOCK, 0)
      @sent = true
      status = @context.guarded(always: @on_queued || @backoff) { call_async(options, callback, user_data) }
      return true if status.zero?

      @sent = false
      @losses&.unexpect(self)
      @result = refusal(status, options)
      false
    end

    # A request that is refused has no message; one blocking attempt is refused in the same words, and names the
    # argument. Should it be granted after all, `settle` gives it back.
    def refusal(status, options)
      plain = Result.of_status(status)
      return plain unless WORDED.include?(plain.status)

      options[:wait_ms] = 0
      told = @context.guarded(always: true) { run_blocking(once: true) }
      told.status == plain.status ? told : plain
    end

    def destination(options)
      if @on_queued
        @mail = Thread::Queue.new
        options[:on_queued], options[:on_queued_user_data] = Callbacks.function(:queued), Callbacks.remember(self)
        options[:completions] = nil
        [Callbacks.function(:ended), Callbacks.remember(self)]
      elsif @losses
        @mail = Thread::Queue.new
        @deliverer = @losses
        [nil, FFI::Pointer.new(@losses.expect(self))]
      else
        @context.take_queue { |queue| @queue = queue }
        options[:completions] = @queue.pointer
        nil
      end
    end

    def call_async(options, callback, user_data)
      native, request = @context.pointer, @slot.request
      return Native.acquire_global_async(native, options, callback, user_data, request) unless @keys
      unless @many
        key = @keys.first
        return Native.acquire_async(native, key, key.bytesize, options, callback, user_data, request)
      end
      list = KeyList.new(@keys)
      Native.acquire_many_async(native, list.pointer, list.count, options, callback, user_data, request)
    end

    def await_end
      until @end
        next @deliverer&.over? ? @deliverer.read_one : @mail.pop if @mail

        entry = @queue.take(@slot.completion)
        if entry.nil?
          @queue.await(nil)
        elsif entry.request == @slot.request.get_uint64(0)
          @end = entry
        end # all else are notices of locks that this queue granted before
      end
    end

    # Was a request handed over whose end nobody has read? The memory knows also where the thread was interrupted
    # between reading it and keeping it.
    def pending?
      return false if !@sent || @end

      request = @slot.request.get_uint64(0)
      request != 0 && (@mail || @slot.completion[:request] != request || @slot.completion[:kind].zero?)
    end

    def cancel
      Native.cancel(@context.pointer, @slot.request.get_uint64(0))
      return await_end unless @mail && Ending.begun?

      # Whoever delivers may be ended at any moment, also with the end of this request in his hand.
      limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + PATIENCE_S
      sleep 0.001 until @end || Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
    rescue Error
      nil # the queue was closed with its context, which has ended the request
    end

    def handle
      return @slot.lock.get_uint64(0) unless @sent
      return @end.lock if @end

      @slot.completion[:request] == @slot.request.get_uint64(0) ? @slot.completion[:lock] : 0
    end

    def give_back_slot
      return unless @slot

      Callbacks.forget(self) if @on_queued
      Callbacks.forget(@backoff) if @backoff
      Callbacks.forget(@notice) if @notice
      @deliverer&.unexpect(self)
      @context.give_queue(@queue) if @queue
      @context.give_slot(@slot)
      @slot = @queue = nil
    end
  end
end
