# SPDX-License-Identifier: MIT
#
# What the tests of RedisExpLock share: locks on the server of the environment through Debian's redis client, and the
# commands that the original gem sends, for processes that are still on it.
require_relative "helper"
require "redis"
require "securerandom"
require "liblock/compat/redis_exp_lock"

module ExpLockHelper
  include Helper

  URL = ENV.fetch("LIBLOCK_TEST_REDIS")

  # The original, as it speaks to the server: SET with NX and PX, and a script that compares and deletes.
  class Original
    UNLOCK = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"

    def initialize(redis, key)
      @redis, @key, @uuid = redis, key, SecureRandom.uuid
    end

    def try_lock(expiry_ms = 60_000)
      @redis.set(@key, @uuid, nx: true, px: expiry_ms)
    end

    def lock
      sleep 0.001 until try_lock
    end

    def unlock
      @redis.eval(UNLOCK, [@key], [@uuid]) == 1
    end
  end

  # Of this test, also in the processes that it forks.
  attr_reader :key

  def setup
    super
    @key = "#{prefix}lock"
  end

  def teardown
    redis.close
    super
  end

  def redis
    @redis ||= Redis.new(url: URL)
  end

  def client(**options)
    RedisExpLock.new(key, redis: redis, **options)
  end

  def original
    Original.new(redis, key)
  end

  # Who waits, seen by a context of the same keys.
  def await_queue(count)
    @watcher ||= open(URL, prefix: "")
    await_waiter(@watcher, key, count)
  end

  def seconds_of
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    yield
    Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
  end
end
