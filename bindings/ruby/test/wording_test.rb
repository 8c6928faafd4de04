# SPDX-License-Identifier: MIT
#
# Messages speak of options, methods and values as Ruby's users write them.
require_relative "helper"

class WordingTest < Minitest::Test
  include Helper

  def test_errors_name_options_and_methods_as_they_are_in_ruby
    context.lock("busy")
    { "wait ended before it was granted; inspect_key tells" => { wait: 0.001 },
      "renew needs a ttl of 1 ms" => { renew: true },
      "age_step is 90000000 ms; use 1 to 86400000 ms" => { age_step: 90_000 },
      "the size of value is 5000; use 0 to 4096" => { value: "v" * 5000 },
      "more than half of the number of nodes, or :all" => { votes: 3 },
      "queue_ttl must be 1 ms or more, or :forever for never" => { queue_ttl_ms: 0 } }.each do |words, options|
      assert_includes assert_raises(Liblock::Error) { context.lock!("busy", **options) }.message, words
    end
    assert_equal "max_ttl is 0 ms; use 1 ms or more", refusal_of_open(max_ttl: 0)
    assert_equal "zombie_interval is 3 ms; use 100 to 3600000 ms, :forever for off",
                 refusal_of_open(zombie_interval: 0.003)
  end

  def test_ends_that_are_read_from_a_queue_are_worded_like_errors
    queue = context.completions
    context.lock("busy")
    context.submit("busy", completions: queue, wait: 0.001)
    told = queue.next(wait: LIMIT_S)
    assert_match(/\Await ended/, told.message)
    assert_equal told.message, told.to_result.message
  end

  def test_messages_that_come_from_servers_are_worded_too
    { "ttl_ms is 10; use 20 to max_ttl_ms (86400000), LIBLOCK_TTL_AUTO or LIBLOCK_TTL_NONE" =>
        "ttl is 10 ms; use 20 ms to max_ttl (86400000 ms), :auto or :none",
      "ttl_ms is longer than the quorum's max_ttl_ms, 30000" => "ttl is longer than the quorum's max_ttl, 30000 ms",
      "it did not answer within command_timeout_ms" => "it did not answer within command_timeout",
      "run liblock_quorum_set_nodes again" => "run set_nodes again",
      "once more, with LIBLOCK_QUORUM_INIT_FORCE" => "once more, with force: true" }.each do |library, ruby|
      assert_equal ruby, reworded(library)
      assert_equal ruby, reworded(ruby)
    end
  end

  def test_names_of_keys_owners_hosts_and_metadata_stay_as_they_are
    held = context.lock("busy", owner: "ttl_ms")
    message = assert_raises(Liblock::Busy) { context.lock!("busy", wait: 0, busy_info: true) }.message
    assert_match(%r{/ttl_ms}, message)
    held.release
    ["redis://liblock_inspect:1/0", "held by 1-a@liblock_read/1/wait_ms for 12 ms more", "my_ttl_ms", "\xFF ttl_msx".b,
     "a metadata name is reserved; not since_us, initial_ttl_ms, remaining_ms"].each do |text|
      assert_equal text, reworded(text)
    end
  end

  private

  def reworded(text)
    Liblock::Wording.reworded(text)
  end

  def refusal_of_open(**options)
    assert_raises(Liblock::InvalidArgument) { open(**options) }.result.message
  end
end
