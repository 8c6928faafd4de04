// SPDX-License-Identifier: MIT
// Acquiring: tried once, then submitted and awaited on a channel, so that who waits costs no thread.

package liblock

// #include "bridge.h"
import "C"

import (
	"context"
	"time"

	"liblock.dev/go/internal/raw"
)

// target is what an acquire asks for.
type target struct {
	how  C.int32_t
	key  string
	keys []string
}

// pending is an acquire under way: what C calls back about it, and what its lock will be.
type pending struct {
	c       *Context
	options *lockOptions
	wanted  *Result // looked up before anything is granted: what a caller's context does may panic
	loss    *loss
	ids     [3]uintptr // of the loss, the back-off, the queue callback
}

// prepare makes the numbers that the library will call back with.
func (c *Context) prepare(o *lockOptions) *pending {
	p := &pending{c: c, options: o}
	if o.notify || !c.local {
		p.loss = &loss{c: c, lost: make(chan struct{}), told: o.onLost}
		p.ids[0] = objects.put(p.loss)
	}
	if o.backoff != nil {
		p.ids[1] = objects.put(o.backoff)
	}
	if o.queued != nil {
		p.ids[2] = objects.put(o.queued)
	}
	return p
}

func (p *pending) native(a *arena) *C.liblock_acquire_options {
	n := p.options.native(a)
	C.bridge_hook(n, C.bridge_hooks{C.uintptr_t(p.ids[0]), C.uintptr_t(p.ids[1]), C.uintptr_t(p.ids[2])})
	return n
}

// ended forgets the numbers that nothing can come for any more.
func (p *pending) ended(status Status) {
	for i, id := range p.ids {
		if id != 0 && (i > 0 || status != OK) {
			objects.take(id)
		}
	}
}

// refused is for an acquire of which the library knows nothing.
func (p *pending) refused(err error) error {
	failure := err.(*Error)
	p.ended(failure.Status)
	if p.wanted != nil {
		*p.wanted = failure.Result
	}
	return err
}

// granted makes the lock.
func (p *pending) granted(handle uint64, result Result) *Lock {
	lock := &Lock{c: p.c, handle: handle, token: result.Token, result: &result, loss: p.loss}
	lock.shares = result.Flags&Reentered != 0
	if p.loss == nil {
		return lock
	}
	lock.lossID = p.ids[0]
	p.loss.granted(lock)
	if p.loss.told != nil && lock.shares {
		lock.Lost()
	}
	if p.options.owner != nil {
		p.options.owner.kept.remember(lock.lossID)
	} else if p.options.thread {
		p.c.byThread.remember(lock.lossID)
	}
	return lock
}

// Lock acquires one key, waiting for it as the options say and until ctx ends. The goroutine waits on a channel: no
// thread is kept. A grant that crosses the end of ctx is given back. Unlock each Lock exactly once.
//
// Errors: ErrBusy, ErrTimeout, ErrRetriesExhausted, ErrDeadlock, ErrAlreadyHeld, ErrDequeued, ErrTooLate, ErrLimit;
// ErrCanceled with ctx.Err() where ctx ended it; over a quorum also ErrNoQuorum, ErrQuarantined, ErrNodesMismatch and
// ErrInDoubt.
func (c *Context) Lock(ctx context.Context, key string, options ...LockOption) (*Lock, error) {
	isPlain := c.local && len(options) == 0 && c.told.Load() == 0 && wantedResult(ctx) == nil && ctx.Err() == nil
	if !isPlain || !c.enter() {
		return c.acquire(ctx, target{how: C.BRIDGE_ONE, key: key}, options)
	}
	grant := C.bridge_try_plain(c.handle, keyPtr(key), C.size_t(len(key)))
	c.leave()
	if Status(grant.status) != OK {
		return c.acquire(ctx, target{how: C.BRIDGE_ONE, key: key}, options)
	}
	return &Lock{c: c, handle: uint64(grant.lock), token: uint64(grant.token)}, nil
}

// TryLock makes one attempt and never waits for a holder: ErrBusy. Waiting options count as 0.
func (c *Context) TryLock(ctx context.Context, key string, options ...LockOption) (*Lock, error) {
	return c.acquire(ctx, target{how: C.BRIDGE_TRY, key: key}, options)
}

// LockMany acquires 1 to 1,024 keys as one lock, all or nothing, with one token; duplicates are folded.
func (c *Context) LockMany(ctx context.Context, keys []string, options ...LockOption) (*Lock, error) {
	return c.acquire(ctx, target{how: C.BRIDGE_MANY, keys: keys}, options)
}

// LockGlobal excludes every other lock of the context's table. Local contexts only: ErrUnsupported elsewhere.
func (c *Context) LockGlobal(ctx context.Context, options ...LockOption) (*Lock, error) {
	return c.acquire(ctx, target{how: C.BRIDGE_GLOBAL}, options)
}

// WithLock runs call while it holds the key, and gives the key back however call ends, also by a panic. The context
// that call is given ends when the lock is lost; WithLock then answers ErrLost unless call has an error of its own.
func (c *Context) WithLock(ctx context.Context, key string, call func(context.Context) error,
	options ...LockOption) (err error) {
	lock, err := c.Lock(ctx, key, append([]LockOption{NotifyLost()}, options...)...)
	if err != nil {
		return err
	}
	defer func() {
		released := lock.Unlock(context.Background()) // the end of ctx must not leave the key behind
		if err == nil {
			err = released
		}
	}()
	held, cancel := lock.Context(ctx)
	defer cancel()
	return call(held)
}

