# SPDX-License-Identifier: MIT
#
# A password that is planted, and the search for it in whatever Ruby prints: of what a caller has, and of every living
# object of these modules, also of those that nobody is given.
require "pp"
require "securerandom"
require "socket"

module Secrets
  # What a program does with an object that it prints, or with an error that it writes to its log.
  WAYS = %i[inspect to_s pretty_inspect message full_message detailed_message].freeze
  OURS = /\A(Liblock|RedisQueuedLocks|RedisExpLock)(::|\z)/
  CLASS_OF = Kernel.instance_method(:class)

  # Of letters and digits, told apart by chance from all else.
  def secret
    @secret ||= "S3cr#{SecureRandom.alphanumeric(20)}"
  end

  # The same for a url, every character of it.
  def encoded
    secret.bytes.map { |byte| format("%%%02X", byte) }.join
  end

  def disguises
    [secret, encoded, encoded.downcase, secret.reverse, secret.unpack1("H*"), [secret].pack("m0").delete("="),
     secret.bytes.join(", "), secret[0, 12], secret[-12..]]
  end

  # Of an error its causes, too, and what the call told.
  def with_causes(thing)
    return [thing] unless thing.is_a?(Exception)

    [thing, *(thing.result if thing.respond_to?(:result)), *(with_causes(thing.cause) if thing.cause)]
  end

  def living
    GC.start # of what is gone nobody prints anything
    ObjectSpace.each_object(Object).select { |one| OURS.match?(CLASS_OF.bind_call(one).name.to_s) }
  end

  # @return [Array<Class>] of what was looked through
  def assert_printed_nowhere(*things)
    all = things.flatten.flat_map { |thing| with_causes(thing) } + living
    all.each do |thing|
      WAYS.select { |way| thing.respond_to?(way) }.each do |way|
        text = thing.public_send(way).to_s.b
        found = disguises.find { |one| text.include?(one.b) }
        assert_nil found, "#{way} of a #{thing.class} has the password: #{text}"
      end
    end
    all.map(&:class).uniq
  end

  # The user "locker" of a server, for the time of the block.
  def with_locker(*urls)
    tell(urls, "ACL SETUSER locker on >#{secret} ~* &* +@all")
    yield
  ensure
    tell(urls, "ACL DELUSER locker")
  end

  def tell(urls, command)
    urls.each do |url|
      where = URI(url)
      TCPSocket.open(where.host, where.port) do |socket|
        socket.write("#{command}\r\n")
        assert_match(/\A[+:]/, socket.gets)
      end
    end
  end

  # The url with user and password in it.
  def as_locker(url, password = secret, user: "locker")
    url.sub("://", "://#{user}:#{password}@")
  end

  # What a block raises; nil where it does not.
  def raised
    yield
    nil
  rescue StandardError => error
    error
  end

  # Does with a context what can be done with one, and answers all that it gets to see; errors are part of it.
  def seen_by(locks)
    told = Thread::Queue.new
    locks.on_log(level: :debug) { |entry| told << entry }
    locks.on_event { |event| told << event }
    owner, queue = locks.owner("o"), locks.completions
    seen = calls_on(locks, owner).map { |call| raised_or { call.call } }
    seen << raised_or { locks.submit("b", completions: queue, wait: 1) && queue.next(wait: Helper::LIMIT_S) }
    seen << raised_or { locks.submit_ping(completions: queue) && queue.next(wait: Helper::LIMIT_S) }
    locks.close
    refute_empty told, "neither an event nor the log was told"
    [locks, locks.result, owner, queue, seen, Array.new(told.size) { told.pop }]
  end

  def calls_on(locks, owner)
    bad = "redis://me:#{secret}@host:0"
    [-> { locks.ping }, -> { locks.lock("a", ttl: 1, wait: 1, owner: owner) },
     -> { locks.lock!("a", ttl: 1, wait: 0.001, busy_info: true) }, -> { locks.queue("a") },
     -> { locks.locks.to_a }, -> { locks.instances.to_a }, -> { locks.quorum_status }, -> { locks.stats },
     -> { locks.zombies_status }, -> { locks.prometheus }, -> { locks.instance_id },
     -> { locks.lock("c", nodes: [bad]) }, -> { locks.read("a", node: bad) }, -> { locks.set_nodes([bad]) },
     -> { locks.clear }, -> { locks.lock(nil) }]
  end

  def raised_or
    yield
  rescue StandardError => error
    error
  end
end
