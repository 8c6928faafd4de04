# SPDX-License-Identifier: MIT
#
# What is counted and measured.
module Liblock
  # Counters of the table since it was made, and present sizes, by their names in liblock.h.
  Stats = Struct.new(*(Native::Stats.members - [:struct_size]), keyword_init: true)

  class Context
    # @return [Stats]
    def stats
      stats = Native::Stats.prepared
      filled { |native| Native.stats_get(native, stats) }
      Stats.new(**Stats.members.to_h { |name| [name, stats[name]] })
    end

    # What was measured while histograms were on.
    # @param which [Symbol] :acquire (from the call to the grant) or :hold (from the grant to its end)
    # @return [Histogram]
    def histogram(which)
      number = Numbers::HISTOGRAMS.fetch(which) { raise ArgumentError, "which is :acquire or :hold" }
      histogram = Native::Histogram.prepared
      filled { |native| Native.histogram_get(native, number, histogram) }
      Histogram.new(count: histogram[:count], sum_us: histogram[:sum_us], buckets: histogram[:buckets].to_a)
    end

    # The statistics and both histograms in Prometheus' text format.
    # @return [String]
    def prometheus
      text_of { |*room| native { |native| Native.stats_prometheus(native, *room) } }
    end

    private

    def filled(&block)
      status = native(&block)
      raise Error.of(Result.of_status(status)) unless status.zero?
    end
  end
end
