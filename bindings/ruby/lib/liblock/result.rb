# SPDX-License-Identifier: MIT
#
# What a call told besides its status: read out of the C struct at once, so that the memory can be used again.
require_relative "numbers"
require_relative "native/functions"
require_relative "wording"

module Liblock
  # The answer of a call. Immutable, may be shared by threads. What is nil was not told: calls that answer a status
  # alone tell nothing else. A completion tells all but unknown_flags.
  class Result
    FORMAT = "Q2 Q q4 L4 Z256 L"
    STATUS_AT = Native::Result.offset_of(:status)
    INFO_AT = Native::Result.offset_of(:info)
    # What a status alone does not tell; what a completion tells takes its place.
    UNTOLD = { token: 0, attempts: nil, waited_ms: 0, remaining_ms: 0, queue_position: nil, queue_length: nil,
               hold_count: nil, flags: [].freeze, votes: nil, nodes: nil, message: "", replicas: nil,
               unknown_flags: 0 }.freeze
    private_constant :FORMAT, :STATUS_AT, :INFO_AT, :UNTOLD

    # @return [Symbol] the status, such as :ok or :timeout
    attr_reader :status
    # @!attribute [r] token
    #   @return [Integer] fencing token of the grant, else 0
    # @!attribute [r] attempts
    #   @return [Integer, nil] attempts made
    # @!attribute [r] waited_ms
    #   @return [Integer] milliseconds from the call to its end
    # @!attribute [r] remaining_ms
    #   @return [Integer] milliseconds left of the lease; -1 = no expiry
    # @!attribute [r] queue_position
    #   @return [Integer, nil] 0 = next in line when the wait ended; -1 = not queued
    # @!attribute [r] queue_length
    #   @return [Integer, nil] waiters of that key; -1 = not known
    # @!attribute [r] hold_count
    #   @return [Integer, nil] handles that share the hold
    # @!attribute [r] flags
    #   @return [Array<Symbol>] of :reentered, :waited, :took_over, :fewer_replicas, :had_lock, :had_queue
    # @!attribute [r] votes
    #   @return [Integer, nil] nodes that granted, released or did what was asked
    # @!attribute [r] nodes
    #   @return [Integer, nil] nodes asked
    # @!attribute [r] replicas
    #   @return [Integer, nil] replicas that had the grant in time
    # @!attribute [r] message
    #   @return [String] cause and cure of a failure; empty on success, but for what is wrong with a quorum's nodes
    # @return [Info, nil] with busy_info: the key that was busy
    attr_reader :info

    UNTOLD.each_key { |name| define_method(name) { (@told || unpack)[name] } }

    # Copies; most results are never asked for more than their status, so the rest is taken apart when it is.
    # @api private
    def self.read(memory)
      status = memory.get_int32(STATUS_AT)
      info = status.zero? ? nil : take_info(memory)
      new(Numbers::STATUS_NAMES.fetch(status, :unknown), raw: memory.get_bytes(0, INFO_AT), info: info)
    end

    # @api private
    def self.take_info(memory)
      info = memory.get_pointer(INFO_AT)
      memory.put_pointer(INFO_AT, nil)
      info.null? ? nil : Info.take(info)
    end

    # A result of what came otherwise than in a struct: a completion, or a status alone.
    # @api private
    def self.of_status(number, info: nil, **told)
      told = { message: Wording.reworded(Native.status_text(number)) }.merge(told) unless number.zero?
      new(Numbers::STATUS_NAMES.fetch(number, :unknown), told: UNTOLD.merge(told), info: info)
    end

    # @api private
    def initialize(status, raw: nil, told: nil, info: nil)
      @status, @raw, @told, @info = status, raw, told, info
    end

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

    # @return [String] for people
    def inspect
      "#<#{self.class} #{status}#{" #{message}" unless message.empty?}>"
    end

    private

    def unpack
      _, status_and_attempts, token, waited, remaining, position, length, hold_count, flags, votes, nodes, message,
        replicas = @raw.unpack(FORMAT)
      @told = {
        token: token, attempts: status_and_attempts >> 32, waited_ms: waited, remaining_ms: remaining,
        queue_position: position, queue_length: length, hold_count: hold_count, votes: votes, nodes: nodes,
        flags: Numbers.flags(flags),
        message: Wording.reworded(Numbers.text(message)), replicas: replicas, unknown_flags: flags & ~63
      }.freeze
    end
  end
end
