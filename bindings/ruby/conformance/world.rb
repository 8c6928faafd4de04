# SPDX-License-Identifier: MIT
#
# The world of one scenario: the contexts, owners and holds that its steps name, and what must be true of all of them
# however the scenario goes.
#
# Invariants: names are bound on the main thread only. Each request ends exactly once. Per key, the tokens of grants
# rise in the order in which the main thread learns of them.
require_relative "actors"

module Conformance
  ContextSlot = Struct.new(:name, :context, :queue, :space, :instance, :pending, :closed, keyword_init: true)
  OwnerSlot = Struct.new(:name, :owner, :identity, keyword_init: true)
  Hold = Struct.new(:name, :number, :context, :state, :request, :lock, :token, :keys, :owned, :notices, :awaited,
                    keyword_init: true)

  class World
    # No step waits longer for what must come.
    LIMIT_S = 10

    attr_reader :url, :number, :contexts, :owners, :holds, :actors

    def initialize(url, number)
      @url, @number = url, number
      @contexts, @owners, @holds, @fences = {}, {}, {}, Hash.new(0)
      @actors = Actors.new
      @mutex, @changed = Thread::Mutex.new, Thread::ConditionVariable.new
    end

    def add(slots, name, slot)
      Conformance.blame("the name \"#{name}\" is taken") if slots.key?(name)
      slots[name] = slot
    end

    def queue_of(slot)
      slot.queue ||= slot.context.completions(capacity: 4096)
    end

    def token_of(name)
      hold = @holds[name]
      hold && !hold.token.zero? ? hold.token : Conformance.blame("no token of \"#{name}\" is known")
    end

    def identity_of(name)
      @owners[name]&.identity || Conformance.blame("no owner or context is named \"#{name}\"")
    end

    def instance_of(name)
      @contexts[name]&.instance || Conformance.blame("no owner or context is named \"#{name}\"")
    end

    # Records a grant. The end of a request does not say whether it was a reentry, so grants of owners may also repeat.
    def granted(hold, reentered)
      hold.keys.uniq.each do |key|
        last = @fences[[hold.context.space, key]]
        fine = hold.token > last || (reentered || hold.owned) && hold.token == last
        unless fine
          Conformance.blame("token #{hold.token} of \"#{hold.name}\" does not exceed the key's earlier token #{last}")
        end
        @fences[[hold.context.space, key]] = hold.token
      end
    end

    def noticed(hold)
      @mutex.synchronize do
        hold.notices += 1
        @changed.broadcast
      end
    end

    def await_notice(hold)
      limit = now + LIMIT_S
      @mutex.synchronize do
        hold.awaited += 1
        @changed.wait(@mutex, limit - now) while hold.notices < hold.awaited && now < limit
        return if hold.notices == hold.awaited

        Conformance.blame("expected #{hold.awaited} calls of on_lost of \"#{hold.name}\", got #{hold.notices}")
      end
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    # -------------------------------------------------------------------------------------------------------- ends

    # One end or notice as it is told; nil when none came in time.
    def read_end(slot, wait)
      return nil unless slot.queue

      entry = slot.queue.next(wait: wait) or return nil
      case entry.kind
      when :acquire then request_ended(slot, entry)
      when :lost then lock_lost(slot, entry)
      else Conformance.blame("a completion of kind #{entry.kind}")
      end
    rescue Liblock::Closed
      nil
    end

    def no_ends
      @contexts.each_value do |slot|
        one = read_end(slot, 0)
        Conformance.blame("an end that no step awaits: #{Conformance.line(one)}") if one
      end
    end

    # Closes everything, then checks what must hold at every end. Answers the first cause, of this or before.
    def finish(fault)
      causes = [fault]
      check = ->(&block) { causes << collect(&block) }
      check.call { no_ends } unless fault
      @contexts.each_value { |slot| check.call { close(slot) } }
      check.call { @actors.finish }
      check.call { ends_closed } if causes.compact.empty?
      free
      check.call { check_notices } if causes.compact.empty?
      causes.compact.first
    end

    private

    def collect
      yield
      nil
    rescue Fault, Liblock::Error => cause
      cause
    end

    def request_ended(slot, entry)
      pending = @holds.each_value.select { |one| one.context == slot && one.state == :pending }
      hold = pending.find { |one| one.request == entry.request }
      status = entry.status.to_s.upcase
      Conformance.blame("an end (#{status}) of no pending request, or a second one") unless hold
      hold.state = :ended
      slot.pending -= 1
      Conformance.blame("the end of \"#{hold.name}\" came with another user_data") if entry.user_data != hold.number
      granted = entry.status == :ok
      if granted != (entry.lock != 0) || granted != (entry.token != 0)
        Conformance.blame("the end of \"#{hold.name}\" is #{status} with lock #{entry.lock} and token #{entry.token}")
      end
      hold.lock = granted ? slot.context.lock_of(entry, hold.keys) : nil
      hold.token = entry.token
      granted(hold, false) if granted
      { "kind" => "ACQUIRE", "request" => hold.name, "status" => status, "token" => entry.token,
        "remaining_ms" => entry.remaining_ms, "waited_ms" => entry.waited_ms }
    end

    def lock_lost(slot, entry)
      hold = @holds.each_value.find { |one| one.context == slot && one.lock && one.lock.handle == entry.lock }
      Conformance.blame("a notice that an unknown lock was lost") unless hold
      Conformance.blame("the notice of \"#{hold.name}\" names a request") unless entry.request.zero?
      { "kind" => "LOST", "lock" => hold.name, "status" => entry.status.to_s.upcase, "token" => entry.token }
    end

    def close(slot)
      slot.context&.close unless slot.closed
    rescue Liblock::Error => error
      Conformance.blame("close of \"#{slot.name}\" answered #{error.status.to_s.upcase}")
    end

    def ends_closed
      @contexts.each_value do |slot|
        limit = now + LIMIT_S
        while slot.pending.positive? && now < limit
          one = read_end(slot, 0.1)
          next if one.nil? || one["status"] == "CLOSED"

          Conformance.blame("at the end: close ended a pending request as #{Conformance.line(one)}")
        end
        next if slot.pending.zero?

        Conformance.blame("at the end: #{slot.pending} requests of \"#{slot.name}\" never ended after close")
      end
      no_ends
    end

    def free
      @owners.each_value { |slot| slot.owner&.free }
      @contexts.each_value { |slot| slot.queue&.free }
    end

    def check_notices
      @holds.each_value do |hold|
        next if hold.notices == hold.awaited

        Conformance.blame("at the end: on_lost of \"#{hold.name}\" was called #{hold.notices} times, awaited " \
                          "#{hold.awaited} times")
      end
    end
  end
end
