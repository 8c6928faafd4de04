# SPDX-License-Identifier: MIT
#
# The same over a real server (LIBLOCK_TEST_REDIS): what differs there, and interruptions while answers are under way.
require_relative "helper"
require_relative "points"
require_relative "scheduler"

class ServerTest < Minitest::Test
  include Helper
  include Points

  URL = ENV.fetch("LIBLOCK_TEST_REDIS")
  SEED = Integer(ENV["LIBLOCK_TEST_SEED"] || Random.new_seed % 1_000_000)

  def context
    @context ||= open(URL, prefix: prefix)
  end

  def test_a_lock_excludes_another_context_and_is_handed_over
    other = open(URL, prefix: prefix)
    lock = context.lock("a", ttl: 10)
    assert_nil other.try_lock("a")
    assert other.key_locked?("a")
    refute other.key_owned?("a")
    assert context.key_owned?("a")
    waiter = Thread.new { other.lock!("a", ttl: 10) }
    await_waiter(context, "a")
    lock.release
    assert_operator waiter.value.tap(&:release).result.token, :>, lock.result.token
  end

  def test_a_lock_is_handed_to_another_context_by_its_bytes
    lock = context.lock("a", ttl: 10)
    bytes = lock.export
    assert_equal :not_held, lock.status
    adopted = open(URL, prefix: prefix).adopt(bytes, ttl: 20)
    assert_operator adopted.remaining, :>, 10
    assert adopted.release.ok?
  end

  def test_a_request_that_is_refused_says_why
    queue = context.completions
    [-> { context.lock("a", ttl: 0.005) }, -> { context.submit("a", completions: queue, ttl: 0.005) }].each do |call|
      message = assert_raises(Liblock::InvalidArgument, &call).message
      assert_match(/ttl is 5 ms; use 20 ms to max_ttl \(\d+ ms\), :auto or :none$/, message)
    end
    error = assert_raises(Liblock::InvalidArgument) { open("local:").submit("a", completions: queue) }
    assert_match(/was opened on another context/, error.message)
    assert_match(/has no global lock; agree on/, assert_raises(Liblock::Unsupported) { context.lock_global }.message)
    error = assert_raises(Liblock::Unsupported) { context.lock("a", nodes: ["x"]) }
    assert_match(/nodes are those of a quorum/, error.message)
    assert_nil context.inspect_key("a")
  end

  def test_the_loss_of_a_lock_that_was_waited_for_is_told
    lost = Thread::Queue.new
    lock = context.lock("a", ttl: 10, on_lost: ->(one) { lost << one })
    context.force_release("a")
    assert_same lock, Timeout.timeout(LIMIT_S) { lost.pop }
    assert_equal :lost, lock.wait_lost(wait: LIMIT_S)
  end

  def test_a_thread_that_is_killed_at_a_given_point_leaves_no_lock_whatever_the_point
    [{}, { on_lost: ->(_lock) {} }].each do |options|
      killed_at_each_point(->(key) { !context.key_locked?(key) }) { |key| context.synchronize(key, **options) { nil } }
    end
  end

  def test_threads_that_are_killed_at_any_point_leave_neither_locks_nor_waiters
    random = Random.new(SEED)
    25.times do
      threads = Array.new(3) { Thread.new { loop { context.synchronize("a", ttl: 10) { Thread.pass } } } }
      sleep(random.rand * 0.02)
      threads.each(&:kill).each { |thread| assert thread.join(LIMIT_S), "does not end (seed #{SEED})" }
    end
    eventually("nobody holds or waits (seed #{SEED})") { context.keys.to_a.empty? }
    assert context.lock("a", ttl: 1, wait: 5).release.ok?
  end

  def test_a_wait_that_is_timed_out_is_canceled_on_the_server
    context.lock("a", ttl: 10)
    assert_raises(Timeout::Error) { Timeout.timeout(0.1) { context.lock("a", ttl: 10) } }
    await_waiter(context, "a", 0)
    assert_raises(Timeout::Error) { Timeout.timeout(0.1) { context.wait_released("a") } }
    assert_raises(Timeout::Error) { Timeout.timeout(0.1) { context.wait_held("b") } }
  end

  def test_waits_for_keys_tell_whether_it_came
    refute context.wait_held("a", wait: 0.1)
    lock = context.lock("a", ttl: 10)
    assert context.wait_held("a", wait: LIMIT_S)
    refute context.wait_released("a", wait: 0.1)
    Thread.new { lock.release }
    assert context.wait_released("a", wait: LIMIT_S)
  end

  def test_fibers_of_one_thread_wait_for_each_other_and_for_the_server
    log = []
    locks = context
    locks.ping
    thread = Thread.new do
      Fiber.set_scheduler(Scheduler.new)
      2.times do |number|
        Fiber.schedule do
          locks.synchronize("a", ttl: 10) do |lock|
            log << [:in, number, lock.verify.ok?]
            sleep 0.01
            log << [:out, number]
          end
        end
      end
      Fiber.schedule { log << locks.key_locked?("b") }
    end
    assert thread.join(LIMIT_S)
    inside = log.grep(Array)
    assert_equal [:in, :out, :in, :out], inside.map(&:first)
    assert_equal inside.values_at(0, 2).map { |one| one[1] }, inside.values_at(1, 3).map { |one| one[1] }
    assert_includes log, false
  end

  def test_a_fiber_that_is_raised_into_while_it_acquires_gives_back_what_is_granted_behind_it
    held = context.lock("a", ttl: 10)
    seen = []
    locks = open(URL, prefix: prefix)
    thread = Thread.new do
      Fiber.set_scheduler(Scheduler.new)
      fiber = Fiber.schedule do
        locks.acquire("a", ttl: 10)
      rescue IOError => error
        seen << error.message
      end
      await_waiter(context, "a")
      %w[first second].each { |message| fiber.raise(IOError, message) }
      seen << :call_goes_on if fiber.alive?
      held.release
    end
    assert thread.join(LIMIT_S)
    assert_equal [:call_goes_on, "first"], seen
    eventually("the key is free") { !context.key_locked?("a") }
    assert locks.acquire("a", ttl: 10).release.ok?
  end

  def test_a_preforking_server_shares_one_key_between_its_workers
    context.synchronize("warm", ttl: 10) { 1 }
    held = context.lock("held", ttl: 10)
    shared = prefix
    log = File.join(Dir.mktmpdir, "log")
    workers = Array.new(4) do
      fork do
        locks = Liblock.open(URL, prefix: shared)
        5.times do
          locks.synchronize("job", ttl: 10) do |lock|
            File.write(log, "in #{lock.token}\n", mode: "a")
            File.write(log, "out #{lock.token}\n", mode: "a")
          end
        end
        exit!(2) if locks.try_lock("held")
        locks.close
        exit(0)
      end
    end
    workers.each { |pid| reap(pid) }
    lines = File.readlines(log)
    assert_equal 40, lines.size
    lines.each_slice(2) { |into, out| assert_equal into.delete_prefix("in"), out.delete_prefix("out") }
    assert held.release.ok?
  end

  # The loop thread waits for Ruby's global lock in each entry: no call may wait for the loop thread with it.
  def test_a_log_of_everything_stops_nobody
    lines = Thread::Queue.new
    logger = Object.new
    logger.define_singleton_method(:add) { |_severity, text, _name| lines << text }
    context.log_to(logger, level: :debug)
    context.instruments(log_attempts: true, histograms: true)
    context.on_event { |event| lines << event.kind }
    threads = Array.new(4) do
      Thread.new { 10.times { context.synchronize("a", ttl: 10) { context.key_queued?("a") } } }
    end
    threads.each { |thread| assert thread.join(LIMIT_S), "a thread does not end" }
    context.close
    told = Array.new(lines.size) { lines.pop }
    assert_equal 40, told.count(:hold_and_release)
    assert_operator told.grep(/\Aobtained/).size, :>=, 40
  end

  def test_an_argument_that_is_refused_is_named_and_nothing_is_held
    plain = Liblock.status_text(:invalid_argument)
    [["a", { ttl: 0.001 }], ["k" * 513, {}], ["a", { order: 17 }], ["a", { renew: true }]].each do |key, options|
      error = assert_raises(Liblock::InvalidArgument) { context.lock(key, **options) }
      refute_equal plain, error.result.message
    end
    assert_raises(Liblock::InvalidArgument) { context.lock("a", wait_ms: -7) }
    assert_equal [], context.keys.to_a
  end

  def test_places_in_the_queue_are_told_and_such_a_wait_can_be_killed
    places = Thread::Queue.new
    lock = context.lock("a", ttl: 10)
    waiter = Thread.new { context.lock!("a", ttl: 10, on_queued: ->(*place) { places << place }) }
    assert_equal [0, 1], Timeout.timeout(LIMIT_S) { places.pop }
    waiter.kill.join
    await_waiter(context, "a", 0)
    assert lock.release.ok?
    refute context.key_locked?("a")
  end

  def test_instances_and_zombies_are_told
    context.lock("a", ttl: 10)
    eventually("its first sign of life") { context.instances.any?(&:self) }
    assert context.zombies_status.enabled
    assert_equal 0, context.clear_dead(dead_ttl: 3600).locks
  end

  def test_the_server_is_an_event_and_a_server_that_is_not_there_an_error
    heard = Thread::Queue.new
    locks = open(URL, prefix: prefix)
    locks.on_event(:connected) { |event| heard << event.kind }
    locks.ping
    assert_equal :connected, Timeout.timeout(LIMIT_S) { heard.pop }
    gone = open("redis://127.0.0.1:1")
    assert_raises(Liblock::Connect) { gone.ping }
    assert_raises(Liblock::Connect) { gone.lock("a", ttl: 1, wait: 1) }
  end

  Dir[File.expand_path("../samples/{basic,timeout,fencing,renewal_and_loss,many_owners}.rb", __dir__)].each do |sample|
    define_method("test_the_sample_#{File.basename(sample, ".rb")}_runs_on_a_server") do
      require "open3"
      out, status = Open3.capture2e(RbConfig.ruby, "-I#{File.expand_path("../lib", __dir__)}", sample, URL)
      assert status.success?, out
    end
  end
end
