# SPDX-License-Identifier: MIT
#
# A password that was in a url which cannot be read, or whose server is not there: nothing prints it, neither of this
# gem's own objects nor of those for users of other gems.
require_relative "helper"
require_relative "secrets"
require "logger"
require "stringio"
require "uri"
require "liblock/compat/redis_exp_lock"
require "liblock/compat/redis_queued_locks"

class SecretsTest < Minitest::Test
  include Helper
  include Secrets

  NOBODY = "127.0.0.1:1"
  UNREADABLE = ["redis://me:{}@", "redis://me:{}@127.0.0.1:0", "redis://me:{}%zz@#{NOBODY}", "redis:/{}@#{NOBODY}",
                "redis://:{}@#{NOBODY}/notanumber", "http://me:{}@#{NOBODY}", "{}", "redis://me:{}@[::1", "quorum:{}",
                "quorum:redis://a,redis://me:{}@b c", "unix://{}?db=x", "redis://me:{}\0@#{NOBODY}",
                "redis://{} a"].freeze

  def test_a_password_in_a_url_that_cannot_be_read_is_printed_by_nothing
    UNREADABLE.product([secret, encoded]).each do |form, password|
      url = form.sub("{}", password)
      errors = [-> { open(url) }, -> { open(nil, servers: [url], observers: [url]) }].map { |call| raised(&call) }
      assert_equal [true, true], errors.map { |error| error.is_a?(StandardError) }, form
      assert_printed_nowhere(errors)
    end
  end

  def test_a_password_whose_server_is_not_there_is_printed_by_nothing
    nodes = [1, 2, 3].map { |port| "redis://locker:#{secret}@127.0.0.1:#{port}" }
    [open("redis://locker:#{secret}@#{NOBODY}"), open("redis://:#{encoded}@#{NOBODY}"),
     open("redis://#{secret}@#{NOBODY}"), open("redis://#{NOBODY}", username: "locker", password: secret),
     open("quorum:#{nodes.join(",")}"), open(nil, servers: nodes)].each do |locks|
      seen = seen_by(locks)
      assert_kind_of Liblock::Error, seen[4].first
      assert_includes assert_printed_nowhere(seen), Liblock::LogEntry
    end
  end

  def test_a_password_in_the_options_of_a_mistaken_call_is_printed_by_nothing
    errors = [{ pasword: secret, password: secret }, { password: secret, max_ttl: "long" }, { password: "#{secret}\0" },
              { password: secret, username: 5 }].map { |options| raised { open("local:", **options) } }
    refute_includes errors, nil
    assert_printed_nowhere(errors)
  end

  def test_a_lock_like_those_of_redis_exp_lock_prints_no_password
    [secret, encoded].each do |password|
      lock = RedisExpLock.new("key", redis: "redis://me:#{password}@#{NOBODY}")
      assert_equal '#<RedisExpLock "key">', lock.inspect
      errors = %i[try_lock lock key_locked?].map { |call| raised { lock.public_send(call) } }
      assert_equal [Liblock::Connect] * 3, errors.map(&:class)
      errors << raised { lock.no_such_method }
      _out, warning = capture_io { RedisExpLock.new("key", redis: lock.redis, pasword: secret) }
      assert_match(/pasword/, warning)
      classes = assert_printed_nowhere(lock, errors, warning)
      assert_equal [], [RedisExpLock, RedisExpLock::Server, RedisExpLock::Settings] - classes
    end
  end

  def test_a_client_like_that_of_redis_queued_locks_prints_no_password
    (UNREADABLE + ["redis://me:{}@#{NOBODY}"]).product([secret, encoded]).each do |form, password|
      log, url = StringIO.new, form.sub("{}", password)
      client = RedisQueuedLocks::Client.new(url) { |config| config.logger = Logger.new(log) }
      errors = [raised { client.lock("a", timeout: 0.1) }, raised { client.no_such_method },
                raised { client.instance_variable_get(:@connection).no_such_method }]
      refute_includes errors, nil, form
      assert_match(/it is not known whether the original gem/, log.string)
      classes = assert_printed_nowhere(client, errors, log.string, RedisQueuedLocks::PlainRedis.new(url))
      assert_equal [], [RedisQueuedLocks::Client, RedisQueuedLocks::Connection, RedisQueuedLocks::Config] - classes
    end
  end

  # One that says of each command what it was.
  def test_a_server_that_repeats_the_password_in_its_refusal_is_not_quoted
    server = TCPServer.new("127.0.0.1", 0)
    repeating = Thread.new { loop { repeat(server.accept) } }
    where = "127.0.0.1:#{server.addr[1]}"
    given = Struct.new(:host, :port, :password).new("127.0.0.1", server.addr[1], secret)
    given.define_singleton_method(:call) { |*| raise IOError, "unknown command AUTH with #{password}" }
    ["redis://me:#{secret}@#{where}", "redis://:#{encoded}@#{where}", given].each do |redis|
      log = StringIO.new
      client = RedisQueuedLocks::Client.new(redis) { |config| config.logger = Logger.new(log) }
      error = raised { client.lock("a", timeout: 0.1) }
      assert_kind_of Liblock::Error, error
      assert_match(/it is not known whether the original gem/, log.string)
      assert_printed_nowhere(client, error, log.string)
    end
  ensure
    repeating&.kill&.join
    server&.close
  end

  private

  def repeat(client)
    Thread.new do
      words = client.readpartial(4_096)
      client.write("-ERR unknown command with #{words.tr("\r\n", "  ")}\r\n")
    rescue EOFError, SystemCallError
      client.close
    end
  end
end
