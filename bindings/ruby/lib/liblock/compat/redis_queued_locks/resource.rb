# SPDX-License-Identifier: MIT
#
# Names: who acquires, and what his locks and queues are called in results, events and logs. On the server liblock has
# names of its own; these are what users of the original know.
require "securerandom"

module RedisQueuedLocks
  # @api private
  module Resource
    LOCK = "rql:lock:"
    QUEUE = "rql:lock_queue:"

    module_function

    # @return [String] 16 random digits
    def calc_uniq_identity
      SecureRandom.hex(8)
    end

    def get_process_id
      ::Process.pid
    end

    def get_thread_id
      ::Thread.current.object_id
    end

    def get_fiber_id
      ::Fiber.current.object_id
    end

    def get_ractor_id
      ::Ractor.current.object_id
    end

    def acquirer_identifier(process_id, thread_id, fiber_id, ractor_id, identity)
      "rql:acq:#{process_id}/#{thread_id}/#{fiber_id}/#{ractor_id}/#{identity}"
    end
    alias acquier_identifier acquirer_identifier
    module_function :acquier_identifier

    def host_identifier(process_id, thread_id, ractor_id, identity)
      "rql:hst:#{process_id}/#{thread_id}/#{ractor_id}/#{identity}"
    end

    # The acquirer of now: this process, thread, fiber and Ractor under an identity.
    def current_acquirer(identity)
      acquirer_identifier(get_process_id, get_thread_id, get_fiber_id, get_ractor_id, identity)
    end

    # The host of an acquirer: the same without its fiber.
    def host_of(acquirer_id)
      parts = acquirer_id.delete_prefix("rql:acq:").split("/", 5)
      parts.size == 5 ? host_identifier(parts[0], parts[1], parts[3], parts[4]) : nil
    end

    # The acquirer that a liblock owner ("instance/number/name") was opened for.
    def acquirer_of(owner)
      owner && owner.split("/", 3).last
    end

    def prepare_lock_key(lock_name)
      "#{LOCK}#{lock_name}"
    end

    def prepare_lock_queue(lock_name)
      "#{QUEUE}#{lock_name}"
    end
  end
end
