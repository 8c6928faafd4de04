# SPDX-License-Identifier: MIT
#
# What only contexts over a quorum have; others answer Unsupported.
module Liblock
  class Context
    # Makes a quorum of the context's nodes: once for each set of servers, before the first lock.
    # @param force [Boolean] marks anew what was part of a quorum; only where nobody holds its locks
    # @return [Result]
    # @raise [NoQuorum, NodesMismatch, InDoubt]
    def quorum_init(force: false)
      ask { |native, told| Native.quorum_init(native, force ? 1 : 0, told) }
    end

    # Gives the quorum other nodes, observers or votes; locks stay held. Takes longer than max_ttl.
    # @param servers [Array<String>, nil] nil: nodes and observers as they are, other votes alone
    # @param votes [Integer, Symbol] nodes that must grant; 0 = a majority, :all
    # @return [Result] its message names new nodes that do not answer
    def set_nodes(servers, observers: [], votes: 0)
      votes = Numbers::VOTES_ALL if votes == :all
      nodes, others = texts(servers), texts(observers.empty? ? nil : observers)
      ask do |native, told|
        Native.quorum_set_nodes(native, nodes.first, servers.to_a.size, others.first, others.last.to_a.size,
                                votes, told)
      end
    end

    # How the quorum and its nodes are, as this context has seen them last. Asks no server.
    # @return [QuorumState]
    # @raise [Unsupported]
    def quorum_status
      state = Native::QuorumState.prepared
      result = nil
      nodes = collected(Native::Node, Node) do |callback, told|
        Native.quorum_status(pointer, state, callback, nil, told).tap { result = told }
      end
      numbers = %i[epoch max_ttl_ms votes nodes up voting quarantined observers].to_h { |name| [name, state[name]] }
      QuorumState.new(cluster_id: state[:cluster_id].to_s, config_hash: state[:config_hash].to_s,
                      configuring: state[:configuring] == 1, each_node: nodes,
                      message: Result.read(result).message, **numbers)
    end

    private

    # A list of texts for C, and what keeps it alive.
    def texts(values)
      return [nil] unless values

      kept = values.map { |value| FFI::MemoryPointer.from_string(String(value)) }
      list = FFI::MemoryPointer.new(:pointer, [kept.size, 1].max)
      list.put_array_of_pointer(0, kept) unless kept.empty?
      [list, kept]
    end
  end
end
