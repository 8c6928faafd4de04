# SPDX-License-Identifier: MIT
#
# Where the server is, read off what the original takes: a RedisClient, pooled or not. Any object of that shape will do:
# one with a `config` that knows host, port, db and so on; its configuration itself; or a url. The library then makes
# connections of its own.
module RedisQueuedLocks
  # @api private
  class Connection
    # Its bounds for a timeout; a client without one ("wait for ever") has the library's default.
    TIMEOUT_S = (0.01..60.0).freeze

    attr_reader :url, :options

    def initialize(client)
      @client = client
      if client.is_a?(String)
        @url, @options = client, {}
      else
        config = config_of(client)
        refuse_sentinels(config)
        @url, @options = url_of(config), options_of(config)
      end
    end

    # Equal for those who may share a context.
    def key
      [url, options]
    end

    # Asks the server as the given client does. nil where that is not possible.
    def call(*words)
      return @client.call(*words) if @client.respond_to?(:call)

      Timeout.timeout(PlainRedis::LIMIT_S) { (@plain ||= PlainRedis.new(url)).call(*words) }
    end

    def finish
      @plain&.close
      @plain = nil
    end

    # What may be written of an error that `call` ended with. The given client may repeat what its server says of a
    # command, and that may be its password.
    def wording_of(error)
      password = options[:password].to_s.b
      password.empty? || !error.message.b.include?(password) ? error.message : error.class.name
    end

    # Url and password are not shown.
    def inspect
      "#<#{self.class}>"
    end

    private

    def config_of(client)
      candidates = [client]
      candidates << client._client if client.respond_to?(:_client)
      # Of redis-rb `config` is a command.
      candidates.map { |one| one.respond_to?(:config) && one.method(:config).arity.zero? ? one.config : one }
                .find { |one| one.respond_to?(:host) || one.respond_to?(:path) } or
        raise ArgumentError, "neither a url nor a redis client: #{client.class} has no config with host and port"
    end

    # Asked for host and port, it would name the master of now, and liblock would stay with that one.
    def refuse_sentinels(config)
      options = told(config, :options) # of redis-rb 4, whose client is its own configuration
      return unless told(config, :sentinel?) || (options.is_a?(Hash) && options[:sentinels])

      raise ArgumentError, "liblock takes one server, and no sentinels: give the master's"
    end

    def url_of(config)
      path = told(config, :path)
      db = told(config, :db) || 0
      return "unix://#{path.gsub(/[%?]/) { |one| format("%%%02X", one.ord) }}?db=#{db}" if path

      host = config.host.to_s
      host = "[#{host}]" if host.include?(":") && !host.start_with?("[")
      "#{secure?(config) ? "rediss" : "redis"}://#{host}:#{told(config, :port) || 6379}/#{db}"
    end

    def options_of(config)
      options = { username: told(config, :username), password: told(config, :password),
                  connect_timeout: timeout(config, :connect_timeout),
                  command_timeout: timeout(config, :read_timeout) }
      options.delete(:username) unless options[:password]
      options.merge!(tls_of(told(config, :ssl_params) || {})) if secure?(config)
      options.compact
    end

    def tls_of(given)
      { tls_ca_file: given[:ca_file], tls_ca_path: given[:ca_path], tls_server_name: given[:hostname],
        tls_certificate_file: file(given[:cert]), tls_key_file: file(given[:key]),
        tls_insecure: given[:verify_mode] == 0 || nil } # rubocop:disable Style/NumericPredicate -- may be nil
    end

    # A certificate that was read already cannot be given to the library, which reads files.
    def file(given)
      return given if given.nil? || given.is_a?(String)

      raise ArgumentError, "certificates and keys are given as files, not as #{given.class}"
    end

    def secure?(config)
      config.respond_to?(:ssl?) ? config.ssl? : told(config, :ssl)
    end

    def timeout(config, name)
      given = told(config, name)
      given.is_a?(Numeric) && TIMEOUT_S.cover?(given) ? given : nil
    end

    def told(config, name)
      config.respond_to?(name) ? config.public_send(name) : nil
    end
  end
end
