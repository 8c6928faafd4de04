# SPDX-License-Identifier: MIT
#
# Kills a thread at each point of the library that a piece of work passes, one after the other. Ruby itself looks for
# interruptions at fewer of them (branches, returns, calls that wait), but where a killed thread leaves nothing behind
# at any, luck has no part in it.
module Points
  EVENTS = %i[line call return b_call b_return].freeze
  LIBRARY = "#{File.expand_path("../lib", __dir__)}/".freeze
  # A work that passes fewer was not followed.
  LEAST = 50

  # The block is given a new key each time and does the work; `free` says whether nothing is held of that key.
  def killed_at_each_point(free, &work)
    work.call("#{prefix}warm")
    # A thread that is inside a finalizer is interrupted by nothing, and does not wake for it.
    GC.start
    GC.disable
    passed = (1..).find do |number|
      key = "#{prefix}#{number}"
      where = killed_at(number) { work.call(key) } or break number
      eventually("nothing held (killed at #{where})") { free.call(key) }
      nil
    end
    assert_operator passed, :>, LEAST
  ensure
    GC.enable
  end

  private

  # Where the thread was killed: the point of this number; nil = there are fewer.
  def killed_at(number, &work)
    seen, where = 0, nil
    reached, killed = Thread::Queue.new, Thread::Queue.new
    victim = Thread.new { Thread.stop || work.call }
    eventually("the start of a thread") { victim.stop? }
    killer = Thread.new { reached.pop && victim.kill && killed << true }
    points = TracePoint.new(*EVENTS) do |point|
      next unless point.path.start_with?(LIBRARY) && (seen += 1) == number

      where = "#{point.event} of #{point.method_id}, #{point.path.delete_prefix(LIBRARY)}:#{point.lineno}"
      reached << true
      killed.pop
    end
    points.enable(target_thread: victim) do
      victim.run
      assert victim.join(Helper::LIMIT_S), "does not end (killed at #{where})"
    end
    where
  ensure
    killer&.kill
  end
end
