# SPDX-License-Identifier: MIT
#
# tests/integration/client.c, the careful one, in Ruby: locks, works at the resource, writes down what it does. The same
# words, and files in the format of client_record.c. With --loads alone it only shows that the gem can be loaded.
require "liblock"
exit 0 if ARGV == ["--loads"]

# What the worker writes down, and the resource.
class Record
  IDLE, ASKING, HOLDING, RELEASING = 0, 1, 2, 3
  PLACE_BYTES = 32

  def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

  def initialize(directory, name)
    @name = name
    @now = File.open("#{directory}/#{name}.now", File::RDWR | File::CREAT | File::BINARY)
    @log = File.open("#{directory}/#{name}.log", File::WRONLY | File::CREAT | File::APPEND)
    @log.sync = true
    @resource = File.open("#{directory}/resource", File::RDWR | File::BINARY)
    @state, @key, @token, @asked, @from, @until = 0, 0, 0, 0, 0, 0
    write
  end

  def write
    @now.pwrite([@state, @key, @token, @asked, @from, @until].pack("q<6"), 0)
  end

  def asking(key)
    @state, @key, @token, @asked, @from, @until = ASKING, key, 0, Record.now, 0, 0
    write
  end

  def holding(token)
    @state, @token, @from = HOLDING, token, Record.now
    write
  end

  def until(nanoseconds)
    @until = nanoseconds
    write
  end

  def releasing
    @state = RELEASING
    write
  end

  def ended(status)
    ended = Record.now
    @state = IDLE
    write
    hold = @from.positive? && @until > @from
    words = [hold ? "hold" : "call", "k#{@key}", @name, @token, @asked, *([@from, @until] if hold), ended, status]
    @log.syswrite(words.join(" ") << "\n")
  end

  # Reads, or writes the value that is given. The second is false where it is refused: a larger token was here.
  def visit(key, token, value = nil)
    @resource.flock(File::LOCK_EX)
    largest, here, written, refused = @resource.pread(PLACE_BYTES, PLACE_BYTES * key).unpack("q<4")
    allowed = token >= largest
    allowed ? largest = token : refused += 1
    here, written = value, written + 1 if allowed && value
    @resource.pwrite([largest, here, written, refused].pack("q<4"), PLACE_BYTES * key)
    [here, allowed]
  ensure
    @resource.flock(File::LOCK_UN)
  end
end

def still_holds?(record, lock)
  now = Record.now
  holds = lock.held?
  record.until(now) if holds
  holds
end

def work(record, lock, key, dice, hold)
  return unless still_holds?(record, lock)

  token = lock.result.token # also where the lock is lost meanwhile
  value, allowed = record.visit(key, token)
  finish = Record.now + (dice.rand(dice.rand(4).zero? ? 30 * hold : hold) * 1e9)
  holds = true
  while holds && Record.now < finish
    sleep(0.0002 + dice.rand(0.0008))
    holds = still_holds?(record, lock)
  end
  record.visit(key, token, value + 1) if holds && allowed
  still_holds?(record, lock)
end

def options(dice, max_ttl)
  given = { wait: dice.rand(4).zero? ? 0 : 0.1 + dice.rand(1.5) }
  given.update(ttl: 0.1 + dice.rand(max_ttl - 0.1), renew: dice.rand(2).zero?) if dice.rand(3).zero?
  given[:order] = :any if dice.rand(8).zero?
  given
end

# The number of the status that ended the block; 0 where nothing did.
def status_of
  yield
  0
rescue Liblock::Error => e
  Liblock::STATUSES.fetch(e.status)
end

url, name, directory, *numbers = ARGV
abort "usage: as tests/integration/client.c, careful" unless ARGV.size == 10 && numbers[3] == "careful"
keys, max_ttl, hold, dice = numbers[0].to_i, numbers[1].to_i / 1000.0, numbers[2].to_i / 1000.0,
                            Random.new(numbers[4].to_i)
stop = "#{directory}/stop"
record = Record.new(directory, name)
given = { max_ttl: max_ttl, client_name: name, alive: 0.6, votes: numbers[5].to_i }
given.update(connect_timeout: numbers[6].to_i / 1000.0, command_timeout: numbers[6].to_i / 1000.0) if numbers[6] != "0"
begin
  locks = Liblock.open(url, **given)
rescue Liblock::Error
  exit 0 if File.exist?(stop)
  sleep 0.05
  retry
end
until File.exist?(stop)
  key = dice.rand(keys)
  record.asking(key)
  lock = nil
  status = status_of { lock = locks.lock!("k#{key}", **options(dice, max_ttl)) }
  if lock
    record.holding(lock.result.token)
    work(record, lock, key, dice, hold)
    record.releasing
    status = status_of { lock.release }
  end
  record.ended(status)
  sleep(dice.rand(0.005))
end
locks.close
