# SPDX-License-Identifier: MIT
#
# The enumerators of liblock.h as symbols, in one table each, and the two plain conversions that everything uses:
# between seconds (Ruby) and milliseconds (C), and from bytes to strings.
module Liblock
  # What a status is called: the header's name in small letters.
  # @return [Hash{Symbol => Integer}]
  STATUSES = {
    ok: 0, busy: 1, timeout: 2, retries_exhausted: 3, canceled: 4, deadlock: 5, already_held: 6, dequeued: 7,
    too_late: 8, not_held: 20, lost: 21, not_owner: 22, in_doubt: 30, partial: 31, no_quorum: 32, quarantined: 33,
    nodes_mismatch: 34, connect: 40, auth: 41, server: 42, wrong_type: 43, read_only: 44, protocol: 45,
    invalid_argument: 60, invalid_handle: 61, options_mismatch: 62, unsupported: 63, limit: 64, would_deadlock: 65,
    closed: 66, forked: 67, no_memory: 68, internal: 69
  }.freeze

  # @api private
  module Numbers
    DEFAULT = -(2**63)
    TTL = { auto: -1, none: -2 }.freeze
    FOREVER = -1
    MOST = 2**63 - 1
    VOTES_ALL = -1
    OWNER_THREAD = 1

    STATUS_NAMES = STATUSES.invert.freeze
    PREDICATES = { retryable: 1, maybe_held: 2, lost_lock: 4 }.freeze
    FLAGS = { reentered: 1, waited: 2, took_over: 4, fewer_replicas: 8, had_lock: 16, had_queue: 32 }.freeze

    # @api private
    def self.flags(bits)
      FLAGS.filter_map { |name, bit| name if bits.anybits?(bit) }.freeze
    end

    KINDS = { 1 => :acquire, 2 => :release, 3 => :lost, 4 => :watch, 5 => :close, 6 => :extend, 7 => :update,
              8 => :verify, 9 => :ping, 10 => :inspect, 11 => :force_release, 12 => :read, 13 => :quorum_init,
              14 => :set_nodes }.freeze
    ORDERS = { fifo: 0, lifo: 1, priority: 2, any: 3 }.freeze
    ORDER_NAMES = ORDERS.invert.freeze
    MODES = { exclusive: 0 }.freeze
    BACKOFFS = { fixed: 0, linear: 1, exponential: 2 }.freeze
    CONFLICTS = { reenter: 0, reenter_extend: 1, wait: 2, fail: 3 }.freeze
    DEADLOCKS = { fail_self: 0, fail_youngest: 1, report_only: 2 }.freeze
    MISMATCHES = { fail_if_disjoint: 0, ignore: 1, fail: 2, fail_if_minority_overlap: 3 }.freeze
    INSTRUMENTS = { events: 1, log: 2, attempts: 4 }.freeze
    ON_CLOSE = { release: 0, leave: 1 }.freeze
    RESTARTS = { quarantine: 0, trust_fsync: 1 }.freeze
    READS = { nearest: 0, master: 1, quorum: 2 }.freeze
    LISTS = { locks: 0, queues: 1, keys: 2 }.freeze
    HISTOGRAMS = { acquire: 1, hold: 2 }.freeze
    LOG_LEVELS = { off: 0, error: 1, warning: 2, info: 3, debug: 4 }.freeze
    NODE_STATES = { 1 => :up, 2 => :down, 3 => :quarantined, 4 => :needs_floor, 5 => :stepped, 6 => :refused }.freeze
    EVENTS = %i[
      connected disconnected server_changed doubt_ended may_evict obtained reentered extended hold_and_release
      series_obtained series_hold_and_release lost requeued handed_off deadlock_found dequeued dequeued_on_limit failed
      force_released cleared owner_cleared instance_cleared dead_cleared owner_closed node_up node_down
      node_quarantined node_rejoined node_stepped clock_derived configured cleartext_password
    ].each_with_index.to_h { |name, index| [name, index + 1] }.freeze
    EVENT_NAMES = EVENTS.invert.freeze

    module_function

    # Milliseconds of seconds. What is more than nothing stays so: 0.0001 s is 1 ms, since 0 means another thing. What
    # is less than nothing is refused here: rounded to -1 or -2, the words for "for ever" and the like, it would be one.
    def milliseconds(seconds)
      unless seconds.is_a?(Numeric) && seconds.real? && (!seconds.is_a?(Float) || seconds.finite?)
        raise ArgumentError, "a time is a number of seconds, not #{seconds.inspect}"
      end
      raise ArgumentError, "a time is not negative: #{seconds.inspect}" if seconds.negative?

      number = (seconds * 1000).round
      raise ArgumentError, "a time is at most #{MOST / 1000} seconds, not #{seconds.inspect}" if number > MOST

      number.zero? && seconds.positive? ? 1 : number
    end

    # Milliseconds of a wait: nil, :forever and infinity wait for ever.
    def wait_ms(seconds)
      return FOREVER if seconds.nil? || seconds == :forever || seconds == Float::INFINITY

      milliseconds(seconds)
    end

    # Milliseconds of a lease: seconds, :auto or :none.
    def ttl_ms(ttl)
      ttl.is_a?(Symbol) ? TTL.fetch(ttl) { raise ArgumentError, "ttl is seconds, :auto or :none" } : milliseconds(ttl)
    end

    # Seconds of milliseconds; nil where -1 stands for "none" or "not known".
    def seconds(number)
      number.negative? ? nil : number / 1000.0
    end

    # Bytes as a frozen string: UTF-8 where they are, else binary.
    def text(bytes)
      string = bytes.dup.force_encoding(Encoding::UTF_8)
      string.force_encoding(Encoding::BINARY) unless string.valid_encoding?
      string.freeze
    end

    # Wall clock in microseconds as a Time; nil where 0 (or less) stands for "not known".
    def time(microseconds)
      microseconds.positive? ? Time.at(microseconds / 1_000_000, microseconds % 1_000_000, :usec) : nil
    end
  end
end
