# SPDX-License-Identifier: MIT
#
# What holds for every result: the memory that calls fill in is handed over full of rubbish, so that whatever the
# library forgets to write shows, and each result is held against the status that was returned.
module Conformance
  module Audit
    RUBBISH = 0x5a.chr * (Liblock::Native::Result.size - 8)

    module Contexts
      def result_memory
        super.tap { |memory| memory.put_bytes(8, RUBBISH) }
      end

      def told(status, memory)
        result = super
        name = Liblock::Numbers::STATUS_NAMES.fetch(status, :unknown)
        if result.status != name
          Conformance.blame("returned #{name.to_s.upcase}, but the result says #{result.status.to_s.upcase}")
        end
        Conformance.blame("the result's message has no end") if result.message.bytesize > 255
        if result.message.empty? != result.ok?
          Conformance.blame("status #{name.to_s.upcase} with the message \"#{result.message}\"")
        end
        Conformance.blame("unknown result flags #{result.unknown_flags}") unless result.unknown_flags.zero?
        Conformance.blame("waited_ms is #{result.waited_ms}") if result.waited_ms.negative?
        result
      end
    end

    module Slots
      def clear
        super.tap { result.put_bytes(8, RUBBISH) }
      end
    end

    Liblock::Context.prepend(Contexts)
    Liblock::Slot.prepend(Slots)
  end
end
