# SPDX-License-Identifier: MIT
#
# What the layer for users of redis_queued_locks logs and instruments: names, texts and payloads of the manual.
require_relative "rql_helper"

class RqlReportingTest < Minitest::Test
  include RqlHelper

  # What stands behind every name of the log.
  BASE = /lock_key => 'rql:lock:a' queue_ttl => 15 acq_id => 'rql:acq:[^']+'/

  def told
    @told ||= RqlHelper::Told.new
  end

  def test_a_lock_with_a_block_is_logged_from_its_start_to_its_end
    client.lock("a", logger: told) { 1 }
    assert_equal %w[start_lock_obtaining start_try_to_lock_cycle lock_obtained expire_lock], told.entries
    told.texts.each { |text| assert_match(/\A\[redis_queued_locks\.\w+\] #{BASE}/, text) }
    assert_match(/ acq_time => \d+(\.\d+)? \(ms\)\z/, told.texts[2])
  end

  def test_a_lock_that_is_not_obtained_is_logged_as_dequeued
    held_elsewhere("a") { client.lock("a", logger: told, timeout: 0.1) }
    assert_equal %w[start_lock_obtaining start_try_to_lock_cycle fail_fast_or_limits_reached__dequeue], told.entries
  end

  def test_each_step_of_a_try_is_logged_where_that_is_asked_for
    client.lock("a", logger: told, log_lock_try: true) { 1 }
    assert_equal %w[start_lock_obtaining start_try_to_lock_cycle try_lock.start try_lock.rconn_fetched
                    try_lock.acq_added_to_queue try_lock.remove_expired_acqs try_lock.get_first_from_queue
                    try_lock.obtain__free_to_acquire lock_obtained expire_lock], told.entries
    told.texts.each { |text| assert_match(/\A\[redis_queued_locks\.[\w.]+\] #{BASE}/, text) }
    assert_includes told.texts.join("\n"), "first_acq_id_in_queue => '#{client.current_acquirer_id}'"
  end

  def test_a_try_that_finds_the_lock_held_tells_by_whom
    held_elsewhere("a") do |holder|
      refute client.lock("a", logger: told, log_lock_try: true, timeout: 0.2)[:ok]
      text = told.texts.find { |one| one.start_with?("[redis_queued_locks.try_lock.exit__lock_still_obtained]") }
      assert_includes text, "first_acq_id_in_queue => '#{client.current_acquirer_id}'"
      assert_includes text, "locked_by_acq_id => '#{holder}'"
      assert_match(/<current_lock_data> => \{.*"lock_remaining_ms"=>\d+/, text)
    end
    assert_equal "fail_fast_or_limits_reached__dequeue", told.entries.last
  end

  def test_the_steps_are_written_before_the_end_however_slow_the_logger_is
    slow = RqlHelper::Told.new
    slow.define_singleton_method(:debug) { |name = nil, &text| super(name, &text).tap { sleep 0.01 } }
    held_elsewhere("a") { client.lock("a", logger: slow, log_lock_try: true, timeout: 0) }
    assert_equal %w[try_lock.exit__lock_still_obtained fail_fast_or_limits_reached__dequeue], slow.entries.last(2)
  end

  def test_a_try_that_is_not_first_tells_who_is
    reporter = RedisQueuedLocks::Reporter.new({ logger: told, instrumenter: nil })
    diary = RedisQueuedLocks::Diary.new(reporter, "BASE", "me", true)
    fields = { first_in_queue: "1-x@host/7/rql:acq:1/2/3/4/x", lock_hold_count: 0 }
    [:attempt_started, :attempt_not_first].each do |name|
      diary.hear(Liblock::LogEntry.new(name: name, fields: fields))
    end
    assert_equal "[redis_queued_locks.try_lock.exit__no_first] BASE first_acq_id_in_queue => 'rql:acq:1/2/3/4/x' " \
                 "<current_lock_data> => {\"lock_hold_count\"=>0}", told.texts.last
  end

  def test_loggers_of_the_configuration_are_used_and_those_of_a_call_come_first
    client.configure do |config|
      config.logger = told
      config.log_lock_try = true
    end
    client.lock("a") { 1 }
    assert_includes told.entries, "try_lock.start"
    mine = RqlHelper::Told.new
    count = told.texts.size
    client.lock("a", logger: mine, log_lock_try: false) { 1 }
    assert_equal [count, 4], [told.texts.size, mine.texts.size]
  end

  def test_a_ruby_logger_will_do
    written = StringIO.new
    client.lock("a", logger: Logger.new(written)) { 1 }
    assert_match(/DEBUG.*\[redis_queued_locks.lock_obtained\] #{BASE}/, written.string)
  end

  def test_obtaining_and_releasing_are_instrumented_with_the_payloads_of_the_manual
    client.lock("a", ttl: 4_000, instrumenter: told, instrument: { job: 1 }) { sleep 0.02 }
    (first, obtained), (second, released) = told.events
    assert_equal %w[redis_queued_locks.lock_obtained redis_queued_locks.lock_hold_and_release], [first, second]
    assert_equal %i[acq_id acq_time instrument lock_key ts ttl], obtained.keys.sort
    assert_equal %i[acq_id acq_time hold_time instrument lock_key ts ttl], released.keys.sort
    assert_equal [4_000, client.current_acquirer_id, "rql:lock:a", { job: 1 }],
                 obtained.values_at(:ttl, :acq_id, :lock_key, :instrument)
    assert_equal obtained, released.reject { |name, _| name == :hold_time }
    assert_includes 20..5_000, released[:hold_time]
    assert_in_delta Time.now.to_f, obtained[:ts], 5
  end

  def test_without_a_block_only_obtaining_is_instrumented_and_without_the_lock_nothing
    client.lock("a", ttl: 4_000, instrumenter: told)
    client.lock("a", instrumenter: told, retry_count: 1)
    assert_equal ["redis_queued_locks.lock_obtained"], told.events.map(&:first)
    assert_nil told.events.first.last.fetch(:instrument)
  end

  def test_an_error_in_the_block_does_not_keep_its_event
    assert_raises(KeyError) { client.lock("a", instrumenter: told) { raise KeyError } }
    assert_equal "redis_queued_locks.lock_hold_and_release", told.events.last.first
  end

  def test_releases_are_instrumented_with_the_payloads_of_the_manual
    client.lock("a", ttl: 4_000)
    client.unlock("a", instrumenter: told)
    client.lock("b", ttl: 4_000)
    client.clear_locks(instrumenter: told, instrument: 17)
    (first, one), (second, all) = told.events
    assert_equal %w[redis_queued_locks.explicit_lock_release redis_queued_locks.explicit_all_locks_release],
                 [first, second]
    assert_equal %i[at lock_key lock_key_queue rel_time], one.keys.sort
    assert_equal %w[rql:lock:a rql:lock_queue:a], one.values_at(:lock_key, :lock_key_queue)
    assert_equal [%i[at instrument rel_keys rel_time], 1, 17], [all.keys.sort, all[:rel_keys], all[:instrument]]
  end

  def test_reentries_and_clears_of_one_acquirer_are_instrumented_too
    client.lock("a", ttl: 4_000)
    client.lock("a", conflict_strategy: :work_through, instrumenter: told) { 1 }
    client.lock("a", conflict_strategy: :extendable_work_through, instrumenter: told) { 1 }
    client.clear_current_locks(instrumenter: told)
    assert_equal %w[reentrant_lock_obtained reentrant_lock_hold_completes extendable_reentrant_lock_obtained
                    reentrant_lock_hold_completes release_locks_of],
                 told.events.map { |name, _| name.delete_prefix("redis_queued_locks.") }
    assert_equal [client.current_host_id], told.events.map { |_, payload| payload[:hst_id] }.uniq
  end

  def test_sampling_says_of_which_calls_is_told
    sampler = Object.new
    sampler.define_singleton_method(:sampling_happened?) { |percent| percent == 100 }
    shared = { logger: told, instrumenter: told, log_sampler: sampler, instr_sampler: sampler,
               log_sampling_enabled: true, instr_sampling_enabled: true }
    client.lock("a", **shared) { 1 }
    assert_equal [[], []], [told.texts, told.events]
    client.lock("a", **shared, log_sampling_percent: 100) { 1 }
    assert_equal [4, 0], [told.texts.size, told.events.size]
    client.lock("a", **shared, instr_sample_this: true) { 1 }
    client.lock("a", **shared, log_sample_this: true) { 1 }
    assert_equal [8, 2], [told.texts.size, told.events.size]
    chance = RedisQueuedLocks::Logging::Sampler
    assert_equal [true, false], [100, 0].map { |percent| chance.sampling_happened?(percent) }
  end

  def test_active_support_is_given_events
    heard = []
    notifications = Module.new do
      define_singleton_method(:instrument) { |name, payload| heard << [name, payload[:lock_key]] }
    end
    stand_in = Module.new
    stand_in.const_set(:Notifications, notifications)
    Object.const_set(:ActiveSupport, stand_in)
    client.configure { |config| config.instrumenter = RedisQueuedLocks::Instrument::ActiveSupport }
    client.lock("a", ttl: 1_000)
    assert_equal [["redis_queued_locks.lock_obtained", "rql:lock:a"]], heard
  ensure
    client.config.instrumenter = RedisQueuedLocks::Instrument::VoidNotifier
    Object.send(:remove_const, :ActiveSupport)
  end

  def test_active_support_is_refused_where_it_is_chosen_if_it_is_not_loaded
    chosen = RedisQueuedLocks::Instrument::ActiveSupport
    error = assert_raises(RedisQueuedLocks::ConfigValidationError) { client.config.instrumenter = chosen }
    assert_match(/require "active_support/, error.message)
    assert_raises(RedisQueuedLocks::ConfigValidationError) do
      RedisQueuedLocks::Client.new(redis) { |config| config["instrumenter"] = chosen }
    end
    assert_raises(RedisQueuedLocks::ArgumentError) { client.lock("a", instrumenter: chosen) { flunk } }
    assert_raises(RedisQueuedLocks::ArgumentError) { client.clear_locks(instrumenter: chosen) }
    assert_same RedisQueuedLocks::Instrument::VoidNotifier, client.config.instrumenter
  end

  def test_a_logger_or_instrumenter_that_raises_costs_nobody_a_lock
    broken = Object.new
    def broken.debug = raise("broken")
    def broken.notify(*) = raise("broken")
    assert_equal 3, client.lock("a", logger: broken, instrumenter: broken, log_lock_try: true) { 3 }
    refute client.locked?("a")
  end

  def test_a_detailed_timeout_tells_who_holds_and_who_waits
    client.configure { |config| config.detailed_acq_timeout_error = true }
    held_elsewhere("a") do |holder|
      error = assert_raises(RedisQueuedLocks::LockAcquiermentTimeoutError) { client.lock!("a", timeout: 0.1) }
      assert_includes error.message, holder
    end
  end
end
