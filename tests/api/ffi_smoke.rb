# SPDX-License-Identifier: MIT
#
# Smoke test from Ruby by the ffi gem: the object needs no macro and no struct that an FFI cannot express.
# The path of the object is the only argument.
require "ffi"

module Liblock
  extend FFI::Library
  ffi_lib ARGV.fetch(0)

  OK = 0
  BUSY = 1
  NOT_HELD = 20
  INVALID_HANDLE = 61

  # Copied from the header by hand, field by field, as a foreign program would do.
  class AcquireOptions < FFI::Struct
    layout :struct_size, :size_t, :owner, :pointer, :ttl_ms, :int64, :wait_ms, :int64, :retries, :int64,
           :retry_interval_ms, :int64, :retry_jitter_ms, :int64, :backoff, :int32, :backoff_base, :int32,
           :backoff_step_ms, :int64, :backoff_cap_ms, :int64, :backoff_callback, :pointer,
           :backoff_user_data, :pointer, :order, :int32, :priority, :int32, :age_step_ms, :int64,
           :queue_ttl_ms, :int64, :mode, :int32, :on_conflict, :int32, :on_deadlock, :int32, :renew, :int32,
           :max_hold_ms, :int64, :min_remaining_ms, :int64, :value, :pointer, :value_size, :size_t,
           :metadata, :pointer, :metadata_count, :size_t, :on_lost, :pointer, :on_lost_user_data, :pointer,
           :completions, :pointer
  end

  attach_function :liblock_version_string, [], :string
  attach_function :liblock_status_name, [:int32], :string
  attach_function :liblock_open, %i[string pointer pointer pointer], :int32
  attach_function :liblock_close, [:pointer], :int32
  attach_function :liblock_context_free, [:pointer], :void
  attach_function :liblock_acquire_options_init, %i[pointer size_t], :void
  attach_function :liblock_acquire, %i[pointer pointer size_t pointer pointer pointer], :int32, blocking: true
  attach_function :liblock_release, %i[pointer uint64 pointer], :int32
  attach_function :liblock_fencing_token, %i[pointer uint64 pointer], :int32
  attach_function :liblock_remaining_ms, %i[pointer uint64 pointer], :int32
end

class Smoke
  def initialize
    @count = 0
    @failures = 0
    place = FFI::MemoryPointer.new(:pointer)
    check Liblock.liblock_open("local:", nil, place, nil) == Liblock::OK, "a local context opens"
    @context = place.read_pointer
  end

  def check(good, sentence)
    @count += 1
    @failures += 1 unless good
    puts "#{good ? 'ok' : 'not ok'} #{@count} - #{sentence}"
  end

  def acquire(key, options)
    bytes = FFI::MemoryPointer.from_string(key)
    place = FFI::MemoryPointer.new(:uint64)
    status = Liblock.liblock_acquire(@context, bytes, key.bytesize, options, place, nil)
    [status, place.read_uint64]
  end

  def token_of(lock)
    place = FFI::MemoryPointer.new(:uint64)
    Liblock.liblock_fencing_token(@context, lock, place) == Liblock::OK ? place.read_uint64 : 0
  end

  def remaining_of(lock)
    place = FFI::MemoryPointer.new(:int64)
    Liblock.liblock_remaining_ms(@context, lock, place) == Liblock::OK ? place.read_int64 : 0
  end

  def null_options
    status, lock = acquire("key", nil)
    check status == Liblock::OK, "null options acquire a free key"
    first = token_of(lock)
    check first.positive?, "a held lock has a token"
    check Liblock.liblock_release(@context, lock, nil) == Liblock::OK, "a held lock is released"
    check Liblock.liblock_release(@context, lock, nil) == Liblock::NOT_HELD, "a second release is not held"
    made_up = Liblock.liblock_release(@context, 12_345, nil)
    check made_up == Liblock::INVALID_HANDLE, "a made-up handle is refused"
    _, again = acquire("key", nil)
    check token_of(again) > first, "the next token is larger"
    Liblock.liblock_release(@context, again, nil)
  end

  def option_struct
    options = Liblock::AcquireOptions.new
    Liblock.liblock_acquire_options_init(options, options.size)
    check options[:struct_size] == options.size, "the init function sets the size"
    options[:ttl_ms] = 60_000
    options[:wait_ms] = 0
    status, lock = acquire("k\0y", options)
    check status == Liblock::OK, "an initialised options struct acquires a key with a zero byte"
    check remaining_of(lock).between?(1, 60_000), "the lease is the one asked for"
    check acquire("k\0y", options).first == Liblock::BUSY, "a held key is busy"
    check Liblock.liblock_release(@context, lock, nil) == Liblock::OK, "the lock is given back"
  end

  def finish
    check Liblock.liblock_version_string.count(".") == 2, "the version is text"
    check Liblock.liblock_status_name(Liblock::BUSY) == "BUSY", "statuses have names"
    check Liblock.liblock_close(@context) == Liblock::OK, "the context closes"
    Liblock.liblock_context_free(@context)
    puts "1..#{@count}"
    exit(@failures.zero? ? 0 : 1)
  end
end

smoke = Smoke.new
smoke.null_options
smoke.option_struct
smoke.finish
