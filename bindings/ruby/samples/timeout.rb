# SPDX-License-Identifier: MIT
#
# Waiting for so long and no longer, and finding out who is in the way.
#   ruby timeout.rb [URL]
require "liblock"

Liblock.open(ARGV[0] || "local:") do |locks|
  held = locks.lock!("sample:timeout", ttl: 10, value: "the nightly report")
  puts "lock answers #{locks.lock("sample:timeout", wait: 0.1).inspect} after 0.1 s"
  begin
    locks.lock!("sample:timeout", wait: 0.1, busy_info: true)
  rescue Liblock::Timeout => end_of_wait
    puts "lock! raises #{end_of_wait.class} after #{end_of_wait.result.waited.round(1)} s"
    puts "in the way: #{end_of_wait.result.info.value}"
  end
  waiter = Thread.new { locks.lock!("sample:timeout", wait: 5) }
  sleep 0.05
  held.release
  puts "given back, so the next one has it: #{waiter.value.tap(&:release).result.ok?}"
end
