// SPDX-License-Identifier: MIT
// Waits for a key to be held or released.

package liblock

// #include "bridge.h"
import "C"

import (
	"context"
	"time"
)

// Waits that cannot be canceled are made in slices, between which they look whether their context has ended. A local
// one keeps a thread meanwhile; one on a server is a request that stays pending when its caller has gone.
const (
	localSlice  = 20 * time.Millisecond
	serverSlice = time.Second
)

// inTime adds the end of ctx to an error that its deadline has brought about.
func inTime(ctx context.Context, err error) error {
	failure, ok := err.(*Error)
	if !ok || failure.Status != ErrTimeout {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		failure.cause = context.DeadlineExceeded
	}
	return err
}

// isNone says that it is no limit at all, which is for the library to refuse.
func isNone(limit time.Duration) bool { return limit < 0 && limit != Forever }

// limited is the limit of a wait, no longer than the deadline of ctx.
func limited(ctx context.Context, limit time.Duration) time.Duration {
	if deadline, ok := ctx.Deadline(); ok && !isNone(limit) {
		left := time.Until(deadline)
		if left < 0 {
			left = 0
		}
		if limit == Forever || left < limit {
			return left
		}
	}
	return limit
}

// sliced repeats a wait in slices until it ends otherwise than by ErrTimeout, the limit has passed, or ctx ends.
func (c *Context) sliced(ctx context.Context, op string, limit time.Duration, wait func(time.Duration) error) error {
	limit = limited(ctx, limit)
	if isNone(limit) || wantedResult(ctx) != nil || !c.local && ctx.Done() == nil {
		return inTime(ctx, wait(limit))
	}
	slice := localSlice
	if !c.local {
		slice = serverSlice
	}
	begun := time.Now()
	for {
		step := slice
		if left := limit - time.Since(begun); limit != Forever && left < step {
			step = left
			if step < 0 {
				step = 0
			}
		}
		err := wait(step)
		if StatusOf(err) != ErrTimeout {
			return err
		}
		if ctx.Err() != nil {
			return endedBy(ctx, op, ErrCanceled)
		}
		if limit != Forever && time.Since(begun) >= limit {
			return inTime(ctx, err)
		}
	}
}

// WaitLost waits until the lock is no longer held, for limit at most (Forever = no limit). It never returns nil:
// ErrLost; ErrNotHeld (it was released); ErrTimeout (still held). Lost is the same as a channel.
func (l *Lock) WaitLost(ctx context.Context, limit time.Duration) error {
	return l.c.sliced(ctx, "wait_lost", limit, func(step time.Duration) error {
		return l.call(ctx, "wait_lost", C.BRIDGE_WAIT_LOST, toMs(step), 0, nil)
	})
}

// WaitHeld waits until somebody holds the key, for limit at most (Forever = no limit). Errors: ErrTimeout.
func (c *Context) WaitHeld(ctx context.Context, key string, limit time.Duration) error {
	return c.sliced(ctx, "wait_held", limit, func(step time.Duration) error {
		return c.keyed(ctx, "wait_held", C.BRIDGE_WAIT_HELD, key, toMs(step), "").err
	})
}

// WaitHeldOn is WaitHeld on one node of a quorum (its address or id; "" = as WaitHeld): until that node knows of the
// lock. The Info is what it saw; nil where the lock was gone again. Errors: ErrTimeout, ErrUnsupported.
func (c *Context) WaitHeldOn(ctx context.Context, key, node string, limit time.Duration) (*Info, error) {
	var info *Info
	err := c.sliced(ctx, "wait_held_on", limit, func(step time.Duration) error {
		answer := c.keyed(ctx, "wait_held_on", C.BRIDGE_WAIT_HELD_ON, key, toMs(step), node)
		info = answer.info
		return answer.err
	})
	return info, err
}

// WaitReleased waits until the present holder of the key no longer holds it, for limit at most. Errors: ErrNotHeld
// (nobody holds it), ErrTimeout.
func (c *Context) WaitReleased(ctx context.Context, key string, limit time.Duration) error {
	wait := func(step time.Duration) error {
		return c.keyed(ctx, "wait_released", C.BRIDGE_WAIT_RELEASED, key, toMs(step), "").err
	}
	var holder uint64
	return c.sliced(ctx, "wait_released", limit, func(step time.Duration) error {
		if isNone(limit) || wantedResult(ctx) != nil || !c.local && ctx.Done() == nil {
			return wait(step) // one call is the whole wait
		}
		info, err := c.Inspect(ctx, key)
		gone := StatusOf(err) == ErrNotHeld || err == nil && info.Token != holder
		if gone && holder != 0 {
			return nil // between two slices
		}
		if err != nil {
			return err
		}
		holder = info.Token
		if err = wait(step); StatusOf(err) == ErrNotHeld {
			return nil // between the look and the wait
		}
		return err
	})
}
