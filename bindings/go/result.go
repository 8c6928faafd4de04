// SPDX-License-Identifier: MIT
// What a call tells beside its status.

package liblock

// #include "bridge.h"
import "C"

import (
	"context"
	"time"
	"unsafe"
)

// ResultFlags tell what happened on the way to a Result.
type ResultFlags uint32

// The flags of a Result.
const (
	Reentered     ResultFlags = C.LIBLOCK_RESULT_REENTERED      // shares the hold and token of an earlier acquire
	Waited        ResultFlags = C.LIBLOCK_RESULT_WAITED         // was queued before it was granted
	TookOver      ResultFlags = C.LIBLOCK_RESULT_TOOK_OVER      // ended an overdue lease of a former holder
	FewerReplicas ResultFlags = C.LIBLOCK_RESULT_FEWER_REPLICAS // fewer replicas than asked for had it in time
	HadLock       ResultFlags = C.LIBLOCK_RESULT_HAD_LOCK       // ForceRelease: somebody held the key
	HadQueue      ResultFlags = C.LIBLOCK_RESULT_HAD_QUEUE      // ForceRelease: somebody waited for it
)

// Result is all that a call told, also one that failed. Times are in milliseconds, as the library counts them.
type Result struct {
	Status        Status
	Message       string // cause and cure of a failure; Open and QuorumStatus: what is wrong with the nodes
	Attempts      uint32
	Token         uint64 // fencing token of a grant, else 0
	WaitedMs      int64
	RemainingMs   int64 // what is left of the lease; -1 = no expiry
	QueuePosition int64 // 0 = next in line; -1 = not queued
	QueueLength   int64 // -1 = unknown
	HoldCount     uint32
	Flags         ResultFlags
	Votes, Nodes  uint32
	Replicas      uint32
}

type resultKey struct{}

// WithResult asks the calls made with the returned context to fill in *result, whether they succeed or fail; for one
// call at a time. On a server the call is then made by the blocking function of the library, which alone tells
// everything, and which keeps a thread until it ends; a release, say, goes on a channel otherwise. Lock and its kin
// take Blocking for the same. Calls that have no result in C (IsLocked, IsQueued, Export, Held and its kin) leave
// *result alone.
func WithResult(ctx context.Context, result *Result) context.Context {
	return context.WithValue(ctx, resultKey{}, result)
}

func wantedResult(ctx context.Context) *Result {
	result, _ := ctx.Value(resultKey{}).(*Result)
	return result
}

func messageOf(r *C.liblock_result) string {
	if r.message[0] == 0 {
		return ""
	}
	text := C.GoBytes(unsafe.Pointer(&r.message[0]), C.int(len(r.message)))
	for i, b := range text {
		if b == 0 {
			return string(text[:i])
		}
	}
	return string(text)
}

func resultOf(r *C.liblock_result) Result {
	return Result{
		Status: Status(r.status), Message: messageOf(r), Attempts: uint32(r.attempts), Token: uint64(r.token),
		WaitedMs: int64(r.waited_ms), RemainingMs: int64(r.remaining_ms),
		QueuePosition: int64(r.queue_position), QueueLength: int64(r.queue_length), HoldCount: uint32(r.hold_count),
		Flags: ResultFlags(r.flags), Votes: uint32(r.votes), Nodes: uint32(r.nodes), Replicas: uint32(r.replicas),
	}
}

// settle turns what a call with a result answered into an error, and fills in the caller's Result.
func settle(ctx context.Context, op string, answer *C.bridge_answer) error {
	return settleInto(wantedResult(ctx), op, Status(answer.status), &answer.result)
}

func settleInto(wanted *Result, op string, status Status, r *C.liblock_result) error {
	if status == OK && wanted == nil {
		return nil
	}
	result := resultOf(r)
	if wanted != nil {
		*wanted = result
	}
	if status == OK {
		return nil
	}
	failure := &Error{Op: op, Status: status, Message: result.Message, Result: result}
	if r.info != nil {
		failure.Busy = takeInfo(r.info)
	}
	return failure
}

// Forever stands for "no limit" wherever a wait is given.
const Forever = -1 * time.Millisecond

const (
	// Auto is a ttl: as long as the process holds the lock. Local: no expiry; servers: renewed.
	Auto = -1 * time.Millisecond
	// NoExpiry is a ttl that never ends.
	NoExpiry = -2 * time.Millisecond
)

const noDuration = -1 << 31 // a number of milliseconds that every option refuses

// toMs rounds up to whole milliseconds, so that a short wait never becomes none. The largest Duration stands for the
// largest number of milliseconds.
func toMs(d time.Duration) int64 {
	const longest = 1<<63 - 1
	switch {
	case d == longest:
		return longest
	case d < 0 && d%time.Millisecond != 0:
		return noDuration
	case d <= 0:
		return int64(d / time.Millisecond)
	}
	return int64((d-1)/time.Millisecond) + 1
}

func fromMs(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

func timeOfUs(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us)
}
