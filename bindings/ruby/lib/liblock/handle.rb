# SPDX-License-Identifier: MIT
#
# The native side of a context: the pointer and what must be freed before it.
#
# Invariants: freed in the order that liblock.h asks for, once, and by the process that opened it only: a child's copy
# belongs to its parent. Nothing is freed while a Ruby object could still use it: that is what finalizers are for.
module Liblock
  # @api private
  class Handle
    attr_reader :pointer

    def initialize(pointer)
      @pointer = pointer
      @pid = Process.pid
      # By the object, not by its address, which may be another's by the time that this one is forgotten.
      @owners, @queues, @cursors = Array.new(3) { {}.compare_by_identity }
    end

    def finalizer
      proc { free }
    end

    def adopt_owner(pointer)
      @owners[pointer] = pointer
    end

    def adopt_queue(pointer)
      @queues[pointer] = pointer
    end

    def adopt_cursor(pointer)
      @cursors[pointer] = pointer
    end

    def free_cursor(pointer)
      Native.cursor_free(pointer) if mine? && @cursors.delete(pointer)
    end

    def cursor_finalizer(pointer)
      proc { free_cursor(pointer) }
    end

    def free_queue(pointer)
      Native.completions_free(pointer) if mine? && @queues.delete(pointer)
    end

    def queue_finalizer(pointer)
      proc { free_queue(pointer) }
    end

    def free_owner(pointer)
      Native.owner_free(pointer) if mine? && @owners.delete(pointer)
    end

    def owner_finalizer(pointer)
      proc { free_owner(pointer) }
    end

    def mine?
      @pointer && @pid == Process.pid
    end

    def free
      return unless mine?

      Native.close(@pointer)
      @cursors.each_key { |cursor| Native.cursor_free(cursor) }
      @owners.each_key { |owner| Native.owner_free(owner) }
      @queues.each_key { |queue| Native.completions_free(queue) }
      Native.context_free(@pointer)
      @pointer = nil
    end
  end
end
