# SPDX-License-Identifier: MIT
#
# The examples of the manual of redis_queued_locks, typed in as they stand there but for the require, with what they
# print; only seconds of sleeping are tenths here. What the manual says besides is in the other rql tests.
require_relative "rql_helper"
require "open3"

class RqlManualTest < Minitest::Test
  include RqlHelper

  # The client that the manual's setup makes; the gem redis-client itself is in no distribution. And what a program that
  # chooses its instrumenter has loaded.
  REDIS_CLIENT = <<~RUBY
    require "liblock/compat/redis_queued_locks"
    require "uri"
    module ActiveSupport
      module Notifications
        def self.instrument(*) = nil
      end
    end
    class RedisClient
      Config = Struct.new(:host, :port, :db, keyword_init: true) { def new_pool = RedisClient.new(self) }
      attr_reader :config
      def initialize(config) = @config = config
      def with = yield(self)
      def call(*words) = (@plain ||= RedisQueuedLocks::PlainRedis.new(ENV.fetch("URL"))).call(*words)
      def self.config = URI(ENV.fetch("URL")).then { |uri| Config.new(host: uri.host, port: uri.port, db: 0) }
    end
  RUBY

  SETUP = <<~RUBY
    # Step 1: initialize RedisClient instance
    redis_client = RedisClient.config.new_pool # NOTE: provide your own RedisClient instance

    # Step 2: initialize RedisQueuedLock::Client instance
    rq_lock_client = RedisQueuedLocks::Client.new(redis_client) do |config|
      # NOTE:
      #   - some your application-related configs;
      #   - for documentation see <Configuration> section in readme;
    end

    # Step 3: start to work with locks :)
    rq_lock_client.lock("some-lock") { puts "Hello, lock!" }
  RUBY

  CONFIGURATION = <<~RUBY
    redis_client = RedisClient.config.new_pool # NOTE: provide your own RedisClient instance

    clinet = RedisQueuedLocks::Client.new(redis_client) do |config|
      config.retry_count = 3
      config.retry_delay = 200
      config.retry_jitter = 25
      config.try_to_lock_timeout = 10
      config.default_lock_ttl = 5_000
      config.default_queue_ttl = 15
      config.is_timed_by_default = false
      config.lock_release_batch_size = 100
      config.key_extraction_batch_size = 500
      config.dead_request_ttl = (1 * 24 * 60 * 60 * 1000) # one day in milliseconds
      config.instrumenter = RedisQueuedLocks::Instrument::ActiveSupport
      config.uniq_identifier = -> { RedisQueuedLocks::Resource.calc_uniq_identity }
      config.logger = RedisQueuedLocks::Logging::VoidLogger
      config.log_lock_try = false
    end
    clinet.lock("some-lock") { puts "Hello, lock!" }
  RUBY

  # First Ruby Process, Another Ruby Process.
  FIRST_PROCESS = <<~RUBY
    rql = RedisQueuedLocks::Client.new(RedisClient.config.new_pool)
    rql.lock("my_lock", ttl: 20_000) { puts "taken"; $stdout.flush; gets } # acquire a long living lock
  RUBY

  def command(text)
    [{ "URL" => URL }, RbConfig.ruby, "-W", "-I#{File.expand_path("../lib", __dir__)}", "-e", REDIS_CLIENT + text]
  end

  def rql
    client
  end

  def test_the_setup_and_the_whole_configuration_run_as_typed
    [SETUP, CONFIGURATION].each do |program|
      out, status = Open3.capture2e(*command(program))
      assert status.success?, out
      assert_equal "Hello, lock!\n", out
    end
  end

  def test_another_process_waits_for_two_tenths_and_is_told
    Open3.popen2(*command(FIRST_PROCESS)) do |input, output, first|
      assert_equal "taken\n", output.gets
      assert_equal({ ok: false, result: :timeout_reached }, rql.lock("my_lock", timeout: 0.2))
      input.puts
      assert first.value.success?
    end
    assert_equal 2, rql.lock("my_lock") { 1 + 1 }
  end

  def test_a_block_within_its_ttl_answers_and_a_longer_one_fails
    assert_equal 0, rql.lock("my_lock", ttl: 1_500, timed: true) { sleep(0.1) * 0 }
    assert_raises(RedisQueuedLocks::TimedLockTimeoutError) { rql.lock("my_lock", ttl: 500, timed: true) { sleep(0.6) } }
  end

  def test_metadata_are_in_the_lock_info_as_printed
    rql.lock("my_lock", ttl: 123_456, meta: { "some" => "data", key: 123.456 })
    info = rql.lock_info("my_lock")
    assert_equal %w[lock_key acq_id ts ini_ttl rem_ttl some key], info.keys
    assert_equal ["rql:lock:my_lock", 123_456, "data", "123.456"], info.values_at("lock_key", "ini_ttl", "some", "key")
    assert_match(%r{\Arql:acq:\d+/\d+/\d+/\d+/\h+\z}, info["acq_id"])
  end

  def test_none_of_the_reserved_names_can_be_metadata
    %w[lock_key acq_id ts ini_ttl rem_ttl].flat_map { |name| [name, name.to_sym] }.each do |name|
      error = assert_raises(RedisQueuedLocks::ArgumentError) { rql.lock("my_lock", meta: { name => 1 }) }
      assert_match(/reserved lock data keys: #{name}/, error.message)
    end
    refute rql.locked?("my_lock")
  end

  # The queue of the example: others in front, others behind, and one whose five tenths are over.
  def test_a_short_queue_ttl_moves_the_request_behind_all_others
    held_elsewhere("my_lock") do
      front = waiter("my_lock", queue_ttl: 60) { 1 }
      mine = waiter("my_lock", place: 2, queue_ttl: 0.5, timeout: 10_000) { 2 }
      before = acquirers
      behind = waiter("my_lock", place: 3, queue_ttl: 60) { 3 }
      eventually("it is the last one") { acquirers.size == 3 && acquirers.last == before.last }
      assert_equal before.first, acquirers.first
      @threads = [front, mine, behind]
    end
    assert_equal [1, 2, 3], @threads.map(&:value)
  end

  def acquirers
    rql.queue_info("my_lock")&.fetch("queue").to_a.map { |request| request["acq_id"] }
  end

  def test_an_end_that_none_of_the_limits_explains_is_unknown
    full = Liblock::Error.of(Liblock::Result.of_status(Liblock::STATUSES[:limit]))
    context = client.send(:context)
    context.define_singleton_method(:lock!) { |*, **| raise full } # as many wait as may wait
    assert_equal({ ok: false, result: :unknown }, rql.lock("my_lock"))
    assert_raises(RedisQueuedLocks::Error) { rql.lock!("my_lock") }
  ensure
    context.singleton_class.send(:remove_method, :lock!)
  end

  def test_unlock_and_the_clears_take_a_logger_an_instrumenter_and_data_for_it
    told = RqlHelper::Told.new
    given = { logger: told, instrumenter: told, instrument: { job: 17 } }
    rql.lock("your_lock_name")
    assert_equal({ queue_res: :nothing_to_release, lock_res: :released },
                 rql.unlock("your_lock_name", **given)[:result].slice(:queue_res, :lock_res))
    assert_equal :async_expire_or_no_lock, rql.extend_lock_ttl("your_lock_name", 5_000, logger: told)[:result]
    assert_equal({ ok: true, processed_queues: Set.new }, rql.clear_dead_requests(dead_ttl: 60 * 60 * 1000, **given))
    assert_equal 0, rql.clear_locks(**given)[:result][:rel_key_cnt]
    assert_equal %w[explicit_lock_release explicit_all_locks_release],
                 told.events.map { |name, _| name.delete_prefix("redis_queued_locks.") }
    assert_equal [{ job: 17 }] * 2, told.events.map { |_, payload| payload[:instrument] }
  end

  def test_every_listing_takes_the_size_of_its_steps
    7.times { |number| rql.lock("locklock#{number}", ttl: 20_000) }
    names = Array.new(7) { |number| "rql:lock:locklock#{number}" }.to_set
    [1, 123].each do |size|
      assert_equal [names, Set.new, names],
                   [rql.locks(scan_size: size), rql.queues(scan_size: size), rql.keys(scan_size: size)]
      assert_equal names, rql.locks_info(scan_size: size).to_set { |one| one[:lock] }
      assert_equal Set.new, rql.queues_info(scan_size: size)
    end
  end

  def test_the_identity_is_calculated_once_per_client
    count = 0
    made = RedisQueuedLocks::Client.new(redis) { |config| config.uniq_identifier = -> { "pod-#{count += 1}" } }
    2.times { made.lock("my_lock") { 1 } }
    assert_equal ["pod-1", 1], [made.uniq_identity, count]
  end
end
