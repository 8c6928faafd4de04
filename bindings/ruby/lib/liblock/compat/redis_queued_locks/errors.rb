# SPDX-License-Identifier: MIT
#
# The original's errors under its names. It spelled "acquierment" until 1.13 and "acquirement" since: one class has
# both names, so that either rescue works.
module RedisQueuedLocks
  # All errors of this layer.
  Error = Class.new(StandardError)
  # An option or argument that cannot be.
  ArgumentError = Class.new(::ArgumentError)
  # fail_fast, and somebody has the lock.
  LockAlreadyObtainedError = Class.new(Error)
  # `timeout` ended before the lock was obtained.
  LockAcquiermentTimeoutError = Class.new(Error)
  # `retry_count` ended before the lock was obtained.
  LockAcquiermentRetryLimitError = Class.new(Error)
  # A timed block took longer than the lock lives.
  TimedLockTimeoutError = Class.new(Error)
  # conflict_strategy :dead_locking, and the acquirer holds the lock already.
  ConflictLockObtainError = Class.new(Error)
  # A configuration that cannot be.
  ConfigError = Class.new(Error)
  # The configuration has no such key.
  ConfigNotFoundError = Class.new(ConfigError)
  # The key cannot have this value.
  ConfigValidationError = Class.new(ConfigError)

  # {LockAcquiermentTimeoutError} as it is spelled since 1.13.
  LockAcquirementTimeoutError = LockAcquiermentTimeoutError
  # {LockAcquiermentRetryLimitError} as it is spelled since 1.13.
  LockAcquirementRetryLimitError = LockAcquiermentRetryLimitError

  # What the methods answer.
  Data = Class.new(Hash)
end
