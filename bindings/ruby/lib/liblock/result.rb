# SPDX-License-Identifier: MIT
#
# What a call told besides its status: read out of the C struct at once, so that the memory can be used again.
require_relative "numbers"
require_relative "native/functions"

module Liblock
  # The answer of a call. Immutable, may be shared by threads.
  #
  # An acquire that had to wait is told by its completion, which carries less than a result: then {#attempts},
  # {#queue_position}, {#queue_length}, {#votes} and {#nodes} are nil.
  class Result
    FORMAT = "Q l L Q q4 L4 Z256 L2 Q"
    NO_FLAGS = [].freeze
    private_constant :FORMAT, :NO_FLAGS

    # @return [Symbol] the status, such as :ok or :timeout
    attr_reader :status
    # @return [Integer] fencing token of the grant, else 0
    attr_reader :token
    # @return [Integer, nil] attempts made
    attr_reader :attempts
    # @return [Integer] milliseconds from the call to its end
    attr_reader :waited_ms
    # @return [Integer] milliseconds left of the lease; -1 = no expiry
    attr_reader :remaining_ms
    # @return [Integer, nil] 0 = next in line when the wait ended; -1 = not queued
    attr_reader :queue_position
    # @return [Integer, nil] waiters of that key; -1 = not known
    attr_reader :queue_length
    # @return [Integer, nil] handles that share the hold
    attr_reader :hold_count
    # @return [Array<Symbol>] of :reentered, :waited, :took_over, :fewer_replicas, :had_lock, :had_queue
    attr_reader :flags
    # @return [Integer, nil] nodes that granted, released or did what was asked
    attr_reader :votes
    # @return [Integer, nil] nodes asked
    attr_reader :nodes
    # @return [Integer, nil] replicas that had the grant in time
    attr_reader :replicas
    # @return [String] cause and cure of a failure; empty on success, but for what is wrong with a quorum's nodes
    attr_reader :message
    # @return [Info, nil] with busy_info: the key that was busy
    attr_reader :info

    # @api private
    def self.read(memory)
      _, status, attempts, token, waited_ms, remaining_ms, position, length, hold_count, flags, votes, nodes, message,
        replicas, _, info = memory.get_bytes(0, Native::Result.size).unpack(FORMAT)
      memory.put_pointer(Native::Result.offset_of(:info), nil) unless info.zero?
      new(status: Numbers::STATUS_NAMES.fetch(status, :unknown), attempts: attempts, token: token, waited_ms: waited_ms,
          remaining_ms: remaining_ms, queue_position: position, queue_length: length, hold_count: hold_count,
          flags: flags_of(flags), votes: votes, nodes: nodes, message: message, replicas: replicas,
          unknown_flags: flags & ~63, info: info.zero? ? nil : Info.take(FFI::Pointer.new(info)))
    end

    # @api private
    def self.flags_of(flags)
      flags.zero? ? NO_FLAGS : Numbers::FLAGS.filter_map { |name, bit| name if flags.anybits?(bit) }.freeze
    end

    # A result of what came otherwise than in a struct: a completion, or a status alone.
    # @api private
    def self.of_status(number, **told)
      told = { message: Native.status_text(number) }.merge(told) unless number.zero?
      new(status: Numbers::STATUS_NAMES.fetch(number, :unknown), **told)
    end

    # @api private
    def initialize(status:, token: 0, attempts: nil, waited_ms: 0, remaining_ms: 0, queue_position: nil,
                   queue_length: nil, hold_count: nil, flags: NO_FLAGS, votes: nil, nodes: nil, replicas: nil,
                   message: "", info: nil, unknown_flags: 0)
      @status, @token, @attempts, @waited_ms, @remaining_ms = status, token, attempts, waited_ms, remaining_ms
      @queue_position, @queue_length, @hold_count, @flags = queue_position, queue_length, hold_count, flags
      @votes, @nodes, @replicas, @info = votes, nodes, replicas, info
      @message = message.empty? ? "" : Numbers.text(message)
      @unknown_flags = unknown_flags
      freeze
    end

    # @api private
    attr_reader :unknown_flags

    def ok?
      status == :ok
    end

    # @return [Float] seconds from the call to its end
    def waited
      waited_ms / 1000.0
    end

    # @return [Float, nil] seconds left of the lease; nil = no expiry
    def remaining
      Numbers.seconds(remaining_ms)
    end

    def inspect
      "#<#{self.class} #{status}#{" #{message}" unless message.empty?}>"
    end
  end
end
