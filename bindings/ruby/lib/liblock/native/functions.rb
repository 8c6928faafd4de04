# SPDX-License-Identifier: MIT
#
# Every function of liblock.h, without its prefix: arguments, then what it answers.
#
# QUICK ones answer from memory and keep Ruby's global lock. WAITING ones may wait for a server, a holder or another
# thread and give the global lock up meanwhile: a callback that comes from one of liblock's own threads needs it, so a
# call that held it and waited for such a thread would wait for ever. BRIEF ones are WAITING functions by a second name
# (with _briefly behind it), for calls that are known not to wait: local tables, or a wait of 0.
require_relative "structs"
require_relative "library"

module Liblock
  # The functions and structs of liblock.h, as they are.
  # @api private
  module Native
    extend FFI::Library

    QUICK = {
      version_string: [[], :string],
      version_number: [[], :uint32],
      status_name: [[:int32], :string],
      status_text: [[:int32], :string],
      status_is: [[:int32, :int32], :int32],
      result_init: [[:pointer, :size_t], :void],
      context_options_init: [[:pointer, :size_t], :void],
      close_async: [[:pointer, :pointer, :pointer], :int32],
      instance_id: [[:pointer, :pointer, :size_t, :pointer], :int32],
      owner_id: [[:pointer, :pointer, :pointer, :size_t, :pointer], :int32],
      acquire_options_init: [[:pointer, :size_t], :void],
      acquire_async: [[:pointer, :pointer, :size_t, :pointer, :pointer, :pointer, :pointer], :int32],
      acquire_many_async: [[:pointer, :pointer, :size_t, :pointer, :pointer, :pointer, :pointer], :int32],
      acquire_global_async: [[:pointer, :pointer, :pointer, :pointer, :pointer], :int32],
      cancel: [[:pointer, :uint64], :int32],
      is_held: [[:pointer, :uint64], :int32],
      remaining_ms: [[:pointer, :uint64, :pointer], :int32],
      fencing_token: [[:pointer, :uint64, :pointer], :int32],
      hold_count: [[:pointer, :uint64, :pointer], :int32],
      release_async: [[:pointer, :uint64, :pointer, :pointer, :pointer, :pointer], :int32],
      release_keys_async: [[:pointer, :pointer, :pointer, :size_t, :pointer, :pointer, :pointer, :pointer], :int32],
      extend_async: [[:pointer, :uint64, :int64, :int32, :pointer, :pointer, :pointer, :pointer], :int32],
      update_async: [[:pointer, :uint64, :pointer, :size_t, :pointer, :pointer, :pointer, :pointer], :int32],
      verify_async: [[:pointer, :uint64, :pointer, :pointer, :pointer, :pointer], :int32],
      ping_async: [[:pointer, :pointer, :pointer, :pointer, :pointer], :int32],
      inspect_async: [[:pointer, :pointer, :size_t, :pointer, :pointer, :pointer, :pointer], :int32],
      force_release_async: [[:pointer, :pointer, :size_t, :int32, :pointer, :pointer, :pointer, :pointer], :int32],
      wait_lost_async: [[:pointer, :uint64, :int64, :pointer, :pointer, :pointer, :pointer], :int32],
      wait_held_async: [[:pointer, :pointer, :size_t, :int64, :pointer, :pointer, :pointer, :pointer], :int32],
      wait_released_async: [[:pointer, :pointer, :size_t, :int64, :pointer, :pointer, :pointer, :pointer], :int32],
      read_async: [[:pointer, :pointer, :size_t, :int32, :string, :pointer, :pointer, :pointer, :pointer], :int32],
      wait_held_on_async: [[:pointer, :pointer, :size_t, :string, :int64, :pointer, :pointer, :pointer,
        :pointer], :int32],
      info_key: [[:pointer, :pointer], :pointer],
      info_is_global: [[:pointer], :int32],
      info_is_held: [[:pointer], :int32],
      info_owner: [[:pointer, :pointer], :pointer],
      info_instance: [[:pointer, :pointer], :pointer],
      info_host: [[:pointer, :pointer], :pointer],
      info_token: [[:pointer], :uint64],
      info_since_us: [[:pointer], :int64],
      info_initial_ttl_ms: [[:pointer], :int64],
      info_remaining_ms: [[:pointer], :int64],
      info_hold_count: [[:pointer], :uint32],
      info_is_zombie: [[:pointer], :int32],
      info_value: [[:pointer, :pointer], :pointer],
      info_metadata_count: [[:pointer], :size_t],
      info_metadata_at: [[:pointer, :size_t, :pointer], :int32],
      info_waiter_count: [[:pointer], :size_t],
      info_waiter_owner: [[:pointer, :size_t, :pointer], :pointer],
      info_waiter_instance: [[:pointer, :size_t, :pointer], :pointer],
      info_waiter_since_us: [[:pointer, :size_t], :int64],
      info_waiter_waited_ms: [[:pointer, :size_t], :int64],
      info_waiter_order: [[:pointer, :size_t], :int32],
      info_waiter_priority: [[:pointer, :size_t], :int32],
      info_free: [[:pointer], :void],
      report_init: [[:pointer, :size_t], :void],
      list_options_init: [[:pointer, :size_t], :void],
      cursor_report: [[:pointer, :pointer], :int32],
      quorum_init_async: [[:pointer, :int32, :pointer, :pointer, :pointer, :pointer], :int32],
      quorum_set_nodes_async: [[:pointer, :pointer, :size_t, :pointer, :size_t, :int32, :pointer, :pointer,
        :pointer, :pointer], :int32],
      quorum_state_init: [[:pointer, :size_t], :void],
      clear_options_init: [[:pointer, :size_t], :void],
      instance_list_options_init: [[:pointer, :size_t], :void],
      zombies_status_init: [[:pointer, :size_t], :void],
      stats_init: [[:pointer, :size_t], :void],
      instrument_options_init: [[:pointer, :size_t], :void],
      histogram_init: [[:pointer, :size_t], :void],
      event_name: [[:int32], :string],
      completions_open: [[:pointer, :size_t, :pointer, :pointer], :int32],
      completions_fd: [[:pointer, :pointer], :int32],
      completions_close: [[:pointer], :int32],
    }.freeze

    WAITING = {
      open: [[:string, :pointer, :pointer, :pointer], :int32],
      close: [[:pointer], :int32],
      context_free: [[:pointer], :void],
      ping: [[:pointer, :pointer], :int32],
      owner_open: [[:pointer, :pointer, :size_t, :pointer, :pointer], :int32],
      owner_close: [[:pointer], :int32],
      owner_free: [[:pointer], :void],
      acquire: [[:pointer, :pointer, :size_t, :pointer, :pointer, :pointer], :int32],
      try_acquire: [[:pointer, :pointer, :size_t, :pointer, :pointer, :pointer], :int32],
      acquire_many: [[:pointer, :pointer, :size_t, :pointer, :pointer, :pointer], :int32],
      acquire_global: [[:pointer, :pointer, :pointer, :pointer], :int32],
      release: [[:pointer, :uint64, :pointer], :int32],
      release_keys: [[:pointer, :pointer, :pointer, :size_t, :pointer], :int32],
      extend: [[:pointer, :uint64, :int64, :int32, :pointer], :int32],
      update: [[:pointer, :uint64, :pointer, :size_t, :pointer], :int32],
      release_key: [[:pointer, :pointer, :size_t, :pointer, :size_t, :pointer], :int32],
      extend_key: [[:pointer, :pointer, :size_t, :pointer, :size_t, :int64, :int32, :pointer], :int32],
      update_key: [[:pointer, :pointer, :size_t, :pointer, :size_t, :pointer, :size_t, :pointer], :int32],
      verify: [[:pointer, :uint64, :pointer], :int32],
      wait_lost: [[:pointer, :uint64, :int64, :pointer], :int32],
      export: [[:pointer, :uint64, :pointer, :size_t, :pointer], :int32],
      adopt: [[:pointer, :pointer, :size_t, :pointer, :pointer, :pointer], :int32],
      is_locked: [[:pointer, :pointer, :size_t, :pointer], :int32],
      is_queued: [[:pointer, :pointer, :size_t, :pointer], :int32],
      inspect: [[:pointer, :pointer, :size_t, :pointer, :pointer], :int32],
      inspect_queue: [[:pointer, :pointer, :size_t, :pointer, :pointer], :int32],
      list_locks: [[:pointer, :pointer, :pointer, :pointer], :int32],
      list_queues: [[:pointer, :pointer, :pointer, :pointer], :int32],
      list_keys: [[:pointer, :pointer, :pointer, :pointer], :int32],
      cursor_next: [[:pointer, :pointer], :int32],
      cursor_free: [[:pointer], :void],
      list_each: [[:pointer, :int32, :pointer, :pointer, :pointer, :pointer, :pointer], :int32],
      wait_held: [[:pointer, :pointer, :size_t, :int64, :pointer], :int32],
      wait_released: [[:pointer, :pointer, :size_t, :int64, :pointer], :int32],
      wait_held_on: [[:pointer, :pointer, :size_t, :string, :int64, :pointer, :pointer], :int32],
      read: [[:pointer, :pointer, :size_t, :int32, :string, :pointer, :pointer], :int32],
      quorum_init: [[:pointer, :int32, :pointer], :int32],
      quorum_set_nodes: [[:pointer, :pointer, :size_t, :pointer, :size_t, :int32, :pointer], :int32],
      quorum_status: [[:pointer, :pointer, :pointer, :pointer, :pointer], :int32],
      force_release: [[:pointer, :pointer, :size_t, :int32, :pointer], :int32],
      clear: [[:pointer, :pointer, :pointer, :pointer], :int32],
      clear_owner: [[:pointer, :pointer, :size_t, :pointer, :pointer, :pointer], :int32],
      clear_instance: [[:pointer, :pointer, :size_t, :pointer, :pointer, :pointer], :int32],
      clear_dead: [[:pointer, :pointer, :pointer, :pointer], :int32],
      sweep: [[:pointer, :pointer, :pointer], :int32],
      list_instances: [[:pointer, :pointer, :pointer, :pointer, :pointer, :pointer], :int32],
      zombies_status_get: [[:pointer, :pointer], :int32],
      stats_get: [[:pointer, :pointer], :int32],
      set_events: [[:pointer, :uint64, :pointer, :pointer], :int32],
      set_log: [[:pointer, :int32, :pointer, :pointer], :int32],
      set_instruments: [[:pointer, :pointer], :int32],
      histogram_get: [[:pointer, :int32, :pointer], :int32],
      stats_prometheus: [[:pointer, :pointer, :size_t, :pointer], :int32],
      completions_next: [[:pointer, :int64, :pointer], :int32],
      completions_free: [[:pointer], :void],
    }.freeze

    # Names that modules have already.
    RENAMED = { inspect: :inspect_key, extend: :extend_lease }.freeze
    BRIEF = %i[try_acquire acquire_many acquire_global release completions_next].freeze

    ffi_lib Library.open

    QUICK.each { |name, (takes, answers)| attach_function name, :"liblock_#{name}", takes, answers }
    WAITING.each do |name, (takes, answers)|
      attach_function RENAMED.fetch(name, name), :"liblock_#{name}", takes, answers, blocking: true
    end
    BRIEF.each { |name| attach_function :"#{name}_briefly", :"liblock_#{name}", *WAITING.fetch(name) }
  end
end
