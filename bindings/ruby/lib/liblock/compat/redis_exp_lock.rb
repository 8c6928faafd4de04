# SPDX-License-Identifier: MIT
#
# For programs that use the gem redis_exp_lock: require "liblock/compat/redis_exp_lock" instead of "redis_exp_lock", and
# go on. The same class, options, answers and errors, as its manual has them, on liblock: who waits stands in a queue
# and is handed the lock, and processes that are still on the original are excluded, and exclude.
#
# Invariants: what is held is known wherever the thread was interrupted; a lock ends by unlock or by its expiry, never
# because its process ended or forked; nothing that is sent depends on the clock of this machine.
if defined?(RedisExpLock) && !defined?(RedisExpLock::Settings)
  raise LoadError, "the gem redis_exp_lock is loaded already: require only one of the two"
end

require "securerandom"
require "liblock"
require_relative "redis_exp_lock/settings"
require_relative "redis_exp_lock/server"
require_relative "redis_exp_lock/failures"

# One client of one lock. As with the original, an object is for one thread at a time, and several objects with the same
# key exclude each other, also within a thread.
class RedisExpLock
  # This object holds the lock already: lock or try_lock was called without an unlock since.
  class AlreadyAcquiredLockError < StandardError; end
  # Neither the first attempt nor any of the retries was granted the lock.
  class TooManyLockAttemptsError < StandardError; end

  # A hold: whose it is, and the value by which the server knows it.
  Hold = Struct.new(:lock, :uuid, :pid)
  private_constant :Hold

  UNINTERRUPTED = { Object => :never }.freeze
  NOT_GRANTED = %i[busy timeout retries_exhausted wrong_type].freeze
  EXPIRED = %i[not_held not_owner lost].freeze
  private_constant :UNINTERRUPTED, :NOT_GRANTED, :EXPIRED

  # @return [Object] the redis client, as it was given
  attr_reader :redis
  # @return [String] the key, as it was given
  attr_reader :lock_key
  # @return [String, nil] the UUID of the latest attempt
  attr_reader :lock_uuid

  # @param lock_key [String] names what is locked (1 to 512 bytes)
  # @param opts [Hash]
  # @option opts [Redis, String] :redis (required) a redis-rb client, or anything else that says where its server is;
  #   or the server's url
  # @option opts [Numeric, nil] :expiry (60) seconds that the lock lives for; nil = without end, not recommended
  # @option opts [Integer] :retries (0) further attempts
  # @option opts [Numeric] :interval (0.01) seconds between two attempts
  # @raise [ArgumentError] what cannot be meant, or cannot be done
  def initialize(lock_key, opts = {})
    @lock_key = lock_key
    @settings = Settings.new(lock_key, opts)
    @redis = opts[:redis]
    @server = Server.of(@redis)
  end

  # @return [Numeric, nil] seconds
  def expiry
    @settings.expiry
  end

  # @return [Integer]
  def retries
    @settings.retries
  end

  # @return [Numeric] seconds
  def interval
    @settings.interval
  end
  alias retry_interval interval

  # Was lock called, and unlock not since? Local: the server is not asked, and nothing is said about the expiry.
  # @return [Boolean]
  def locked?
    !@hold.nil?
  end

  # Does any client hold the lock? Asks the server.
  # @return [Boolean]
  def key_locked?
    asking { |context| context.key_locked?(@settings.key) }
  end

  # Does this client hold the lock? Asks the server.
  # @return [Boolean]
  def key_owned?
    hold = @hold or return false
    asking do |context|
      next context.inspect_key(@settings.key)&.value == hold.uuid unless hold.pid == Process.pid

      hold.lock.verify.ok?
    rescue Liblock::NotHeld, Liblock::Lost
      false
    end
  end

  # One attempt.
  # @return [Boolean]
  # @raise [AlreadyAcquiredLockError]
  def try_lock
    refuse_twice
    asking { |context| attempt(context, brief: true) }
  end

  # Up to retries + 1 attempts. In between this client has its place in the queue, and may be handed the lock before the
  # next one is due.
  # @return [Integer] attempts that were needed: 1 is the first
  # @raise [AlreadyAcquiredLockError, TooManyLockAttemptsError]
  def lock
    refuse_twice
    attempts = asking { |context| attempts_until_granted(context) }
    attempts or raise TooManyLockAttemptsError, "#{lock_key}: not granted in #{[retries + 1, 0].max} attempts"
  end

  # Gives the lock back; it is never another client's that is. May be called again where it was interrupted.
  # @return [Boolean] false where this client never had it, or it expired before
  def unlock
    hold = @hold or return false
    asking do |context|
      # What a parent was granted is no handle of this process, but the server knows it by its value.
      hold.pid == Process.pid ? hold.lock.release : context.release_key(@settings.key, hold.uuid)
      @hold = nil
      true
    rescue Liblock::Error => error
      @hold = nil # the library goes on with what has no answer
      raise unless EXPIRED.include?(error.status)

      false
    end
  end

  # Runs the block under the lock, and unlocks whatever ends it.
  # @yieldparam attempts [Integer] as {#lock} answers it
  # @return [Boolean] what {#unlock} answers: false where the lock expired before the block had ended
  # @raise [AlreadyAcquiredLockError, TooManyLockAttemptsError]
  def synchronize
    raise LocalJumpError, "synchronize needs a block" unless block_given?

    refuse_twice
    begin
      yield lock
      unlocked = unlock
    ensure
      # Of what was interrupted, an unlock too. Nothing may stand before the mask: see Liblock::Acquisition.settle.
      Thread.handle_interrupt(UNINTERRUPTED) { unlock_quietly }
    end
    unlocked
  end

  # @return [String] for people; nothing of the client or the url that was given, which may have a password
  def inspect
    "#<#{self.class} #{lock_key.inspect}#{" locked" if locked?}>"
  end

  private

  def refuse_twice
    raise AlreadyAcquiredLockError, "#{lock_key}: held already, call unlock first" if locked?
  end

  def asking
    yield @server.context
  rescue Liblock::Error => error
    raise Failures.of(error, @redis)
  end

  # The exception that ends the block is what the caller must see, and not one of the connection that follows from it.
  def unlock_quietly
    unlock
  rescue StandardError
    false
  end

  # The number of the attempt that was granted the lock, or nil. The first and the last are attempts of their own;
  # between them this client queues, and counts as many as would have been due.
  def attempts_until_granted(context)
    return nil if retries.negative?
    return 1 if attempt(context, brief: true)
    return nil if retries.zero?

    began = monotonic
    granted = attempt(context, retries: @settings.retries_or_forever, retry_interval: @settings.interval_used,
                               retry_jitter: 0)
    return [1 + ((monotonic - began) / @settings.interval_used).ceil, retries + 1].min if granted

    attempt(context, brief: true) ? retries + 1 : nil
  end

  def attempt(context, brief: false, **how)
    @lock_uuid = SecureRandom.uuid
    acquisition = Liblock::Acquisition.new(context, [@settings.key],
                                           { ttl: @settings.ttl, value: @lock_uuid, **how }, brief: brief)
    result = acquisition.run
    if result.ok?
      Thread.handle_interrupt(UNINTERRUPTED) { @hold = Hold.new(acquisition.take, @lock_uuid, Process.pid) }
      return true
    end
    raise Liblock::Error.of(result) unless NOT_GRANTED.include?(result.status)

    false
  ensure
    Liblock::Acquisition.settle(acquisition)
  end

  def monotonic
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
