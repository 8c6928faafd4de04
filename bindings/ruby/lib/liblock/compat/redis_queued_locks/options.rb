# SPDX-License-Identifier: MIT
#
# The keywords of the methods: checked, filled up from the configuration, and in the library's words.
#
# What a call names counts over what nobody chose: `lock("a", timeout: 2)` waits for two seconds, as the manual says,
# although the default of retry_count (3) would end it after 0.4.
module RedisQueuedLocks
  # @api private
  module Options
    # Keywords of every method that changes something: name => key of the configuration, or a default.
    SHARED = {
      logger: "logger", log_sampling_enabled: "log_sampling_enabled", log_sampling_percent: "log_sampling_percent",
      log_sampler: "log_sampler", log_sample_this: false, instrumenter: "instrumenter", instrument: nil,
      instr_sampling_enabled: "instr_sampling_enabled", instr_sampling_percent: "instr_sampling_percent",
      instr_sampler: "instr_sampler", instr_sample_this: false
    }.freeze
    LOCK = {
      ttl: "default_lock_ttl", queue_ttl: "default_queue_ttl", timeout: "try_to_lock_timeout",
      timed: "is_timed_by_default", retry_count: "retry_count", retry_delay: "retry_delay",
      retry_jitter: "retry_jitter", raise_errors: false, fail_fast: false,
      conflict_strategy: "default_conflict_strategy", access_strategy: "default_access_strategy",
      read_write_mode: :write, identity: nil, meta: nil, detailed_acq_timeout_error: "detailed_acq_timeout_error",
      log_lock_try: "log_lock_try", **SHARED
    }.freeze
    RESERVED = %w[lock_key acq_id hst_id ts ini_ttl rem_ttl spc_cnt l_spc_ts spc_ext_ttl l_spc_ext_ini_ttl
                  l_spc_ext_ts].freeze
    CONFLICTS = { wait_for_lock: :wait, work_through: :reenter, extendable_work_through: :reenter,
                  dead_locking: :fail }.freeze
    ACCESSES = { queued: :fifo, random: :any }.freeze
    # Metadata names are written with this in front: some that users may choose mean something to the library.
    MARK = "."
    # Among them, without that mark and so never shown as the user's: the ttl that was asked for. A lock that is handed
    # over begins with a shorter lease, and the server knows of no other.
    TTL = "ttl_ms"
    # What leaves room for both in the library's 64 entries and 4,096 bytes.
    META_ENTRIES = 63
    META_BYTES = 4_000

    module_function

    def fill(table, config, given)
      unknown = given.keys - table.keys
      raise ::ArgumentError, "unknown keyword: #{unknown.map(&:inspect).join(", ")}" unless unknown.empty?

      table.to_h do |name, source|
        [name, given.fetch(name) { source.is_a?(String) ? config[source] : source }]
      end
    end

    def lock(config, identity, given)
      options = fill(LOCK, config, given)
      options[:identity] ||= identity
      options[:retry_count] = nil if given[:timeout] && !given.key?(:retry_count) && !config.set?(:retry_count)
      check(options)
      options
    end

    def check(options)
      whole(options, :ttl, 1)
      whole(options, :retry_delay, 0)
      whole(options, :retry_jitter, 0)
      whole(options, :retry_count, 0) unless options[:retry_count].nil?
      number(options, :queue_ttl)
      number(options, :timeout) unless options[:timeout].nil?
      one_of(options, :conflict_strategy, CONFLICTS.keys)
      one_of(options, :access_strategy, ACCESSES.keys)
      one_of(options, :read_write_mode, [:write])
      check_meta(options[:meta])
    end

    def whole(options, name, least)
      value = options[name]
      return if value.is_a?(Integer) && value >= least

      raise ArgumentError, "#{name} is a whole number from #{least} on, not #{value.inspect}"
    end

    def number(options, name)
      value = options[name]
      return if value.is_a?(Numeric) && value >= 0

      raise ArgumentError, "#{name} is a number of seconds, not #{value.inspect}"
    end

    def one_of(options, name, values)
      return if values.include?(options[name])

      raise ArgumentError, "#{name} is one of #{values.inspect}, not #{options[name].inspect}"
    end

    def check_meta(meta)
      return if meta.nil?
      raise ArgumentError, "meta is a Hash or nil, not #{meta.class}" unless meta.is_a?(Hash)

      reserved = meta.keys.map(&:to_s) & RESERVED
      unless reserved.empty?
        raise ArgumentError, "meta can not contain reserved lock data keys: #{reserved.join(", ")}"
      end

      check_size_of(meta)
    end

    def check_size_of(meta)
      bytes = meta.sum { |name, value| name.to_s.bytesize + value.to_s.bytesize }
      return if meta.size <= META_ENTRIES && bytes <= META_BYTES

      raise ArgumentError, "meta has #{META_ENTRIES} entries and #{META_BYTES} bytes at most, not #{meta.size} and " \
                           "#{bytes}"
    end

    # What the library is given. Waits are added by the call, which knows how long it has waited before.
    def native(options, acquirer_id)
      {
        ttl_ms: options[:ttl], order: ACCESSES.fetch(options[:access_strategy]),
        queue_ttl: options[:queue_ttl].positive? ? options[:queue_ttl] : :forever,
        retry_interval_ms: [options[:retry_delay], 1].max, retry_jitter_ms: options[:retry_jitter],
        on_conflict: CONFLICTS.fetch(options[:conflict_strategy]), value: acquirer_id,
        busy_info: options[:detailed_acq_timeout_error],
        metadata: metadata(options)
      }
    end

    def metadata(options)
      (options[:meta] || {}).to_h { |name, value| ["#{MARK}#{name}", value.to_s] }
                            .merge(TTL => options[:ttl].to_s)
    end
  end
end
