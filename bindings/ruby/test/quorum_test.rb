# SPDX-License-Identifier: MIT
#
# What only a quorum has (LIBLOCK_TEST_QUORUM: the url of one that was made).
require_relative "helper"
require_relative "secrets"
require "uri"

class QuorumTest < Minitest::Test
  include Helper
  include Secrets

  URL = ENV.fetch("LIBLOCK_TEST_QUORUM")

  def context
    @context ||= open(URL, prefix: prefix)
  end

  def test_a_lock_is_granted_by_votes_and_read_from_a_quorum_or_a_node
    lock = context.lock("a", ttl: 10, value: "mine")
    assert_operator lock.token, :>, 0
    assert_equal "mine", context.read("a").value
    node = context.quorum_status.each_node.first.address
    assert context.wait_held_on("a", node: node, wait: LIMIT_S)
    assert_equal lock.token, context.read("a", mode: :nearest, node: node)&.token
    lock.release
    assert_nil context.read("a")
  end

  def test_its_status_names_every_node
    context.ping
    status = context.quorum_status
    assert_equal 5, status.nodes
    assert_equal 5, status.each_node.size
    eventually("all nodes vote") { context.quorum_status.voting == 5 }
    assert_equal [:up], context.quorum_status.each_node.map(&:state).uniq
    refute status.configuring
  end

  def test_a_quorum_that_was_made_is_not_made_again
    assert_raises(Liblock::NodesMismatch) { context.quorum_init }
    queue = context.completions
    context.submit_quorum_init(completions: queue)
    assert_equal :nodes_mismatch, queue.next(wait: LIMIT_S).status
  end

  def test_a_change_to_no_nodes_at_all_or_to_nonsense_is_refused_before_anything_changes
    [[], ["nonsense://"]].each do |servers|
      assert_raises(Liblock::InvalidArgument, Liblock::Unsupported) { context.set_nodes(servers) }
      queue = context.completions
      assert_raises(Liblock::InvalidArgument, Liblock::Unsupported) do
        context.submit_set_nodes(servers, completions: queue)
        raise Liblock::Error.of(queue.next(wait: LIMIT_S).to_result)
      end
    end
    context.ping
    assert_equal 5, context.quorum_status.nodes
  end

  def test_the_passwords_of_its_nodes_are_printed_by_nothing
    nodes = URL.delete_prefix("quorum:").split(",")
    with_locker(*nodes) do
      known = [secret, encoded].map { |password| nodes.map { |node| as_locker(node, password) } }
      given = known.flat_map { |urls| [["quorum:#{urls.join(",")}", {}], [nil, { servers: urls }]] }
      given.each do |url, options|
        seen = seen_by(open(url, prefix: prefix, **options))
        assert_equal :ok, seen[4].first.status
        assert_includes assert_printed_nowhere(seen), Liblock::QuorumState
      end
      refused = nodes.map { |node| as_locker(node, user: "somebody") }
      assert_printed_nowhere(assert_raises(Liblock::Auth) { open("quorum:#{refused.join(",")}", prefix: prefix) })
    end
  end

  def test_a_killed_waiter_leaves_the_line
    lock = context.lock("a", ttl: 10)
    waiter = Thread.new { context.lock("a", ttl: 10) }
    await_waiter(context, "a")
    waiter.kill.join
    await_waiter(context, "a", 0)
    assert lock.release.ok?
    assert_raises(Liblock::Unsupported) { context.instances.to_a }
  end
end
