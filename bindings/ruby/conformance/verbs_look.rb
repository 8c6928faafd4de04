# SPDX-License-Identifier: MIT
#
# Verbs that only look: is_locked, inspect, lists, waits on a key, statistics.
module Conformance
  verb("is_locked", "key", "", "status locked") do |call|
    told = call.status { [call.context.key_locked?(call.keys.first)] }
    call.tell("locked" => told.first) if told
  end

  verb("is_queued", "key", "", "status queued") do |call|
    told = call.status { [call.context.key_queued?(call.keys.first)] }
    call.tell("queued" => told.first) if told
  end

  def self.inspected(call, name)
    told = call.status { [call.context.public_send(name, call.keys.first)] } or return
    info = told.first
    return call.tell("status" => "NOT_HELD") unless info

    %w[key owner instance value token initial_ttl_ms remaining_ms hold_count metadata waiter_count].each do |field|
      call.tell(field => info.public_send(field)) unless info.public_send(field).nil?
    end
    since = info.since ? ((Time.now - info.since) * 1000).to_i : -1
    call.tell("held" => info.held?, "global" => info.global?, "zombie" => info.zombie?, "held_for_ms" => since,
              "queue" => info.waiters.map { |waiter| waiter_told(waiter) })
  end

  def self.waiter_told(waiter)
    { "owner" => waiter.owner, "instance" => waiter.instance, "order" => waiter.order.to_s.upcase,
      "priority" => waiter.priority, "waited_ms" => waiter.waited && (waiter.waited * 1000).round }.compact
  end

  verb("inspect", "key", "", INFO) { |call| inspected(call, :inspect_key) }
  verb("inspect_queue", "key", "", INFO) { |call| inspected(call, :queue) }

  # The global lock has no key, so it is counted apart from the keys.
  %w[locks queues keys].each do |what|
    verb("list_#{what}", "", "prefix batch_size", LIST) do |call|
      options = { prefix: call.value, batch_size: call.step["batch_size"] }.compact
      infos = call.status { call.context.public_send(what, **options).to_a } or next
      globals, keyed = infos.partition(&:global?)
      call.tell("keys" => keyed.map(&:key), "count" => keyed.size, "globals" => globals.size)
    end
  end

  %w[wait_held wait_released].each do |name|
    verb(name, "key", "wait_ms", RESULT) do |call|
      key = call.keys.first
      call.result do
        call.context.ask do |native, told|
          Liblock::Native.public_send(name, native, key, key.bytesize, call.ms, told)
        end
      end
    end
  end

  verb("stats", "", "", ["status"] + Match::COUNTERS) do |call|
    stats = call.status { call.context.stats } or next
    Match::COUNTERS.each { |name| call.tell(name => stats[name.to_sym]) }
  end
end
