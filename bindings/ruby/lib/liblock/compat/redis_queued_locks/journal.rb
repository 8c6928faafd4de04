# SPDX-License-Identifier: MIT
#
# What happens inside an acquire, in the original's log texts. The library tells of each step in its own log; entries
# are found by the tag of their acquire and written to the logger of that call.
#
# The library does an attempt in one call of a script and tells of those steps that had something to do; the original
# made each one a round trip. Steps that an attempt has passed are written in the original's order, so that whoever
# reads its logs finds each of them.
module RedisQueuedLocks
  # The log of one acquire.
  # @api private
  class Diary
    STEPS = %i[start rconn_fetched acq_added_to_queue remove_expired_acqs get_first_from_queue].freeze
    ENTRIES = {
      attempt_started: :start, attempt_ready: :rconn_fetched, attempt_queued: :acq_added_to_queue,
      attempt_overdue_removed: :remove_expired_acqs, attempt_first_in_queue: :get_first_from_queue
    }.freeze
    EXITS = {
      attempt_queue_ttl_reached: :exit__queue_ttl_reached, attempt_not_first: :exit__no_first,
      attempt_still_held: :exit__lock_still_obtained, attempt_free: :obtain__free_to_acquire
    }.freeze
    ENDS = %i[obtained reentered dequeued_on_limit failed].freeze
    HELD = %i[lock_instance lock_token lock_remaining_ms lock_hold_count].freeze
    private_constant :STEPS, :ENTRIES, :EXITS, :ENDS, :HELD

    # @param tries [Boolean] single attempts too
    def initialize(reporter, base, acquirer_id, tries)
      @reporter, @base, @acquirer_id, @tries = reporter, base, acquirer_id, tries
      @step = -1
      @ended = Thread::Queue.new
    end

    # On the thread that hands the library's log on.
    def hear(entry)
      requeued if entry.name == :requeued
      attempt(entry) if @tries
      @ended << true if ENDS.include?(entry.name)
    end

    # Until the end has been written, which comes from another thread; not for long.
    def await_end
      limit = Original.now + 1
      sleep 0.001 while @ended.empty? && Original.now < limit
    end

    private

    def requeued
      @reporter.log("[redis_queued_locks.dead_score_reached__reset_acquier_position] #{@base}")
    end

    def attempt(entry)
      if (step = ENTRIES[entry.name])
        @step = -1 if step == :start
        passed(STEPS.index(step), entry)
      elsif (way_out = EXITS[entry.name])
        passed(STEPS.size - 1, entry)
        write(way_out, details(way_out, entry))
        @free = way_out == :obtain__free_to_acquire
      elsif entry.name == :obtained && !@free
        write(:obtain__free_to_acquire) # it was handed over, without an attempt of its own
      end
    end

    def passed(step, entry)
      while @step < step
        @step += 1
        write(STEPS[@step], STEPS[@step] == :get_first_from_queue ? first(entry) : nil)
      end
    end

    def details(way_out, entry)
      return if %i[exit__queue_ttl_reached obtain__free_to_acquire].include?(way_out)

      locked = "locked_by_acq_id => '#{Resource.acquirer_of(entry.fields[:held_by])}' "
      "#{first(entry)} #{locked if way_out == :exit__lock_still_obtained}" \
        "<current_lock_data> => #{entry.fields.slice(*HELD).transform_keys(&:to_s)}"
    end

    def first(entry)
      "first_acq_id_in_queue => '#{Resource.acquirer_of(entry.fields[:first_in_queue]) || @acquirer_id}'"
    end

    def write(name, more = nil)
      @reporter.log(["[redis_queued_locks.try_lock.#{name}] #{@base}", more].compact.join(" "))
    end
  end

  # Finds the diary of an entry. Nobody listens until the first call wants a log.
  # @api private
  class Journal
    def initialize(context)
      @context = context
      @mutex = Thread::Mutex.new
      @diaries = {}
      @tag = 0
    end

    # Options for an acquire that is told of to this diary, while the block runs.
    def keep(diary, tries)
      tag = @mutex.synchronize do
        listen unless @listening
        @diaries[@tag += 1] = diary
        @tag
      end
      yield({ event_tag: tag, instrument: tries ? %i[log attempts] : %i[log] }).tap { diary.await_end }
    rescue Liblock::Error
      diary.await_end
      raise
    ensure
      @mutex.synchronize { @diaries.delete(tag) }
    end

    private

    # All other acquires are told of to nobody.
    def listen
      @context.instruments(events_percent: 0, log_percent: 0)
      @context.on_log(level: :debug) { |entry| @mutex.synchronize { @diaries[entry.tag] }&.hear(entry) }
      @listening = true
    end
  end
end
