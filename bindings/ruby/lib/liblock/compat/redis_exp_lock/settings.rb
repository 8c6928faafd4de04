# SPDX-License-Identifier: MIT
#
# What a RedisExpLock was told, with the defaults of the manual, and as liblock takes it. What cannot be meant is an
# ArgumentError at once, not when the lock is needed.
class RedisExpLock
  # @api private
  class Settings
    # The shortest and the longest lease on a server.
    SHORTEST_S = 0.02
    LONGEST_S = 86_400
    KEY_MOST = 512
    KNOWN = %i[redis expiry retries interval retry_interval].freeze

    # @return [String] the key's bytes
    attr_reader :key
    attr_reader :expiry, :retries, :interval

    def initialize(lock_key, opts)
      @key = key_of(lock_key)
      raise ArgumentError, ":redis is required" unless opts[:redis]

      @expiry = expiry_of(opts.fetch(:expiry, 60))
      @retries = retries_of(opts[:retries] || 0)
      # The manual's name is :interval; the original's source had it as :retry_interval.
      @interval = interval_of(opts[:interval] || opts[:retry_interval] || 0.01)
      unknown = opts.keys - KNOWN
      warn("RedisExpLock: passes over options it does not know: #{unknown.inspect}", uplevel: 3) if unknown.any?
    end

    # A shorter life than a server's lease can have is made longer: that costs others a wait of milliseconds, and nobody
    # the lock.
    def ttl
      expiry ? [expiry, SHORTEST_S].max : :none
    end

    def retries_or_forever
      retries == Float::INFINITY ? -1 : retries
    end

    # What is awaited has a length, or no attempts could be counted by it.
    def interval_used
      [interval, 0.001].max
    end

    private

    def key_of(lock_key)
      key = String(lock_key).b.freeze
      return key if key.bytesize.between?(1, KEY_MOST)

      raise ArgumentError, "a lock key has 1 to #{KEY_MOST} bytes, not #{key.bytesize}"
    end

    def expiry_of(value)
      return value if value.nil? || (seconds?(value) && value.positive? && value <= LONGEST_S)

      raise ArgumentError, ":expiry is nil or a number of seconds, more than 0 and up to #{LONGEST_S}, " \
                           "not #{value.inspect}"
    end

    def retries_of(value)
      return value if value.is_a?(Integer) || value == Float::INFINITY

      raise ArgumentError, ":retries is a whole number, not #{value.inspect}"
    end

    def interval_of(value)
      return value if seconds?(value) && !value.negative?

      raise ArgumentError, ":interval is a number of seconds, not #{value.inspect}"
    end

    def seconds?(value)
      value.is_a?(Numeric) && value.real? && (!value.is_a?(Float) || value.finite?)
    end
  end
end
