# SPDX-License-Identifier: MIT
#
# One class per status, so that callers rescue what they can mend and let the rest pass.
require_relative "result"

module Liblock
  # Whatever a call answered other than OK. Rescue the classes below, or this one for all of them.
  class Error < StandardError
    # @return [Symbol] the status, such as :timeout
    attr_reader :status
    # @return [Result] all that the call told
    attr_reader :result

    # @param result [Result]
    def initialize(result)
      @result = result
      @status = result.status
      super("#{status.to_s.upcase}: #{result.message.empty? ? "no more is known" : result.message}")
    end

    # The same call may succeed later without any change.
    def retryable?
      Error.predicate?(status, :retryable)
    end

    # The lock may be, or may have been, held on a server.
    def maybe_held?
      Error.predicate?(status, :maybe_held)
    end

    # The caller must stop what it does under the lock.
    def lost_lock?
      Error.predicate?(status, :lost_lock)
    end

    # @api private
    def self.predicate?(status, name)
      Native.status_is(STATUSES.fetch(status, -1), Numbers::PREDICATES.fetch(name)) == 1
    end

    # The error of a result, of the class of its status.
    # @api private
    def self.of(result)
      (BY_STATUS[result.status] || Error).new(result)
    end
  end

  # Liblock::Busy, Liblock::Timeout, Liblock::RetriesExhausted and so on: a class for each status but OK.
  Error::BY_STATUS = STATUSES.keys.drop(1).to_h do |status|
    [status, const_set(status.to_s.split("_").map(&:capitalize).join, Class.new(Error))]
  end.freeze
end
