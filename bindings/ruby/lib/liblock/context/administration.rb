# SPDX-License-Identifier: MIT
#
# The administrator's calls: taking away, clearing, sweeping, and what is known of instances.
module Liblock
  class Context
    # Takes a key away from whoever holds it: his lock is Lost, the next waiter runs.
    # @param drop_queue [Boolean] the waiters end as Dequeued as well
    # @return [Result] flags :had_lock and :had_queue; queue_length says how many waited
    # @raise [NotHeld] nobody held it
    def force_release(key, drop_queue: false)
      key = Context.key(key)
      ask { |native, told| Native.force_release(native, key, key.bytesize, drop_queue ? 1 : 0, told) }
    end

    # Takes all locks of the table or prefix away, and sends all waiters away. What is acquired meanwhile may stay.
    # @param options batch_size: keys per step, scan_size: keys looked at per step of the search, dead_ttl: seconds
    # @return [Report]
    # @raise [InDoubt] a batch had no answer
    def clear(**options)
      cleared(options) { |native, *words| Native.clear(native, *words) }
    end

    # The same of one owner, by its identity or as an {Owner}.
    # @return [Report]
    def clear_owner(owner, **options)
      id = owner.is_a?(Owner) ? owner.id : String(owner)
      cleared(options) { |native, *words| Native.clear_owner(native, id, id.bytesize, *words) }
    end

    # The same of one instance, by its identity or as a {Context}.
    # @return [Report]
    def clear_instance(instance, **options)
      id = instance.is_a?(Context) ? instance.instance_id : String(instance)
      cleared(options) { |native, *words| Native.clear_instance(native, id, id.bytesize, *words) }
    end

    # The same of zombies, and of requests that have waited for longer than dead_ttl.
    # @return [Report]
    def clear_dead(**options)
      cleared(options) { |native, *words| Native.clear_dead(native, *words) }
    end

    # Looks for overdue locks now.
    # @return [Integer] how many it ended
    def sweep
      ended = FFI::MemoryPointer.new(:uint64)
      ask { |native, told| Native.sweep(native, ended, told) }
      ended.read_uint64
    end

    # The contexts that are open on the table or prefix.
    # @param zombies_only [Boolean] only those that are gone
    # @return [Enumerator<Instance>]
    # @raise [Unsupported] over a quorum
    def instances(zombies_only: nil)
      return to_enum(:instances, zombies_only: zombies_only) unless block_given?

      shown = collected(Native::Instance, Instance) do |callback, told|
        given = zombies_only.nil? ? {} : { zombies_only: zombies_only }
        options = Options.optional(Native::InstanceListOptions, Options::INSTANCES, given)
        Native.list_instances(pointer, options&.struct, callback, nil, nil, told)
      end
      shown.each { |instance| yield instance }
    end

    # What this context does about zombies in the background. Asks no server.
    # @return [ZombiesStatus]
    def zombies_status
      status = Native::ZombiesStatus.prepared
      code = native { |native| Native.zombies_status_get(native, status) }
      raise Error.of(Result.of_status(code)) unless code.zero?

      plain = %i[runs flushes instances locks waiters].to_h { |name| [name, status[name]] }
      ZombiesStatus.new(enabled: status[:enabled] == 1, flushing: status[:flushing] == 1,
                        interval: Numbers.seconds(status[:interval_ms]),
                        last_run_at: Numbers.time(status[:last_run_us]),
                        last_failure_at: Numbers.time(status[:last_failure_us]),
                        last_failure: Numbers::STATUS_NAMES.fetch(status[:last_failure], :unknown), **plain)
    end

    private

    def cleared(options)
      fields = Options.optional(Native::ClearOptions, Options::CLEAR, options)
      report = Native::Report.prepared
      result = ask { |native, told| yield native, fields&.struct, report, told }
      Report.read(report, result)
    end

    # What a call shows to a callback on this thread. It is collected and given to the caller's block afterwards, so
    # that no exception, break or fiber of his has to pass through C.
    def collected(struct_class, value_class, &call)
      shown = []
      callback = FFI::Function.new(:int32, %i[pointer pointer]) do |one, _user_data|
        shown << value_class.read(struct_class.new(one))
        0
      end
      ask { |_native, told| guarded(always: true) { call.call(callback, told) } }
      shown
    end
  end
end
