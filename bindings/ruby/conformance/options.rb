# SPDX-License-Identifier: MIT
#
# Options as scenarios write them, turned into those of the binding.
#
# Invariant: an option that is not in the table is a fault, never ignored.
require_relative "base"

module Conformance
  module Options
    NUMBERS = %w[wait_ms retries retry_interval_ms retry_jitter_ms backoff_step_ms backoff_cap_ms age_step_ms
                 queue_ttl_ms max_hold_ms min_remaining_ms].freeze
    NARROW = %w[backoff_base priority renew votes].freeze
    NAMED = {
      "backoff" => %w[FIXED LINEAR EXPONENTIAL], "order" => %w[FIFO LIFO PRIORITY ANY], "mode" => %w[EXCLUSIVE],
      "on_conflict" => %w[REENTER REENTER_EXTEND WAIT FAIL], "on_close" => %w[RELEASE LEAVE],
      "on_deadlock" => %w[FAIL_SELF FAIL_YOUNGEST REPORT_ONLY]
    }.freeze
    ACQUIRE = (NUMBERS + NARROW + %w[ttl_ms backoff backoff_callback order mode on_conflict on_deadlock value metadata
                                     on_lost]).freeze
    CONTEXT_NUMBERS = %w[cleanup_interval_ms cleanup_batch_size max_ttl_ms deadlock_detection deadlock_delay_ms
                         locks_max waiters_max requests_max].freeze
    CONTEXT = (CONTEXT_NUMBERS + %w[prefix on_close votes]).freeze

    module_function

    # @return [Hash{Symbol => Object}] for the binding; :on_lost as "callback" or "completions"
    def acquire(node)
      read(node, ACQUIRE)
    end

    def context(node)
      read(node, CONTEXT)
    end

    def read(node, known)
      Conformance.blame("options are an object") unless node.nil? || node.is_a?(Hash)
      (node || {}).to_h do |name, value|
        Conformance.blame("unknown option \"#{name}\"") unless known.include?(name)
        [name.to_sym, one(name, value)]
      end
    end

    def one(name, value)
      return number(name, value) if NUMBERS.include?(name) || CONTEXT_NUMBERS.include?(name)
      return narrow(name, value) if NARROW.include?(name)
      return named(name, value) if NAMED.key?(name)

      case name
      when "ttl_ms" then Conformance.ttl(value)
      when "value", "prefix" then Conformance.bytes(value)
      when "metadata" then metadata(value)
      when "backoff_callback" then backoff(value)
      else notice(value)
      end
    end

    def number(name, value)
      value.is_a?(Integer) ? value : Conformance.blame("option \"#{name}\" takes a number")
    end

    def narrow(name, value)
      return value if number(name, value).between?(-2**31, 2**31 - 1)

      Conformance.blame("option \"#{name}\" takes a 32-bit number")
    end

    # Numbers too, so that scenarios can say values that no enumerator has.
    def named(name, value)
      return narrow(name, value) if value.is_a?(Integer)
      return value.downcase.to_sym if NAMED[name].include?(value)

      Conformance.blame("option \"#{name}\" has no value \"#{value}\"")
    end

    def metadata(value)
      Conformance.blame("option \"metadata\" takes an object of name: bytes") unless value.is_a?(Hash)
      value.transform_values { |bytes| Conformance.bytes(bytes) }
    end

    # Interval n is the n-th number, the last one stands for all later ones.
    def backoff(value)
      unless value.is_a?(Array) && !value.empty? && value.all?(Integer)
        Conformance.blame("option \"backoff_callback\" takes a list of intervals")
      end
      ->(attempt) { Rational(value[attempt] || value.last, 1000) }
    end

    def notice(value)
      return value if %w[callback completions].include?(value)

      Conformance.blame("option \"on_lost\" is \"callback\" or \"completions\"")
    end
  end
end
