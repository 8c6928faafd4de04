// SPDX-License-Identifier: MIT

// Package raw has the options of liblock as plain numbers, so that the conformance runner can say values that the
// options of the public package would not let a caller say.
package raw

// Default is LIBLOCK_DEFAULT: the default of the context.
const Default = -1 << 63

// FillWithRubbish makes results begin as rubbish instead of zeros, so that one which the library forgets to fill in
// shows. It is set by the public package, and called before any other use of it.
var FillWithRubbish func(on bool)

// InContext is a *liblock.Lock of the same number in another *liblock.Context, which no caller can make.
var InContext func(lock, context interface{}) interface{}

// Acquire mirrors liblock_acquire_options; fields that point at something are options of the public package.
type Acquire struct {
	TTLMs, WaitMs, Retries, RetryIntervalMs, RetryJitterMs int64
	BackoffStepMs, BackoffCapMs, AgeStepMs, QueueTTLMs     int64
	MaxHoldMs, MinRemainingMs, ReplicasTimeoutMs           int64
	Backoff, BackoffBase, Order, Priority, Mode            int32
	OnConflict, OnDeadlock, Renew, Replicas, Instrument    int32
	BusyInfo, Votes, OnNodesMismatch                       int32
	EventTag                                               uint64
}

// Open mirrors the numbers of liblock_context_options.
type Open struct {
	CleanupIntervalMs, CleanupBatchSize, MaxTTLMs, DeadlockDetection, DeadlockDelayMs int64
	LocksMax, WaitersMax, RequestsMax                                                 int64
	ConnectTimeoutMs, CommandTimeoutMs, AliveMs, ForeignGapMs, ZombieIntervalMs       int64
	ClockStepMs, FrontMs                                                              int64
	OnClose, TLSInsecure, Votes, RestartPolicy                                        int32
}
