# SPDX-License-Identifier: MIT
#
# The client of the layer for users of redis_queued_locks: what it is given, its configuration, and its warning about
# processes that are still on the original.
require_relative "rql_helper"
require "open3"

class RqlClientTest < Minitest::Test
  include RqlHelper

  DEFAULTS = { retry_count: 3, retry_delay: 200, retry_jitter: 25, try_to_lock_timeout: 10, default_lock_ttl: 5_000,
               default_queue_ttl: 15, is_timed_by_default: false, lock_release_batch_size: 100,
               key_extraction_batch_size: 500, dead_request_ttl: 86_400_000, log_lock_try: false,
               instrumenter: RedisQueuedLocks::Instrument::VoidNotifier,
               logger: RedisQueuedLocks::Logging::VoidLogger }.freeze

  def test_the_configuration_has_the_defaults_of_the_manual
    DEFAULTS.each do |name, value|
      assert_equal [value] * 3, [client.config[name], client.config[name.to_s], client.config.public_send(name)]
    end
    assert_match(/\A\h{16}\z/, client.config[:uniq_identifier].call)
  end

  def test_the_block_of_new_sets_the_configuration
    made = RedisQueuedLocks::Client.new(redis) do |config|
      config.retry_count = nil
      config["default_lock_ttl"] = 700
      config[:try_to_lock_timeout] = 0.1
      config.uniq_identifier = -> { "pod-1" }
    end
    set = %i[retry_count default_lock_ttl try_to_lock_timeout].map { |key| made.config[key] }
    assert_equal [nil, 700, 0.1, "pod-1"], [*set, made.uniq_identity]
    assert made.current_acquirer_id.end_with?("/pod-1")
    assert_equal 700, made.lock("a")[:result][:ttl]
    assert_equal({ ok: false, result: :timeout_reached }, client.lock("a", timeout: 0.1))
    assert_equal({ ok: false, result: :timeout_reached }, made.lock("a"))
  end

  def test_a_configuration_that_cannot_be_is_refused
    assert_raises(RedisQueuedLocks::ConfigNotFoundError) { client.config[:retries] }
    assert_raises(RedisQueuedLocks::ConfigNotFoundError) { client.config[:retries] = 3 }
    { retry_count: "3", retry_delay: -1, default_lock_ttl: 0, is_timed_by_default: nil, logger: 5, instrumenter: 5,
      uniq_identifier: "x", log_sampling_percent: 101, default_conflict_strategy: :other }.each do |name, value|
      assert_raises(RedisQueuedLocks::ConfigValidationError, name) { client.config[name] = value }
    end
  end

  def test_a_client_may_be_made_of_a_redis_client_a_pool_its_configuration_or_a_url
    pool = Struct.new(:config).new(redis.config)
    inner = Struct.new(:_client).new(redis)
    [redis, pool, inner, redis.config, RqlHelper::URL].each do |given|
      made = RedisQueuedLocks::Client.new(given)
      assert_same given, made.redis_client
      made.lock("a") { assert client.locked?("a"), "another server: #{given.class}" }
    end
    assert_raises(RedisQueuedLocks::ArgumentError) { RedisQueuedLocks::Client.new(Object.new) }
  end

  def test_a_client_may_be_made_of_redis_rb_whose_config_is_a_command
    require "redis"
    given = Redis.new(url: RqlHelper::URL)
    RedisQueuedLocks::Client.new(given).lock("a") { assert client.locked?("a") }
  ensure
    given&.close
  end

  def test_where_the_server_is_and_how_to_get_in_is_read_off_the_client
    where = ->(**given) { RedisQueuedLocks::Connection.new(RqlHelper::Where.new(**given)) }
    plain = where.call(host: "example.org", port: 7000, db: 3, password: "x", username: "me", read_timeout: 0.5)
    assert_equal "redis://example.org:7000/3", plain.url
    assert_equal({ username: "me", password: "x", command_timeout: 0.5 }, plain.options)
    assert_equal "redis://[::1]:6379/0", where.call(host: "::1").url
    assert_equal "unix:///run/a%25b.sock?db=2", where.call(path: "/run/a%b.sock", db: 2).url
    secure = where.call(host: "h", port: 1, ssl: true, username: "default", ssl_params: { ca_file: "/ca.pem" })
    assert_equal ["rediss://h:1/0", { tls_ca_file: "/ca.pem" }], [secure.url, secure.options]
    assert_raises(RedisQueuedLocks::ArgumentError) { where.call(host: "h", ssl: true, ssl_params: { cert: 5 }) }
  end

  def test_sentinels_are_refused_whoever_asks_for_their_master
    pinned = redis.config.dup.tap { |one| one.define_singleton_method(:sentinel?) { true } }
    [pinned, Struct.new(:config).new(pinned)].each do |given|
      error = assert_raises(RedisQueuedLocks::ArgumentError) { RedisQueuedLocks::Client.new(given) }
      assert_match(/no sentinels/, error.message)
    end
    plain = redis.config.dup.tap { |one| one.define_singleton_method(:sentinel?) { false } }
    RedisQueuedLocks::Client.new(plain).lock("a") { assert client.locked?("a") }
  end

  def test_sentinels_of_redis_rb_are_refused
    require "redis"
    where = URI(RqlHelper::URL)
    given = Redis.new(url: "redis://main", sentinels: [{ host: where.host, port: where.port }])
    assert_raises(RedisQueuedLocks::ArgumentError) { RedisQueuedLocks::Client.new(given) }
  end

  def test_user_and_password_of_a_url_or_a_client_are_used
    redis.call("ACL", "SETUSER", "rql", "on", ">p@w%41", "~*", "&*", "+@all")
    where = URI(RqlHelper::URL)
    url = "redis://rql:p%40w%2541@#{where.host}:#{where.port}/0"
    told = RqlHelper::Told.new
    config = redis.config.dup.tap { |one| one.username, one.password = "rql", "p@w%41" }
    [url, config].each do |given|
      made = RedisQueuedLocks::Client.new(given) { |one| one.logger = told }
      made.lock("a") { assert client.locked?("a") }
    end
    assert_empty told.texts.grep(/not known/), "the url's server was asked without its password"
    wrong = redis.config.dup.tap { |one| one.username, one.password = "rql", "other" }
    assert_raises(Liblock::Auth) { RedisQueuedLocks::Client.new(wrong).lock("a", timeout: 0.2) { flunk } }
  end

  def test_a_server_that_is_not_there_is_an_error_and_no_result
    made = RedisQueuedLocks::Client.new(RqlHelper::Where.new(host: "127.0.0.1", port: 1))
    assert_raises(Liblock::Connect) { made.lock("a", timeout: 0.2) { flunk } }
  end

  def test_locks_of_the_original_gem_are_warned_of_loudly
    told = RqlHelper::Told.new
    redis.call("HSET", "rql:lock:theirs", "acq_id", "rql:acq:1/2/3/4/x")
    [redis, RqlHelper::URL].each do |given|
      made = nil
      assert_output(nil, /WARNING.*redis_queued_locks.*"rql:lock:theirs".*do NOT exclude/) do
        made = RedisQueuedLocks::Client.new(given) { |config| config.logger = told }
      end
      assert_silent { made.lock("mine") { 1 } }
      assert_equal Set.new, made.keys, "the original's locks are none of ours"
      made.clear_locks
    end
    assert_equal 2, told.texts.grep(/WARNING/).size
    assert_equal 1, redis.call("EXISTS", "rql:lock:theirs")
    redis.call("DEL", "rql:lock:theirs")
    assert_silent { RedisQueuedLocks::Client.new(redis) }
  ensure
    redis.call("DEL", "rql:lock:theirs")
  end

  def test_the_whole_server_is_looked_through_for_the_original
    pages = { "0" => ["7", []], "7" => ["9", []], "9" => ["0", ["rql:lock:theirs"]] }
    server = Object.new
    server.define_singleton_method(:call) { |_scan, cursor, *| pages.fetch(cursor) }
    assert_equal ["rql:lock:theirs"], RedisQueuedLocks::Original.keys(server)
    pages["9"] = ["0", []]
    assert_equal [], RedisQueuedLocks::Original.keys(server)
  end

  def test_a_client_whose_server_cannot_be_asked_yet_looks_for_the_original_later
    broken = true
    redis.define_singleton_method(:call) { |*words| broken ? raise(IOError) : super(*words) }
    made = RedisQueuedLocks::Client.new(redis)
    broken = false
    redis.call("HSET", "rql:lock:theirs", "acq_id", "x")
    assert_output(nil, /WARNING/) { made.lock("mine") { 1 } }
  ensure
    redis.call("DEL", "rql:lock:theirs")
  end

  def test_the_original_and_the_layer_are_not_mixed_in_one_process
    program = 'module RedisQueuedLocks; end; require "liblock/compat/redis_queued_locks"'
    _out, error, status = Open3.capture3(RbConfig.ruby, "-I#{File.expand_path("../lib", __dir__)}", "-e", program)
    refute status.success?
    assert_match(/LoadError/, error)
  end

  def test_threads_share_a_client
    counter = 0
    add = lambda do
      seen = counter
      Thread.pass
      counter = seen + 1
    end
    threads = Array.new(4) { Thread.new { 20.times { client.lock("a", retry_count: nil, timeout: 30, &add) } } }
    threads.each(&:join)
    assert_equal 80, counter
  end
end
