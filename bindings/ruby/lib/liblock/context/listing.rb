# SPDX-License-Identifier: MIT
#
# Lists as Enumerators. A list is read in small steps while it is gone through, in bounded memory.
module Liblock
  class Context
    # The keys that are held.
    # @option options [String] :prefix only keys that begin with these bytes
    # @option options [Integer] :batch_size (500) keys looked at per step; 1 to 65,536
    # @option options [Boolean] :zombies_only only keys whose holder's instance is gone
    # @return [Enumerator<Info>]
    def locks(**options, &block)
      listed(:list_locks, options, &block)
    end

    # The keys that somebody waits for.
    # @return [Enumerator<Info>]
    def queues(**options, &block)
      listed(:list_queues, options, &block)
    end

    # Both together: each key once, held or not.
    # @return [Enumerator<Info>]
    def keys(**options, &block)
      listed(:list_keys, options, &block)
    end

    # Counts what a list would show.
    # @param what [Symbol] :locks, :queues or :keys
    # @return [Report]
    def count_listed(what = :locks, **options)
      fields = Options.optional(Native::ListOptions, Options::LIST, options)
      report = Native::Report.prepared
      kind = Numbers::LISTS.fetch(what) { raise ArgumentError, "what is one of #{Numbers::LISTS.keys.inspect}" }
      result = ask { |native, told| Native.list_each(native, kind, fields&.struct, nil, nil, report, told) }
      Report.read(report, result)
    end

    private

    def listed(list, options, &block)
      return Enumerator.new { |entries| show(list, options) { |info| entries << info } } unless block

      show(list, options, &block)
    end

    # The report of what was shown. An Enumerator that is gone through by `next` and left in the middle has a fiber that
    # never comes to its end: its cursor is freed with the object that stands for it.
    def show(list, options)
      fields = Options.optional(Native::ListOptions, Options::LIST, options)
      out, stands_for_it, at = FFI::MemoryPointer.new(:pointer), Object.new, nil
      result = ask do |native, told|
        guarded(always: true) do
          Native.public_send(list, native, fields&.struct, out, told).tap do |status|
            at = @handle.adopt_cursor(out.read_pointer) if status.zero?
            ObjectSpace.define_finalizer(stands_for_it, @handle.cursor_finalizer(at)) if at
          end
        end
      end
      while (info = next_of(at, out))
        yield info
      end
      report = Native::Report.blank
      Native.cursor_report(at, report)
      Report.read(report, result)
    ensure
      @handle.free_cursor(at) if at
    end

    def next_of(cursor, out)
      check_fork
      status = offload { guarded { Native.cursor_next(cursor, out) } }
      raise Error.of(Result.of_status(status)) unless status.zero?

      out.read_pointer.null? ? nil : Info.take(out.read_pointer)
    end
  end
end
