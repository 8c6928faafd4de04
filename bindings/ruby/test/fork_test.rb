# SPDX-License-Identifier: MIT
#
# Forking servers: what was opened before a fork is its parent's.
require_relative "helper"

class ForkTest < Minitest::Test
  include Helper

  def test_every_copy_answers_forked_in_a_child
    lock, owner, queue = context.lock("a"), context.owner("o"), context.completions
    in_child do
      calls = [-> { context.lock("b") }, -> { context.try_lock("b") }, -> { context.synchronize("b") { 1 } },
               -> { lock.release }, -> { lock.token }, -> { lock.held? }, -> { lock.extend(1) }, -> { owner.close },
               -> { queue.next(wait: 0) }, -> { context.stats }, -> { context.close }, -> { context.locks.to_a },
               -> { context.ping }, -> { context.key_locked?("a") }, -> { context.wait_held("a", wait: 0) },
               -> { context.submit("a", completions: queue) }, -> { context.on_event { 1 } }]
      calls.each_with_index { |call, index| assert_raises(Liblock::Forked, "call #{index}") { call.call } }
    end
    assert lock.release.ok?
  end

  def test_a_preforking_server_opens_again_in_each_worker
    context.synchronize("warm") { 1 }
    lock = context.lock("held")
    watched = context.lock("watched", on_lost: true)
    workers = Array.new(4) do
      fork do
        mine = Liblock.open("local:")
        mine.synchronize("job") { |one| exit!(2) unless one.held? }
        holder = mine.lock("wait")
        waiter = Thread.new { mine.lock!("wait") }
        sleep 0.001 until mine.queue("wait").waiter_count == 1
        holder.release
        exit!(3) unless waiter.value.held?
        mine.close if Process.pid.even?
        GC.start
        exit(0) # finalizers of all copies run
      end
    end
    workers.each { |pid| reap(pid) }
    assert lock.held? && watched.held?
  end

  def test_a_child_hears_events_and_losses_of_its_own_context
    heard = Thread::Queue.new
    context.on_event(:obtained) { |event| heard << event.key }
    context.lock("parent").release
    assert_equal "parent", Timeout.timeout(LIMIT_S) { heard.pop }
    in_child do
      mine = Liblock.open
      told = Thread::Queue.new
      mine.on_event(:obtained) { |event| told << event.key }
      mine.lock("child", ttl: 0.02, on_lost: ->(_) { told << :lost })
      # Each comes on a thread of its own.
      assert_equal ["child", :lost], Timeout.timeout(LIMIT_S) { [told.pop, told.pop] }.sort_by(&:to_s)
      mine.close
    end
  end

  def test_a_daemon_is_a_child_and_hears_events_of_its_own_context
    heard = Thread::Queue.new
    context.on_event(:obtained) { |event| heard << event.key }
    context.lock("parent").release
    Timeout.timeout(LIMIT_S) { heard.pop }
    reader, writer = IO.pipe
    in_child do
      ours = Liblock.open
      ours.on_event(:obtained) { |event| heard << event.key }
      ours.lock("before").release
      Timeout.timeout(LIMIT_S) { heard.pop }
      Process.daemon(true, true)
      writer.puts ours.usable?
      mine = Liblock.open
      mine.on_event(:obtained) { |event| heard << event.key }
      mine.lock("daemon")
      writer.puts Timeout.timeout(LIMIT_S) { heard.pop }
      mine.close
    end
    writer.close
    assert_equal "false\ndaemon\n", Timeout.timeout(2 * LIMIT_S) { reader.read }
  end

  def test_a_child_that_leaves_its_copies_alone_ends_at_once
    context.lock("a", on_lost: true)
    context.on_event { 1 }
    in_child { GC.start }
  end

  def test_a_fork_inside_synchronize_leaves_the_lock_with_the_parent
    context.synchronize("a") do |lock|
      in_child { refute context.usable? }
      assert lock.held?
    end
    refute context.key_locked?("a")
  end

  def test_a_forgotten_context_gives_its_locks_back_when_it_is_garbage
    name = "local:garbage-#{Process.pid}"
    watching = open(name)
    Thread.new { Liblock.open(name).lock("a") && nil }.join
    eventually("the collection of a context") do
      GC.start
      !watching.key_locked?("a")
    end
  end
end
