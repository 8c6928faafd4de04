# SPDX-License-Identifier: MIT
#
# The client: what a program that used the original calls.
module RedisQueuedLocks
  # Locks with a queue. May be used by any number of threads and fibers at once, and by forked children.
  #
  #   client = RedisQueuedLocks::Client.new(redis_client) { |config| config.retry_count = nil }
  #   client.lock("invoice:17") { … }
  class Client
    include Listing
    include Release
    include Series

    # @return [Config]
    attr_reader :config
    # @return what `new` was given
    attr_reader :redis_client
    # @return [String] tells apart processes that have the same numbers for process, thread and fiber
    attr_accessor :uniq_identity

    # @param redis_client [#config, String] a RedisClient, pooled or not; anything whose `config` has host, port and so
    #   on; or a url. The library makes connections of its own to that server.
    # @yieldparam config [Config]
    # @raise [ArgumentError, ConfigNotFoundError, ConfigValidationError]
    def initialize(redis_client, &configure)
      @redis_client = redis_client
      @connection = Connection.new(redis_client)
      @config = Config.new
      configure&.call(@config)
      @uniq_identity = @config["uniq_identifier"].call
      look_for_original
    end

    # Changes the configuration.
    # @yieldparam config [Config]
    def configure
      yield config
    end

    # Acquires a lock. With a block, runs it under the lock, gives the lock back whatever ended it, and answers what it
    # answered; without one the lock ends with its ttl (or by {#unlock}). Defaults are those of the configuration.
    #
    # @param lock_name [String] 1 to 512 bytes
    # @option options [Integer] :ttl milliseconds that the lock lives for, 20 to 86,400,000
    # @option options [Numeric] :queue_ttl seconds after which the request goes to the end of the queue; 0 = never
    # @option options [Numeric, nil] :timeout seconds to wait; nil = without limit, 0 = one try
    # @option options [Boolean] :timed end the block with the lock's ttl
    # @option options [Integer, nil] :retry_count tries; nil = without limit
    # @option options [Integer] :retry_delay milliseconds between tries; a release does not wait for them
    # @option options [Integer] :retry_jitter milliseconds that are added at random
    # @option options [Boolean] :raise_errors as {#lock!}
    # @option options [Boolean] :fail_fast one try, and none where somebody has the lock
    # @option options [Symbol] :conflict_strategy where this acquirer has the lock already: :wait_for_lock,
    #   :work_through, :extendable_work_through, :dead_locking
    # @option options [Symbol] :access_strategy :queued, :random
    # @option options [String] :identity instead of {#uniq_identity}; {#current_acquirer_id} has 255 bytes at most
    # @option options [Hash, nil] :meta comes back in {#lock_info}, as text; 63 entries and 4,000 bytes at most
    # @option options [Boolean] :detailed_acq_timeout_error say in the error who holds and who waits
    # @option options [Object] :instrument comes back in events
    # @option options [#notify] :instrumenter
    # @option options [#debug] :logger
    # @option options [Boolean] :log_lock_try log each step of each try
    # @option options [Boolean, Integer, #sampling_happened?] :log_sampling_enabled (also :log_sampling_percent,
    #   :log_sampler, :log_sample_this, and the same with instr_) of how many calls is told
    # @return [Hash] without a block, and for every failure: { ok: true, result: { lock_key:, acq_id:, ts:, ttl: } } or
    #   { ok: false, result: :timeout_reached, :retry_count_reached, :fail_fast_no_try, :fail_fast_after_try,
    #   :conflict_dead_lock or :unknown }
    # @raise [TimedLockTimeoutError] with timed: true, when the block took longer than ttl
    # @raise [ArgumentError] an option cannot be
    # @raise [Liblock::Error] the server cannot be reached, or answers an error
    def lock(lock_name, **options, &block)
      Call.new(backend, key_of(lock_name), Options.lock(config, uniq_identity, options)).run(&block)
    end

    # The same, but every failure is an error.
    # @raise [LockAlreadyObtainedError, LockAcquiermentTimeoutError, LockAcquiermentRetryLimitError,
    #   ConflictLockObtainError]
    def lock!(lock_name, **options, &block)
      raise ::ArgumentError, "unknown keyword: :raise_errors" if options.key?(:raise_errors)

      lock(lock_name, **options, raise_errors: true, &block)
    end

    # @return [String] for people
    def inspect
      "#<#{self.class} #{uniq_identity}>"
    end

    private

    # A forked child has a backend of its own.
    def backend
      return @backend if @pid == Process.pid

      look_for_original unless @looked
      @backend = Backend.of(@connection)
      @pid = Process.pid
      @backend
    end

    def context
      backend.context
    end

    def key_of(lock_name)
      Refusals.name(lock_name.to_s.dup.freeze)
    end

    # Where the server cannot be asked yet, the first use tries again.
    def look_for_original
      @looked = Original.warn_of(@connection, Reporter.new(Options.fill(Options::SHARED, config, {})))
    end
  end
  Refusals.translate_in(Client, Listing, Release)
end