func (c *Context) acquire(ctx context.Context, what target, options []LockOption) (*Lock, error) {
	if ctx.Err() != nil {
		return nil, endedBy(ctx, "acquire", ErrCanceled)
	}
	o, wanted := readLockOptions(options), wantedResult(ctx)
	if !c.enter() {
		return nil, closedIn(ctx, "acquire")
	}
	defer c.leave()
	leave, ok := o.enter()
	if !ok {
		return nil, closedIn(ctx, "acquire")
	}
	defer leave()
	var a arena
	defer a.free()
	p := c.prepare(o)
	p.wanted = wanted
	n := p.native(&a)
	if err := a.refuse("acquire"); err != nil {
		return nil, p.refused(err)
	}
	keys := a.list(what.keys)
	if o.blocking || c.local && (o.triesOnce() || what.how == C.BRIDGE_TRY) {
		return p.block(ctx, what, n, keys)
	}
	if c.local && c.told.Load() == 0 && o.queued == nil && waitsForever(C.int64_t(o.WaitMs)) != (o.WaitMs > 0) &&
		waitsForever(C.int64_t(o.Acquire.Retries)) != (o.Acquire.Retries > 0) { // all else is for the library to refuse
		lock, err := p.tryFirst(what, n, keys)
		if lock != nil || StatusOf(err) != ErrBusy {
			return lock, err
		}
	}
	return p.wait(ctx, what, n, keys)
}

func waitsForever(limit C.int64_t) bool { return limit == -1 || limit == raw.Default }

// block makes the call that waits within the library.
func (p *pending) block(ctx context.Context, what target, n *C.liblock_acquire_options,
	keys *C.liblock_bytes) (*Lock, error) {
	if deadline, ok := ctx.Deadline(); ok {
		left := C.int64_t(toMs(time.Until(deadline)))
		if left < 0 {
			left = 0
		}
		if waitsForever(n.wait_ms) || n.wait_ms > left {
			n.wait_ms, p.options.isDefaults = left, false
		}
	}
	if p.options.isDefaults && p.loss == nil {
		n = nil
	}
	answer := C.bridge_acquire(p.c.handle, what.how, keyPtr(what.key), C.size_t(len(what.key)), keys,
		C.size_t(len(what.keys)), n)
	lock, err := p.answered(&answer)
	return lock, inTime(ctx, err)
}

func (p *pending) answered(answer *C.bridge_answer) (*Lock, error) {
	status := Status(answer.status)
	p.ended(status)
	if err := settleInto(p.wanted, "acquire", status, &answer.result); err != nil {
		return nil, err
	}
	return p.granted(uint64(answer.lock), resultOf(&answer.result)), nil
}

// tryFirst spares a lock that is free the way through the queue. Its ErrBusy is not told to anybody.
func (p *pending) tryFirst(what target, n *C.liblock_acquire_options,
	keys *C.liblock_bytes) (*Lock, error) {
	wait, retries, busy := n.wait_ms, n.retries, n.busy_info
	n.wait_ms, n.retries, n.busy_info = 0, 0, 0
	answer := C.bridge_acquire(p.c.handle, what.how, keyPtr(what.key), C.size_t(len(what.key)), keys,
		C.size_t(len(what.keys)), n)
	n.wait_ms, n.retries, n.busy_info = wait, retries, busy
	if Status(answer.status) == ErrBusy {
		return nil, ErrBusy
	}
	return p.answered(&answer)
}

// wait submits the acquire and waits for its end on a channel.
func (p *pending) wait(ctx context.Context, what target, n *C.liblock_acquire_options,
	keys *C.liblock_bytes) (*Lock, error) {
	engine, err := p.c.started()
	if err != nil {
		return nil, p.refused(err)
	}
	if !engine.queue.enter() { // it stays until the call has its place in it
		return nil, p.refused(closedError("acquire"))
	}
	route := C.bridge_end{queue: engine.queue.handle}
	if p.options.queued != nil {
		route.queue = nil // on_queued and a completion queue exclude each other: the end is called back
	}
	n.completions = route.queue
	if what.how == C.BRIDGE_TRY {
		n.wait_ms, n.retries = 0, 0
	}
	w := newWaiter()
	id := objects.put(w)
	route.id = C.uintptr_t(id)
	answer := C.bridge_acquire_async(p.c.handle, what.how, keyPtr(what.key), C.size_t(len(what.key)), keys,
		C.size_t(len(what.keys)), n, route)
	if status := Status(answer.status); status != OK {
		objects.take(id)
		err := p.c.why(status, what, n, keys)
		engine.queue.leave()
		return nil, p.refused(err)
	}
	engine.queue.leave()
	settled := false
	defer func() {
		if !settled { // a panic in ctx, or runtime.Goexit: nobody will ever look for the grant
			p.c.enter()
			go func() { defer p.c.leave(); p.undo(w, answer.request) }()
		}
	}()
	select {
	case e := <-w.done:
		settled = true
		return p.received(e)
	case <-ctx.Done():
	}
	failure := endedBy(ctx, "acquire", ErrCanceled)
	settled = true
	p.undo(w, answer.request)
	return nil, failure
}

// undo cancels the request, waits for its end and gives back what was granted meanwhile.
func (p *pending) undo(w *waiter, request C.liblock_request) {
	C.liblock_cancel(p.c.handle, request)
	e := <-w.done
	e.drop()
	p.ended(ErrCanceled)
	if e.status == OK {
		p.c.giveBack(e.lock)
	}
}

func (p *pending) received(e end) (*Lock, error) {
	p.ended(e.status)
	if p.wanted != nil {
		*p.wanted = e.result()
	}
	if e.status != OK {
		return nil, e.err("acquire")
	}
	return p.granted(e.lock, e.result()), nil
}
