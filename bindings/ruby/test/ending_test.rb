# SPDX-License-Identifier: MIT
#
# The end of the process, and of the threads on which others count: nobody waits for a thread that is gone.
require_relative "helper"
require "open3"

class EndingTest < Minitest::Test
  include Helper

  WAITS = { "plain" => "", "with_on_lost" => ", on_lost: true", "with_on_queued" => ", on_queued: ->(*) {}" }.freeze

  WAITS.each do |name, option|
    define_method("test_a_process_ends_while_a_thread_waits_#{name}") do
      script = "c = Liblock.open; c.lock('a'); Thread.new { c.lock('a'#{option}) }; " \
               "sleep 0.001 until c.queue('a')&.waiter_count == 1; puts 'over'"
      assert_equal "over\n", output_of(script)
    end
  end

  def test_a_process_ends_with_the_status_that_on_lost_gives_to_exit
    script = "c = Liblock.open; c.lock('a', ttl: 0.01, on_lost: ->(_) { exit(7) }); sleep"
    assert_equal "", output_of(script, status: 7)
  end

  def test_an_on_lost_that_raises_what_is_no_standard_error_costs_nobody_a_loss_or_a_lock
    heard = Thread::Queue.new
    _out, err = capture_io do
      context.lock("a", ttl: 0.01, on_lost: ->(_) { raise NotImplementedError, "of the test" })
      context.lock("b", ttl: 0.03, on_lost: ->(lock) { heard << lock.key })
      assert_equal "b", Timeout.timeout(LIMIT_S) { heard.pop }
    end
    assert_includes err, "of the test"
    context.lock("c")
    assert_nil context.lock("c", on_lost: true, wait: 0.01)
  end

  def test_a_listener_that_raises_what_is_no_standard_error_hears_the_next_event_and_the_context_closes
    heard = Thread::Queue.new
    _out, err = capture_io do
      context.on_event(:obtained) { |event| heard << event.key && raise(NotImplementedError, "of the test") }
      context.lock("a")
      context.lock("b")
      assert_equal %w[a b], Timeout.timeout(LIMIT_S) { [heard.pop, heard.pop] }
      context.close
    end
    assert_includes err, "of the test"
  end

  def test_who_waits_and_listens_for_losses_is_granted_the_lock_when_the_reader_of_losses_was_killed
    lock = context.lock("a")
    waiter = Thread.new { context.lock("a", on_lost: true) }
    await_waiter(context, "a")
    Thread.list.select { |thread| thread.name == "liblock losses" }.each { |thread| thread.kill.join }
    lock.release
    assert waiter.join(LIMIT_S)&.value&.held?
    heard = Thread::Queue.new
    context.lock("b", ttl: 0.01, on_lost: ->(one) { heard << one.key })
    context.lock("c")
    assert_nil context.lock("c", on_lost: true, wait: 0.01)
    assert_equal "b", Timeout.timeout(LIMIT_S) { heard.pop }
  end

  private

  # Of a process that is killed when it does not end by itself.
  def output_of(script, status: 0)
    command = ["timeout", "-s", "KILL", LIMIT_S.to_s, RbConfig.ruby, "-I#{File.expand_path("../lib", __dir__)}"]
    out, ended = Open3.capture2e(*command, "-rliblock", "-e", script)
    assert_equal status, ended.exitstatus, out
    out
  end
end
