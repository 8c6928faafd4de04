# SPDX-License-Identifier: MIT
#
# One lock or lock!: acquires, runs the block, gives back, and tells of it in results, events and log.
#
# Invariants: a block runs only while its lock was granted, and whatever ends it gives the lock back; a failure that the
# manual has a result for is that result or its error, every other one is the library's error. A waiter that is sent
# away because somebody dropped the queue asks again: the original's do.
require "timeout"

module RedisQueuedLocks
  # Ends a timed block. Not a StandardError, so that a rescue in the block does not keep it running.
  # @api private
  TimedLockIntermediateTimeoutError = Class.new(Exception) # rubocop:disable Lint/InheritException

  # @api private
  class Call
    # The end of an acquire without the lock, as a result.
    Failed = Class.new(StandardError) do
      attr_reader :reason, :told

      def initialize(reason, told = nil)
        @reason, @told = reason, told
        super(reason.to_s)
      end
    end
    REASONS = { timeout: :timeout_reached, retries_exhausted: :retry_count_reached, already_held: :conflict_dead_lock,
                deadlock: :unknown, too_late: :unknown, limit: :unknown, canceled: :unknown }.freeze
    private_constant :Failed, :REASONS

    def initialize(backend, name, options)
      @backend, @name, @options = backend, name, options
      @reporter = Reporter.new(options)
      @acquirer_id = Resource.current_acquirer(options[:identity])
      @lock_key = Resource.prepare_lock_key(name)
      @base = "lock_key => '#{@lock_key}' queue_ttl => #{options[:queue_ttl]} acq_id => '#{@acquirer_id}'"
    end

    # @return what the block answers; without one the result
    def run(&block)
      @began = now
      log(:start_lock_obtaining)
      log(:start_try_to_lock_cycle)
      @backend.with_owner(@acquirer_id) do |owner|
        fail_fast(owner) if @options[:fail_fast]
        block ? under(owner, &block) : without_block(owner)
      end
    rescue Failed => failure
      failed(failure)
    rescue *Refusals::REFUSED => error
      raise if @entered # the block's own

      raise Refusals.translated(error)
    end

    private

    def under(owner, &block)
      value = nil
      acquire(owner) do |options|
        @backend.context.synchronize(target, **options) { |lock| value = inside(lock, &block) }
      end
      value
    ensure
      completed if @entered
    end

    def inside(lock, &block)
      obtained(lock)
      @entered = true
      begin
        value = work(lock, &block)
        @finished = true
        value
      ensure
        over(lock)
      end
    end

    def without_block(owner)
      lock = acquire(owner) { |options| @backend.context.lock!(@name, **options) }
      obtained(lock)
      lock.release if @reentered # the hold is the one that was there, and ends as that does
      Data[ok: true, result: told]
    end

    # What is locked.
    def target
      @name
    end

    def names
      [@name]
    end

    # What is locked, in events.
    def subject
      { lock_key: @lock_key }
    end

    # Asks until there is an end.
    def acquire(owner)
      native = Options.native(@options, @acquirer_id).merge(owner: owner)
      begin
        return yield(native.merge(limits)) unless @reporter.logs?

        @diary = Diary.new(@reporter, @base, @acquirer_id, @options[:log_lock_try])
        @backend.journal.keep(@diary, @options[:log_lock_try]) { |words| yield(native.merge(limits, words)) }
      rescue Liblock::Dequeued
        raise if @entered

        retry
      end
    rescue Liblock::Lost, Liblock::NotHeld
      raise unless @finished
    rescue Liblock::Error => error
      raise if @entered

      raise Failed.new(reason_of(error.status) || raise, error.result)
    end

    # What is left of timeout and retry_count, which the original counts in attempts.
    def limits
      waited = now - @began
      retries = @options[:retry_count] &&
                [[@options[:retry_count] - 1, 0].max - (waited * 1000 / [@options[:retry_delay], 1].max).floor, 0].max
      wait = @options[:fail_fast] ? 0 : @options[:timeout]&.then { |limit| [limit - waited, 0].max }
      { wait: wait, retries: retries || -1 }
    end

    def reason_of(status)
      return REASONS[status] unless status == :busy
      return :fail_fast_after_try if @options[:fail_fast]

      @options[:timeout] && now - @began >= @options[:timeout] ? :timeout_reached : :retry_count_reached
    end

    def fail_fast(owner)
      context = @backend.context
      taken = names.select { |name| context.key_locked?(name) }
      return if taken.empty?
      return if @options[:conflict_strategy] != :wait_for_lock &&
                taken.all? { |name| context.key_owned?(name, owner: owner) }

      raise Failed, :fail_fast_no_try
    end

    def obtained(lock)
      @granted = now
      @diary&.await_end
      @at = now
      @ts = Time.now.to_f
      @acq_time = ((@at - @began) * 1000).ceil(2)
      @reentered = reentered?(lock)
      @extended = @reentered && @options[:conflict_strategy] == :extendable_work_through
      lock.extend(@options[:ttl] / 1000.0, add: true) if @extended
      names.each { |name| @backend.hold(@acquirer_id, name, lock) } unless @reentered
      name = kind_of_lock(:lock_obtained)
      log(name, "acq_time => #{@acq_time} (ms)")
      notify(name)
    end

    # A hold of its own, or one more handle on what this acquirer holds already?
    def reentered?(lock)
      @options[:conflict_strategy] != :wait_for_lock && lock.hold_count > 1
    rescue Liblock::Lost
      false
    end

    def notify(name, **more)
      @reporter.notify(name, { **more, ttl: @options[:ttl], **who, **subject, ts: @ts, acq_time: @acq_time,
                               instrument: @reporter.instrument })
    end

    def kind_of_lock(name)
      return name unless @reentered

      @extended ? :"extendable_reentrant_#{name}" : :"reentrant_#{name}"
    end

    def work(lock)
      return yield unless @options[:timed]

      begin
        left = time_for_work(lock)
        raise TimedLockIntermediateTimeoutError unless left.positive?

        Timeout.timeout(left, TimedLockIntermediateTimeoutError) { yield }
      rescue TimedLockIntermediateTimeoutError
        raise TimedLockTimeoutError, "Passed <timed> block of code exceeded the lock TTL " \
                                     "(lock: \"#{@name}\", ttl: #{@options[:ttl]})"
      end
    end

    # Seconds. What was handed over begins with a short lease, which the library has made whole before that ends: such a
    # lock has all its ttl, whatever is left just now. Any other has what is left.
    def time_for_work(lock)
      whole = @options[:ttl] / 1000.0
      was_handed = !@reentered && lock.result.flags.include?(:waited)
      was_handed ? whole - (now - @granted) : lock.remaining || whole
    rescue Liblock::Lost
      0
    end

    # Before the library gives it back. What was added to the lease of an outer lock goes with the inner one.
    def over(lock)
      if @extended
        log(:decrease_lock)
        left = lock.remaining_ms - @options[:ttl]
        lock.extend(left / 1000.0) if left.positive?
      elsif !@reentered
        log(:expire_lock)
        names.each { |name| @backend.forget(@acquirer_id, name, lock) }
      end
    rescue Liblock::Lost, Liblock::NotHeld
      nil # its ttl ended before the block did
    end

    def completed
      @hold_time = ((now - @at) * 1000).ceil(2)
      notify(@reentered ? :reentrant_lock_hold_completes : :lock_hold_and_release, hold_time: @hold_time)
    end

    def told
      result = { lock_key: @lock_key, acq_id: @acquirer_id, ts: @ts, ttl: @options[:ttl] }
      return result unless @reentered

      result.merge(hst_id: Resource.host_of(@acquirer_id),
                   process: @extended ? :extendable_conflict_work_through : :conflict_work_through)
    end

    # Events of a reentry came later in the original's life, and with the host.
    def who
      @reentered ? { acq_id: @acquirer_id, hst_id: Resource.host_of(@acquirer_id) } : { acq_id: @acquirer_id }
    end

    def failed(failure)
      log(:fail_fast_or_limits_reached__dequeue)
      raise error_of(failure) if @options[:raise_errors] && failure.reason != :unknown
      raise Error, failure.told&.message.to_s if @options[:raise_errors]

      Data[ok: false, result: failed_result(failure)]
    end

    def failed_result(failure)
      failure.reason
    end

    def error_of(failure)
      case failure.reason
      when :timeout_reached
        LockAcquiermentTimeoutError.new("Failed to acquire the lock \"#{@lock_key}\" for the given " \
                                        "<#{@options[:timeout]} seconds> timeout.#{details(failure)}")
      when :retry_count_reached
        LockAcquiermentRetryLimitError.new("Failed to acquire the lock \"#{@lock_key}\" for the given retry_count " \
                                           "limit (#{@options[:retry_count]} times).#{details(failure)}")
      when :conflict_dead_lock
        ConflictLockObtainError.new("Lock Conflict: trying to acquire the lock \"#{@lock_key}\" that is already " \
                                    "acquired by the current acquirer (acq_id: \"#{@acquirer_id}\").")
      else LockAlreadyObtainedError.new("Lock \"#{@lock_key}\" is already obtained.")
      end
    end

    # With detailed_acq_timeout_error: who had the lock, and who waited.
    def details(failure)
      info = failure.told&.info or return ""
      waiting = info.waiters.map { |waiter| Resource.acquirer_of(waiter.owner) }
      " Lock holder => #{Resource.acquirer_of(info.owner).inspect}, remaining ttl => #{info.remaining_ms}, " \
        "queue => #{waiting.inspect}"
    end

    def log(name, more = nil)
      @reporter.log(["[redis_queued_locks.#{name}] #{@base}", more].compact.join(" ")) if @reporter.logs?
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
