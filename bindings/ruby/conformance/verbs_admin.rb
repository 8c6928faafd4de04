# SPDX-License-Identifier: MIT
#
# Verbs on contexts and owners, and the administrator's.
module Conformance
  # Where a context of this space lives: local spaces are names of tables, all others are prefixes, so that scenarios
  # never meet each other's keys.
  def self.url_of(call, space, options)
    return call.step["url"] if call.step["url"]

    local = call.world.url.start_with?("local:")
    return "local:" if local && !call.step["space"]

    name = "conformance-ruby-#{Process.pid}-#{space}:"
    return "local:#{name}" if local

    options[:prefix] ||= name
    call.world.url
  end

  verb("open", "as", "space url options", RESULT + ["on_open_calls"], main_only: true) do |call|
    slot, opens = call.opened, 0
    slot.space = "#{call.world.number}-#{call.step["space"] || "private-#{slot.name}"}"
    options = Options.context(call.step["options"])
    url = url_of(call, slot.space, options)
    slot.context = call.result { Liblock.open(url, on_open: -> { opens += 1 }, **options) }
    call.tell("on_open_calls" => opens)
    slot.instance = slot.context&.instance_id
  end

  verb("close", "", "", "status", main_only: true) do |call|
    call.status { call.context.close }
    call.slot.closed = true
  end

  verb("close_async", "", "", "status", main_only: true) do |call|
    over = Thread::Queue.new
    call.slot.closed = true
    call.status { call.context.close_async { |completion| over << completion } }
    next unless call.got["status"] == "OK"

    waiter = Thread.new { over.pop }
    blame("the callback of close_async never came") unless waiter.join(World::LIMIT_S)
    kind, status = waiter.value.kind, waiter.value.status
    blame("close_async ended with kind #{kind}, #{status}") unless kind == :close && status == :ok
  end

  verb("ping", "", "", RESULT) { |call| call.result { call.context.ping } }

  verb("owner_open", "as", "name", RESULT, main_only: true) do |call|
    owner = call.result { call.context.owner(call.step["name"] || "") }
    call.introduced.owner = owner
    call.introduced.identity = owner&.id
  end

  verb("owner_close", "owner", "", "status") { |call| call.status { call.owner.close } }

  verb("owner_id", "as owner", "", "") do |call|
    call.introduced.identity = call.context.owner_of(call.owner).id
  end

  verb("force_release", "key", "drop_queue", RESULT) do |call|
    call.result { call.context.force_release(call.keys.first, drop_queue: call.step["drop_queue"] == true) }
  end

  def self.cleared(call, name, *words)
    batch, dead = call.step["batch_size"], call.step["dead_ttl_ms"]
    options = { batch_size: batch, scan_size: batch, dead_ttl_ms: dead }.compact
    report = call.result { call.context.public_send(name, *words, **options) } or return
    call.tell("count" => report.locks, "queues" => report.queues, "cleared_keys" => report.keys,
              "dequeued" => report.waiters)
    blame("the report does not add up") if report.elapsed_us.negative? || report.keys != report.locks + report.queues
  end

  verb("clear", "", CLEAR, REPORT) { |call| cleared(call, :clear) }

  verb("clear_owner", "owner", CLEAR, REPORT) do |call|
    blame("clear_owner takes an owner with a name of its own") unless call.owner.is_a?(Liblock::Owner)
    cleared(call, :clear_owner, call.owner)
  end

  verb("clear_instance", "instance", CLEAR, REPORT) do |call|
    cleared(call, :clear_instance, call.instance.instance)
  end

  verb("clear_dead", "", CLEAR, REPORT) { |call| cleared(call, :clear_dead) }

  verb("sweep", "", "", RESULT + ["count"]) do |call|
    ended = FFI::MemoryPointer.new(:uint64).put_uint64(0, 777_777_777)
    fine = call.result { call.context.ask { |native, told| Liblock::Native.sweep(native, ended, told) } }
    call.tell("count" => ended.read_uint64) if fine
  end
end
