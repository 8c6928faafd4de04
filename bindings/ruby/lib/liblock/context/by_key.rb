# SPDX-License-Identifier: MIT
#
# Calls on a key instead of a lock: by the value that the lock carries, and questions that anybody may ask.
module Liblock
  class Context
    # Releases the lock of a key that carries this value ("" = none), from any context of the table or prefix.
    # @return [Result]
    # @raise [NotHeld, NotOwner, InDoubt]
    def release_key(key, expected)
      key, expected = Context.key(key), String(expected).b
      ask { |native, told| Native.release_key(native, key, key.bytesize, expected, expected.bytesize, told) }
    end

    # Sets its lease to end `ttl` seconds from now (:none takes the expiry away); add: true adds to what is left.
    # @return [Result]
    # @raise [NotHeld, NotOwner, InDoubt]
    def extend_key(key, expected, ttl, add: false)
      key, expected, ttl_ms = Context.key(key), String(expected).b, Numbers.ttl_ms(ttl)
      ask do |native, told|
        Native.extend_key(native, key, key.bytesize, expected, expected.bytesize, ttl_ms, add ? 1 : 0, told)
      end
    end

    # Replaces its value.
    # @return [Result]
    # @raise [NotHeld, NotOwner, InDoubt]
    def update_key(key, expected, value)
      key, expected, value = Context.key(key), String(expected).b, String(value).b
      ask do |native, told|
        Native.update_key(native, key, key.bytesize, expected, expected.bytesize, value, value.bytesize, told)
      end
    end

    # Does anybody hold the key? Asks the server, where there is one.
    def key_locked?(key)
      flag_of(key) { |native, bytes, out| Native.is_locked(native, bytes, bytes.bytesize, out) }
    end

    # Does anybody wait for the key?
    def key_queued?(key)
      flag_of(key) { |native, bytes, out| Native.is_queued(native, bytes, bytes.bytesize, out) }
    end

    # Does this owner hold the key? Asks the server, where there is one.
    # @param owner as in {#lock}; default: the context's own (owner: of {Liblock.open}), else any lock of this context
    def key_owned?(key, owner: @default_owner)
      info = inspect_key(key) or return false
      owner ? info.owner == owner_of(owner).id : info.instance == instance_id
    end

    # Who holds a key.
    # @return [Info, nil] nil when nobody does
    def inspect_key(key)
      info_of(key) { |native, bytes, out, told| Native.inspect_key(native, bytes, bytes.bytesize, out, told) }
    end

    # Who waits for a key, in the order in which they will be served, and who holds it.
    # @return [Info, nil] nil when nobody holds or waits
    def queue(key)
      info_of(key) { |native, bytes, out, told| Native.inspect_queue(native, bytes, bytes.bytesize, out, told) }
    end

    # Who holds a key and with which value, over a quorum of which nodes.
    # @param mode [Symbol] :quorum (default), :nearest (may be old: decide nothing by it), :master
    # @param node [String, nil] address or id of the one to ask, with :nearest and :master
    # @return [Info, nil] nil when nobody holds it
    # @raise [NoQuorum, Quarantined, Connect, Unsupported]
    def read(key, mode: :quorum, node: nil)
      mode = Numbers::READS.fetch(mode) { raise ArgumentError, "mode is one of #{Numbers::READS.keys.inspect}" }
      info_of(key) { |native, bytes, out, told| Native.read(native, bytes, bytes.bytesize, mode, node, out, told) }
    end

    private

    def flag_of(key)
      key, out = Context.key(key), FFI::MemoryPointer.new(:int32)
      status = offload { native { |native| yield native, key, out } }
      raise Error.of(Result.of_status(status)) unless status.zero?

      out.read_int32 == 1
    end

    def info_of(key)
      key, out = Context.key(key), FFI::MemoryPointer.new(:pointer)
      info = nil
      ask(also: %i[not_held]) do |native, told|
        guarded(always: true) do
          status = yield native, key, out, told
          info = Info.take(out.read_pointer) unless out.read_pointer.null?
          status
        end
      end
      info
    end
  end
end
