# SPDX-License-Identifier: MIT
#
# The configuration of a client, with the original's keys and defaults: `config.retry_count = 3`,
# `config[:retry_count]` and `config["retry_count"]` are the same.
module RedisQueuedLocks
  # The configuration of a client.
  class Config
    COUNT = ->(value) { value.is_a?(Integer) && value >= 0 }
    COUNT_OR_NIL = ->(value) { value.nil? || COUNT[value] }
    TIME_OR_NIL = ->(value) { value.nil? || (value.is_a?(Numeric) && value >= 0) }
    SIZE = ->(value) { value.is_a?(Integer) && value.positive? }
    TRUTH = ->(value) { [true, false].include?(value) }
    PERCENT = ->(value) { value.is_a?(Integer) && value.between?(0, 100) }
    NOTIFIES = ->(value) { value.respond_to?(:notify) }
    LOGS = ->(value) { value.respond_to?(:debug) }
    SAMPLES = ->(value) { value.respond_to?(:sampling_happened?) }
    CALLS = ->(value) { value.is_a?(Proc) }
    ACCESS = ->(value) { %i[queued random].include?(value) }
    CONFLICT = ->(value) { %i[wait_for_lock work_through extendable_work_through dead_locking].include?(value) }

    # Every key of the configuration: name => [default, what it must be].
    KEYS = {
      "retry_count" => [3, COUNT_OR_NIL], "retry_delay" => [200, COUNT], "retry_jitter" => [25, COUNT],
      "try_to_lock_timeout" => [10, TIME_OR_NIL], "default_lock_ttl" => [5_000, SIZE],
      "default_queue_ttl" => [15, SIZE], "is_timed_by_default" => [false, TRUTH],
      "detailed_acq_timeout_error" => [false, TRUTH], "default_access_strategy" => [:queued, ACCESS],
      "default_conflict_strategy" => [:wait_for_lock, CONFLICT], "lock_release_batch_size" => [100, SIZE],
      "clear_locks_of__lock_scan_size" => [300, SIZE], "clear_locks_of__queue_scan_size" => [300, SIZE],
      "key_extraction_batch_size" => [500, SIZE], "dead_request_ttl" => [24 * 60 * 60 * 1000, SIZE],
      "uniq_identifier" => [-> { Resource.calc_uniq_identity }, CALLS],
      "instrumenter" => [Instrument::VoidNotifier, NOTIFIES], "instr_sampling_enabled" => [false, TRUTH],
      "instr_sampling_percent" => [15, PERCENT], "instr_sampler" => [Instrument::Sampler, SAMPLES],
      "logger" => [Logging::VoidLogger, LOGS], "log_lock_try" => [false, TRUTH],
      "log_sampling_enabled" => [false, TRUTH], "log_sampling_percent" => [15, PERCENT],
      "log_sampler" => [Logging::Sampler, SAMPLES]
    }.freeze
    private_constant :COUNT, :COUNT_OR_NIL, :TIME_OR_NIL, :SIZE, :TRUTH, :PERCENT, :NOTIFIES, :LOGS, :SAMPLES, :CALLS,
                     :ACCESS, :CONFLICT

    def initialize
      @values = KEYS.transform_values(&:first)
      @set = {}
    end

    # @raise [ConfigNotFoundError]
    def [](key)
      @values.fetch(key.to_s) { raise ConfigNotFoundError, "Config with \"#{key}\" key does not exist." }
    end

    # @raise [ConfigNotFoundError, ConfigValidationError]
    def []=(key, value)
      name = key.to_s
      _default, valid = KEYS.fetch(name) { raise ConfigNotFoundError, "Config with \"#{key}\" key does not exist." }
      raise ConfigValidationError, "Invalid value #{value.inspect} of \"#{name}\"." unless valid.call(value)

      hindrance = name == "instrumenter" && Instrument.hindrance_of(value) and raise ConfigValidationError, hindrance
      @set[name] = true
      @values[name] = value
    end

    # Was it given, or is it the default?
    # @api private
    def set?(key)
      @set.key?(key.to_s)
    end

    # @return [Hash{String => Object}] every key with its value
    def to_h
      @values.dup
    end

    KEYS.each_key do |name|
      define_method(name) { self[name] }
      define_method(:"#{name}=") { |value| self[name] = value }
    end
  end
end
