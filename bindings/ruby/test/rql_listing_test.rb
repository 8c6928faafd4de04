# SPDX-License-Identifier: MIT
#
# The questions of the layer for users of redis_queued_locks: who holds, who waits, what there is, in the shapes that
# the manual prints.
require_relative "rql_helper"

class RqlListingTest < Minitest::Test
  include RqlHelper

  def test_lock_info_is_as_printed
    assert_nil client.lock_info("your_lock_name")
    taken = client.lock("your_lock_name", ttl: 5_000, meta: { "kek" => "pek", "bum" => 123 })[:result]
    info = client.lock_info("your_lock_name")
    assert_equal %w[lock_key acq_id ts ini_ttl rem_ttl kek bum], info.keys
    assert_equal({ "lock_key" => "rql:lock:your_lock_name", "acq_id" => taken[:acq_id], "ini_ttl" => 5_000,
                   "kek" => "pek", "bum" => "123" }, info.reject { |name, _| %w[ts rem_ttl].include?(name) })
    assert_in_delta taken[:ts], info["ts"], 1
    assert_includes 3_000..5_000, info["rem_ttl"]
    client.lock("plain", ttl: 5_000)
    assert_equal %w[lock_key acq_id ts ini_ttl rem_ttl], client.lock_info("plain").keys
  end

  def test_the_ttl_that_was_asked_for_is_told_of_a_lock_that_was_handed_over
    info = nil
    thread = held_elsewhere("a") do
      waiter("a", ttl: 60_000, meta: { ttl_ms: "theirs" }) do
        eventually("its whole lease") { (info = client.lock_info("a"))["rem_ttl"] > 10_000 }
        client.locks_info.first[:info]
      end
    end
    listed = thread.value
    assert_equal %w[lock_key acq_id ts ini_ttl rem_ttl ttl_ms], info.keys
    assert_equal [60_000, "theirs"], info.values_at("ini_ttl", "ttl_ms")
    assert_equal [60_000, "theirs"], listed.values_at("ini_ttl", "ttl_ms")
  end

  def test_a_lock_without_word_of_its_ttl_tells_what_it_was_granted_with
    client.send(:context).lock("a", ttl_ms: 4_000, value: "an older version's")
    assert_equal %w[lock_key acq_id ts ini_ttl rem_ttl], client.lock_info("a").keys
    assert_equal 4_000, client.lock_info("a")["ini_ttl"]
  end

  def test_a_question_that_cannot_be_is_an_argument_error
    error = RedisQueuedLocks::ArgumentError
    %i[locked? queued? lock_info queue_info].each do |question|
      ["", "x" * 513].each do |name|
        assert_match(/1 to 512 bytes/, assert_raises(error, question) { client.public_send(question, name) }.message)
      end
    end
    %i[locks queues keys locks_info queues_info].each do |question|
      [0, 65_537, 2**70, "x"].each do |size|
        assert_raises(error, "#{question} #{size}") { client.public_send(question, scan_size: size) }
      end
    end
  end

  def test_queue_info_is_as_printed_and_in_order
    assert_nil client.queue_info("a")
    threads = held_elsewhere("a") do
      assert_nil client.queue_info("a"), "who holds does not wait"
      first, second = waiter("a") { client.current_acquirer_id }, waiter("a", place: 2) { client.current_acquirer_id }
      info = client.queue_info("a")
      assert_equal %w[lock_queue queue], info.keys
      assert_equal "rql:lock_queue:a", info["lock_queue"]
      assert_equal [%w[acq_id score]] * 2, info["queue"].map(&:keys)
      scores = info["queue"].map { |request| request["score"] }
      assert_equal scores.sort, scores
      assert_in_delta Time.now.to_f, scores.last, 5
      @waiting = info["queue"].map { |request| request["acq_id"] }
      [first, second]
    end
    assert_equal @waiting, threads.map(&:value)
  end

  def test_locked_and_queued_are_true_or_false
    assert_equal [false, false], [client.locked?("a"), client.queued?("a")]
    thread = held_elsewhere("a") do
      assert_equal [true, false], [client.locked?("a"), client.queued?("a")]
      waiter("a") { 1 }.tap { assert_equal true, client.queued?("a") }
    end
    thread.join
    assert_equal [false, false], [client.locked?("a"), client.queued?("a")]
  end

  def test_locks_queues_and_keys_are_sets_of_names
    assert_equal [Set.new] * 3, [client.locks, client.queues, client.keys]
    client.lock("b", ttl: 10_000)
    thread = held_elsewhere("a") do
      waiting = waiter("a") { 1 }
      assert_equal Set["rql:lock:a", "rql:lock:b"], client.locks
      assert_equal Set["rql:lock_queue:a"], client.queues(scan_size: 1)
      assert_equal Set["rql:lock:a", "rql:lock:b", "rql:lock_queue:a"], client.keys(scan_size: 123)
      waiting
    end
    thread.join
  end

  def test_locks_info_tells_each_lock_with_its_data
    client.lock("a", ttl: 10_000, meta: { job: 1 })
    set = client.locks_info(scan_size: 123)
    assert_kind_of Set, set
    assert_equal set.map { |one| one[:lock] }, client.locks(with_info: true).map { |one| one[:lock] }
    one = set.first
    assert_equal [%i[lock status info], "rql:lock:a", :alive], [one.keys, one[:lock], one[:status]]
    assert_equal %w[acq_id ts ini_ttl rem_ttl job], one[:info].keys
    assert_equal [10_000, "1"], one[:info].values_at("ini_ttl", "job")
  end

  def test_a_lock_that_is_released_while_it_is_looked_at_has_no_data
    client.lock("a", ttl: 10_000)
    context = client.send(:context)
    context.define_singleton_method(:inspect_key) { |_name| nil } # it was there a moment ago
    assert_equal Set[{ lock: "rql:lock:a", status: :released, info: {} }], client.locks_info
  ensure
    context.singleton_class.send(:remove_method, :inspect_key)
  end

  def test_queues_info_tells_each_queue_with_its_requests
    thread = held_elsewhere("a") do
      waiting = waiter("a") { client.current_acquirer_id }
      set = client.queues_info
      assert_kind_of Set, set
      assert_equal [[:queue, :requests]], set.map(&:keys)
      assert_equal "rql:lock_queue:a", set.first[:queue]
      assert_equal client.queue_info("a")["queue"], set.first[:requests]
      assert_equal set, client.queues(with_info: true)
      waiting
    end
    thread.join
  end
end
