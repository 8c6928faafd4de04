# SPDX-License-Identifier: MIT
#
# The structs of liblock.h, field by field in the header's words and order. tests hold them against the published
# layout (tests/abi/layout.def), so a field that is missing or of another width cannot go unseen.
require "ffi"

module Liblock
  # @api private
  module Native
    # What every struct here has in common.
    # @api private
    module Sized
      # A struct with struct_size set and everything else as liblock's init function has it.
      def prepared
        new.tap { |struct| Native.public_send(init_function, struct, size) }
      end

      # A zeroed struct that says its size: what calls fill in.
      def blank
        new.tap { |struct| struct[:struct_size] = size }
      end

      def init_function
        @init_function ||= :"#{name.split("::").last.gsub(/(?<!\A)([A-Z])/, '_\1').downcase}_init"
      end
    end

    class Bytes < FFI::Struct
      extend Sized

      layout :data, :pointer, :size, :size_t
    end

    class Metadata < FFI::Struct
      extend Sized

      layout :name, Bytes, :value, Bytes
    end

    class Result < FFI::Struct
      extend Sized

      layout :struct_size, :size_t, :status, :int32, :attempts, :uint32, :token, :uint64, :waited_ms, :int64,
             :remaining_ms, :int64, :queue_position, :int64, :queue_length, :int64, :hold_count, :uint32,
             :flags, :uint32, :votes, :uint32, :nodes, :uint32, :message, [:char, 256], :replicas, :uint32,
             :reserved, :uint32, :info, :pointer
    end

    class Completion < FFI::Struct
      extend Sized

      layout :struct_size, :size_t, :kind, :int32, :status, :int32, :request, :uint64, :lock, :uint64,
             :token, :uint64, :remaining_ms, :int64, :waited_ms, :int64, :user_data, :pointer,
             :message, :pointer, :info, :pointer, :attempts, :uint32, :hold_count, :uint32,
             :queue_position, :int64, :queue_length, :int64, :flags, :uint32, :votes, :uint32, :nodes, :uint32,
             :replicas, :uint32
    end

    class Event < FFI::Struct
      extend Sized

      layout :struct_size, :size_t, :kind, :int32, :status, :int32, :lock, :uint64, :token, :uint64,
             :message, :pointer, :tag, :uint64, :at_us, :int64, :obtained_at_us, :int64, :key, Bytes,
             :keys, :pointer, :key_count, :size_t, :owner, Bytes, :instance, Bytes, :ttl_ms, :int64,
             :acquire_us, :int64, :hold_us, :int64, :elapsed_us, :int64, :count, :uint64,
             :queue_position, :int64, :queue_length, :int64, :attempts, :uint32, :hold_count, :uint32,
             :node, Bytes
    end

    class LogField < FFI::Struct
      extend Sized

      layout :name, :pointer, :type, :int32, :reserved, :int32, :number, :int64, :text, Bytes
    end

    class LogEntry < FFI::Struct
      extend Sized

      layout :struct_size, :size_t, :id, :int32, :level, :int32, :at_us, :int64, :name, :pointer,
             :message, :pointer, :tag, :uint64, :fields, :pointer, :field_count, :size_t
    end

    class ContextOptions < FFI::Struct
      extend Sized

      layout :struct_size, :size_t, :uv_loop, :pointer, :on_open, :pointer, :on_open_user_data, :pointer,
             :prefix, :pointer, :prefix_size, :size_t, :cleanup_interval_ms, :int64,
             :cleanup_batch_size, :int64, :max_ttl_ms, :int64, :deadlock_detection, :int64,
             :deadlock_delay_ms, :int64, :locks_max, :int64, :waiters_max, :int64, :requests_max, :int64,
             :on_close, :int32, :reserved, :int32, :username, :pointer, :password, :pointer,
             :client_name, :pointer, :connect_timeout_ms, :int64, :command_timeout_ms, :int64,
             :alive_ms, :int64, :tls_ca_file, :pointer, :tls_ca_path, :pointer,
             :tls_certificate_file, :pointer, :tls_key_file, :pointer, :tls_server_name, :pointer,
             :tls_insecure, :int32, :reserved2, :int32, :foreign_gap_ms, :int64, :zombie_interval_ms, :int64,
             :servers, :pointer, :server_count, :size_t, :observers, :pointer, :observer_count, :size_t,
             :clock_step_ms, :int64, :votes, :int32, :restart_policy, :int32,
             :front_ms, :int64
    end

    class AcquireOptions < FFI::Struct
      extend Sized

      layout :struct_size, :size_t, :owner, :pointer, :ttl_ms, :int64, :wait_ms, :int64, :retries, :int64,
             :retry_interval_ms, :int64, :retry_jitter_ms, :int64, :backoff, :int32, :backoff_base, :int32,
             :backoff_step_ms, :int64, :backoff_cap_ms, :int64, :backoff_callback, :pointer,
             :backoff_user_data, :pointer, :order, :int32, :priority, :int32, :age_step_ms, :int64,
             :queue_ttl_ms, :int64, :mode, :int32, :on_conflict, :int32, :on_deadlock, :int32, :renew, :int32,
             :max_hold_ms, :int64, :min_remaining_ms, :int64, :value, :pointer, :value_size, :size_t,
             :metadata, :pointer, :metadata_count, :size_t, :on_lost, :pointer, :on_lost_user_data, :pointer,
             :completions, :pointer, :replicas_timeout_ms, :int64, :replicas, :int32, :instrument, :int32,
             :event_tag, :uint64, :on_queued, :pointer, :on_queued_user_data, :pointer, :busy_info, :int32,
             :reserved, :int32, :nodes, :pointer, :node_count, :size_t, :votes, :int32,
             :on_nodes_mismatch, :int32
    end

    class Report < FFI::Struct
      extend Sized

      layout :struct_size, :size_t, :locks, :uint64, :queues, :uint64, :keys, :uint64, :waiters, :uint64,
             :steps, :uint64, :elapsed_us, :int64, :instances, :uint64
    end

    class ListOptions < FFI::Struct
      extend Sized

      layout :struct_size, :size_t, :key_prefix, :pointer, :key_prefix_size, :size_t, :batch_size, :int64,
             :zombies_only, :int32, :reserved, :int32
    end

    class Node < FFI::Struct
      extend Sized

      layout :struct_size, :size_t, :address, Bytes, :id, Bytes, :why, Bytes, :quarantine_left_ms, :int64,
             :round_trip_us, :int64, :clock_offset_ms, :int64, :lag_ms, :int64, :state, :int32,
             :is_observer, :int32
    end

    class QuorumState < FFI::Struct
      extend Sized

      layout :struct_size, :size_t, :epoch, :uint64, :max_ttl_ms, :int64, :cluster_id, [:char, 40],
             :config_hash, [:char, 40], :votes, :uint32, :nodes, :uint32, :up, :uint32, :voting, :uint32,
             :quarantined, :uint32, :observers, :uint32, :configuring, :int32, :reserved, :int32
    end

    class ClearOptions < FFI::Struct
      extend Sized

      layout :struct_size, :size_t, :batch_size, :int64, :scan_size, :int64, :dead_ttl_ms, :int64
    end

    class Instance < FFI::Struct
      extend Sized

      layout :struct_size, :size_t, :id, Bytes, :host, Bytes, :heard_us, :int64, :silent_ms, :int64,
             :interval_ms, :int64, :listens, :int32, :is_zombie, :int32, :is_self, :int32, :reserved, :int32
    end

    class InstanceListOptions < FFI::Struct
      extend Sized

      layout :struct_size, :size_t, :zombies_only, :int32, :reserved, :int32
    end

    class ZombiesStatus < FFI::Struct
      extend Sized

      layout :struct_size, :size_t, :enabled, :int32, :flushing, :int32, :interval_ms, :int64,
             :last_run_us, :int64, :runs, :uint64, :flushes, :uint64, :instances, :uint64, :locks, :uint64,
             :waiters, :uint64, :last_failure_us, :int64, :last_failure, :int32, :reserved, :int32
    end

    class Stats < FFI::Struct
      extend Sized

      layout :struct_size, :size_t, :locks_held, :uint64, :waiters, :uint64, :acquired, :uint64,
             :released, :uint64, :contended, :uint64, :handed_off, :uint64, :expired, :uint64,
             :taken_away, :uint64, :taken_over, :uint64, :timeouts, :uint64, :canceled, :uint64,
             :deadlocks, :uint64, :deadlock_searches, :uint64, :renewals, :uint64, :sweeps, :uint64,
             :sweep_entries, :uint64, :sweep_entries_per_hold_max, :uint64, :dropped_notices, :uint64,
             :dropped_events, :uint64, :passed_on, :uint64
    end

    class InstrumentOptions < FFI::Struct
      extend Sized

      layout :struct_size, :size_t, :events_percent, :int32, :log_percent, :int32, :events_sampler, :pointer,
             :events_sampler_user_data, :pointer, :log_sampler, :pointer, :log_sampler_user_data, :pointer,
             :events_max, :int64, :log_attempts, :int32, :histograms, :int32
    end

    class Histogram < FFI::Struct
      extend Sized

      layout :struct_size, :size_t, :count, :uint64, :sum_us, :uint64, :buckets, [:uint64, 40]
    end
  end
end
