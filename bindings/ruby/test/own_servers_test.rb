# SPDX-License-Identifier: MIT
#
# What needs servers of its own: TLS, and a quorum that is made, asked for a part of itself and given other nodes.
require_relative "helper"
require "fileutils"
require "openssl"
require "socket"

class OwnServersTest < Minitest::Test
  include Helper

  PROGRAM = ENV.fetch("LIBLOCK_REDIS_SERVER", "redis-server")

  def setup
    super
    @folder = Dir.mktmpdir("liblock-ruby")
    @servers = []
  end

  def teardown
    super
    @servers.each { |pid| Process.kill(:KILL, pid) && Process.wait(pid) }
    FileUtils.rm_rf(@folder)
  end

  def test_a_server_with_tls_is_reached_by_its_certificate_and_refused_without_one
    certificate("server")
    files = %w[cert ca-cert].flat_map { |name| file(name, "server.pem") } + file("key", "server.key")
    port = server("--port", "0", "--tls-port", free_port, *files, "--tls-auth-clients", "no")
    url = "rediss://localhost:#{port}/0"
    error = assert_raises(Liblock::Connect) { open(url).ping }
    assert_match(/certificate/, error.message)
    locks = open(url, tls_ca_file: "#{@folder}/server.pem")
    locks.synchronize("a", ttl: 5) { |lock| assert lock.verify.ok? }
    assert open(url, tls_insecure: true).ping.ok?
    assert_raises(Liblock::InvalidArgument) { open(url, tls_ca_file: "#{@folder}/missing.pem") }
  end

  def test_a_child_ends_in_peace_whose_parent_has_reached_a_server_by_its_name
    locks = open("redis://localhost:#{server("--port", free_port)}/0")
    locks.ping
    in_child { refute locks.usable? }
    assert locks.ping.ok?
  end

  def test_a_name_that_nobody_has_is_told_as_such
    error = assert_raises(Liblock::Connect) { open("redis://nobody.invalid").ping }
    assert_match(/name cannot be resolved/, error.message)
  end

  def test_a_quorum_is_made_from_ruby_and_locks_may_be_on_a_part_of_it
    urls = Array.new(3) { "redis://127.0.0.1:#{server("--port", free_port)}/0" }
    locks = open(nil, servers: urls, max_ttl: 2)
    assert_raises(Liblock::Quarantined) { locks.lock("a", ttl: 1, wait: 0) }
    assert locks.quorum_init.ok?
    eventually("all nodes vote") { locks.quorum_status.voting == 3 }
    assert_equal 3, locks.acquire("all", ttl: 1, once: true, votes: :all).result.votes
    part = locks.lock("a", ttl: 1, nodes: urls.first(2))
    assert_nil locks.try_lock("a", ttl: 1, nodes: urls.last(2))
    assert locks.try_lock("a", ttl: 1, nodes: urls.last(1))
    part.release
    assert_raises(Liblock::InvalidArgument) { locks.lock("a", ttl: 1, nodes: ["redis://127.0.0.1:1/0"]) }
  end

  def test_a_change_to_a_node_that_does_not_answer_is_refused_and_the_quorum_is_told_as_it_was
    urls = Array.new(3) { "redis://127.0.0.1:#{server("--port", free_port)}/0" }
    locks = open(nil, servers: urls, max_ttl: 2, command_timeout: 1, connect_timeout: 1)
    locks.quorum_init
    dead = "redis://127.0.0.1:#{free_port}/0"
    assert_raises(Liblock::NoQuorum) { locks.set_nodes([dead]) }
    status = locks.quorum_status
    assert_equal [3, urls, false], [status.nodes, status.each_node.map(&:address), status.configuring]
    locks.set_nodes(nil, votes: :all)
    assert_equal [3, 3], locks.quorum_status.then { |now| [now.votes, now.nodes] }
    assert locks.try_lock("a", ttl: 1)
  end

  private

  def file(option, name)
    ["--tls-#{option}-file", "#{@folder}/#{name}"]
  end

  # Not one of those that connections are given: one of these could take it before its server does.
  def free_port
    port = rand(10_000..20_000)
    TCPServer.open("127.0.0.1", port).close
    port.to_s
  rescue Errno::EADDRINUSE
    retry
  end

  # The port of a new server, which ends with this process.
  def server(*options)
    port = options.grep(/\A[1-9]\d+\z/).first
    @servers << spawn("setpriv", "--pdeathsig", "KILL", PROGRAM, "--save", "", "--dir", @folder, *options,
                      %i[out err] => "#{@folder}/log")
    eventually("a server on #{port}") { TCPSocket.open("127.0.0.1", port).close || true rescue false }
    port
  end

  # One that is its own authority, of localhost.
  def certificate(name)
    key = OpenSSL::PKey::RSA.new(2048)
    one = OpenSSL::X509::Certificate.new
    one.version, one.serial, one.public_key = 2, 1, key.public_key
    one.subject = one.issuer = OpenSSL::X509::Name.parse("/CN=localhost")
    one.not_before, one.not_after = Time.now - 60, Time.now + 3600
    makes = OpenSSL::X509::ExtensionFactory.new(one, one)
    one.add_extension(makes.create_extension("basicConstraints", "CA:TRUE", true))
    one.add_extension(makes.create_extension("subjectAltName", "DNS:localhost"))
    one.sign(key, OpenSSL::Digest.new("SHA256"))
    File.write("#{@folder}/#{name}.pem", one.to_pem)
    File.write("#{@folder}/#{name}.key", key.to_pem)
  end
end
