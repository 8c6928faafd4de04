# SPDX-License-Identifier: MIT
#
# Owners: who holds and who waits. Those of threads, fibers and Ractors are opened when first needed and closed when
# their thread, fiber or Ractor is over.
#
# The library's own "calling thread" is not used: Ruby lets a native thread carry one Ruby thread after the other, so it
# would take the second for the first, and would not see the first one end.
module Liblock
  # An identity that may hold a key several times, takes part in deadlock detection and can release by key. May be used
  # by any number of threads at once. Opened by {Context#owner}.
  class Owner
    # @return [String] as shown in listings: "instance/number/name"
    attr_reader :id

    # @api private
    attr_reader :pointer

    # @api private
    def initialize(context, name)
      @context = context
      out = FFI::MemoryPointer.new(:pointer)
      result = Native::Result.blank
      name = String(name).b
      context.check_fork
      context.guarded(always: true) do
        status = Native.owner_open(context.pointer, name, name.bytesize, out, result)
        @pointer = context.adopt_owner(out.read_pointer) if status.zero?
      end
      @result = Result.read(result.to_ptr)
      raise Error.of(@result) unless @result.ok?

      @id = context.text_of { |*room| Native.owner_id(context.pointer, @pointer, *room) }
    end

    # @return [Result] what opening it told
    attr_reader :result

    # Releases all its locks, ends its waits as Closed. A second call does nothing.
    # @return [void]
    def close
      status = @context.native { Native.owner_close(@pointer) }
      raise Error.of(Result.of_status(status)) unless status.zero?

      @context.free_owner_later(self) unless @over
      @over = true
    end

    # Gives back keys, each once, also a part of a lock on several keys. All or nothing.
    # @return [Result]
    # @raise [NotHeld] one of them is not held by this owner
    def release_keys(*keys)
      list = KeyList.new(keys.flatten.map { |key| Context.key(key) })
      @context.ask { |native, told| Native.release_keys(native, @pointer, list.pointer, list.count, told) }
    end

    # @api private
    def free
      @context.free_owner(@pointer)
    end
  end

  # The owners that a context opens by itself.
  # @api private
  class Owners
    # So often it is looked whose thread, fiber or Ractor is over, while there are any.
    LOOK_S = 0.05

    def initialize(context)
      @context = context
      @mutex = Thread::Mutex.new
      @named = {}
      @living = {}.compare_by_identity
    end

    def of(word)
      case word
      when nil, :none then nil
      when Owner then word
      when :process then named("process")
      when :thread then living(Thread.current, "thread")
      when :fiber then living(Fiber.current, "fiber")
      when :ractor then living(Ractor.current, "ractor")
      when String then named(word)
      else raise ArgumentError, "owner is :process, :thread, :fiber, :ractor, a name or an Owner, not #{word.inspect}"
      end
    end

    def close_dead
      over = locked { @living.keys.reject { |being| alive?(being) }.map { |being| @living.delete(being) } }
      over.each do |owner|
        owner.close
        owner.free
      end
    end

    private

    def named(name)
      @named[name] || locked { @named[name] ||= Owner.new(@context, name) }
    end

    def living(being, kind)
      @living[being] || locked do
        owner = @living[being] ||= Owner.new(@context, "#{kind}-#{being.object_id}")
        @warden = Worker.start("owners") { watch } unless @warden&.alive?
        owner
      end
    end

    # Opening is not interrupted on the way: an owner that nobody knows could not be closed.
    def locked(&block)
      Thread.handle_interrupt(Object => :never) { @mutex.synchronize(&block) }
    end

    def watch
      loop do
        sleep LOOK_S
        break if @context.closed?

        close_dead
        break if locked { @living.empty?.tap { |nobody| @warden = nil if nobody } }
      end
    rescue Error
      nil # the context is closed, and with it its owners
    end

    def alive?(being)
      being.is_a?(Ractor) ? !being.inspect.end_with?("terminated>") : being.alive?
    end
  end
end
