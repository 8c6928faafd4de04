# SPDX-License-Identifier: MIT
#
# A context: a namespace of keys on one backend. This file opens and closes it and is what its parts stand on: the
# check that it belongs to this process, the calls that have a result, and memory and queues that are used again.
require_relative "fork_guard"
require_relative "worker"
require_relative "handle"
require_relative "options"
require_relative "completions"
require_relative "acquisition"
require_relative "losses"
require_relative "teller"
require_relative "owner"
require_relative "lock"

module Liblock
  # A namespace of keys on one backend. May be used by any number of threads and fibers at once; a forked child opens
  # its own. Opened by {Liblock.open}.
  class Context
    # Places in the queue of one who waits: its request, and notices that nobody reads.
    QUEUE_CAPACITY = 64
    QUEUES_KEPT = 64
    SLOTS_KEPT = 256
    UNINTERRUPTED = { Object => :never }.freeze
    private_constant :QUEUE_CAPACITY, :QUEUES_KEPT, :SLOTS_KEPT, :UNINTERRUPTED

    # @return [Result] what opening told; its message says what is wrong with the nodes of a quorum
    attr_reader :result
    # @return [Symbol] :local, :server or :quorum
    attr_reader :kind

    # A key as bytes that nobody can change meanwhile.
    # @api private
    def self.key(key)
      case key
      when Symbol then key.name
      when String then key.frozen? ? key : key.dup.freeze
      when Integer then key.to_s.freeze
      else
        raise ArgumentError, "a key is a String, Symbol or Integer, not #{key.class}: the text of another object may " \
                             "be another in each process, and then excludes nobody (several keys: lock_many)"
      end
    end

    # @api private
    def initialize(url, owner: nil, on_open: nil, **options)
      unless Ractor.current.equal?(Ractor.main)
        raise Ractor::UnsafeError, "ffi can be called from the main Ractor only: open liblock's contexts there"
      end
      @generation = ForkGuard.generation
      @default_owner = owner
      @kind = kind_of(url)
      @slots, @queues = [], []
      @mutex = Thread::Mutex.new
      @teller = Teller.new
      @owners = Owners.new(self)
      open(url, Options.context(options), on_open && CallbackBlock.new(&on_open))
    end

    # Ends everything the context does: waits end as Closed, locks are released (or left, with on_close: :leave), owners
    # are closed. A second call does nothing. Blocks until no other thread is inside a call of this context, and until
    # whoever listens has been told everything.
    # @return [void]
    def close
      check_fork
      return if closed?

      if @listener
        over = Thread::Queue.new
        begin_close { over << true }
        over.pop
      end
      status = offload { guarded(always: true) { Native.close(pointer) } }
      raise Error.of(Result.of_status(status)) unless status.zero?

      after_close
    end

    # The same without waiting for it: the block, if given, is called with its {Completion} on a Ruby thread once
    # everything has ended.
    # @return [void]
    def close_async(&block)
      check_fork
      begin_close do |completion|
        Worker.start("close") do
          after_close
          block&.call(completion)
        end
      end
    end

    def closed?
      @closed ? true : false
    end

    # Is the backend there?
    # @return [Result]
    # @raise [Connect, Auth, Server]
    def ping
      ask { |native, told| Native.ping(native, told) }
    end

    # @return [String] the identity of this context among all instances: "process-random@host"
    def instance_id
      text_of { |*room| native { |native| Native.instance_id(native, *room) } }
    end

    # Opens an owner: an identity of its own, whatever its name (0 to 255 bytes).
    # @return [Owner]
    def owner(name = "")
      Owner.new(self, name)
    end

    # Opens a queue in which ends of requests are read.
    # @param capacity [Integer] 1 to 1,048,576 entries; more are refused as Limit
    # @return [Completions]
    def completions(capacity: 1024)
      Completions.new(self, capacity)
    end

    def local?
      @kind == :local
    end

    # @return [String] for people
    def inspect
      "#<#{self.class} #{kind}#{" closed" if closed?}>"
    end

    # ------------------------------------------------------------------------------------------------ for the parts

    # @api private
    def pointer
      @handle.pointer
    end

    # @api private
    def check_fork
      return if @generation == ForkGuard.generation

      raise Error.of(Result.of_status(STATUSES[:forked]))
    end

    # @api private
    def usable?
      @generation == ForkGuard.generation
    end

    # Runs a call on the native context, which answers a status.
    # @api private
    def native
      check_fork
      guarded { yield pointer }
    end

    # Runs a call in which the library may call back on this very thread: the log, a sampler, a place in the queue. A
    # thread that was ended in there would leave C by a jump and what C had still to do undone, on a native thread that
    # other Ruby threads go on with: so interruptions wait for its end. A local call that nobody listens to saves that,
    # unless it is `always` the one that must know what it was given.
    # @api private
    def guarded(always: false, &call)
      return yield if local? && !@calls_back && !always

      Thread.handle_interrupt(UNINTERRUPTED, &call)
    end

    # Runs a call that has a result; what is not OK (or among `also`) is raised.
    # @api private
    def ask(also: nil)
      check_fork
      slot = take_slot
      result = offload { guarded { told(yield(pointer, slot.result), slot.result) } }
      give_slot(slot)
      raise Error.of(result) unless result.ok? || also&.include?(result.status)

      result
    end

    # @api private
    def result_memory
      Native::Result.blank.to_ptr
    end

    # What a call told that returned this status.
    # @api private
    def told(_status, memory)
      Result.read(memory)
    end

    # Closes the owners of threads, fibers and Ractors that are over, which otherwise is done in a moment.
    # @api private
    def close_owners_of_the_dead
      @owners.close_dead
    end

    # A Fiber scheduler cannot wait for a native call, but for a thread. What is raised into the fiber meanwhile waits
    # for the end of the call, which writes into memory of its caller, and may be granted a lock.
    # @api private
    def offload(&block)
      return yield if local? || Fiber.current_scheduler.nil?

      worker = nil
      Thread.handle_interrupt(UNINTERRUPTED) do
        worker = Thread.new { Thread.current.report_on_exception = false; block.call }
      end
      worker.value
    ensure
      wait_out(worker) if worker
    end

    # Text that comes out as with snprintf.
    # @api private
    def text_of
      needed = FFI::MemoryPointer.new(:size_t)
      room = 512
      loop do
        buffer = FFI::MemoryPointer.new(:char, room)
        status = yield buffer, room, needed
        raise Error.of(Result.of_status(status)) unless status.zero?

        size = needed.get(:size_t, 0)
        return Numbers.text(buffer.get_bytes(0, size)) if size < room

        room = size + 1 + size / 4
      end
    end

    # @api private
    def owner_of(word)
      @owners.of(word || @default_owner)
    end

    # @api private
    attr_reader :default_owner, :teller

    # @api private
    def losses
      @losses || @mutex.synchronize { @losses ||= Losses.new(self) }
    end

    # @api private
    def take_slot
      (@slots.pop || Slot.new).clear
    end

    # @api private
    def give_slot(slot)
      @slots.push(slot) if @slots.size < SLOTS_KEPT
    end

    # A queue without an entry that counts. The block keeps it, before anything can interrupt the caller.
    # @api private
    def take_queue
      Thread.handle_interrupt(UNINTERRUPTED) do
        yield(queue = @queues.pop || Completions.new(self, QUEUE_CAPACITY))
        nil while queue.take
      end
    end

    # @api private
    def give_queue(queue)
      @queues.size < QUEUES_KEPT && !closed? ? @queues.push(queue) : queue.free
    end

    # @api private
    def adopt_owner(pointer)
      @handle.adopt_owner(pointer)
    end

    # @api private
    def adopt_queue(pointer)
      @handle.adopt_queue(pointer)
    end

    # @api private
    def free_queue(pointer)
      guarded { @handle.free_queue(pointer) }
    end

    # @api private
    def free_owner(pointer)
      guarded { @handle.free_owner(pointer) }
    end

    # One that is closed holds nothing: it is freed when nobody can use it any more.
    # @api private
    def free_owner_later(owner)
      ObjectSpace.define_finalizer(owner, @handle.owner_finalizer(owner.pointer))
    end

    # One that nobody was given: whoever was opening it was interrupted.
    # @api private
    def free_queue_later(queue)
      ObjectSpace.define_finalizer(queue, @handle.queue_finalizer(queue.pointer))
    end

    # @api private
    def after_close
      @mutex.synchronize do
        return if @closed

        @closed = true
      end
      @losses&.stop
      @teller.finish
      stop_listening
      @queues.pop.free until @queues.empty?
    end

    private

    # Whatever else is raised meanwhile: the first of it is what the caller sees.
    def wait_out(worker)
      worker.join while worker.alive?
    rescue Exception # rubocop:disable Lint/RescueException -- also what ends the fiber comes behind the call
      retry
    end

    # What liblock_close_async calls when all is over: on its own thread, so only for a moment.
    # @api private
    class CloseNotice
      def initialize(&block)
        @block = block
      end

      def on_ended(completion)
        Callbacks.forget(self)
        @block.call(Completion.read(Native::Completion.new(completion)))
      end
    end

    def begin_close(&block)
      notice = CloseNotice.new(&block)
      status = guarded { Native.close_async(pointer, Callbacks.function(:ended), Callbacks.remember(notice)) }
      raise Error.of(Result.of_status(status)) unless status.zero?
    end

    def kind_of(url)
      unless url.nil? || url.respond_to?(:to_str)
        raise TypeError, "a url is a String, such as \"local:\" or \"redis://localhost\", not #{url.class}"
      end
      return :quorum if url.nil? || url.start_with?("quorum:")

      url.start_with?("local:") ? :local : :server
    end

    def open(url, fields, on_open)
      if on_open
        fields.struct[:on_open] = Callbacks.function(:opened)
        fields.struct[:on_open_user_data] = Callbacks.remember(on_open)
      end
      out, memory = FFI::MemoryPointer.new(:pointer), result_memory
      guarded(always: true) do
        @result = told(Native.open(url, fields.struct, out, memory), memory)
        ObjectSpace.define_finalizer(self, (@handle = Handle.new(out.read_pointer)).finalizer) if @result.ok?
      end
      raise Error.of(@result) unless @result.ok?
    ensure
      Callbacks.forget(on_open)
    end
  end
end
