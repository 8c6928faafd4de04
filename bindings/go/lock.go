// SPDX-License-Identifier: MIT
// A lock that is held: what can be asked of it and done with it.

package liblock

// #include "bridge.h"
import "C"

import (
	"context"
	"sync/atomic"
	"time"
	"unsafe"
)

// Lock is a granted hold on one or more keys. It belongs to whoever has it: any goroutine may call it.
type Lock struct {
	c      *Context
	handle uint64
	token  uint64
	result *Result // nil for a lock that was free and asked for without options
	loss   *loss   // nil: the library does not tell of its loss
	lossID uintptr
	shares bool        // it shares another's hold, and the library tells of its loss to that one alone
	over   atomic.Bool // given back
}

// Token is the fencing token of the grant: strictly increasing per key over all grants.
func (l *Lock) Token() uint64 { return l.token }

// Handle is the library's number of the lock, as events and notices have it.
func (l *Lock) Handle() uint64 { return l.handle }

// Result is what the grant told.
func (l *Lock) Result() Result {
	if l.result == nil {
		return Result{Token: l.token, Attempts: 1, HoldCount: 1, QueuePosition: -1, QueueLength: -1, RemainingMs: -1}
	}
	return *l.result
}

// Unlock gives the lock back; the next waiter has it, or has been woken, when this returns. The end of ctx does not
// keep the lock from being released: then the error is ErrInDoubt with ctx.Err(), and the release goes on.
//
// Errors: ErrLost (the lease had ended or the lock was taken away; told once), ErrNotHeld (released before),
// ErrInDoubt and ErrPartial (no answer of the server yet; the library goes on).
func (l *Lock) Unlock(ctx context.Context) error {
	var err error
	if l.c.local && wantedResult(ctx) == nil {
		err = l.unlockHere()
	} else {
		err = l.call(ctx, "release", C.BRIDGE_RELEASE, 0, 0, nil)
	}
	switch StatusOf(err) {
	case ErrLost:
		l.lostBehind()
	case OK, ErrNotHeld, ErrInDoubt, ErrPartial:
		l.forget()
	}
	return err
}

// unlockHere is the shortest way: the release of a lock of this process tells no more than its status.
func (l *Lock) unlockHere() error {
	if !l.c.enter() {
		return closedError("release")
	}
	status := C.liblock_release(l.c.handle, C.liblock_lock(l.handle), nil)
	l.c.leave()
	return statusError("release", Status(status))
}

// forget is for a lock of whose loss nothing can be told any more.
func (l *Lock) forget() {
	l.over.Store(true)
	if l.lossID != 0 {
		objects.take(l.lossID)
	}
}

// Extend sets the lease to end ttl from now: 1 ms and more (servers: 20), Auto or NoExpiry. A lock that is renewed
// still is. Errors: ErrLost, ErrNotHeld.
func (l *Lock) Extend(ctx context.Context, ttl time.Duration) error {
	return l.call(ctx, "extend", C.BRIDGE_EXTEND, toMs(ttl), C.LIBLOCK_EXTEND_SET, nil)
}

// ExtendBy adds to what remains of the lease.
func (l *Lock) ExtendBy(ctx context.Context, more time.Duration) error {
	return l.call(ctx, "extend", C.BRIDGE_EXTEND, toMs(more), C.LIBLOCK_EXTEND_ADD, nil)
}

// Update replaces the value that the lock carries, 0 to 4,096 bytes. Errors: ErrLost, ErrNotHeld.
func (l *Lock) Update(ctx context.Context, value []byte) error {
	return l.call(ctx, "update", C.BRIDGE_UPDATE, 0, 0, value)
}

// Verify asks the backend itself whether the lock is held. Errors: ErrLost, ErrNotHeld, and those of a server.
func (l *Lock) Verify(ctx context.Context) error {
	return l.call(ctx, "verify", C.BRIDGE_VERIFY, 0, 0, nil)
}

func (l *Lock) call(ctx context.Context, op string, call C.int32_t, ms int64, flags C.int32_t, value []byte) error {
	c := l.c
	if !c.enter() {
		return closedIn(ctx, op)
	}
	defer c.leave()
	if (!c.local || call == C.BRIDGE_WAIT_LOST) && wantedResult(ctx) == nil {
		_, err := c.call(ctx, op, func(end C.bridge_end) C.bridge_answer {
			return C.bridge_lock_async(c.handle, call, C.uint64_t(l.handle), C.int64_t(ms), flags, bytesPtr(value),
				C.size_t(len(value)), end)
		})
		if !givesBack(op) || !isFull(StatusOf(err)) {
			return err
		} // what those wait for who are in the way may be this very lock: it is given back without a request
	}
	return l.callHere(ctx, op, call, ms, flags, value)
}

