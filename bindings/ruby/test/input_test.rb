# SPDX-License-Identifier: MIT
#
# What a caller may give by mistake: refused before anything happens, never taken for something else.
require_relative "helper"
require "open3"

class InputTest < Minitest::Test
  include Helper

  # Remainders of deadlines that have just passed: rounded, they would be the words for "for ever" and "no expiry".
  def test_a_time_that_is_a_little_less_than_nothing_is_refused_and_not_taken_for_ever
    [-0.0001, -0.001, -0.002, -1, -Float::INFINITY, Float::NAN, 1e300, 10**30, "5", true].each do |time|
      assert_raises(ArgumentError, "ttl #{time}") { context.lock("a", ttl: time) }
      assert_raises(ArgumentError, "wait #{time}") { context.lock("a", wait: time) }
      assert_raises(ArgumentError, "wait_held #{time}") { context.wait_held("a", wait: time) }
      assert_raises(ArgumentError, "next #{time}") { context.completions.next(wait: time) }
    end
    lock = context.lock("a")
    assert_raises(ArgumentError) { lock.extend(-0.001) }
    assert_equal 1, context.stats.acquired
  end

  def test_a_key_is_a_text_and_not_any_object_that_has_one
    [nil, Object.new, ["a"], { a: 1 }, 1.5].each do |key|
      assert_match(/key is/, assert_raises(ArgumentError) { context.lock(key) }.message)
      assert_raises(ArgumentError) { context.synchronize(["a", key]) { flunk("ran") } }
    end
    ["a\0b", "\xff\xfe", "\xe9".b, :symbol, 17].each { |key| context.lock(key, wait: 0).release }
  end

  def test_texts_come_back_as_utf_8_where_they_are_and_binary_elsewhere
    { "é" => Encoding::UTF_8, "\xff\0" => Encoding::BINARY }.each do |text, encoding|
      context.synchronize("a", value: text, metadata: { "m" => text }) do
        info = context.inspect_key("a")
        [info.value, info.metadata["m"]].each do |back|
          assert_equal [text.b, encoding, true], [back.b, back.encoding, back.frozen?]
        end
      end
    end
    assert_raises(ArgumentError) { context.lock("b", metadata: "text") }
  end

  def test_a_queue_that_was_freed_is_closed_and_nothing_else
    queue = context.completions
    queue.free
    [-> { queue.next(wait: 0) }, -> { queue.close }, -> { context.submit("a", completions: queue) },
     -> { context.submit_ping(completions: queue) }].each { |call| assert_raises(Liblock::Closed) { call.call } }
    queue.free
    refute context.key_locked?("a")
  end

  def test_a_url_that_is_no_text_is_refused_as_such
    [5, :local, Object].each { |url| assert_match(/a url is a String/, assert_raises(TypeError) { open(url) }.message) }
  end

  def test_a_submitted_request_waits_as_its_back_off_says_and_on_queued_is_refused
    context.lock("a")
    queue = context.completions
    asked = Thread::Queue.new
    context.submit("a", completions: queue, retries: 2, backoff_callback: ->(attempt) { (asked << attempt) && 0.005 })
    assert_equal :retries_exhausted, queue.next(wait: LIMIT_S).status
    assert_equal 2, asked.size
    assert_raises(ArgumentError) { context.submit("a", completions: queue, on_queued: ->(*) {}) }
    assert_equal 0, context.stats.waiters
  end

  def test_what_cannot_be_called_is_no_block
    { on_lost: 5, on_queued: "x", backoff_callback: 5 }.each do |name, value|
      assert_raises(ArgumentError, TypeError) { context.lock("a", name => value) }
    end
    assert_equal 0, context.stats.acquired
  end

  def test_another_ractor_is_told_where_contexts_are_opened
    script = "begin; Ractor.new { Liblock.open }.take; rescue Ractor::RemoteError => e; puts e.cause.message; end"
    out, = Open3.capture2e(RbConfig.ruby, "-W0", "-I#{File.expand_path("../lib", __dir__)}", "-rliblock", "-e", script)
    assert_includes out, "from the main Ractor only"
  end

  def test_a_signal_handler_takes_and_gives_back_locks_and_is_refused_what_needs_a_mutex_without_a_trace
    watched = context.lock("watched", on_lost: true)
    ends = Thread::Queue.new
    before = trap("USR2") do
      ends << context.synchronize("a") { 1 } << watched.release.status
      begin
        context.lock("b", on_lost: true)
      rescue ThreadError
        ends << :refused
      end
    end
    Process.kill("USR2", Process.pid)
    assert_equal [1, :ok, :refused], Timeout.timeout(LIMIT_S) { Array.new(3) { ends.pop } }
    assert_equal [], context.locks.to_a
  ensure
    trap("USR2", before || "DEFAULT")
  end
end
