# SPDX-License-Identifier: MIT
#
# Giving back, taking away, extending.
#
# The one deviation from the original: unlock and extend_lock_ttl are for whoever holds the lock. Anybody else is
# refused, which is logged, unless he says `force: true`. There a late release took the lock of the next holder.
module RedisQueuedLocks
  # What a client does to locks that are there.
  module Release
    # An unlock holds on to the lock for so long while it takes it off together with its queue.
    GRASP_S = 2
    # The shortest lease on a server: an extension by less is one by this.
    SHORTEST_MS = 20
    private_constant :GRASP_S, :SHORTEST_MS

    # Releases a lock and its queue: who waits asks again.
    # @param force [Boolean] whoever holds it
    # @return [Hash] { ok:, result: { rel_time:, rel_key:, rel_queue:, queue_res:, lock_res: } }; refused: ok is false
    #   and lock_res is :refused_not_holder
    def unlock(lock_name, force: false, **shared)
      reporter = reporter_of(shared)
      began = monotonic
      whose = force ? :mine : grasp(key_of(lock_name))
      if whose == :anothers
        reporter.warn("unlock of \"#{lock_name}\" by one who does not hold it (acq_id: \"#{current_acquirer_id}\"); " \
                      "force: true takes it away from its holder")
        return Data[ok: false, result: released(lock_name, began, :nothing_to_release, :refused_not_holder)]
      end

      flags = whose == :mine ? take_away(key_of(lock_name)) : []
      result = released(lock_name, began, *%i[had_queue had_lock].map do |flag|
        flags.include?(flag) ? :released : :nothing_to_release
      end)
      payload = { at: Time.now.to_f, rel_time: ((monotonic - began) * 1000).ceil(2), lock_key: result[:rel_key],
                  lock_key_queue: result[:rel_queue] }
      reporter.notify(:explicit_lock_release, with_instrument(payload, reporter))
      Data[ok: true, result: result]
    end
    alias release_lock unlock

    # Adds milliseconds to what is left of a lock, in one step.
    # @param force [Boolean] whoever holds it
    # @return [Hash] { ok: true, result: :ttl_extended } or { ok: false, result: :async_expire_or_no_lock }; refused:
    #   { ok: false, result: :refused_not_holder }
    def extend_lock_ttl(lock_name, milliseconds, force: false, **shared)
      reporter = reporter_of(shared)
      unless milliseconds.is_a?(Integer) && milliseconds.positive?
        raise ArgumentError, "milliseconds is a whole number from 1 on, not #{milliseconds.inspect}"
      end

      extend_by(key_of(lock_name), [milliseconds, SHORTEST_MS].max / 1000.0, force)
      Data[ok: true, result: :ttl_extended]
    rescue Liblock::NotOwner
      reporter.warn("extend_lock_ttl of \"#{lock_name}\" by one who does not hold it (acq_id: " \
                    "\"#{current_acquirer_id}\"); force: true extends it for its holder")
      Data[ok: false, result: :refused_not_holder]
    rescue Liblock::NotHeld, Liblock::Lost
      Data[ok: false, result: :async_expire_or_no_lock]
    end

    # Takes all locks and queues away.
    # @return [Hash] { ok: true, result: { rel_time:, rel_key_cnt: } }
    def clear_locks(batch_size: config["lock_release_batch_size"], **shared)
      reporter = reporter_of(shared)
      began = monotonic
      count = context.clear(batch_size: [batch_size, 1_000].min).keys
      took = monotonic - began
      payload = { rel_time: (took * 1000).ceil(2), at: Time.now.to_f, rel_keys: count }
      reporter.notify(:explicit_all_locks_release, with_instrument(payload, reporter))
      Data[ok: true, result: { rel_time: took, rel_key_cnt: count }]
    end
    alias release_locks clear_locks

    # Takes away the locks of an acquirer, or of all acquirers of a host, and takes them off all queues.
    # @return [Hash] { ok: true, result: { rel_time:, rel_key_cnt:, tch_queue_cnt: } }
    def clear_locks_of(host_id: nil, acquirer_id: nil, lock_scan_size: config["clear_locks_of__lock_scan_size"],
                       queue_scan_size: config["clear_locks_of__queue_scan_size"], **shared)
      raise ArgumentError, "host_id or acquirer_id must be given" unless host_id || acquirer_id

      reporter = reporter_of(shared)
      began = monotonic
      ours = ->(owner) { owner_of?(owner, host_id, acquirer_id) }
      holders = context.locks(batch_size: lock_scan_size).filter_map(&:owner).select(&ours)
      waiting = context.queues(batch_size: queue_scan_size).map { |info| waiters_of(info.key).select(&ours) }
      reports = (holders + waiting.flatten).uniq.map { |owner| context.clear_owner(owner, scan_size: lock_scan_size) }
      # Who is sent away asks again, and may be met again on the way; a queue counts once.
      counts = { rel_key_cnt: reports.sum(&:locks), tch_queue_cnt: waiting.count(&:any?) }
      took = monotonic - began
      payload = { rel_time: (took * 1000).ceil(2), at: Time.now.to_f, acq_id: acquirer_id, hst_id: host_id, **counts }
      reporter.notify(:release_locks_of, with_instrument(payload, reporter))
      Data[ok: true, result: { rel_time: took, **counts }]
    end
    alias release_locks_of clear_locks_of

    # The same of whoever calls.
    def clear_current_locks(**options)
      clear_locks_of(host_id: current_host_id, acquirer_id: current_acquirer_id, **options)
    end
    alias release_current_locks clear_current_locks

    # Takes requests off the queues that have waited for longer than `dead_ttl` milliseconds. Whoever is alive asks
    # again. Locks stay: those of an ended process, too, which were taken for their whole ttl.
    # @param sacn_size what the manual calls scan_size in one place
    # @return [Hash] { ok: true, processed_queues: Set<String> } every queue that was looked at
    def clear_dead_requests(dead_ttl: config["dead_request_ttl"], sacn_size: config["lock_release_batch_size"],
                            scan_size: sacn_size, **shared)
      reporter = reporter_of(shared)
      names = context.queues(batch_size: scan_size).map(&:key)
      waiters = names.flat_map { |name| context.queue(name)&.waiters || [] }
      dead = waiters.select { |waiter| waiter.waited && waiter.waited * 1000 > dead_ttl }.filter_map(&:owner).uniq
      unless dead.empty?
        dead -= context.locks(batch_size: scan_size).map(&:owner)
        dead.each { |owner| context.clear_owner(owner, scan_size: scan_size) }
      end
      reporter.log("[redis_queued_locks.clear_dead_requests] #{dead.size} requests in #{names.size} queues")
      Data[ok: true, processed_queues: names.to_set { |name| Resource.prepare_lock_queue(name) }]
    end

    private

    # Whose lock is it? Whoever has it keeps it for a moment, so that it is his for sure until `take_away` has come. A
    # lock that nobody has is left alone: a moment later it may be somebody's.
    def grasp(lock_name)
      extend_by(lock_name, GRASP_S, false)
      :mine
    rescue Liblock::NotOwner
      :anothers
    rescue Liblock::NotHeld, Liblock::Lost
      :nobodys
    end

    def extend_by(lock_name, seconds, force)
      acquirer_id = current_acquirer_id
      return if extended_by_handle?(backend.held(acquirer_id, lock_name), seconds)

      acquirer_id = context.inspect_key(lock_name)&.value || acquirer_id if force
      context.extend_key(lock_name, acquirer_id, seconds, add: true)
    end

    # The handle knows of its new lease then, too. One that was taken away is no answer: who has the lock now?
    def extended_by_handle?(lock, seconds)
      lock&.extend(seconds, add: true)
    rescue Liblock::Lost, Liblock::NotHeld
      false
    end

    # @return [Array<Symbol>] what there was: :had_lock, :had_queue
    def take_away(lock_name)
      context.force_release(lock_name, drop_queue: true).flags
    rescue Liblock::NotHeld => error
      error.result.flags
    end

    def released(lock_name, began, queue_res, lock_res)
      { rel_time: monotonic - began, rel_key: Resource.prepare_lock_key(lock_name),
        rel_queue: Resource.prepare_lock_queue(lock_name), queue_res: queue_res, lock_res: lock_res }
    end

    def waiters_of(name)
      (context.queue(name)&.waiters || []).filter_map(&:owner)
    end

    def owner_of?(owner, host_id, acquirer_id)
      one = Resource.acquirer_of(owner)
      (acquirer_id.nil? || one == acquirer_id) && (host_id.nil? || Resource.host_of(one) == host_id)
    end

    def reporter_of(shared)
      Reporter.new(Options.fill(Options::SHARED, config, shared))
    end

    def with_instrument(payload, reporter)
      reporter.instrument.nil? ? payload : payload.merge(instrument: reporter.instrument)
    end

    def monotonic
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
