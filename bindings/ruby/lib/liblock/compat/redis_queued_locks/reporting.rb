# SPDX-License-Identifier: MIT
#
# Who is told: instrumenters, loggers, and the samplers that say of how much. An instrumenter or logger that raises must
# not cost anybody a lock, so what it raises is passed over.
module RedisQueuedLocks
  # Instrumenters: anything with `notify(event, payload)`.
  module Instrument
    # What hinders an instrumenter, whose own error at an event would be passed over; nil where nothing does.
    # @api private
    def self.hindrance_of(instrumenter)
      return if instrumenter != ActiveSupport || defined?(::ActiveSupport::Notifications)

      "ActiveSupport::Notifications is not loaded: require \"active_support/notifications\" before it is chosen as " \
        "the instrumenter"
    end

    # Gives events to ActiveSupport::Notifications.
    module ActiveSupport
      # @param event [String] such as "redis_queued_locks.lock_obtained"
      # @param payload [Hash]
      def self.notify(event, payload = {})
        ::ActiveSupport::Notifications.instrument(event, payload)
      end
    end

    # Does nothing; the default.
    module VoidNotifier
      # Nobody is told.
      def self.notify(event, payload = {}); end
    end

    # Chance.
    module Sampler
      def self.sampling_happened?(percent)
        percent > rand(100)
      end
    end
  end

  # Loggers: anything with `debug(progname = nil, &block)`.
  module Logging
    # Does nothing; the default.
    module VoidLogger
      %i[debug info warn error fatal unknown].each { |level| define_singleton_method(level) { |*, &_block| true } }
    end

    # Chance.
    module Sampler
      def self.sampling_happened?(percent)
        percent > rand(100)
      end
    end
  end

  # What one call tells, decided once for the whole call by its keywords.
  # @api private
  class Reporter
    attr_reader :instrument

    # @param options [Hash] the shared keywords, with what the configuration says where they were not given
    def initialize(options)
      @logger, @instrumenter = options[:logger], options[:instrumenter]
      hindrance = Instrument.hindrance_of(@instrumenter) and raise ArgumentError, hindrance
      @instrument = options[:instrument]
      @logs = sampled?(options, :log) && @logger != Logging::VoidLogger
      @notifies = sampled?(options, :instr) && @instrumenter != Instrument::VoidNotifier
    end

    def logs?
      @logs
    end

    def log(text)
      @logger.debug { text } if @logs
    rescue StandardError
      nil
    end

    def notify(event, payload)
      @instrumenter.notify("redis_queued_locks.#{event}", payload) if @notifies
    rescue StandardError
      nil
    end

    # For what a user of the original may not expect: whatever the sampling says, on stderr where there is no logger.
    def warn(text)
      text = "[redis_queued_locks.refused] #{text}"
      return Kernel.warn(text) if @logger == Logging::VoidLogger

      @logger.respond_to?(:warn) ? @logger.warn { text } : @logger.debug { text }
    rescue StandardError
      nil
    end

    private

    def sampled?(options, kind)
      return true if !options[:"#{kind}_sampling_enabled"] || options[:"#{kind}_sample_this"]

      options[:"#{kind}_sampler"].sampling_happened?(options[:"#{kind}_sampling_percent"])
    end
  end
end
