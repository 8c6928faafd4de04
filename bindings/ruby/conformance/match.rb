# SPDX-License-Identifier: MIT
#
# Compares what a step expects with what the call told. Each expectation has one type wherever it appears.
#
# Invariant: an expectation that cannot be compared is a fault; none is passed over.
require_relative "base"

module Conformance
  module Match
    COUNTERS = %w[locks_held waiters acquired released contended handed_off expired taken_away taken_over timeouts
                  canceled deadlocks deadlock_searches renewals sweeps sweep_entries sweep_entries_per_hold_max
                  dropped_notices passed_on].freeze
    TYPES = {
      number: %w[token attempts waited_ms remaining_ms queue_position queue_length hold_count votes nodes count
                 waiter_count priority on_open_calls globals queues cleared_keys dequeued held_for_ms initial_ttl_ms
                 ] + COUNTERS,
      status: %w[status], truth: %w[locked queued held global zombie], flags: %w[flags], bytes: %w[key value],
      list: %w[keys], owner: %w[owner], instance: %w[instance], metadata: %w[metadata], waiters: %w[queue],
      name: %w[request lock kind order]
    }.flat_map { |type, words| words.map { |word| [word, type] } }.to_h.freeze
    COMPARISONS = { "eq" => :==, "ne" => :!=, "gt" => :>, "ge" => :>=, "lt" => :<, "le" => :<= }.freeze
    FLAGS = %w[REENTERED WAITED TOOK_OVER HAD_LOCK HAD_QUEUE].freeze
    WAITER = %w[owner instance order priority waited_ms].freeze
    STATUSES = Liblock::STATUSES.keys.map { |name| name.to_s.upcase }.freeze

    module_function

    # ------------------------------------------------------------------------------------------------ static check

    def check(expect, tells)
      Conformance.blame("an expectation is an object") unless expect.is_a?(Hash)
      expect.each do |name, value|
        type = TYPES[name]
        Conformance.blame("unknown expectation \"#{name}\"") unless type && tells.include?(name)
        next if written?(type, value)

        Conformance.blame("malformed expectation \"#{name}\": #{Conformance.line(value)}")
      end
    end

    def written?(type, value)
      case type
      when :number then number?(value)
      when :status then status?(value)
      when :truth then [true, false].include?(value)
      when :flags then flags?(value)
      when :bytes then Conformance.bytes(value) && true
      when :list then value.is_a?(Array) && value.each { |bytes| Conformance.bytes(bytes) }
      when :metadata then value.is_a?(Hash)
      when :waiters then value.is_a?(Array) && value.each { |waiter| check(waiter, WAITER) }
      else value.is_a?(String)
      end
    end

    def number?(value)
      return true if value.is_a?(Integer)

      value.is_a?(Hash) && !value.empty? && value.all? do |name, operand|
        COMPARISONS.key?(name) && (operand.is_a?(Integer) || operand.is_a?(String))
      end
    end

    def status?(value)
      return STATUSES.include?(value) if value.is_a?(String)

      value.is_a?(Array) && value.size >= 2 && value.all? { |name| STATUSES.include?(name) }
    end

    def flags?(value)
      words = ->(list) { list.is_a?(Array) && list.all? { |word| FLAGS.include?(word) } }
      return words[value] unless value.is_a?(Hash)

      !value.empty? && value.all? { |name, list| %w[has lacks].include?(name) && words[list] }
    end

    # -------------------------------------------------------------------------------------------------- comparison

    def all(world, expect, got)
      one(world, "status", "OK", got) if got.key?("status") && !expect.key?("status")
      expect.each { |name, value| one(world, name, value, got) }
    end

    def one(world, name, expect, got)
      return if got.key?(name) && fits?(world, name, expect, got[name])

      told = got.key?(name) ? Conformance.line(got[name]) : "nothing"
      Conformance.blame("expected #{name} #{Conformance.line(expect)}, got #{told}; " \
                        "the call told #{Conformance.line(got)}")
    end

    def fits?(world, name, expect, got)
      return false if got.nil?

      case TYPES.fetch(name)
      when :number then number_fits?(world, expect, got)
      when :status then Array(expect).include?(got)
      when :flags then flags_fit?(expect, got)
      when :bytes then got.is_a?(String) && Conformance.bytes(expect) == got.b
      when :list then got.map(&:b).sort == expect.map { |key| Conformance.bytes(key) }.sort
      when :metadata then got.transform_values(&:b) == expect.transform_values { |value| Conformance.bytes(value) }
      when :waiters then waiters_fit?(world, expect, got)
      when :owner then got == world.identity_of(expect)
      when :instance then got == world.instance_of(expect)
      else expect == got
      end
    end

    def number_fits?(world, expect, got)
      return false unless got.is_a?(Integer)
      return got == expect if expect.is_a?(Integer)

      expect.all? do |comparison, operand|
        got.public_send(COMPARISONS.fetch(comparison), operand.is_a?(Integer) ? operand : world.token_of(operand))
      end
    end

    def flags_fit?(expect, got)
      return expect.sort == got.sort if expect.is_a?(Array)

      (expect["has"].to_a - got).empty? && (expect["lacks"].to_a & got).empty?
    end

    def waiters_fit?(world, expect, got)
      expect.size == got.size && expect.zip(got).all? do |wanted, waiter|
        wanted.all? { |name, value| waiter.key?(name) && fits?(world, name, value, waiter[name]) }
      end
    end
  end
end
