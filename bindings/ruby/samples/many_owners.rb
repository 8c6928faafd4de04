# SPDX-License-Identifier: MIT
#
# Owners hold a key several times; threads, fibers and named identities are owners; a cycle of them is found.
#   ruby many_owners.rb [URL]
require "liblock"

Liblock.open(ARGV[0] || "local:", deadlock_delay: 0) do |locks|
  locks.synchronize("sample:a", ttl: 10, owner: :thread) do
    locks.synchronize("sample:a", ttl: 10, owner: :thread) do |lock|
      puts "this thread again: #{lock.hold_count} handles"
    end
    puts "another thread: #{Thread.new { locks.try_lock("sample:a", owner: :thread) }.value.inspect}"
  end

  one, two = locks.owner("one"), locks.owner("two")
  first = locks.lock!("sample:a", ttl: 10, owner: one)
  second = locks.lock!("sample:b", ttl: 10, owner: two)
  waiter = Thread.new { locks.lock!("sample:b", ttl: 10, owner: one) }
  sleep 0.001 until locks.key_queued?("sample:b")
  begin
    locks.lock!("sample:a", ttl: 10, owner: two, wait: 5)
  rescue Liblock::Deadlock
    puts "one waits for two, and two would wait for one: found"
  end
  second.release
  puts "two let go, so one has both: #{first.held? && waiter.value.held?}"
end
