// SPDX-License-Identifier: MIT

package liblock

// #include "bridge.h"
import "C"

import (
	"context"
	"time"
)

// slice is how long a local wait keeps a thread before it looks whether its context has ended. The library has no
// asynchronous twins of these calls for local contexts.
const slice = 20 * time.Millisecond

// limited is the limit of a wait, no longer than the deadline of ctx.
func limited(ctx context.Context, limit time.Duration) time.Duration {
	if deadline, ok := ctx.Deadline(); ok && limit >= Forever {
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
func sliced(ctx context.Context, op string, limit time.Duration, wait func(time.Duration) error) error {
	if limit < Forever || wantedResult(ctx) != nil {
		return wait(limit)
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
			return err
		}
	}
}

// WaitLost waits until the lock is no longer held, for limit at most (Forever = no limit). It never returns nil:
// ErrLost; ErrNotHeld (it was released); ErrTimeout (still held). Lost is the same as a channel.
func (l *Lock) WaitLost(ctx context.Context, limit time.Duration) error {
	c := l.c
	wait := func(step time.Duration) error {
		return l.call(ctx, "wait_lost", C.BRIDGE_WAIT_LOST, toMs(step), 0, nil)
	}
	if !c.local {
		return wait(limited(ctx, limit))
	}
	return sliced(ctx, "wait_lost", limited(ctx, limit), wait)
}

// WaitHeld waits until somebody holds the key, for limit at most (Forever = no limit). Errors: ErrTimeout.
func (c *Context) WaitHeld(ctx context.Context, key string, limit time.Duration) error {
	wait := func(step time.Duration) error {
		return c.keyed(ctx, "wait_held", C.BRIDGE_WAIT_HELD, key, toMs(step), "").err
	}
	if !c.local {
		return wait(limited(ctx, limit))
	}
	return sliced(ctx, "wait_held", limited(ctx, limit), wait)
}

// WaitHeldOn is WaitHeld on one node of a quorum (its address or id; "" = as WaitHeld): until that node knows of the
// lock. The Info is what it saw; nil where the lock was gone again. Errors: ErrTimeout, ErrUnsupported.
func (c *Context) WaitHeldOn(ctx context.Context, key, node string, limit time.Duration) (*Info, error) {
	if !c.local {
		answer := c.keyed(ctx, "wait_held_on", C.BRIDGE_WAIT_HELD_ON, key, toMs(limited(ctx, limit)), node)
		return answer.info, answer.err
	}
	var info *Info
	err := sliced(ctx, "wait_held_on", limited(ctx, limit), func(step time.Duration) error {
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
	if !c.local {
		return wait(limited(ctx, limit))
	}
	var holder uint64
	return sliced(ctx, "wait_released", limited(ctx, limit), func(step time.Duration) error {
		if limit < Forever || wantedResult(ctx) != nil {
			return wait(step)
		}
		info, err := c.Inspect(context.Background(), key)
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
