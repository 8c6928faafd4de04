# SPDX-License-Identifier: MIT
#
# The server of a redis client, as liblock reaches it: the client's own connection is not used, only what it says of
# address, user, password, database, times and certificates. All locks of a process on one server share one context.
#
# Invariants: keys are as the original has them, without a prefix; a lock outlives its process and is flushed by nobody,
# since only its expiry ends it; a child process opens its own contexts.
require "liblock"

class RedisExpLock
  # @api private
  class Server
    OPEN = { prefix: "", on_close: :leave, zombie_interval: :forever }.freeze
    # What liblock takes as a time.
    TIMEOUTS_S = (0.001..600).freeze
    FILES = { ca_file: :tls_ca_file, ca_path: :tls_ca_path }.freeze
    # OpenSSL::SSL::VERIFY_NONE, which is not loaded for this.
    VERIFY_NONE = 0
    private_constant :OPEN, :TIMEOUTS_S, :FILES, :VERIFY_NONE

    @contexts = {}
    @mutex = Thread::Mutex.new

    class << self
      # @param redis [Object, String] a client, or a url
      # @raise [ArgumentError] it does not say where its server is, or that is nothing liblock can reach
      def of(redis)
        return new(redis, {}) if redis.is_a?(String)

        told = told_by(redis)
        refuse(told)
        new(url_of(told), options_of(told, redis))
      end

      # The context of this process for a server.
      def context(url, options)
        key = [Process.pid, url, options]
        @contexts[key] || @mutex.synchronize do
          @contexts[key] ||= Liblock.open(url, **OPEN, **options)
        end
      end

      private

      # A Hash, whatever the client's generation: redis-rb up to 4 has one, of 5 it is an object with such readers.
      def told_by(redis)
        # In between, `client` became a command.
        name = %i[_client client].find { |one| redis.respond_to?(one) }
        client = name && redis.public_send(name)
        return client.options if client.respond_to?(:options)
        raise ArgumentError, ":redis does not say where its server is" unless client.respond_to?(:config)

        config = client.config
        names = %i[host port path username password db ssl ssl_params connect_timeout read_timeout id]
        told = names.to_h { |name| [name, config.respond_to?(name) ? config.public_send(name) : nil] }
        told.merge(sentinels: config.respond_to?(:sentinel?) && config.sentinel? || nil)
      end

      def refuse(told)
        raise ArgumentError, "liblock takes one server, and no sentinels: give the master's" if told[:sentinels]

        given = %i[cert key cert_store].select { |name| (told[:ssl_params] || {})[name] }
        return if given.empty?

        raise ArgumentError, ":ssl_params #{given.inspect} are objects: only ca_file, ca_path and verify_mode are taken"
      end

      def url_of(told)
        return "unix://#{escape(told[:path], "/")}?db=#{told[:db].to_i}" if told[:path]

        host = told[:host].to_s
        host = host.include?(":") ? "[#{host.delete("[]")}]" : escape(host)
        "#{tls?(told) ? "rediss" : "redis"}://#{host}:#{told[:port].to_i}/#{told[:db].to_i}"
      end

      def tls?(told)
        told[:ssl] || told[:scheme] == "rediss"
      end

      def escape(text, kept = "")
        text.b.gsub(/[^A-Za-z0-9._~-]/n) { |byte| kept.include?(byte) ? byte : format("%%%02X", byte.ord) }
      end

      def options_of(told, redis)
        options = { connect_timeout: time_of(told[:connect_timeout]), command_timeout: time_of(told[:read_timeout]),
                    client_name: name_of(told[:id]) }
        options.update(username: text_of(told[:username]), password: text_of(told[:password])) if told[:password]
        options.update(tls_of(told[:ssl_params] || {})) if tls?(told)
        options.compact.merge(namespace_of(redis))
      end

      def tls_of(params)
        files = FILES.to_h { |theirs, ours| [ours, text_of(params[theirs])] }
        files.merge(tls_insecure: (true if params[:verify_mode] == VERIFY_NONE))
      end

      # A client that puts a namespace before its keys does so for the original's, too.
      def namespace_of(redis)
        name = %i[full_namespace namespace].find { |one| redis.respond_to?(one) }
        space = name && redis.public_send(name)
        space = space.call if space.respond_to?(:call)
        space.nil? || space.to_s.empty? ? {} : { prefix: "#{space}:" }
      end

      def time_of(seconds)
        seconds&.positive? ? seconds.clamp(TIMEOUTS_S) : nil
      end

      def text_of(value)
        value && String(value)
      end

      # A server takes names without blanks only, and answers a connection with another one by an error.
      def name_of(id)
        id && String(id).match?(/\A[!-~]+\z/) ? String(id) : nil
      end
    end

    attr_reader :url, :options

    def initialize(url, options)
      @url, @options = url, options.freeze
    end

    # The context of this process.
    def context
      Server.context(@url, @options)
    end

    # Passwords are not shown.
    def inspect
      "#<#{self.class}>"
    end
  end
end
