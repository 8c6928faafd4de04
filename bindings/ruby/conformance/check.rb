# SPDX-License-Identifier: MIT
#
# The static check of a scenario, before any of it runs: every field, option, expectation and verb is known and written
# as SPEC.md says, and its tags claim no more than its steps do.
require_relative "match"
require_relative "options"
require_relative "verbs"

module Conformance
  module Check
    SCENARIO = %w[name contexts tags context steps note].freeze
    COMMON = %w[do context thread background expect note].freeze
    END_TELLS = %w[kind request lock status token remaining_ms waited_ms].freeze
    TEXT = %w[do context as space url lock request owner thread of name instance note].freeze
    TRUTH = %w[background global add drop_queue any_order].freeze
    NUMBER = %w[wait_ms ms waiters batch_size dead_ttl_ms].freeze
    BYTES = %w[key value prefix].freeze

    module_function

    def scenario(node, selftest)
      Conformance.blame("a scenario is an object") unless node.is_a?(Hash)
      head(node, selftest)
      node["steps"].each_with_index do |step, index|
        step(step)
      rescue Fault => fault
        Conformance.blame("malformed step #{index + 1}: #{fault.message}")
      end
      tags(node)
    end

    def head(node, selftest)
      known = selftest ? SCENARIO + ["must_fail"] : SCENARIO
      node.each_key do |field|
        Conformance.blame("unknown field \"#{field}\" of a scenario") unless known.include?(field)
      end
      name = node["name"]
      unless name.is_a?(String) && name.match?(/\A[a-z0-9_]+\z/)
        Conformance.blame("a scenario's name is made of a-z, 0-9 and _")
      end
      contexts = node["contexts"]
      Conformance.blame("\"contexts\" says where the scenario holds") unless contexts.is_a?(Array) && !contexts.empty?
      Conformance.blame("unknown context kind") unless (contexts - %w[local redis quorum]).empty?
      Options.context(node["context"]) if node["context"]
      Conformance.blame("a scenario has steps") unless node["steps"].is_a?(Array) && !node["steps"].empty?
    end

    def step(step)
      verb = step.is_a?(Hash) && VERBS[step["do"]]
      Conformance.blame("unknown verb: #{Conformance.line(step)}") unless verb
      step.each do |name, value|
        unless COMMON.include?(name) || verb.needs.include?(name) || verb.allows.include?(name)
          Conformance.blame("unknown field \"#{name}\" in #{Conformance.line(step)}")
        end
        field(verb, name, value)
      end
      verb.needs.each { |name| Conformance.blame("field \"#{name}\" is missing") unless step.key?(name) }
      threads(verb, step)
      return unless verb.allows.include?("keys") && %w[key keys global].count { |name| step.key?(name) } != 1

      Conformance.blame("an acquire takes one of key, keys and global: #{Conformance.line(step)}")
    end

    def threads(verb, step)
      Conformance.blame("\"#{verb.name}\" cannot be given to a thread") if step.key?("thread") && verb.main_only
      Conformance.blame("\"background\" needs a \"thread\"") if step.key?("background") && !step.key?("thread")
    end

    def field(verb, name, value)
      fits = true
      fits = value.is_a?(String) if TEXT.include?(name)
      fits = [true, false].include?(value) if TRUTH.include?(name)
      fits = value.is_a?(Integer) if NUMBER.include?(name)
      Conformance.blame("field \"#{name}\" is of another type: #{Conformance.line(value)}") unless fits
      return Conformance.bytes(value) if BYTES.include?(name)

      case name
      when "ttl_ms" then Conformance.ttl(value)
      when "keys" then keys(value)
      when "ends" then ends(value)
      when "expect" then Match.check(value, verb.tells)
      when "options" then verb.name == "open" ? Options.context(value) : Options.acquire(value)
      end
    end

    def keys(value)
      Conformance.blame("\"keys\" takes a list") unless value.is_a?(Array)
      value.each { |key| Conformance.bytes(key) }
    end

    def ends(value)
      Conformance.blame("\"ends\" takes a list of at least one end") unless value.is_a?(Array) && !value.empty?
      value.each do |one|
        Match.check(one, END_TELLS)
        next if one.key?("request") ^ one.key?("lock")

        Conformance.blame("an end names a request, or a lock that is lost: #{Conformance.line(one)}")
      end
    end

    # -------------------------------------------------------------------------------------------------------- tags

    def tags(node)
      list = node["tags"] or return
      Conformance.blame("\"tags\" takes a list") unless list.is_a?(Array)
      list.each do |tag|
        Conformance.blame("unknown tag") unless %w[order lost cancel close].include?(tag)
        Conformance.blame("tag \"#{tag}\" claims what the steps do not do") unless holds?(tag, node["steps"])
      end
    end

    def holds?(tag, steps)
      case tag
      when "order" then steps.sum { |step| grants_in_order(step) } >= 2
      when "lost" then steps.any? { |step| expects?(step, "LOST") }
      when "cancel" then steps.any? { |step| step["do"] == "cancel" }
      else
        closes = steps.any? { |step| %w[close close_async].include?(step["do"]) }
        closes && steps.any? { |step| expects?(step, "CLOSED") }
      end
    end

    def grants_in_order(step)
      return 0 if step["any_order"]

      step["ends"].to_a.count { |one| one.key?("request") && [nil, "OK"].include?(one["status"]) }
    end

    def expects?(step, status)
      step["ends"].to_a.any? { |one| one["status"] == status } || step.dig("expect", "status") == status
    end
  end
end
