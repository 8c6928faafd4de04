# SPDX-License-Identifier: MIT
#
# What the tests of the layer for users of redis_queued_locks stand on: a stand-in of the shape of a redis client, and
# clients that begin with nothing held.
require_relative "helper"
require "logger"
require "stringio"
require "liblock/compat/redis_queued_locks"

module RqlHelper
  include Helper

  URL = ENV.fetch("LIBLOCK_TEST_REDIS")
  # The configuration of a redis client, as far as anybody reads it.
  Where = Struct.new(:host, :port, :db, :username, :password, :path, :ssl, :ssl_params, :connect_timeout,
                     :read_timeout, keyword_init: true) do
    alias_method :ssl?, :ssl
  end

  # A client that knows where its server is and sends commands, in the original's shape.
  class StandIn
    attr_reader :config, :calls

    def initialize(url = URL)
      uri = URI(url)
      @config = Where.new(host: uri.host, port: uri.port, db: uri.path.to_s[/\d+/].to_i, ssl: false,
                          connect_timeout: 1.0, read_timeout: 1.0)
      @plain = RedisQueuedLocks::PlainRedis.new(url)
      @calls = []
    end

    def call(*words)
      @calls << words
      @plain.call(*words)
    end

    def with
      yield self
    end
  end

  # Keeps what it is told; threads may tell.
  class Told
    attr_reader :texts, :events, :warnings

    def initialize
      @texts, @events, @warnings = [], [], []
    end

    def debug(_progname = nil)
      @texts << yield
    end

    def warn
      @warnings << yield
    end

    def notify(event, payload)
      @events << [event, payload]
    end

    # The names of the log's entries, in their order.
    def entries
      @texts.map { |text| text[/\A\[redis_queued_locks\.([\w.]+)\] /, 1] }
    end
  end

  def setup
    super
    client.clear_locks
  end

  def teardown
    client.clear_locks
    super
  end

  def redis
    @redis ||= StandIn.new
  end

  def client
    @client ||= RedisQueuedLocks::Client.new(redis)
  end

  # Runs the block in another thread, and so as another acquirer.
  def elsewhere(&block)
    Thread.new { Thread.current.report_on_exception = false; block.call }.value
  end

  # Holds the lock in another thread until the block ends.
  def held_elsewhere(name, **options)
    taken, done = Thread::Queue.new, Thread::Queue.new
    holder = Thread.new do
      client.lock(name, ttl: 20_000, **options) do
        taken << client.current_acquirer_id
        done.pop
      end
    end
    yield taken.pop
  ensure
    done << 1
    holder.join
  end

  # A thread that waits for the lock, which it has got in the queue already.
  def waiter(name, place: 1, **options, &block)
    thread = Thread.new { client.lock(name, **{ timeout: LIMIT_S, retry_count: nil, **options }, &block) }
    eventually("#{place} wait for #{name}") { client.queue_info(name)&.fetch("queue")&.size == place }
    thread
  end
  LIMIT_S = Helper::LIMIT_S

  def seconds
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    yield
    Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
  end
end
