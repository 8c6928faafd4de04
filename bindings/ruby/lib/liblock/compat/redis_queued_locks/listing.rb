# SPDX-License-Identifier: MIT
#
# Questions: who holds, who waits, what there is. Answers have the original's shapes and names.
require "set"

module RedisQueuedLocks
  # What a client answers without changing anything.
  module Listing
    # @return [Hash{String => String, Integer, Float}, nil] nil when nobody holds it
    def lock_info(lock_name)
      info = context.inspect_key(key_of(lock_name)) or return nil
      { "lock_key" => Resource.prepare_lock_key(info.key) }.merge(lock_data(info))
    end

    # @return [Hash{String => String, Array<Hash>}, nil] nil when nobody waits
    def queue_info(lock_name)
      requests = requests_of(key_of(lock_name))
      requests.empty? ? nil : { "lock_queue" => Resource.prepare_lock_queue(lock_name), "queue" => requests }
    end

    def locked?(lock_name)
      context.key_locked?(key_of(lock_name))
    end

    def queued?(lock_name)
      context.key_queued?(key_of(lock_name))
    end

    # @param with_info [Boolean] as {#locks_info}
    # @return [Set<String>]
    def locks(scan_size: config["key_extraction_batch_size"], with_info: false)
      return locks_info(scan_size: scan_size) if with_info

      context.locks(batch_size: scan_size).map { |info| Resource.prepare_lock_key(info.key) }.to_set
    end

    # @param with_info [Boolean] as {#queues_info}
    # @return [Set<String>]
    def queues(scan_size: config["key_extraction_batch_size"], with_info: false)
      return queues_info(scan_size: scan_size) if with_info

      context.queues(batch_size: scan_size).map { |info| Resource.prepare_lock_queue(info.key) }.to_set
    end

    # @return [Set<String>] locks and queues
    def keys(scan_size: config["key_extraction_batch_size"])
      locks(scan_size: scan_size) | queues(scan_size: scan_size)
    end

    # @return [Set<Hash>] { lock:, status: :alive or :released, info: }
    def locks_info(scan_size: config["key_extraction_batch_size"])
      names = context.locks(batch_size: scan_size).map(&:key)
      names.to_set do |name|
        info = context.inspect_key(name)
        { lock: Resource.prepare_lock_key(name), status: info ? :alive : :released, info: info ? lock_data(info) : {} }
      end
    end

    # @return [Set<Hash>] { queue:, requests: }
    def queues_info(scan_size: config["key_extraction_batch_size"])
      context.queues(batch_size: scan_size).map(&:key).to_set do |name|
        { queue: Resource.prepare_lock_queue(name), requests: requests_of(name) }
      end
    end

    # @return [String] who would acquire now
    def current_acquirer_id(process_id: Resource.get_process_id, thread_id: Resource.get_thread_id,
                            fiber_id: Resource.get_fiber_id, ractor_id: Resource.get_ractor_id,
                            identity: uniq_identity)
      Resource.acquirer_identifier(process_id, thread_id, fiber_id, ractor_id, identity)
    end
    alias current_acq_id current_acquirer_id
    alias acq_id current_acquirer_id

    # @return [String] the same for all fibers of a thread
    def current_host_id(process_id: Resource.get_process_id, thread_id: Resource.get_thread_id,
                        ractor_id: Resource.get_ractor_id, identity: uniq_identity)
      Resource.host_identifier(process_id, thread_id, ractor_id, identity)
    end
    alias current_hst_id current_host_id
    alias hst_id current_host_id

    private

    def lock_data(info)
      data = { "acq_id" => Resource.acquirer_of(info.owner), "ts" => info.since&.to_f,
               "ini_ttl" => asked_ttl_ms(info), "rem_ttl" => info.remaining_ms }
      data["spc_cnt"] = info.hold_count - 1 if info.hold_count > 1
      meta = info.metadata.select { |name, _| name.start_with?(Options::MARK) }
      data.merge(meta.transform_keys { |name| name.delete_prefix(Options::MARK) })
    end

    # Of a lock that an older version of this layer took: what it was granted with.
    def asked_ttl_ms(info)
      info.metadata[Options::TTL]&.to_i || info.initial_ttl_ms
    end

    def requests_of(name)
      (context.queue(name)&.waiters || []).map do |waiter|
        { "acq_id" => Resource.acquirer_of(waiter.owner), "score" => waiter.since&.to_f }
      end
    end
  end
end
