# SPDX-License-Identifier: MIT
#
# Threads that are killed, raised into and timed out while they acquire: nothing may be left behind, wherever it hits
# them. The seed is printed with a failure; LIBLOCK_TEST_SEED repeats it.
require_relative "helper"
require_relative "points"

class InterruptionTest < Minitest::Test
  include Helper
  include Points

  SEED = Integer(ENV["LIBLOCK_TEST_SEED"] || Random.new_seed % 1_000_000)
  ROUNDS = Integer(ENV["LIBLOCK_TEST_ROUNDS"] || 150)

  def test_a_killed_waiter_leaves_the_queue
    context.lock("a")
    waiter = Thread.new { context.lock("a") }
    await_waiter(context, "a")
    waiter.kill.join
    await_waiter(context, "a", 0)
  end

  def test_a_timeout_ends_a_wait_at_once
    context.lock("a")
    begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    assert_raises(Timeout::Error) { Timeout.timeout(0.05) { context.lock("a") } }
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun, :<, 10
    await_waiter(context, "a", 0)
  end

  def test_waits_for_a_key_can_be_interrupted_too
    lock = context.lock("a")
    [-> { context.wait_released("a") }, -> { context.wait_held("b") }, -> { lock.wait_lost }].each do |wait|
      assert_raises(Timeout::Error) { Timeout.timeout(0.05) { wait.call } }
      await_no_requests
    end
  end

  # What was given up waits no longer in the table either.
  def await_no_requests
    eventually("no waiters") { context.stats[:waiters].zero? }
  end

  def test_other_threads_run_while_one_waits
    context.lock("a")
    waiter = Thread.new { context.lock("a", wait: 0.3) }
    await_waiter(context, "a")
    turns = 0
    turns += 1 while waiter.alive?
    assert_operator turns, :>, 1000
  end

  def test_threads_that_are_killed_at_any_point_leave_neither_locks_nor_waiters
    storm { |thread| thread.kill }
  end

  def test_threads_that_are_raised_into_at_any_point_leave_neither_locks_nor_waiters
    storm do |thread|
      thread.raise(IOError, "interrupted")
      Thread.pass
      thread.raise(IOError, "interrupted again") if thread.alive?
    end
  end

  def test_time_outs_at_any_point_leave_neither_locks_nor_waiters
    random = Random.new(SEED)
    ROUNDS.times do
      Timeout.timeout(random.rand * 0.002 + 0.00001) { 100.times { work(context, random.rand(3)) } }
    rescue Timeout::Error
      next
    end
    nothing_left
  end

  def test_a_thread_that_is_killed_at_a_given_point_leaves_no_lock_whatever_the_point
    [{}, { ttl: 60 }, { on_lost: ->(_lock) {} }, { on_queued: ->(*_place) {} }].each do |options|
      killed_at_each_point(->(key) { !context.key_locked?(key) }) { |key| context.synchronize(key, **options) { nil } }
    end
    killed_at_each_point(->(key) { !context.key_locked?(key) }) { |key| context.synchronize([key, "b"]) { nil } }
    refute context.key_locked?("b")
  end

  private

  def storm
    random = Random.new(SEED)
    (ROUNDS / 3).times do
      threads = Array.new(3) { |number| interruptible_thread { loop { work(context, number) } } }
      sleep(random.rand * 0.004)
      threads.shuffle(random: random).each { |thread| yield thread }
      threads.each { |thread| assert ended?(thread), "a thread does not end (seed #{SEED})" }
    end
    nothing_left
  end

  # What interrupts it hits the block and nothing around it, however early or often it comes.
  def interruptible_thread
    Thread.handle_interrupt(Object => :never) do
      Thread.new do
        Thread.handle_interrupt(Object => :immediate) { yield }
      rescue IOError
        nil
      end.tap { |thread| thread.report_on_exception = false }
    end
  end

  # A second interruption may still be pending when it ends, and is raised here then.
  def ended?(thread)
    thread.join(LIMIT_S)
  rescue IOError
    !thread.alive?
  end

  # Contended ways through the binding: at once, waiting, with a watched loss, many keys.
  def work(locks, number)
    case number
    when 0 then locks.synchronize("a") { Thread.pass }
    when 1 then locks.synchronize(%w[a b], ttl: 60) { Thread.pass }
    else locks.synchronize("a", ttl: 60, on_lost: true) { Thread.pass }
    end
  end

  def nothing_left
    eventually("nobody holds or waits (seed #{SEED}): #{context.keys.map(&:key)}") do
      stats = context.stats
      stats.locks_held.zero? && stats.waiters.zero?
    end
    assert context.stats.acquired.positive?
  end
end
