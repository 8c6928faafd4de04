# SPDX-License-Identifier: MIT
#
# Events and the log. The library has callbacks for them and no queue. The callback only copies what it is given and
# puts it into a Ruby queue; a Ruby thread of the context hands it to whoever listens. So what listens may block, raise
# and call the context, and no native thread ever waits for it longer than for Ruby's global lock.
module Liblock
  # @api private
  class Listener
    SEVERITIES = { error: 3, warning: 2, info: 1, debug: 0 }.freeze # those of ::Logger

    def initialize
      @told = Thread::Queue.new
      @hearers = {}
      @thread = Worker.start("events") { hand_on }
    end

    # On a native thread, through ffi's dispatcher, or on the thread of the call.
    def on_event(pointer)
      @told << [:event, Event.read(pointer)]
    end

    def on_log(pointer)
      @told << [:log, LogEntry.read(pointer)]
    end

    def hear(what, &block)
      @hearers[what] = block
    end

    # Everything that was told before is handed on, then the thread ends.
    def finish
      @told << nil
      @thread.join unless @thread == Thread.current
    end

    private

    def hand_on
      while (what, value = @told.pop)
        Worker.guard(what) { @hearers[what]&.call(value) }
      end
    end
  end

  class Context
    # Tells the block of events from now on, one after the other, on a Ruby thread of this context. nil (no block): of
    # none any more.
    # @param kinds [Array<Symbol>] such as :obtained, :lost; none given = all
    # @yieldparam event [Event]
    def on_event(*kinds, &block)
      bits = kinds.sum { |kind| 1 << Numbers::EVENTS.fetch(kind) { raise ArgumentError, "unknown event: #{kind}" } }
      listener.hear(:event, &block)
      bits = 2**64 - 1 if kinds.empty?
      accept_listening(:event, block) { |native, *words| Native.set_events(native, block ? bits : 0, *words) }
    end

    # Gives events to an instrumenter: anything with `instrument(name, payload)`, such as ActiveSupport::Notifications.
    # The name is "obtained.liblock" and the like, the payload a Hash of the event's fields. nil ends it.
    def instrumenter=(instrumenter)
      return on_event unless instrumenter

      on_event do |event|
        instrumenter.instrument("#{event.kind}.liblock", event.to_h)
      end
    end

    # Tells the block of each entry of the log from now on, one after the other, on a Ruby thread of this context. nil
    # (no block): of none any more.
    # @param level [Symbol] :error, :warning, :info or :debug, and what is more important
    # @yieldparam entry [LogEntry]
    def on_log(level: :info, &block)
      levels = Numbers::LOG_LEVELS
      number = levels.fetch(level) { raise ArgumentError, "level is one of #{levels.keys.inspect}" }
      listener.hear(:log, &block) if block
      accept_listening(:log, block) { |native, *words| Native.set_log(native, block ? number : 0, *words) }
    end

    # Writes the log to a ::Logger, or anything with `add(severity, message, name)`, from now on; nil ends it.
    # @param level as in {#on_log}
    def log_to(logger, level: :info)
      return on_log(level: level) unless logger

      on_log(level: level) { |entry| logger.add(Listener::SEVERITIES.fetch(entry.level), entry.to_s, "liblock") }
    end

    # The same with level :info.
    def logger=(logger)
      log_to(logger)
    end

    # Sampling, and what is measured, for the acquires that begin from now on.
    # @param options events_percent:, log_percent: 0 to 100; events_max:; log_attempts:, histograms: true or false;
    #   events_sampler:, log_sampler: called with (percent, key, tag) on the thread that acquires; must be quick and not
    #   call the context; answers whether this acquire is told about
    # @return [void]
    def instruments(events_sampler: nil, log_sampler: nil, **options)
      fields = Options.fill(Native::InstrumentOptions, Options::INSTRUMENT, options)
      set_sampler(fields.struct, :events_sampler, events_sampler)
      set_sampler(fields.struct, :log_sampler, log_sampler)
      @measured = @calls_back = true
      status = native { |native| Native.set_instruments(native, fields.struct) }
      raise Error.of(Result.of_status(status)) unless status.zero?
    end

    # Does anybody hear of acquires? Then each is one acquire, and not a try and a request.
    # @api private
    def listening?
      @listening&.any? || @measured
    end

    private

    def listener
      @listener || @mutex.synchronize { @listener ||= Listener.new }
    end

    def accept_listening(kind, wanted)
      @calls_back = true if wanted
      function = wanted && Callbacks.function(kind)
      status = native { |native| yield native, function, function && Callbacks.remember(listener) }
      raise Error.of(Result.of_status(status)) unless status.zero?

      @listening = wanted ? [*@listening, kind].uniq : [*@listening] - [kind]
      Listening.note(self)
    end

    # The blocks live as long as the context: a sampler that was replaced may still be asked.
    def set_sampler(struct, name, block)
      return unless block

      (@samplers ||= []) << (sampler = CallbackBlock.new(&block))
      struct[name] = Callbacks.function(:sample)
      struct[:"#{name}_user_data"] = Callbacks.remember(sampler)
    end

    # Everything has been told: what is in Ruby's queue is handed on, then nobody is told any more.
    def stop_listening
      return unless @listener

      @listener.finish
      Callbacks.forget(@listener)
      @samplers&.each { |sampler| Callbacks.forget(sampler) }
    end
  end

  # At the end of the process callbacks must stop before Ruby does.
  # @api private
  module Listening
    @contexts = ObjectSpace::WeakMap.new

    def self.note(context)
      @contexts[context] = true
    end

    def self.stop_all
      @contexts.keys.each do |context|
        next if !context.usable? || context.closed?

        Native.set_events(context.pointer, 0, nil, nil)
        Native.set_log(context.pointer, 0, nil, nil)
      end
    end

    at_exit { stop_all }
  end
end
