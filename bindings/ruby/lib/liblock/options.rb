# SPDX-License-Identifier: MIT
#
# The tables of options. Times are seconds (Integer or Float) under names without a unit.
require_relative "fields"

module Liblock
  # @api private
  module Options
    ACQUIRE = {
      ttl: %i[ttl_ms ttl], wait: %i[wait_ms wait],
      retry_interval: %i[retry_interval_ms seconds], retry_jitter: %i[retry_jitter_ms seconds],
      backoff: [:backoff, :named, Numbers::BACKOFFS], backoff_step: %i[backoff_step_ms seconds],
      backoff_cap: %i[backoff_cap_ms seconds], age_step: %i[age_step_ms seconds],
      queue_ttl: %i[queue_ttl_ms wait], max_hold: %i[max_hold_ms wait],
      min_remaining: %i[min_remaining_ms seconds], replicas_timeout: %i[replicas_timeout_ms seconds],
      order: [:order, :named, Numbers::ORDERS], mode: [:mode, :named, Numbers::MODES],
      on_conflict: [:on_conflict, :named, Numbers::CONFLICTS],
      on_deadlock: [:on_deadlock, :named, Numbers::DEADLOCKS],
      on_nodes_mismatch: [:on_nodes_mismatch, :named, Numbers::MISMATCHES],
      instrument: [:instrument, :flags, Numbers::INSTRUMENTS], renew: %i[renew truth], busy_info: %i[busy_info truth],
      value: %i[value bytes value_size], metadata: %i[metadata metadata], nodes: %i[nodes texts node_count],
      votes: %i[votes votes]
    }.freeze

    CONTEXT = {
      prefix: %i[prefix bytes prefix_size],
      cleanup_interval: %i[cleanup_interval_ms wait], max_ttl: %i[max_ttl_ms seconds],
      deadlock_detection: %i[deadlock_detection truth], deadlock_delay: %i[deadlock_delay_ms seconds],
      on_close: [:on_close, :named, Numbers::ON_CLOSE],
      username: %i[username text], password: %i[password text], client_name: %i[client_name text],
      connect_timeout: %i[connect_timeout_ms seconds], command_timeout: %i[command_timeout_ms seconds],
      alive: %i[alive_ms seconds], tls_ca_file: %i[tls_ca_file text], tls_ca_path: %i[tls_ca_path text],
      tls_certificate_file: %i[tls_certificate_file text], tls_key_file: %i[tls_key_file text],
      tls_server_name: %i[tls_server_name text], tls_insecure: %i[tls_insecure truth],
      foreign_gap: %i[foreign_gap_ms wait], zombie_interval: %i[zombie_interval_ms wait],
      front: %i[front_ms wait],
      servers: %i[servers texts server_count], observers: %i[observers texts observer_count],
      clock_step: %i[clock_step_ms seconds], votes: %i[votes votes],
      restart_policy: [:restart_policy, :named, Numbers::RESTARTS]
    }.freeze

    CLEAR = { dead_ttl: %i[dead_ttl_ms seconds] }.freeze
    LIST = { prefix: %i[key_prefix bytes key_prefix_size], zombies_only: %i[zombies_only truth] }.freeze
    INSTANCES = { zombies_only: %i[zombies_only truth] }.freeze
    INSTRUMENT = { histograms: %i[histograms truth], log_attempts: %i[log_attempts truth] }.freeze

    module_function

    def context(given)
      fill(Native::ContextOptions, CONTEXT, given)
    end

    def acquire(given)
      fill(Native::AcquireOptions, ACQUIRE, given)
    end

    # NULL where nothing is given, so that the library's own defaults count.
    def optional(struct_class, table, given)
      given.empty? ? nil : fill(struct_class, table, given)
    end

    def fill(struct_class, table, given)
      Fields.new(struct_class, table).tap { |fields| given.each { |name, value| fields.set(name, value) } }
    end
  end
end
