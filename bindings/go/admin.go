// SPDX-License-Identifier: MIT
// Administration: taking locks away, clearing by owner and instance, sweeping.

package liblock

// #include "bridge.h"
import "C"

import (
	"context"
	"time"
)

// ClearOption says in which steps locks are taken away.
type ClearOption func(*clearOptions)

type clearOptions struct{ batch, scan, dead *int64 }

// ClearBatch is how many keys are cleared per step: 1 to 65,536 (servers: 1,000 at most); default 100.
func ClearBatch(size int64) ClearOption { return func(o *clearOptions) { o.batch = &size } }

// ClearScan is how many keys are looked at per step of the search: 1 to 65,536; default 500.
func ClearScan(size int64) ClearOption { return func(o *clearOptions) { o.scan = &size } }

// DeadTTL makes ClearDead count requests as dead that wait for longer: 1 ms and more; default 24 h.
func DeadTTL(ttl time.Duration) ClearOption {
	return func(o *clearOptions) { ms := toMs(ttl); o.dead = &ms }
}

func clearNative(options []ClearOption, a *arena) *C.liblock_clear_options {
	if len(options) == 0 {
		return nil
	}
	var o clearOptions
	for _, option := range options {
		option(&o)
	}
	n := (*C.liblock_clear_options)(a.get(C.sizeof_liblock_clear_options))
	C.liblock_clear_options_init(n, C.sizeof_liblock_clear_options)
	if o.batch != nil {
		n.batch_size = C.int64_t(*o.batch)
	}
	if o.scan != nil {
		n.scan_size = C.int64_t(*o.scan)
	}
	if o.dead != nil {
		n.dead_ttl_ms = C.int64_t(*o.dead)
	}
	return n
}

// Clear takes all locks of the context's table or prefix away and dequeues all waiters: holders are ErrLost, waiters
// ErrDequeued. What is acquired meanwhile may stay. The Report counts also what a failing call has cleared. Errors:
// ErrInDoubt (a step had no answer).
func (c *Context) Clear(ctx context.Context, options ...ClearOption) (Report, error) {
	return c.clear(ctx, "clear", C.BRIDGE_CLEAR, "", options)
}

// ClearOwner is Clear for the locks and waiters of one owner, by Owner.ID.
func (c *Context) ClearOwner(ctx context.Context, id string, options ...ClearOption) (Report, error) {
	return c.clear(ctx, "clear_owner", C.BRIDGE_CLEAR_OWNER, id, options)
}

// ClearInstance is Clear for the locks and waiters of one instance, by Context.InstanceID.
func (c *Context) ClearInstance(ctx context.Context, id string, options ...ClearOption) (Report, error) {
	return c.clear(ctx, "clear_instance", C.BRIDGE_CLEAR_INSTANCE, id, options)
}

// ClearDead is Clear for zombies and for requests that have waited for longer than DeadTTL. On a server it takes as
// long as a silent instance is waited for, when there are any.
func (c *Context) ClearDead(ctx context.Context, options ...ClearOption) (Report, error) {
	return c.clear(ctx, "clear_dead", C.BRIDGE_CLEAR_DEAD, "", options)
}

func (c *Context) clear(ctx context.Context, op string, what C.int32_t, id string, o []ClearOption) (Report, error) {
	if !c.enter() {
		return Report{}, closedIn(ctx, op)
	}
	defer c.leave()
	leave, err := c.thread(ctx, op)
	if err != nil {
		return Report{}, err
	}
	defer leave()
	var a arena
	defer a.free()
	r := C.bridge_clear(c.handle, what, keyPtr(id), C.size_t(len(id)), clearNative(o, &a))
	err = settleInto(wantedResult(ctx), op, Status(r.status), &r.result)
	return reportOf(&r.report), err
}

// Sweep looks for overdue locks now, as is done periodically, and says how many there were.
func (c *Context) Sweep(ctx context.Context) (uint64, error) {
	if !c.enter() {
		return 0, closedIn(ctx, "sweep")
	}
	defer c.leave()
	leave, err := c.thread(ctx, "sweep")
	if err != nil {
		return 0, err
	}
	defer leave()
	answer := C.bridge_sweep(c.handle)
	return uint64(answer.count), settle(ctx, "sweep", &answer)
}

// ZombiesStatus is what this context does about zombies in the background.
type ZombiesStatus struct {
	Enabled, Flushing         bool
	Interval                  time.Duration // Forever = not enabled
	LastRun                   time.Time     // when it last said that it lives; zero = not yet
	Runs, Flushes             uint64
	Instances, Locks, Waiters uint64 // of those flushes
	LastFailure               Status
	LastFailureAt             time.Time // zero = none
}

// Zombies asks no server.
func (c *Context) Zombies() (ZombiesStatus, error) {
	if !c.enter() {
		return ZombiesStatus{}, closedError("zombies_status")
	}
	defer c.leave()
	var z C.liblock_zombies_status
	C.liblock_zombies_status_init(&z, C.sizeof_liblock_zombies_status)
	status := Status(C.liblock_zombies_status_get(c.handle, &z))
	return ZombiesStatus{
		Enabled: z.enabled != 0, Flushing: z.flushing != 0, Interval: fromMs(int64(z.interval_ms)),
		LastRun: timeOfUs(int64(z.last_run_us)), Runs: uint64(z.runs), Flushes: uint64(z.flushes),
		Instances: uint64(z.instances), Locks: uint64(z.locks), Waiters: uint64(z.waiters),
		LastFailure: Status(z.last_failure), LastFailureAt: timeOfUs(int64(z.last_failure_us)),
	}, statusError("zombies_status", status)
}
