# SPDX-License-Identifier: MIT
#
# redis_queued_locks on liblock: the same classes, calls, options, results, log texts and events, so that a program
# moves by changing its require. What is promised is what the original's manual says; where its code did otherwise, the
# manual wins.
#
# Invariants: keys are not the original's, so that nothing here ever touches what the original has stored; and a process
# has either this module or the original, never a mixture.
if defined?(RedisQueuedLocks)
  raise LoadError, "the gem redis_queued_locks is loaded already: require it or liblock's layer, not both"
end

require "liblock"
require_relative "redis_queued_locks/errors"
require_relative "redis_queued_locks/refusals"
require_relative "redis_queued_locks/resource"
require_relative "redis_queued_locks/reporting"
require_relative "redis_queued_locks/config"
require_relative "redis_queued_locks/connection"
require_relative "redis_queued_locks/original"
require_relative "redis_queued_locks/journal"
require_relative "redis_queued_locks/backend"
require_relative "redis_queued_locks/options"
require_relative "redis_queued_locks/call"
require_relative "redis_queued_locks/series"
require_relative "redis_queued_locks/listing"
require_relative "redis_queued_locks/release"
require_relative "redis_queued_locks/client"
