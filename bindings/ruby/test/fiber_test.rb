# SPDX-License-Identifier: MIT
#
# Under a Fiber scheduler a wait for a lock lets the other fibers of the thread run.
require_relative "helper"
require_relative "scheduler"

class FiberTest < Minitest::Test
  include Helper

  def test_fibers_of_one_thread_wait_for_each_others_locks
    log = []
    locks = context
    under_scheduler do
      Fiber.schedule do
        locks.synchronize("a") do
          log << :first
          sleep 0.03
          log << :first_over
        end
      end
      Fiber.schedule { locks.synchronize("a") { log << :second } }
      Fiber.schedule { log << :other }
    end
    assert_equal %i[first other first_over second], log
  end

  def test_a_wait_ends_in_time_and_waits_for_keys_let_others_run_too
    locks = context
    locks.lock("a")
    log = []
    under_scheduler do
      Fiber.schedule { log << [:lock, locks.lock("a", wait: 0.02)] }
      Fiber.schedule { log << [:held, locks.wait_held("b", wait: LIMIT_S)] }
      Fiber.schedule { locks.lock("b") }
    end
    assert_equal [[:held, true], [:lock, nil]], log.sort_by(&:first)
  end

  private

  def under_scheduler(&block)
    thread = Thread.new do
      Fiber.set_scheduler(Scheduler.new)
      block.call
    end
    assert thread.join(LIMIT_S), "the scheduler does not end"
  end
end
