# SPDX-License-Identifier: MIT
#
# liblock for Ruby: keyed locks for the threads of a process, the clients of one Redis server and the clients of a
# quorum of servers, through the same calls.
#
# Invariants: no call that waits for a lock keeps other threads or fibers from running; no thread that is interrupted
# leaves a request or a lock behind; nothing that was opened before a fork is touched by the child.
require_relative "liblock/version"
require_relative "liblock/native/functions"
require_relative "liblock/numbers"
require_relative "liblock/errors"
require_relative "liblock/info"
require_relative "liblock/report"
require_relative "liblock/event"
require_relative "liblock/context"
require_relative "liblock/context/locking"
require_relative "liblock/context/by_key"
require_relative "liblock/context/waiting"
require_relative "liblock/context/administration"
require_relative "liblock/context/listing"
require_relative "liblock/context/quorum"
require_relative "liblock/context/statistics"
require_relative "liblock/context/requests"
require_relative "liblock/context/listening"

# Keyed locks. Times are seconds everywhere, Integer or Float, under names without a unit (ttl:, wait:); options and
# readers whose names end in _ms are milliseconds.
module Liblock
  # Opens a context.
  #
  #   Liblock.open("redis://localhost") do |locks|
  #     locks.synchronize("invoice:17", ttl: 10) { … }
  #   end
  #
  # @param url [String, nil] "local:NAME", "local:", "redis://…", "rediss://…", "unix:///…", "quorum:URL,URL,…"; nil
  #   with servers: among the options
  # @param options [Hash] see README.md; owner: is the owner of every lock that names none
  # @yieldparam context [Context] closed when the block ends
  # @return [Context] or what the block answers
  # @raise [InvalidArgument, OptionsMismatch, Unsupported]
  def self.open(url = "local:", **options)
    context = Context.new(url, **options)
    return context unless block_given?

    begin
      yield context
    ensure
      context.close if context.usable? && !context.closed?
    end
  end

  # @return [String] the version of the loaded library
  def self.library_version
    Native.version_string
  end

  # @return [Integer] the same as a number: major * 1,000,000 + minor * 1,000 + patch
  def self.library_version_number
    Native.version_number
  end

  # @return [String] "TIMEOUT" for :timeout, as the C header has it
  def self.status_name(status)
    Native.status_name(STATUSES.fetch(status))
  end

  # @return [String] one line of English for a status
  def self.status_text(status)
    Native.status_text(STATUSES.fetch(status))
  end

  # @return [String] "OBTAINED" for :obtained
  def self.event_name(kind)
    Native.event_name(Numbers::EVENTS.fetch(kind))
  end
end
