// SPDX-License-Identifier: MIT
// Options of an acquire.

package liblock

// #include "bridge.h"
import "C"

import (
	"time"

	"liblock.dev/go/internal/raw"
)

// LockOption changes how one acquire waits and what its lock is like. What is left out has the library's default.
type LockOption func(*lockOptions)

type lockOptions struct {
	raw.Acquire
	owner      *Owner
	thread     bool
	blocking   bool
	notify     bool
	value      []byte
	metadata   map[string][]byte
	nodes      []string
	backoff    func(attempt uint32) time.Duration
	queued     func(position, length int64)
	noticesTo  *Completions
	onLost     func(*Lock)
	isDefaults bool // nothing was asked for: the library is given no options at all
}

// Order is the order in which waiters of a key are served.
type Order int32

// The orders; FIFO is the default.
const (
	FIFO     Order = C.LIBLOCK_ORDER_FIFO
	LIFO     Order = C.LIBLOCK_ORDER_LIFO
	Priority Order = C.LIBLOCK_ORDER_PRIORITY
	AnyOrder Order = C.LIBLOCK_ORDER_ANY
)

// Backoff is how retry intervals grow.
type Backoff int32

// The back-offs; Fixed is the default.
const (
	Fixed       Backoff = C.LIBLOCK_BACKOFF_FIXED
	Linear      Backoff = C.LIBLOCK_BACKOFF_LINEAR
	Exponential Backoff = C.LIBLOCK_BACKOFF_EXPONENTIAL
)

// Conflict is what an acquire of a key does that the same owner holds already.
type Conflict int32

// The conflicts; Reenter is the default.
const (
	Reenter       Conflict = C.LIBLOCK_ON_CONFLICT_REENTER        // a further Lock on the same hold and token
	ReenterExtend Conflict = C.LIBLOCK_ON_CONFLICT_REENTER_EXTEND // the same, and the lease is set anew
	WaitForSelf   Conflict = C.LIBLOCK_ON_CONFLICT_WAIT           // waits, even for itself
	FailIfHeld    Conflict = C.LIBLOCK_ON_CONFLICT_FAIL           // ErrAlreadyHeld
)

// Deadlock is what happens when a wait closes a cycle of owners.
type Deadlock int32

// The ends of a cycle; FailSelf is the default.
const (
	FailSelf     Deadlock = C.LIBLOCK_ON_DEADLOCK_FAIL_SELF
	FailYoungest Deadlock = C.LIBLOCK_ON_DEADLOCK_FAIL_YOUNGEST
	ReportOnly   Deadlock = C.LIBLOCK_ON_DEADLOCK_REPORT_ONLY
)

// Mismatch is what an owner's acquire does that asks for other nodes than those that hold the key for it already.
type Mismatch int32

// The mismatches; FailIfDisjoint is the default.
const (
	FailIfDisjoint        Mismatch = C.LIBLOCK_NODES_MISMATCH_FAIL_IF_DISJOINT
	IgnoreMismatch        Mismatch = C.LIBLOCK_NODES_MISMATCH_IGNORE
	FailOnMismatch        Mismatch = C.LIBLOCK_NODES_MISMATCH_FAIL
	FailIfMinorityOverlap Mismatch = C.LIBLOCK_NODES_MISMATCH_FAIL_IF_MINORITY_OVERLAP
)

// What Instrument asks for; may be or-ed.
const (
	InstrumentEvents   = C.LIBLOCK_INSTRUMENT_EVENTS
	InstrumentLog      = C.LIBLOCK_INSTRUMENT_LOG
	InstrumentAttempts = C.LIBLOCK_INSTRUMENT_ATTEMPTS
)

// AllVotes asks for as many votes as there are nodes.
const AllVotes = -1

// TTL is how long the lock lives without renewal: 1 ms and more (servers: 20), Auto (the default) or NoExpiry. A lock
// with a ttl tells of its loss through Lost.
func TTL(ttl time.Duration) LockOption {
	return func(o *lockOptions) { o.TTLMs, o.notify = toMs(ttl), true }
}

