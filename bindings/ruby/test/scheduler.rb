# SPDX-License-Identifier: MIT
#
# As small a Fiber scheduler as the tests need: waits for descriptors, sleeps, blocking by queues and joins.
class Scheduler
  def initialize
    @readable, @writable, @sleeping, @blocked, @ready = {}, {}, {}, {}, Thread::Queue.new
    @urgent, @bell = IO.pipe
  end

  def run
    until idle?
      limit = [@sleeping.values.min, @ready.empty? ? nil : 0].compact.min
      wait = limit && [limit - now, 0].max
      readable, writable = IO.select(@readable.keys + [@urgent], @writable.keys, [], wait)
      @urgent.read_nonblock(1024, exception: false) if readable&.include?(@urgent)
      readable.to_a.each { |io| @readable.delete(io)&.transfer_in(IO::READABLE) }
      writable.to_a.each { |io| @writable.delete(io)&.transfer_in(IO::WRITABLE) }
      due = @sleeping.select { |_, at| at <= now }.keys
      due.each { |fiber| @sleeping.delete(fiber) && fiber.alive? && fiber.resume(false) }
      resume_ready
    end
  end

  alias close run

  def io_wait(io, events, timeout)
    fiber = Fiber.current
    waiting = Waiting.new(fiber)
    @readable[io] = waiting if events.anybits?(IO::READABLE)
    @writable[io] = waiting if events.anybits?(IO::WRITABLE)
    @sleeping[fiber] = now + timeout if timeout
    Fiber.yield
  ensure
    @sleeping.delete(fiber)
    @readable.delete(io)
    @writable.delete(io)
  end

  Waiting = Struct.new(:fiber) do
    def transfer_in(events)
      fiber.resume(events)
    end
  end

  def kernel_sleep(duration = nil)
    block(:sleep, duration)
    true
  end

  def block(_blocker, timeout = nil)
    fiber = Fiber.current
    @blocked[fiber] = true
    @sleeping[fiber] = now + timeout if timeout
    Fiber.yield
  ensure
    @blocked.delete(fiber)
    @sleeping.delete(fiber)
  end

  # From any thread.
  def unblock(_blocker, fiber)
    @ready << fiber
    @bell.write_nonblock(".", exception: false)
  end

  def fiber(&block)
    Fiber.new(blocking: false, &block).tap(&:resume)
  end

  private

  def idle?
    @readable.empty? && @writable.empty? && @sleeping.empty? && @blocked.empty? && @ready.empty?
  end

  def resume_ready
    until @ready.empty?
      fiber = @ready.pop
      fiber.resume(true) if fiber.alive? && @blocked.key?(fiber)
    end
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
