# SPDX-License-Identifier: MIT
#
# Verbs on locks: acquire, release and what lies between.
module Conformance
  def self.acquired(call, once: false)
    lock = call.result { call.context.acquire(call.target, once: once, **call.options) }
    call.made.state = :ended
    if lock && (lock.handle.zero? || call.got["token"].zero?)
      blame("OK with the lock #{lock.handle} and the token #{call.got["token"]}")
    end
    blame("#{call.got["status"]} with the token #{call.got["token"]}") if !lock && call.got["token"] != 0
    call.made.lock = lock
    call.made.token = lock ? call.got["token"] : 0
  end

  verb("acquire", "", TARGET, RESULT) { |call| acquired(call) }
  verb("try_acquire", "key", "as owner options", RESULT) { |call| acquired(call, once: true) }

  verb("acquire_async", "as", TARGET, "status", main_only: true) do |call|
    queue = call.world.queue_of(call.slot)
    request = call.status do
      call.context.submit(call.target, user_data: call.made.number, **call.options, completions: queue)
    end
    next unless request

    call.made.request = request
    call.made.state = :pending
    call.slot.pending += 1
  end

  verb("cancel", "request", "", "status") { |call| call.status { call.context.cancel(call.hold.request) } }
  verb("release", "lock", "", RESULT) { |call| call.result { call.lock.release } }

  verb("release_keys", "owner keys", "", RESULT) do |call|
    call.result { call.context.owner_of(call.owner).release_keys(call.keys) }
  end

  verb("extend", "lock ttl_ms", "add", RESULT) do |call|
    ttl = { -1 => :auto, -2 => :none }.fetch(call.ms) { Rational(call.ms, 1000) }
    call.result do
      call.lock.extend(ttl, add: call.step["add"] == true)
    rescue ArgumentError # Ruby has words for what is less than nothing, and takes no number for it
      call.context.lock("a", ttl_ms: call.ms)
    end
  end

  verb("update", "lock value", "", RESULT) { |call| call.result { call.lock.update(call.value) } }
  verb("is_held", "lock", "", "status") { |call| call.tell("status" => call.lock.status.to_s.upcase) }

  { "remaining" => "remaining_ms", "token" => "token", "hold_count" => "hold_count" }.each do |name, told|
    verb(name, "lock", "", "status #{told}") do |call|
      value = call.status { call.lock.public_send(told) }
      call.tell(told => value) if value
    end
  end

  verb("verify", "lock", "", RESULT) { |call| call.result { call.lock.verify } }

  verb("wait_lost", "lock", "wait_ms", RESULT) do |call|
    handle = call.lock.handle
    call.result { call.context.ask { |native, told| Liblock::Native.wait_lost(native, handle, call.ms, told) } }
  end
end
