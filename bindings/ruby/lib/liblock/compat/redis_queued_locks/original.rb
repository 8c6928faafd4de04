# SPDX-License-Identifier: MIT
#
# Is somebody still on the original gem? Its locks (`rql:lock:*`) and ours do not exclude each other, so a fleet that
# runs both is not safe: whoever opens a client is told, loudly.
require "socket"
require "timeout"
require "uri"

module RedisQueuedLocks
  # Three commands over a connection of its own, for clients that were given a url only. Its errors are written to a
  # log: none has a part of the url, nor what a server says of a password.
  # @api private
  class PlainRedis
    LIMIT_S = 1
    # The server answers an error.
    Refused = Class.new(IOError)

    def initialize(url)
      @url = url
    end

    # @return the answer: a string, number, list, or nil
    def call(*words)
      @socket ||= connect
      send_command(words)
    end

    def close
      @socket&.close
      @socket = nil
    end

    # The url is not shown.
    def inspect
      "#<#{self.class}>"
    end

    private

    def send_command(words)
      @socket.write("*#{words.size}\r\n", *words.map { |word| "$#{word.to_s.bytesize}\r\n#{word}\r\n" })
      read
    end

    def connect
      uri = parsed
      @socket = uri.scheme == "unix" ? UNIXSocket.new(plain(uri.path)) : tcp(uri)
      log_in(uri.user, uri.password) if uri.respond_to?(:password) && uri.password
      db = uri.scheme == "unix" ? uri.query.to_s[/db=(\d+)/, 1] : uri.path.to_s.delete_prefix("/")
      send_command(["SELECT", db]) unless db.to_s.empty?
      @socket
    end

    def parsed
      URI(@url)
    rescue URI::Error
      raise IOError, "the url cannot be read"
    end

    def log_in(user, password)
      send_command(["AUTH", *[user].compact.reject(&:empty?), password].map { |one| plain(one) })
    rescue Refused
      raise IOError, "the server does not take this user and password"
    end

    def tcp(uri)
      socket = Socket.tcp(uri.host.delete("[]"), uri.port || 6379, connect_timeout: LIMIT_S)
      return socket unless uri.scheme == "rediss"

      require "openssl"
      context = OpenSSL::SSL::SSLContext.new.tap(&:set_params)
      OpenSSL::SSL::SSLSocket.new(socket, context).tap do |secure|
        secure.hostname = uri.host
        secure.sync_close = true
        secure.connect
      end
    end

    def plain(text)
      URI.decode_uri_component(text)
    rescue NoMethodError # Ruby 3.1 has none
      text.gsub(/%(\h\h)/) { $1.hex.chr }
    end

    def read
      line = @socket.gets("\r\n") or raise IOError, "the server has closed the connection"
      kind, rest = line[0], line[1..].chomp
      case kind
      when "-" then raise Refused, rest
      when ":" then Integer(rest)
      when "$" then rest == "-1" ? nil : @socket.read(Integer(rest) + 2).chomp("\r\n")
      when "*" then rest == "-1" ? nil : Array.new(Integer(rest)) { read }
      else rest
      end
    end
  end

  # Looks for what the original gem has stored.
  # @api private
  module Original
    PATTERN = "rql:lock:*"
    COUNT = 1_000
    # A keyspace may be vast; whoever opens a client does not wait for longer than this.
    LIMIT_S = 2

    module_function

    # @return [Boolean] has it looked? Not where the server could not be asked.
    def warn_of(connection, reporter)
      found = keys(connection)
      return true if found.empty?

      text = "liblock: WARNING: this server has locks of the original gem redis_queued_locks (such as " \
             "#{found.first.inspect}). A process that is still on the original and one on liblock's layer do NOT " \
             "exclude each other: move all users of a lock at once."
      Kernel.warn(text)
      reporter.log(text)
      true
    rescue StandardError => error
      reporter.log("liblock: it is not known whether the original gem has locks on this server: " \
                   "#{connection.wording_of(error)}")
      false
    ensure
      connection.finish
    end

    # The first keys that were found; looking ends with them.
    def keys(connection)
      cursor = "0"
      limit = now + LIMIT_S
      loop do
        cursor, found = connection.call("SCAN", cursor, "MATCH", PATTERN, "COUNT", COUNT)
        return found unless found.empty?
        return [] if cursor.to_s == "0" || now > limit
      end
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
