// SPDX-License-Identifier: MIT
// Waits for a key to be held or released.

package liblock

// #include "bridge.h"
import "C"

import (
	"context"
	"time"
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

// waits makes a wait on a channel, which the end of ctx cancels. One that is asked for its Result keeps a thread.
func waits(ctx context.Context, limit time.Duration, wait func(ms int64) error) error {
	if wantedResult(ctx) != nil {
		limit = limited(ctx, limit)
	}
	return inTime(ctx, wait(toMs(limit)))
}

// WaitLost waits until the lock is no longer held, for limit at most (Forever = no limit). It never returns nil:
// ErrLost; ErrNotHeld (it was released); ErrTimeout (still held). Lost is the same as a channel.
func (l *Lock) WaitLost(ctx context.Context, limit time.Duration) error {
	return waits(ctx, limit, func(ms int64) error {
		return l.call(ctx, "wait_lost", C.BRIDGE_WAIT_LOST, ms, 0, nil)
	})
}

// WaitHeld waits until somebody holds the key, for limit at most (Forever = no limit). Errors: ErrTimeout.
func (c *Context) WaitHeld(ctx context.Context, key string, limit time.Duration) error {
	return waits(ctx, limit, func(ms int64) error {
		return c.keyed(ctx, "wait_held", C.BRIDGE_WAIT_HELD, key, ms, "").err
	})
}

// WaitHeldOn is WaitHeld on one node of a quorum (its address or id; "" = as WaitHeld): until that node knows of the
// lock. The Info is what it saw; nil where the lock was gone again. Errors: ErrTimeout, ErrUnsupported.
func (c *Context) WaitHeldOn(ctx context.Context, key, node string, limit time.Duration) (*Info, error) {
	var info *Info
	err := waits(ctx, limit, func(ms int64) error {
		answer := c.keyed(ctx, "wait_held_on", C.BRIDGE_WAIT_HELD_ON, key, ms, node)
		info = answer.info
		return answer.err
	})
	return info, err
}

// WaitReleased waits until the present holder of the key no longer holds it, for limit at most. Errors: ErrNotHeld
// (nobody holds it), ErrTimeout.
func (c *Context) WaitReleased(ctx context.Context, key string, limit time.Duration) error {
	return waits(ctx, limit, func(ms int64) error {
		return c.keyed(ctx, "wait_released", C.BRIDGE_WAIT_RELEASED, key, ms, "").err
	})
}
