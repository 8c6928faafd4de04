# SPDX-License-Identifier: MIT
#
# Which server a RedisExpLock locks on: what it reads out of the redis client it is given, and how a server that cannot
# be reached is told.
require_relative "exp_lock_helper"
require "uri"

class RedisExpLockServerTest < Minitest::Test
  include ExpLockHelper

  # What a client of redis-rb 5 answers to the readers that are used; that version is not in the distribution.
  Config = Struct.new(:host, :port, :path, :username, :password, :db, :ssl, :ssl_params, :connect_timeout,
                      :read_timeout, :id, :sentinels, keyword_init: true) do
    def sentinel?
      !sentinels.nil?
    end
  end
  ClientOf5 = Struct.new(:config)
  RedisOf5 = Struct.new(:_client)
  ClientOf3 = Struct.new(:options)
  RedisOf3 = Struct.new(:client)
  Namespaced = Struct.new(:redis, :namespace) do
    def _client
      redis._client
    end
  end

  def server
    URI(URL)
  end

  def lock_of(redis, **options)
    RedisExpLock.new(key, redis: redis, **options)
  end

  def told(**options)
    RedisExpLock::Server.of(Redis.new(**options))
  end

  def test_the_database_is_that_of_the_client
    third = Redis.new(url: URL, db: 3)
    assert lock_of(third).try_lock
    assert third.exists?(key)
    refute redis.exists?(key)
    assert lock_of(redis).try_lock
  end

  def test_user_and_password_are_those_of_the_client
    redis.call("ACL", "SETUSER", "exp:user", "on", ">pass word%", "~*", "&*", "+@all")
    named = { host: server.host, port: server.port, username: "exp:user" }
    assert lock_of(Redis.new(**named, password: "pass word%")).try_lock
    assert redis.exists?(key)
    error = assert_raises(Redis::CommandError) { lock_of(Redis.new(**named, password: "wrong")).try_lock }
    assert_kind_of Liblock::Auth, error.cause
    refute_match(/wrong/, error.message)
    refute_match(/pass word/, lock_of(Redis.new(**named, password: "pass word%")).inspect)
  ensure
    redis.call("ACL", "DELUSER", "exp:user")
  end

  def test_a_unix_socket_is_one_of_the_client
    path = redis.config(:get, "unixsocket").fetch("unixsocket")
    refute_empty path, "the server has no socket to test with"
    assert lock_of(Redis.new(path: path, db: 2)).try_lock
    assert Redis.new(url: URL, db: 2).exists?(key)
  end

  def test_a_url_does_instead_of_a_client
    assert lock_of(URL).try_lock
    assert redis.exists?(key)
  end

  def test_clients_of_other_generations_do_as_well
    config = Config.new(host: server.host, port: server.port, db: 4, username: "default", ssl: false)
    assert lock_of(RedisOf5.new(ClientOf5.new(config))).try_lock
    assert Redis.new(url: URL, db: 4).exists?(key)
    old = RedisOf3.new(ClientOf3.new({ host: server.host, port: server.port, db: 5 }))
    assert lock_of(old).try_lock
    assert Redis.new(url: URL, db: 5).exists?(key)
  end

  def test_a_client_with_a_namespace_locks_within_it
    [["space", "space:"], [-> { "called" }, "called:"], [nil, ""]].each do |namespace, before|
      assert lock_of(Namespaced.new(redis, namespace)).try_lock
      assert redis.exists?("#{before}#{key}")
    end
  end

  def test_addresses_are_written_as_liblock_reads_them
    { { host: "::1", port: 7000, db: 2 } => "redis://[::1]:7000/2", { url: "redis://a.example" } =>
      "redis://a.example:6379/0", { url: "rediss://a.example:1/3" } => "rediss://a.example:1/3",
      { host: "a", ssl: true } => "rediss://a:6379/0", { path: "/run/a b?c" } => "unix:///run/a%20b%3Fc?db=0" }
      .each { |options, url| assert_equal url, told(**options).url }
  end

  def test_times_names_and_certificates_are_passed_on
    options = told(url: "rediss://a", connect_timeout: 0.5, read_timeout: 2, id: "mine", password: "p",
                   ssl_params: { ca_file: "/ca.pem", verify_mode: 0 }).options
    assert_equal({ connect_timeout: 0.5, command_timeout: 2.0, client_name: "mine", password: "p",
                   tls_ca_file: "/ca.pem", tls_insecure: true }, options)
    assert_equal [600, 5.0], told(connect_timeout: 5, read_timeout: 7200).options.values_at(:command_timeout,
                                                                                           :connect_timeout)
    assert_nil told(id: "has blanks").options[:client_name]
    assert Liblock.open("rediss://a", **options, tls_ca_file: nil).tap(&:close).closed?
  end

  def test_what_liblock_cannot_reach_is_refused
    sentinels = RedisOf3.new(ClientOf3.new({ host: "a", port: 1, sentinels: [{ host: "b" }] }))
    of5 = RedisOf5.new(ClientOf5.new(Config.new(host: "a", port: 1, sentinels: [1])))
    with_key = Redis.new(url: "rediss://a", ssl_params: { key: Object.new })
    [RedisOf5.new(Object.new), sentinels, of5, with_key].each do |redis|
      assert_raises(ArgumentError) { lock_of(redis) }
    end
  end

  def test_a_server_that_is_not_there_is_the_client_libraries_error
    lock = lock_of(Redis.new(host: "127.0.0.1", port: 1))
    %i[try_lock lock key_locked?].each do |call|
      error = assert_raises(Redis::CannotConnectError) { lock.public_send(call) }
      assert_kind_of Liblock::Connect, error.cause
    end
    refute lock.locked?
    assert_raises(Liblock::Connect) { lock_of("redis://127.0.0.1:1").try_lock }
  end

  def test_an_unlock_that_is_not_answered_is_the_client_libraries_error_and_is_done_all_the_same
    lock = connected(lock_of(Redis.new(url: URL, read_timeout: 1)))
    lock.lock
    redis.call("CLIENT", "PAUSE", 2500, "WRITE")
    error = assert_raises(Redis::TimeoutError) { lock.unlock }
    assert_kind_of Liblock::InDoubt, error.cause
    refute lock.locked?
    eventually("its end in the background") { !redis.exists?(key) }
  ensure
    redis.call("CLIENT", "UNPAUSE")
  end

  # The same lock, whose connection is there.
  def connected(lock)
    eventually("a connection") do
      lock.try_lock && lock.unlock
    rescue Redis::BaseConnectionError
      false
    end
    lock
  end

  # The manual's first caveat: the answer does not come, and the server thinks that the lock was taken.
  def test_a_lock_whose_answer_does_not_come_is_nobodys_although_it_does_not_expire
    lock = connected(lock_of(Redis.new(url: URL, read_timeout: 1), expiry: nil))
    redis.call("CLIENT", "PAUSE", 2500, "WRITE")
    error = assert_raises(Redis::TimeoutError) { lock.try_lock }
    assert_kind_of Liblock::InDoubt, error.cause
    refute lock.locked?
    redis.call("CLIENT", "UNPAUSE")
    eventually("another has it") { lock_of(redis, expiry: 5).try_lock }
  ensure
    redis.call("CLIENT", "UNPAUSE")
  end

  def test_an_exception_of_the_block_is_what_is_seen_where_unlocking_fails_too
    lock = connected(lock_of(Redis.new(url: URL, read_timeout: 1)))
    assert_raises(IOError) do
      lock.synchronize do
        redis.call("CLIENT", "PAUSE", 2500, "WRITE")
        raise IOError, "of the block"
      end
    end
    refute lock.locked?
    eventually("its end in the background") { !redis.exists?(key) }
  ensure
    redis.call("CLIENT", "UNPAUSE")
  end

  def test_locks_of_a_process_on_one_server_share_a_connection
    5.times { |number| RedisExpLock.new("#{key}#{number}", redis: Redis.new(url: URL, id: "shared")).lock }
    named = redis.client(:list).select { |one| one["name"] == "shared" && one["cmd"] != "client|list" }
    assert_operator named.size, :<=, 2, "one for commands and one for messages"
    assert_operator named.size, :>=, 1
  end
end
