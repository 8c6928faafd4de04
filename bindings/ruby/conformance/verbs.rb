# SPDX-License-Identifier: MIT
#
# What each verb takes, does and tells.
require_relative "call"
require_relative "world"

module Conformance
  RESULT = %w[status token attempts waited_ms remaining_ms queue_position queue_length hold_count flags votes
              nodes].freeze
  REPORT = (RESULT + %w[count queues cleared_keys dequeued]).freeze
  INFO = %w[status key held global zombie owner instance value token held_for_ms initial_ttl_ms remaining_ms hold_count
            metadata waiter_count queue].freeze
  LIST = %w[status keys count globals].freeze
  TARGET = %w[key keys global as owner options].freeze
  CLEAR = %w[batch_size dead_ttl_ms].freeze
  VERBS = {} # rubocop:disable Style/MutableConstant -- filled in by the files of verbs

  def self.verb(name, needs, allows, tells, main_only: false, &perform)
    VERBS[name] = Verb.new(name, needs.split, allows.is_a?(String) ? allows.split : allows,
                           tells.is_a?(String) ? tells.split : tells, perform, main_only)
  end
end

require_relative "verbs_lock"
require_relative "verbs_look"
require_relative "verbs_admin"
require_relative "verbs_drive"
