# SPDX-License-Identifier: MIT
#
# What calls that go over many keys, and those about the table itself, have counted: plain values.
module Liblock
  # What a listing or a clearing has counted.
  # @!attribute locks [Integer] shown, or taken away
  # @!attribute queues [Integer] shown, or from which somebody was sent away
  # @!attribute keys [Integer] locks + queues
  # @!attribute waiters [Integer] sent away
  # @!attribute steps [Integer] batches that it took
  # @!attribute elapsed_us [Integer] microseconds that the library took
  # @!attribute instances [Integer] shown, or taken off the list
  # @!attribute result [Result, nil]
  Report = Struct.new(:locks, :queues, :keys, :waiters, :steps, :elapsed_us, :instances, :result, keyword_init: true) do
    # @api private
    def self.read(report, result = nil)
      new(**(members - [:result]).to_h { |name| [name, report[name]] }, result: result)
    end
  end

  # One instance: a context that is open on the table.
  # @!attribute id [String]
  # @!attribute host [String]
  # @!attribute heard_at [Time, nil] when it was last heard of
  # @!attribute silent [Float] seconds since then
  # @!attribute interval [Float, nil] seconds between its signs of life; nil = it need not give any
  # @!attribute listens [Boolean, nil] nil = not known
  # @!attribute zombie [Boolean]
  # @!attribute self [Boolean] it is the context that lists
  Instance = Struct.new(:id, :host, :heard_at, :silent, :interval, :listens, :zombie, :self, keyword_init: true) do
    # @api private
    def self.read(one)
      text = ->(bytes) { bytes[:size].zero? ? "" : Numbers.text(bytes[:data].get_bytes(0, bytes[:size])) }
      new(id: text[one[:id]], host: text[one[:host]], heard_at: Numbers.time(one[:heard_us]),
          silent: one[:silent_ms] / 1000.0, interval: Numbers.seconds(one[:interval_ms]),
          listens: one[:listens].negative? ? nil : one[:listens] == 1, zombie: one[:is_zombie] == 1,
          self: one[:is_self] == 1)
    end
  end

  # A node or observer of a quorum.
  # @!attribute address [String] without user and password
  # @!attribute id [String] empty = not known yet
  # @!attribute why [String] it does not vote: cause and cure; empty = it does
  # @!attribute state [Symbol] :up, :down, :quarantined, :needs_floor, :stepped, :refused
  # @!attribute quarantine_left [Float] seconds
  # @!attribute round_trip_us [Integer] -1 = none yet
  # @!attribute clock_offset_ms [Integer]
  # @!attribute lag_ms [Integer] of observers; -1 = not known
  # @!attribute observer [Boolean]
  Node = Struct.new(:address, :id, :why, :state, :quarantine_left, :round_trip_us, :clock_offset_ms, :lag_ms, :observer,
                    keyword_init: true) do
    # @api private
    def self.read(one)
      text = ->(bytes) { bytes[:size].zero? ? "" : Numbers.text(bytes[:data].get_bytes(0, bytes[:size])) }
      new(address: text[one[:address]], id: text[one[:id]], why: text[one[:why]],
          state: Numbers::NODE_STATES.fetch(one[:state], :unknown), quarantine_left: one[:quarantine_left_ms] / 1000.0,
          round_trip_us: one[:round_trip_us], clock_offset_ms: one[:clock_offset_ms], lag_ms: one[:lag_ms],
          observer: one[:is_observer] == 1)
    end
  end

  # A quorum as this context has seen it last.
  QuorumState = Struct.new(:epoch, :max_ttl_ms, :cluster_id, :config_hash, :votes, :nodes, :up, :voting, :quarantined,
                           :observers, :configuring, :each_node, :message, keyword_init: true)

  # What a context does about zombies in the background.
  ZombiesStatus = Struct.new(:enabled, :flushing, :interval, :last_run_at, :runs, :flushes, :instances, :locks,
                             :waiters, :last_failure_at, :last_failure, keyword_init: true)

  # How many of the measured durations were so long: bucket n counts those up to 2^n microseconds.
  Histogram = Struct.new(:count, :sum_us, :buckets, keyword_init: true)
end
