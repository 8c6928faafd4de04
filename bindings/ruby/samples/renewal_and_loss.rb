# SPDX-License-Identifier: MIT
#
# A lease that is renewed while its holder lives, and hearing that a lock was taken away.
#   ruby renewal_and_loss.rb [URL]
require "liblock"

Liblock.open(ARGV[0] || "local:") do |locks|
  lost = Thread::Queue.new
  lock = locks.lock!("sample:renewal", ttl: 0.3, renew: true, on_lost: ->(one) { lost << one.key })
  sleep 0.7
  puts "after 0.7 s of a lease of 0.3 s it is held: #{lock.held?}"
  locks.force_release("sample:renewal")
  puts "an administrator took it away: told of #{lost.pop}"
  begin
    lock.release
  rescue Liblock::Lost => loss
    puts "its release says so, too: #{loss.message}"
  end
  begin
    locks.synchronize("sample:renewal", ttl: 10) { locks.force_release("sample:renewal") }
  rescue Liblock::Lost
    puts "synchronize raises when its block was not alone to the end"
  end
end