// callHere makes the call that waits within the library.
func (l *Lock) callHere(ctx context.Context, op string, call C.int32_t, ms int64, flags C.int32_t, value []byte) error {
	leave, err := l.c.thread(ctx, op)
	if err != nil {
		return err
	}
	defer leave()
	wanted := wantedResult(ctx)
	answer := C.bridge_lock(l.c.handle, call, C.uint64_t(l.handle), C.int64_t(ms), flags, bytesPtr(value),
		C.size_t(len(value)))
	if Status(answer.status) == OK && wanted == nil {
		return nil
	}
	told := answer // a copy that goes to the heap only here
	return settleInto(wanted, op, Status(told.status), &told.result)
}

// Held is nil while the lock is held, and ErrLost or ErrNotHeld afterwards. Answered from memory.
func (l *Lock) Held() error {
	if !l.c.enter() {
		return closedError("is_held")
	}
	defer l.c.leave()
	return statusError("is_held", Status(C.liblock_is_held(l.c.handle, C.liblock_lock(l.handle))))
}

// IsHeld says whether the lock is held right now. Answered from memory.
func (l *Lock) IsHeld() bool { return l.Held() == nil }

// Remaining is what is left of the lease; Forever = no expiry. Errors as of Held.
func (l *Lock) Remaining() (time.Duration, error) {
	if !l.c.enter() {
		return 0, closedError("remaining")
	}
	defer l.c.leave()
	var ms C.int64_t
	status := Status(C.liblock_remaining_ms(l.c.handle, C.liblock_lock(l.handle), &ms))
	return fromMs(int64(ms)), statusError("remaining", status)
}

// FencingToken is Token, asked of the library: the errors are those of Held.
func (l *Lock) FencingToken() (uint64, error) {
	if !l.c.enter() {
		return 0, closedError("token")
	}
	defer l.c.leave()
	var token C.uint64_t
	status := Status(C.liblock_fencing_token(l.c.handle, C.liblock_lock(l.handle), &token))
	return uint64(token), statusError("token", status)
}

// HoldCount is how many Locks share the hold of the first key. Errors as of Held.
func (l *Lock) HoldCount() (int, error) {
	if !l.c.enter() {
		return 0, closedError("hold_count")
	}
	defer l.c.leave()
	var count C.uint32_t
	status := Status(C.liblock_hold_count(l.c.handle, C.liblock_lock(l.handle), &count))
	return int(count), statusError("hold_count", status)
}

// Export hands the lock to another process: Adopt takes the bytes there, and this Lock becomes ErrNotHeld. The bytes
// are a secret. Errors: ErrLost, ErrNotHeld, ErrUnsupported (a local context, or others share the hold).
func (l *Lock) Export(ctx context.Context) ([]byte, error) {
	c := l.c
	if !c.enter() {
		return nil, closedIn(ctx, "export")
	}
	defer c.leave()
	leave, err := c.thread(ctx, "export")
	if err != nil {
		return nil, err
	}
	defer leave()
	for size := 1024; ; {
		buffer := make([]byte, size)
		answer := C.bridge_export(c.handle, C.uint64_t(l.handle), unsafe.Pointer(&buffer[0]), C.size_t(size))
		if needed := int(answer.count); needed > size {
			size = needed
			continue
		}
		if status := Status(answer.status); status != OK {
			return nil, statusError("export", status)
		}
		l.forget()
		return buffer[:answer.count], nil
	}
}

// Adopt takes over a lock that was exported from a context with the same prefix on the same server. Of the options
// count ByOwner, TTL, Renew, MaxHold, OnLost and NoticesTo; the lease is set anew. Errors: ErrLost, ErrUnsupported.
func (c *Context) Adopt(ctx context.Context, exported []byte, options ...LockOption) (*Lock, error) {
	o, wanted := readLockOptions(options), wantedResult(ctx)
	if !c.enter() {
		return nil, closedIn(ctx, "adopt")
	}
	defer c.leave()
	leaveThem, ok := o.enter()
	if !ok {
		return nil, closedIn(ctx, "adopt")
	}
	defer leaveThem()
	leave, err := c.thread(ctx, "adopt")
	if err != nil {
		return nil, err
	}
	defer leave()
	var a arena
	defer a.free()
	p := c.prepare(o)
	p.wanted = wanted
	answer := C.bridge_adopt(c.handle, bytesPtr(exported), C.size_t(len(exported)), p.native(&a))
	return p.answered(&answer)
}