// Renew keeps the lease of TTL alive while the lock is held, by renewals every third of it.
func Renew() LockOption { return func(o *lockOptions) { o.Acquire.Renew, o.notify = 1, true } }

// MaxHold is the end of a hold under renewal, from the grant on; Forever (the default) is none.
func MaxHold(limit time.Duration) LockOption {
	return func(o *lockOptions) { o.MaxHoldMs = toMs(limit) }
}

// MinRemaining undoes a grant that has less left of its lease: ErrTooLate.
func MinRemaining(least time.Duration) LockOption {
	return func(o *lockOptions) { o.MinRemainingMs = toMs(least) }
}

// Wait is how long to wait at most, besides the deadline of the context: Forever (the default), or 0 to try once. The
// end is ErrTimeout.
func Wait(limit time.Duration) LockOption { return func(o *lockOptions) { o.WaitMs = toMs(limit) } }

// Retries is how many retry intervals to wait through: -1 (the default) no limit, 0 one try. The end is
// ErrRetriesExhausted.
func Retries(count int64) LockOption { return func(o *lockOptions) { o.Acquire.Retries = count } }

// RetryInterval is the time between attempts (local 10 ms, servers 1 s) and what is added to it at random, 0 to
// jitter.
func RetryInterval(interval, jitter time.Duration) LockOption {
	return func(o *lockOptions) { o.RetryIntervalMs, o.RetryJitterMs = toMs(interval), toMs(jitter) }
}

// WithBackoff makes the retry intervals grow: Linear by step, Exponential by the factor base (2 to 1,000), up to
// limit. A step or limit of 0 leaves the default.
func WithBackoff(kind Backoff, base int32, step, limit time.Duration) LockOption {
	return func(o *lockOptions) {
		o.Acquire.Backoff = int32(kind)
		if base != 0 {
			o.BackoffBase = base
		}
		if step != 0 {
			o.BackoffStepMs = toMs(step)
		}
		if limit != 0 {
			o.BackoffCapMs = toMs(limit)
		}
	}
}

// BackoffFunc says how long to wait before retry attempt (0-based) instead; negative ends the acquire as
// ErrInvalidArgument. It runs on threads of the library, must not block, call the library or panic.
func BackoffFunc(interval func(attempt uint32) time.Duration) LockOption {
	return func(o *lockOptions) { o.backoff = interval }
}

// InOrder is where the waiter stands among the others.
func InOrder(order Order) LockOption { return func(o *lockOptions) { o.Order = int32(order) } }

// WithPriority waits in order of priority: higher goes first, -1,000,000 to 1,000,000; waiting for ageStep counts as
// one step of priority (0: the default of 1 s).
func WithPriority(priority int32, ageStep time.Duration) LockOption {
	return func(o *lockOptions) {
		o.Order, o.Acquire.Priority = int32(Priority), priority
		if ageStep != 0 {
			o.AgeStepMs = toMs(ageStep)
		}
	}
}

// QueueTTL sends the waiter to the end of the queue after it has waited so long; Forever (the default) never.
func QueueTTL(limit time.Duration) LockOption {
	return func(o *lockOptions) { o.QueueTTLMs = toMs(limit) }
}

// OnQueued is told where the acquire stands in the queue, when that is seen to have changed: position 0 is next in
// line. It runs on the library's callback thread and must not block or panic; on which the end of this acquire comes,
// too, so that an acquire with OnQueued must not be waited for in a callback.
func OnQueued(told func(position, length int64)) LockOption {
	return func(o *lockOptions) { o.queued = told }
}

// ByOwner acquires for an owner, who may hold a key several times and takes part in deadlock detection.
func ByOwner(owner *Owner) LockOption { return func(o *lockOptions) { o.owner = owner } }

