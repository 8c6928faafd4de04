# SPDX-License-Identifier: MIT
#
# A server that does not answer, or refuses, was an error of the redis client: whoever rescues these shall still do so.
# The error of liblock, which says more, is the cause.
class RedisExpLock
  # @api private
  module Failures
    NAMES = {
      connect: :CannotConnectError, auth: :CommandError, server: :CommandError, read_only: :CommandError,
      wrong_type: :CommandError, in_doubt: :TimeoutError
    }.freeze

    module_function

    # The error to raise for one of liblock: that of the redis client where there is one of this name.
    def of(error, redis)
      name = NAMES[error.status]
      known = name && !redis.is_a?(String) && defined?(::Redis) && ::Redis.const_defined?(name, false)
      return error unless known

      ::Redis.const_get(name, false).new(error.message)
    end
  end
end
