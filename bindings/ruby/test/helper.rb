# SPDX-License-Identifier: MIT
#
# What the tests stand on: minitest, which comes with Ruby, a context of their own, and servers where the environment
# names them (LIBLOCK_TEST_REDIS, LIBLOCK_TEST_QUORUM). Nothing is skipped: without a server its files are not loaded.
require "minitest"
require "timeout"
require "tmpdir"
require "rbconfig"
require "liblock"

module Helper
  # No test waits longer for what must come.
  LIMIT_S = 20

  def setup
    @opened = []
  end

  def teardown
    @opened.each { |context| context.close if context.usable? }
  end

  def open(url = "local:", **options)
    Liblock.open(url, **options).tap { |context| @opened << context }
  end

  def context
    @context ||= open
  end

  def prefix
    "ruby-test-#{Process.pid}-#{object_id}:"
  end

  # Until the block answers true; what comes from another thread is waited for, never slept for.
  def eventually(what)
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + LIMIT_S
    until yield
      flunk("never came: #{what}") if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
      sleep 0.002
    end
  end

  def await_waiter(locks, key, count = 1)
    eventually("#{count} waiters of #{key}") { (locks.queue(key)&.waiter_count || 0) == count }
  end

  # Runs the block in a child process; fails with what it raised, or when it does not end.
  def in_child
    pid = fork do
      exit_code = 1
      begin
        yield
        exit_code = 0
      rescue Exception => error # rubocop:disable Lint/RescueException -- told by the status
        warn error.full_message(highlight: false)
      end
      exit_code.zero? ? exit(0) : exit!(1)
    end
    reap(pid)
  end

  def reap(pid)
    status = nil
    eventually("the end of a child") { status = Process.wait2(pid, Process::WNOHANG)&.last }
    assert status.success?, "the child ended with #{status}"
  end
end
