# SPDX-License-Identifier: MIT
#
# What an uncontended acquire and its release cost: nanoseconds per pair, the best of five rounds.
#   ruby pair.rb [URL [PAIRS]]
require "liblock"

pairs = Integer(ARGV[1] || 20_000)
Liblock.open(ARGV[0] || "local:") do |locks|
  clock = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) }
  round = lambda do
    begun = clock.call
    pairs.times { locks.try_lock("sample:pair").release }
    (clock.call - begun) / pairs
  end
  round.call
  puts Array.new(5) { round.call }.min
end
