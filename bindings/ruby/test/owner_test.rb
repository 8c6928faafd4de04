# SPDX-License-Identifier: MIT
#
# Owners: who reenters, and whose locks go when he is gone.
require_relative "helper"

class OwnerTest < Minitest::Test
  include Helper

  def test_a_thread_reenters_and_another_does_not
    context.lock("a", owner: :thread)
    assert_includes context.lock("a", owner: :thread).result.flags, :reentered
    assert_nil Thread.new { context.try_lock("a", owner: :thread) }.value
  end

  def test_fibers_of_one_thread_exclude_each_other
    context.lock("a", owner: :fiber)
    assert context.try_lock("a", owner: :fiber)
    assert_nil Fiber.new { context.try_lock("a", owner: :fiber) }.resume
  end

  def test_process_ractor_and_names_are_owners_for_all_threads
    [:process, :ractor, "job-17"].each_with_index do |owner, index|
      context.lock("key-#{index}", owner: owner)
      assert Thread.new { context.try_lock("key-#{index}", owner: owner) }.value, owner.inspect
      assert_nil context.try_lock("key-#{index}")
    end
  end

  def test_the_locks_of_a_thread_that_ends_or_is_killed_are_given_back
    Thread.new { context.lock("a", owner: :thread) }.join
    assert context.lock("a", wait: LIMIT_S)
    held = Thread::Queue.new
    killed = Thread.new { context.lock("b", owner: :thread) && (held << 1) && sleep }
    held.pop
    killed.kill.join
    assert context.lock("b", wait: LIMIT_S)
  end

  def test_the_locks_of_a_fiber_that_ends_are_given_back
    Fiber.new { context.lock("a", owner: :fiber) }.resume
    assert context.lock("a", wait: LIMIT_S)
  end

  def test_the_thread_that_looks_for_ended_owners_ends_when_there_are_none
    looking = -> { Thread.list.count { |thread| thread.name == "liblock owners" } }
    eventually("the end of those of other tests") { looking.call.zero? }
    3.times do
      Thread.new { context.synchronize("a", owner: :thread) { eventually("one") { looking.call == 1 } } }.join
      eventually("its end") { looking.call.zero? }
    end
  end

  def test_an_owner_of_its_own_releases_by_key_and_all_when_it_is_closed
    owner = context.owner("worker")
    assert owner.id.end_with?("worker")
    context.lock_many(%w[a b], owner: owner)
    assert owner.release_keys("a").ok?
    assert_raises(Liblock::NotHeld) { owner.release_keys("a") }
    assert_equal ["b"], context.locks.map(&:key)
    owner.close
    assert_equal [], context.locks.to_a
    assert_raises(Liblock::Closed) { context.lock("a", owner: owner) }
  end

  # Both look for cycles, so either may find this one first.
  def test_a_cycle_of_owners_is_a_deadlock_for_one_of_them_and_the_other_goes_on
    one, two = context.owner("one"), context.owner("two")
    context.lock("a", owner: one)
    context.lock("b", owner: two)
    ends = [["b", one], ["a", two]].map { |key, owner| Thread.new { end_of_wait(key, owner) } }.map(&:value)
    assert_equal %i[deadlock granted], ends.sort
  end

  def test_closed_owners_are_freed_when_they_are_forgotten_and_others_keep_their_locks
    kept = context.owner("kept")
    context.lock("a", owner: kept)
    native = -> { context.instance_variable_get(:@handle).instance_variable_get(:@owners).size }
    Thread.new { 100.times { context.owner("of a request").close } }.join
    eventually("the collection of owners: #{native.call}") do
      GC.start
      native.call < 20
    end
    assert context.key_owned?("a", owner: kept)
    assert_raises(Liblock::Closed) { context.lock("b", owner: context.owner.tap(&:close)) }
  end

  def test_a_context_may_have_an_owner_for_all_its_locks
    locks = open(owner: :thread)
    locks.lock("a")
    assert locks.key_owned?("a")
    assert locks.try_lock("a")
    assert_raises(Liblock::AlreadyHeld) { locks.lock("a", on_conflict: :fail) }
    refute(Thread.new { locks.key_owned?("a") }.value)
    assert_raises(ArgumentError) { locks.lock("b", owner: 17) }
  end

  private

  # Gives back all that the owner has when it is the one that is refused.
  def end_of_wait(key, owner)
    context.lock(key, owner: owner, wait: LIMIT_S) ? :granted : :timed_out
  rescue Liblock::Deadlock
    owner.close
    :deadlock
  end
end