// ByThread acquires for the calling thread of the operating system: what it holds is released when the thread ends.
// The goroutine must be locked to its thread (runtime.LockOSThread); a thread ends with its goroutine, but for the
// main thread of the process, which never does. Implies Blocking.
func ByThread() LockOption { return func(o *lockOptions) { o.thread, o.blocking = true, true } }

// OnConflict is what to do where the owner holds the key already.
func OnConflict(conflict Conflict) LockOption {
	return func(o *lockOptions) { o.Acquire.OnConflict = int32(conflict) }
}

// OnDeadlock is what to do where the wait would close a cycle of owners.
func OnDeadlock(deadlock Deadlock) LockOption {
	return func(o *lockOptions) { o.Acquire.OnDeadlock = int32(deadlock) }
}

// Value is carried by the lock, 0 to 4,096 bytes; others read it by Inspect and Read.
func Value(value []byte) LockOption { return func(o *lockOptions) { o.value = value } }

// Metadata is carried by the lock: 64 entries and 4,096 bytes in all at most.
func Metadata(entries map[string][]byte) LockOption {
	return func(o *lockOptions) { o.metadata = entries }
}

// NotifyLost makes Lost tell at once also of a lock without a ttl, which only an administrator can take away.
func NotifyLost() LockOption { return func(o *lockOptions) { o.notify = true } }

// OnLost is called once when the lock is lost, besides Lost; never for a lock that was released. On the library's
// callback thread, but behind an Unlock that answers ErrLost, and for a lock that shares a hold of its owner, on a
// goroutine. The Lock is nil when the loss comes before Lock has returned. It must not block or panic.
func OnLost(told func(*Lock)) LockOption {
	return func(o *lockOptions) { o.onLost, o.notify = told, true }
}

// NoticesTo sends the notice of a loss to a completion queue as well. Implies Blocking, but for Submit, whose queue it
// is.
func NoticesTo(queue *Completions) LockOption {
	return func(o *lockOptions) { o.noticesTo, o.blocking = queue, true }
}

// Blocking waits inside the library, on a thread, instead of on a channel: with WithResult it tells all of the Result.
// Of the context only the deadline ends such a wait.
func Blocking() LockOption { return func(o *lockOptions) { o.blocking = true } }

// Replicas makes a grant wait until so many replicas of the server have it, for up to timeout (0: 1 s).
func Replicas(count int32, timeout time.Duration) LockOption {
	return func(o *lockOptions) {
		o.Acquire.Replicas = count
		if timeout != 0 {
			o.ReplicasTimeoutMs = toMs(timeout)
		}
	}
}

// BusyInfo makes an end as ErrBusy, ErrTimeout or ErrRetriesExhausted tell of the key that was busy: Error.Busy.
func BusyInfo() LockOption { return func(o *lockOptions) { o.Acquire.BusyInfo = 1 } }

// EventTag comes back in every event and log entry of this acquire and its lock.
func EventTag(tag uint64) LockOption { return func(o *lockOptions) { o.Acquire.EventTag = tag } }

// Instrument tells of this acquire whatever the sampling says: InstrumentEvents and its kin, or-ed.
func Instrument(what int32) LockOption { return func(o *lockOptions) { o.Acquire.Instrument = what } }

// OnNodes places the lock on some nodes of a quorum, named by their addresses or ids; onMismatch counts for owners.
func OnNodes(nodes []string, onMismatch Mismatch) LockOption {
	return func(o *lockOptions) { o.nodes, o.OnNodesMismatch = nodes, int32(onMismatch) }
}

// LockVotes is how many nodes must grant: more than half, or AllVotes; 0 = as the context says.
func LockVotes(votes int32) LockOption { return func(o *lockOptions) { o.Votes = votes } }

// RawLock sets options as plain numbers; for the conformance runner of this module.
func RawLock(set func(*raw.Acquire)) LockOption { return func(o *lockOptions) { set(&o.Acquire) } }
