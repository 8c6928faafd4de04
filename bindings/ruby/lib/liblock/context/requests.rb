# SPDX-License-Identifier: MIT
#
# Asynchronous calls: handed over at once, their ends read from a completion queue that the caller opened. For event
# loops and for many requests under way at once; all other calls wait well enough by themselves.
#
# Each answers the request's number, by which its end can be told from others.
module Liblock
  class Context
    # Asks for a lock. Its end has kind :acquire; {#lock_of} makes a {Lock} of it. Losses of it come to the queue, too.
    # @param key as in {#synchronize}
    # @param user_data [Integer] comes back in the end
    # @return [Integer] the request
    # @raise [Limit] no place in the queue
    def submit(key, completions:, user_data: 0, **options)
      acquisition = acquisition_of(key, options.merge(completions: completions))
      check_fork
      request = acquisition.run_async(completions, user_data)
      raise Error.of(acquisition.result) if request.zero?

      request
    ensure
      Acquisition.settle(acquisition)
    end

    # The lock that a request was granted.
    # @param completion [Completion] of kind :acquire and status :ok
    # @param completions [Completions, nil] where it was read: what is kept for a block of `on_lost` ends with the lock
    # @return [Lock]
    def lock_of(completion, keys = [], completions: nil)
      Lock.new(self, completion.lock, Array(keys).map { |key| Context.key(key) }, completion.to_result, completions)
    end

    # Asks a request to end. Its end still comes: :canceled, or whatever ended it before, which may be a grant.
    # @raise [InvalidHandle] it has ended already, or never was
    def cancel(request)
      accepted { |native| Native.cancel(native, request) }
    end

    # Gives a lock back. The end has kind :release, and the status that {Lock#release} would raise or answer; so for the
    # calls below, each of which is the twin of the call that it is named after.
    # @param completions [Completions] where the end is read
    # @param user_data [Integer] comes back in the end
    # @return [Integer] the request; it cannot be canceled
    # @raise [Limit] no place in the queue
    def submit_release(lock, completions:, user_data: 0)
      submitted(completions, user_data) { |native, *rest| Native.release_async(native, lock.handle, *rest) }
        .tap { lock.forget_loss }
    end

    # Twin of {Owner#release_keys}.
    # @return [Integer] the request
    def submit_release_keys(owner, keys, completions:, user_data: 0)
      list = KeyList.new(keys.map { |key| Context.key(key) })
      submitted(completions, user_data) do |native, *rest|
        Native.release_keys_async(native, owner.pointer, list.pointer, list.count, *rest)
      end
    end

    # Twin of {Lock#extend}; ttl in seconds.
    # @return [Integer] the request
    def submit_extend(lock, ttl, completions:, add: false, user_data: 0)
      submitted(completions, user_data) do |native, *rest|
        Native.extend_async(native, lock.handle, Numbers.ttl_ms(ttl), add ? 1 : 0, *rest)
      end
    end

    # Twin of {Lock#update}.
    # @return [Integer] the request
    def submit_update(lock, value, completions:, user_data: 0)
      value = String(value).b
      submitted(completions, user_data) do |native, *rest|
        Native.update_async(native, lock.handle, value, value.bytesize, *rest)
      end
    end

    # Twin of {Lock#verify}.
    # @return [Integer] the request
    def submit_verify(lock, completions:, user_data: 0)
      submitted(completions, user_data) { |native, *rest| Native.verify_async(native, lock.handle, *rest) }
    end

    # Twin of {#ping}.
    # @return [Integer] the request
    def submit_ping(completions:, user_data: 0)
      submitted(completions, user_data) { |native, *rest| Native.ping_async(native, *rest) }
    end

    # Twin of {#inspect_key}; its end has the info.
    # @return [Integer] the request
    def submit_inspect(key, completions:, user_data: 0)
      key = Context.key(key)
      submitted(completions, user_data) { |native, *rest| Native.inspect_async(native, key, key.bytesize, *rest) }
    end

    # Twin of {#read}; its end has the info.
    # @return [Integer] the request
    def submit_read(key, completions:, mode: :quorum, node: nil, user_data: 0)
      key, mode = Context.key(key), Numbers::READS.fetch(mode)
      submitted(completions, user_data) do |native, *rest|
        Native.read_async(native, key, key.bytesize, mode, node, *rest)
      end
    end

    # Twin of {#force_release}.
    # @return [Integer] the request
    def submit_force_release(key, completions:, drop_queue: false, user_data: 0)
      key = Context.key(key)
      submitted(completions, user_data) do |native, *rest|
        Native.force_release_async(native, key, key.bytesize, drop_queue ? 1 : 0, *rest)
      end
    end

    # Twin of {#quorum_init}.
    # @return [Integer] the request
    def submit_quorum_init(completions:, force: false, user_data: 0)
      submitted(completions, user_data) { |native, *rest| Native.quorum_init_async(native, force ? 1 : 0, *rest) }
    end

    # Twin of {#set_nodes}.
    # @return [Integer] the request
    def submit_set_nodes(servers, completions:, observers: [], votes: 0, user_data: 0)
      votes = Numbers::VOTES_ALL if votes == :all
      nodes, others = texts(servers), texts(observers.empty? ? nil : observers)
      submitted(completions, user_data) do |native, *rest|
        Native.quorum_set_nodes_async(native, nodes.first, servers.to_a.size, others.first,
                                      others.last.to_a.size, votes, *rest)
      end
    end

    private

    def submitted(completions, user_data)
      request = FFI::MemoryPointer.new(:uint64)
      completions.use_for_request do |queue|
        accepted { |native| yield native, queue, nil, FFI::Pointer.new(user_data), request }
      end
      request.read_uint64
    end

    def accepted(&block)
      status = native(&block)
      raise Error.of(Result.of_status(status)) unless status.zero?
    end
  end
end
