# SPDX-License-Identifier: MIT
#
# The same of a password that a server takes, or refuses (LIBLOCK_TEST_REDIS): nothing prints it while all works.
require_relative "exp_lock_helper"
require_relative "rql_helper"
require_relative "secrets"

class SecretsServerTest < Minitest::Test
  include Helper
  include Secrets

  URL = ENV.fetch("LIBLOCK_TEST_REDIS")

  def test_a_password_that_a_server_takes_or_refuses_is_printed_by_nothing
    with_locker(URL) do
      { as_locker(URL) => :ok, as_locker(URL, encoded) => :ok, as_locker(URL, "#{secret}%21") => :auth,
        as_locker(URL, user: "somebody") => :auth, as_locker(URL, user: "") => :auth,
        URL.sub("://", "://#{secret}@") => :auth }.each do |url, status|
        seen = seen_by(open(url, prefix: prefix))
        assert_equal status, seen[4].first.status
        classes = assert_printed_nowhere(seen)
        assert_equal [], [Liblock::LogEntry, Liblock::Context, Liblock::Owner, Liblock::Completion] - classes
        assert_includes classes, Liblock::Lock if status == :ok
      end
      seen = seen_by(open(URL, prefix: prefix, username: "locker", password: secret))
      assert_includes assert_printed_nowhere(seen), Liblock::Lock
    end
  end

  def test_a_lock_like_those_of_redis_exp_lock_prints_no_password_while_it_is_held
    where = URI(URL)
    with_locker(URL) do
      client = Redis.new(host: where.host, port: where.port, username: "locker", password: secret)
      [as_locker(URL), as_locker(URL, encoded), client].each do |redis|
        lock = RedisExpLock.new("#{prefix}lock", redis: redis)
        lock.synchronize do
          assert_match(/ locked>\z/, lock.inspect)
          assert_includes assert_printed_nowhere(lock, raised { lock.lock }), RedisExpLock
        end
      end
      wrong = RedisExpLock.new("key", redis: as_locker(URL, user: "somebody"))
      assert_printed_nowhere(wrong, raised { wrong.lock })
      client.close
    end
  end

  def test_a_client_like_that_of_redis_queued_locks_prints_no_password_while_it_locks
    config = RqlHelper::StandIn.new(URL).config.dup.tap { |one| one.username, one.password = "locker", secret }
    with_locker(URL) do
      [as_locker(URL), as_locker(URL, encoded), config].each do |given|
        told = RqlHelper::Told.new
        client = RedisQueuedLocks::Client.new(given) { |one| one.logger = one.instrumenter = told }
        client.lock(prefix) do
          seen = [client.lock_info(prefix), client.locks_info, raised { client.lock!(prefix, fail_fast: true) }]
          classes = assert_printed_nowhere(client, seen, told.texts, told.events, told.warnings)
          assert_equal [], [RedisQueuedLocks::Backend, RedisQueuedLocks::Connection, Liblock::Lock] - classes
        end
        assert_empty told.texts.grep(/not known/)
      end
      config.username = "somebody"
      assert_printed_nowhere(raised { RedisQueuedLocks::Client.new(config).lock("a", timeout: 0.1) })
    end
  end
end
