# SPDX-License-Identifier: MIT
#
# A snapshot of one key, read whole and freed at once: nobody has to end it.
require_relative "numbers"

module Liblock
  # One who waits for a key.
  # @!attribute owner  [String, nil] identity, as in {Owner#id}
  # @!attribute instance [String, nil] the context that it waits in
  # @!attribute since [Time, nil] when it was queued
  # @!attribute waited [Float, nil] seconds since then
  # @!attribute order [Symbol] :fifo, :lifo, :priority or :any
  # @!attribute priority [Integer]
  Waiter = Struct.new(:owner, :instance, :since, :waited, :order, :priority, keyword_init: true)

  # Who holds a key and who waits for it, as it was when it was asked. Immutable, may be shared by threads.
  class Info
    # @return [String] the key; empty for the global lock
    attr_reader :key
    # @return [String, nil] identity of the holder
    attr_reader :owner
    # @return [String, nil] the context that holds, "process-random@host"
    attr_reader :instance
    # @return [String, nil] where that context runs
    attr_reader :host
    # @return [Integer] fencing token
    attr_reader :token
    # @return [Time, nil] when the hold began, where that is known
    attr_reader :since
    # @return [Integer] milliseconds of the lease it was granted with; -1 = no expiry, 0 = not known
    attr_reader :initial_ttl_ms
    # @return [Integer] milliseconds left of the lease; -1 = no expiry
    attr_reader :remaining_ms
    # @return [Integer] handles that share the hold
    attr_reader :hold_count
    # @return [String] what the lock carries; empty = nothing
    attr_reader :value
    # @return [Hash{String => String}]
    attr_reader :metadata
    # @return [Integer] all who wait; {#waiters} tells more of the first 65,536, over a quorum of the first 200
    attr_reader :waiter_count
    # @return [Array<Waiter>] in the order of service
    attr_reader :waiters

    # Reads and frees.
    # @api private
    def self.take(pointer)
      new(pointer)
    ensure
      Native.info_free(pointer)
    end

    # Reads only: of an info that somebody else frees.
    # @api private
    def initialize(pointer)
      size = FFI::MemoryPointer.new(:size_t)
      read = ->(name, *at) { bytes(Native.public_send(name, pointer, *at, size), size) }
      @key = read[:info_key] || "".freeze
      @owner, @instance, @host = read[:info_owner], read[:info_instance], read[:info_host]
      @value = read[:info_value] || "".freeze
      @global = Native.info_is_global(pointer) == 1
      @held = Native.info_is_held(pointer) == 1
      @zombie = Native.info_is_zombie(pointer) == 1
      @token = Native.info_token(pointer)
      @since = Numbers.time(Native.info_since_us(pointer))
      @initial_ttl_ms = Native.info_initial_ttl_ms(pointer)
      @remaining_ms = Native.info_remaining_ms(pointer)
      @hold_count = Native.info_hold_count(pointer)
      @metadata = read_metadata(pointer).freeze
      @waiter_count = Native.info_waiter_count(pointer)
      @waiters = read_waiters(pointer, read).freeze
      freeze
    end

    # Is it the global lock?
    def global?
      @global
    end

    def held?
      @held
    end

    # Is its context gone?
    def zombie?
      @zombie
    end

    # @return [Float, nil] seconds left of the lease; nil = no expiry
    def remaining
      Numbers.seconds(remaining_ms)
    end

    # @return [Float, nil] seconds of the lease it was granted with; nil = no expiry, or not known
    def initial_ttl
      initial_ttl_ms.positive? ? initial_ttl_ms / 1000.0 : nil
    end

    private

    def bytes(data, size)
      data.null? ? nil : Numbers.text(data.get_bytes(0, size.get(:size_t, 0)))
    end

    def read_metadata(pointer)
      Native.info_metadata_count(pointer).times.to_h do |index|
        pair = Native::Metadata.new
        Native.info_metadata_at(pointer, index, pair)
        [pair[:name], pair[:value]].map do |part|
          Numbers.text(part[:size].zero? ? "" : part[:data].get_bytes(0, part[:size]))
        end
      end
    end

    def read_waiters(pointer, read)
      [@waiter_count, 65_536].min.times.filter_map do |index|
        order = Native.info_waiter_order(pointer, index)
        next if order.negative? # a list tells the number alone

        Waiter.new(owner: read[:info_waiter_owner, index], instance: read[:info_waiter_instance, index],
                   since: Numbers.time(Native.info_waiter_since_us(pointer, index)),
                   waited: Numbers.seconds(Native.info_waiter_waited_ms(pointer, index)),
                   order: Numbers::ORDER_NAMES.fetch(order, :unknown),
                   priority: Native.info_waiter_priority(pointer, index)).freeze
      end
    end
  end
end
