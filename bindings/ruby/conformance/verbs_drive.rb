# SPDX-License-Identifier: MIT
#
# Verbs that drive the scenario rather than the library. Each waits for a condition with a generous limit; only `sleep`
# waits for nothing but time.
module Conformance
  def self.end_named?(expected, told)
    name = %w[request lock].find { |field| expected.key?(field) }
    name && expected[name] == told[name]
  end

  verb("await", "ends", "any_order", "", main_only: true) do |call|
    left = call.step["ends"].dup
    until left.empty?
      told = call.world.read_end(call.slot, World::LIMIT_S)
      blame("expected the end #{line(left.first)}, got none") unless told
      expected = call.step["any_order"] ? left.find { |one| end_named?(one, told) } : left.first
      unless expected && end_named?(expected, told)
        blame("expected the end #{line(expected || left)}, got #{line(told)}")
      end
      Match.all(call.world, expected, told)
      left.delete_at(left.index { |one| one.equal?(expected) })
    end
  end

  verb("idle", "", "", "", main_only: true) { |call| call.world.no_ends }

  # A waiter on a named thread gives no other sign of itself.
  verb("await_queue", "key waiters", "", "", main_only: true) do |call|
    wanted, limit = call.step["waiters"], call.world.now + World::LIMIT_S
    count = nil
    loop do
      count = call.context.queue(call.keys.first)&.waiter_count || 0
      break if count == wanted || call.world.now > limit

      sleep 0.001
    end
    blame("expected #{wanted} waiters, got #{count}") if count != wanted
  end

  verb("await_notice", "lock", "", "", main_only: true) { |call| call.world.await_notice(call.hold) }
  verb("sleep", "ms", "", "", main_only: true) { |call| sleep(call.ms / 1000.0) }
  verb("finish", "of", "", "", main_only: true) { |call| call.world.actors.settled(call.step["of"]).settle }

  # The binding closes the owners of threads that are over in a moment; here it is done before the next step.
  verb("end_thread", "of", "", "", main_only: true) do |call|
    call.world.actors.end_thread(call.step["of"])
    call.world.contexts.each_value { |slot| slot.context&.close_owners_of_the_dead unless slot.closed }
  end
end
