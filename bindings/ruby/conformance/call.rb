# SPDX-License-Identifier: MIT
#
# One step on its way: prepare (main thread: names and values) -> perform (any thread: the call) -> settle (main thread:
# bind what was made, compare).
require_relative "match"
require_relative "options"

module Conformance
  Verb = Struct.new(:name, :needs, :allows, :tells, :perform, :main_only)

  class Call
    # Verbs that do not speak of one context.
    AT_LARGE = %w[open sleep finish end_thread idle await_notice].freeze

    attr_reader :world, :step, :got, :slot, :owner, :hold, :made, :keys, :value, :ms, :instance
    attr_accessor :introduced, :opened

    def initialize(world, step, number)
      @world, @step, @number = world, step, number
      @verb = VERBS.fetch(step["do"])
      @got = {}
    end

    def prepare
      find_context
      find_owner
      find_hold
      read_values
      find_names
      self
    end

    # Never raises: what went wrong is told when it is settled.
    def perform
      @verb.perform.call(self)
    rescue Fault => fault
      @fault = fault
    rescue StandardError => error
      @fault = Fault.new("#{error.class}: #{error.message} (#{error.backtrace.first(4).join("; ")})")
    end

    def settle
      raise @fault if @fault

      @world.granted(@made, @reentered) if @made&.lock && @made.state == :ended
      Match.all(@world, @step["expect"] || {}, @got)
    end

    def context
      @slot.context
    end

    # The lock that the step names, in the context that the step names.
    def lock
      return @hold.lock if @hold.lock.context.equal?(context)

      Liblock::Lock.new(context, @hold.lock.handle, @hold.keys, @hold.lock.result)
    end

    # ------------------------------------------------------------------------------------------------ telling

    def tell(told)
      @got.merge!(told)
    end

    # Runs a call and tells its status; what the block answers where that is OK.
    def status
      value = yield
      tell("status" => "OK")
      value
    rescue Liblock::Error => error
      tell("status" => error.status.to_s.upcase)
      nil
    end

    # The same of a call that answers a result, or something that has one.
    def result
      value = yield
      told = value.is_a?(Liblock::Result) ? value : value.result
      tell_result(told)
      value
    rescue Liblock::Error => error
      tell_result(error.result)
      nil
    end

    def tell_result(result)
      @reentered = result.flags.include?(:reentered)
      tell("status" => result.status.to_s.upcase, "flags" => result.flags.map { |flag| flag.to_s.upcase })
      %w[token attempts waited_ms remaining_ms queue_position queue_length hold_count votes nodes].each do |name|
        tell(name => result.public_send(name)) unless result.public_send(name).nil?
      end
    end

    # Options for the binding: none at all where the step has none.
    def options
      given = Options.acquire(@step["options"])
      given[:owner] = @owner if @owner
      hold = @made
      case given[:on_lost]
      when "callback" then given[:on_lost] = ->(*) { @world.noticed(hold) }
      when "completions"
        given.delete(:on_lost)
        given[:completions] = @queue
      end
      given
    end

    # What an acquire is for, as the binding takes it.
    def target
      return nil if @step["global"]

      @step.key?("keys") ? @keys : @keys.first
    end

    private

    def find_context
      name = @step["context"] || "c"
      @slot = @world.contexts[name]
      open = @slot&.context
      Conformance.blame("no open context is named \"#{name}\"") unless open || AT_LARGE.include?(@verb.name)
      return unless (instance = @step["instance"])

      @instance = @world.contexts[instance] || Conformance.blame("no context is named \"#{instance}\"")
    end

    def find_owner
      name = @step["owner"] or return
      return @owner = :thread if name == "THREAD"

      @owner = (@world.owners[name] || Conformance.blame("no owner is named \"#{name}\"")).owner
    end

    def find_hold
      name = @step["lock"] || @step["request"] or return
      @hold = @world.holds[name] || Conformance.blame("nothing is named \"#{name}\"")
      Conformance.blame("\"#{name}\" never was granted") if @step["lock"] && !@hold.lock
      Conformance.blame("\"#{name}\" is no request") if @step["request"] && @hold.request.zero?
    end

    def read_values
      @keys = (@step.key?("key") ? [@step["key"]] : @step["keys"].to_a).map { |key| Conformance.bytes(key) }
      bytes = @step["value"] || @step["prefix"]
      @value = bytes && Conformance.bytes(bytes)
      @ms = @step["wait_ms"] || @step["ms"] || World::LIMIT_S * 1000
      @ms = Conformance.ttl(@step["ttl_ms"]) if @step.key?("ttl_ms")
    end

    def find_names
      name = @step["as"]
      case @verb.name
      when "open" then @opened = @world.add(@world.contexts, name, ContextSlot.new(name: name, pending: 0))
      when "owner_open", "owner_id" then @introduced = @world.add(@world.owners, name, OwnerSlot.new(name: name))
      when "acquire", "try_acquire", "acquire_async" then make_hold(name || "##{@number}")
      end
    end

    def make_hold(name)
      hold = Hold.new(name: name, number: @world.holds.size + 1, context: @slot, state: :new, request: 0, token: 0,
                      keys: @keys, owned: !@owner.nil?, notices: 0, awaited: 0)
      @made = @world.add(@world.holds, name, hold)
      needs_queue = @verb.name == "acquire_async" || @step.dig("options", "on_lost") == "completions"
      @queue = @world.queue_of(@slot) if needs_queue
    end
  end
end
