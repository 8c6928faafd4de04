# SPDX-License-Identifier: MIT
#
# Several locks as one: all or none of them are obtained, in one step, with one lease. The original took them one after
# the other, so two series in opposite orders blocked each other, and the first lock lived for the sum of the leases.
module RedisQueuedLocks
  # @api private
  class SeriesCall < Call
    NAMES = { start_lock_obtaining: :start_lock_series_obtaining, lock_obtained: :lock_series_obtained,
              expire_lock: :expire_lock_series, lock_hold_and_release: :lock_series_hold_and_release }.freeze
    private_constant :NAMES

    def initialize(backend, names, options, detailed)
      super(backend, names.first, options)
      @names, @detailed = names.uniq, detailed
      @keys = @names.map { |name| Resource.prepare_lock_key(name) }
      @lock_key = @keys.join(", ")
      @base = "lock_keys => #{@keys.inspect} queue_ttl => #{options[:queue_ttl]} acq_id => '#{@acquirer_id}'"
    end

    # @return what the block answers, with detailed_result: beside what is known of the series
    def run
      answer = super
      return answer unless @entered && @detailed

      Data[yield_result: answer, **series, locks_release_strategy: :immediate_release_after_yield,
           locks_released_at: @released_at, locks_acq_time: @acq_time, locks_hold_time: @hold_time]
    end

    private

    def target
      @names
    end

    def names
      @names
    end

    def subject
      { lock_keys: @keys }
    end

    def log(name, more = nil)
      super(NAMES.fetch(name, name), more)
    end

    def notify(name, **more)
      super(NAMES.fetch(name, name), **more)
    end

    # Series came late in the original's life: their events always tell the host.
    def who
      { acq_id: @acquirer_id, hst_id: Resource.host_of(@acquirer_id) }
    end

    def completed
      @released_at = Time.now.to_f
      super
    end

    def without_block(owner)
      lock = acquire(owner) { |options| @backend.context.lock_many!(@names, **options) }
      obtained(lock)
      lock.release if @reentered
      result = { **series, lock_release_strategy: :redis_key_ttl, locks_acq_time: @acq_time } if @detailed
      Data[ok: true, result: result || @keys]
    end

    def series
      { lock_series: @names, rql_lock_series: @keys }
    end

    # All or none: whatever was missing, nothing was acquired.
    def failed_result(failure)
      told = { error: :failed_to_acquire_lock_series, detailed_errors: @names.to_h { |name| [name, failure.reason] } }
      return told unless @detailed

      { **told, **series, acquired_locks: [], missing_locks: @names, failed_on_lock: nil }
    end
  end

  # Series of locks.
  module Series
    # Acquires several locks, all or none.
    # @param lock_names [Array<String>]
    # @param detailed_result [Boolean] tell more than what the block answers
    # @param options as of {Client#lock}
    def lock_series(*lock_names, detailed_result: false, **options, &block)
      names = lock_names.flatten.map { |name| key_of(name) }
      raise ArgumentError, "a series names one lock at least" if names.empty?

      SeriesCall.new(backend, names, Options.lock(config, uniq_identity, options), detailed_result).run(&block)
    end

    # The same, but every failure is an error.
    def lock_series!(*lock_names, **options, &block)
      lock_series(*lock_names, **options, raise_errors: true, &block)
    end
  end
end
