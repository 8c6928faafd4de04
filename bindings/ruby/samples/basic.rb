# SPDX-License-Identifier: MIT
#
# The smallest use: one at a time, and giving back whatever happens.
#   ruby basic.rb [URL]
require "liblock"

Liblock.open(ARGV[0] || "local:") do |locks|
  answer = locks.synchronize("sample:basic", ttl: 10) do |lock|
    puts "inside: token #{lock.token}, #{lock.remaining.round} s of the lease left"
    puts "for others it is busy: #{locks.try_lock("sample:basic").inspect}"
    42
  end
  puts "the block answered #{answer}; locked now: #{locks.key_locked?("sample:basic")}"
end
