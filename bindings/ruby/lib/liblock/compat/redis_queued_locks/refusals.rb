# SPDX-License-Identifier: MIT
#
# What the library refuses, as the error of this layer: a value that is out of its range is an ArgumentError here,
# whichever call it was given to.
module RedisQueuedLocks
  # @api private
  module Refusals
    NAME_BYTES = (1..512).freeze
    # Besides the library's own answer: what its Ruby side cannot hand over to it.
    REFUSED = [Liblock::InvalidArgument, ::ArgumentError, RangeError].freeze
    private_constant :NAME_BYTES

    module_function

    # Said here, since not every question of the library says what was wrong with its key.
    def name(text)
      return text if NAME_BYTES.cover?(text.bytesize)

      raise ArgumentError, "a lock name has 1 to 512 bytes, not #{text.bytesize}"
    end

    def translated(error)
      error.is_a?(ArgumentError) ? error : ArgumentError.new(error.message)
    end

    # The class's public calls of these modules, which take no block, are as they were but for that.
    def translate_in(client, *modules)
      calls = modules.flat_map { |one| one.public_instance_methods(false) }
      client.prepend(Module.new do
        calls.each do |name|
          define_method(name) do |*given, **options|
            super(*given, **options)
          rescue *REFUSED => error
            raise Refusals.translated(error)
          end
        end
      end)
    end
  end
end
