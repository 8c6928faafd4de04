// SPDX-License-Identifier: MIT
// Verbs that take, keep and give back locks.

package main

import (
	liblock "liblock.dev/go"
	"liblock.dev/go/internal/raw"
)

// Verbs on locks: acquire, release and what lies between.

// lock is the one that the step names, in the context that it names: locks and contexts that do not belong together
// can be said in C.
func (c *call) lock() *liblock.Lock {
	if c.hold.slot == c.slot {
		return c.hold.lock
	}
	return raw.InContext(c.hold.lock, c.slot.c).(*liblock.Lock)
}

// performAcquire waits on a channel where the step expects no more than that tells, and inside the library elsewhere.
func performAcquire(c *call) {
	var result liblock.Result
	options := c.options
	if !c.expectsOnly("status token") {
		options = append(options, liblock.Blocking())
	}
	ctx := liblock.WithResult(background, &result)
	var lock *liblock.Lock
	var err error
	switch {
	case c.name == "try_acquire":
		lock, err = c.slot.c.TryLock(ctx, c.key(), options...)
	case c.step.isTrue("global"):
		lock, err = c.slot.c.LockGlobal(ctx, options...)
	case c.step.has("keys"):
		lock, err = c.slot.c.LockMany(ctx, c.keys, options...)
	default:
		lock, err = c.slot.c.Lock(ctx, c.key(), options...)
	}
	if failure, ok := err.(*liblock.Error); ok {
		result = failure.Result
	}
	c.tellResult(err, ctx, &result)
	isGrant := err == nil
	if isGrant != (lock != nil && lock.Handle() != 0) {
		c.blame("%s with another lock", liblock.StatusOf(err).Name())
	}
	if isGrant != (result.Token != 0) || isGrant && lock.Token() != result.Token {
		c.blame("%s with the token %d", liblock.StatusOf(err).Name(), result.Token)
	}
	if isGrant {
		c.made.lock, c.made.token = lock, result.Token
	}
}

func performAcquireAsync(c *call) {
	queue, made := c.slot.queue, c.made
	var err error
	switch {
	case c.step.isTrue("global"):
		made.request, err = c.slot.c.SubmitGlobal(queue, made.number, c.options...)
	case c.step.has("keys"):
		made.request, err = c.slot.c.SubmitMany(queue, made.number, c.keys, c.options...)
	default:
		made.request, err = c.slot.c.Submit(queue, made.number, c.key(), c.options...)
	}
	if c.tellStatus(err) != liblock.OK {
		return
	}
	if made.request == 0 {
		c.blame("OK with the request 0")
	}
	made.isPending = true
	c.slot.pending++
}

func performCancel(c *call) { c.tellStatus(c.slot.c.Cancel(c.hold.request)) }

func performRelease(c *call) {
	var result liblock.Result
	ctx := c.asking(&result)
	c.tellResult(c.lock().Unlock(ctx), ctx, &result)
}

func performReleaseKeys(c *call) {
	var result liblock.Result
	ctx := c.asking(&result)
	if c.byThread {
		ctx = liblock.WithResult(background, &result)
		c.tellResult(c.slot.c.ReleaseByThread(ctx, c.keys...), ctx, &result)
		return
	}
	c.tellResult(c.owner.owner.Release(ctx, c.keys...), ctx, &result)
}

func performExtend(c *call) {
	var result liblock.Result
	ctx := c.asking(&result)
	if c.step.isTrue("add") {
		c.tellResult(c.lock().ExtendBy(ctx, c.duration()), ctx, &result)
		return
	}
	c.tellResult(c.lock().Extend(ctx, c.duration()), ctx, &result)
}

func performUpdate(c *call) {
	var result liblock.Result
	ctx := c.asking(&result)
	c.tellResult(c.lock().Update(ctx, []byte(c.value)), ctx, &result)
}

func performVerify(c *call) {
	var result liblock.Result
	ctx := c.asking(&result)
	c.tellResult(c.lock().Verify(ctx), ctx, &result)
}

func performWaitLost(c *call) {
	var result liblock.Result
	ctx := c.asking(&result)
	c.tellResult(c.lock().WaitLost(ctx, c.duration()), ctx, &result)
}

func performIsHeld(c *call) { c.tellStatus(c.lock().Held()) }

func performRemaining(c *call) {
	remaining, err := c.lock().Remaining()
	if c.tellStatus(err) == liblock.OK {
		c.tell("remaining_ms", whole(remaining.Milliseconds()))
	}
}

func performToken(c *call) {
	token, err := c.lock().FencingToken()
	if c.tellStatus(err) == liblock.OK {
		c.tell("token", wholeU(token))
	}
}

func performHoldCount(c *call) {
	count, err := c.lock().HoldCount()
	if c.tellStatus(err) == liblock.OK {
		c.tell("hold_count", whole(int64(count)))
	}
}
