// SPDX-License-Identifier: MIT
// Calls about a key rather than a lock: by its value, waited for, looked at.

package liblock

// #include "bridge.h"
import "C"

import (
	"context"
	"time"
)

// keyed is the answer of a call on a key.
type keyed struct {
	err  error
	flag bool
	info *Info
}

// hasTwin says which calls the library also makes without a waiting thread; on servers those are used.
func hasTwin(call C.int32_t) bool {
	return call != C.BRIDGE_INSPECT_QUEUE && call != C.BRIDGE_IS_LOCKED && call != C.BRIDGE_IS_QUEUED
}

func isWait(call C.int32_t) bool {
	return call == C.BRIDGE_WAIT_HELD || call == C.BRIDGE_WAIT_HELD_ON || call == C.BRIDGE_WAIT_RELEASED
}

// keyed makes one of the calls that take a key, a number and the name of a node, on a channel where that can be.
func (c *Context) keyed(ctx context.Context, op string, call C.int32_t, key string, number int64, node string) keyed {
	if !c.enter() {
		return keyed{err: closedIn(ctx, op)}
	}
	defer c.leave()
	var a arena
	defer a.free()
	var name *C.char
	if node != "" {
		name = a.text(node)
	}
	if err := a.refuse(op); err != nil {
		return keyed{err: err}
	}
	if (!c.local || isWait(call)) && hasTwin(call) && wantedResult(ctx) == nil {
		e, err := c.call(ctx, op, func(end C.bridge_end) C.bridge_answer {
			return C.bridge_key_async(c.handle, call, keyPtr(key), C.size_t(len(key)), C.int64_t(number), name, end)
		})
		answer := keyed{err: err}
		if err == nil && e.info != nil {
			answer.info = takeInfo(e.info)
		}
		return answer
	}
	leave, err := c.thread(ctx, op)
	if err != nil {
		return keyed{err: err}
	}
	defer leave()
	return c.keyedHere(ctx, op, call, key, number, name)
}

func (c *Context) keyedHere(ctx context.Context, op string, call C.int32_t, key string, number int64,
	node *C.char) keyed {
	answer := C.bridge_key(c.handle, call, keyPtr(key), C.size_t(len(key)), C.int64_t(number), node)
	got := keyed{flag: answer.flag == 1}
	if answer.object != nil {
		got.info = takeInfo((*C.liblock_info)(answer.object))
	}
	if call == C.BRIDGE_IS_LOCKED || call == C.BRIDGE_IS_QUEUED { // these have no result
		got.err = statusError(op, Status(answer.status))
		if got.err == nil && answer.flag != 0 && answer.flag != 1 {
			got.err = &Error{Op: op, Status: ErrInternal, Message: "neither yes nor no"}
		}
		return got
	}
	got.err = settle(ctx, op, &answer)
	return got
}

// IsLocked says whether somebody holds the key. Errors: over a quorum ErrNoQuorum, ErrQuarantined.
func (c *Context) IsLocked(ctx context.Context, key string) (bool, error) {
	answer := c.keyed(ctx, "is_locked", C.BRIDGE_IS_LOCKED, key, 0, "")
	return answer.flag, answer.err
}

// IsQueued says whether somebody waits for the key.
func (c *Context) IsQueued(ctx context.Context, key string) (bool, error) {
	answer := c.keyed(ctx, "is_queued", C.BRIDGE_IS_QUEUED, key, 0, "")
	return answer.flag, answer.err
}

// Inspect tells of the holder of a key. Errors: ErrNotHeld.
func (c *Context) Inspect(ctx context.Context, key string) (*Info, error) {
	answer := c.keyed(ctx, "inspect", C.BRIDGE_INSPECT, key, 0, "")
	return answer.info, answer.err
}

// InspectQueue tells of the waiters of a key, in the order in which they will be served, and of the holder if there is
// one. Errors: ErrNotHeld (nobody holds or waits).
func (c *Context) InspectQueue(ctx context.Context, key string) (*Info, error) {
	answer := c.keyed(ctx, "inspect_queue", C.BRIDGE_INSPECT_QUEUE, key, 0, "")
	return answer.info, answer.err
}

// ReadMode says which nodes of a quorum Read asks.
type ReadMode int32

// The modes of Read.
const (
	ReadNearest ReadMode = C.LIBLOCK_READ_NEAREST // whoever answers fastest; may be old: decide nothing by it
	ReadMaster  ReadMode = C.LIBLOCK_READ_MASTER  // the same, of the nodes that vote
	ReadQuorum  ReadMode = C.LIBLOCK_READ_QUORUM  // what as many nodes as must vote agree on
)

// Read tells who holds a key and with which value. node (address or id) names the one to ask; "" = any. One server:
// the same as Inspect. Errors: ErrNotHeld, ErrNoQuorum, ErrQuarantined, ErrConnect, ErrUnsupported (a local context).
func (c *Context) Read(ctx context.Context, key string, mode ReadMode, node string) (*Info, error) {
	answer := c.keyed(ctx, "read", C.BRIDGE_READ, key, int64(mode), node)
	return answer.info, answer.err
}

// DropQueue makes ForceRelease end the waiters as ErrDequeued as well.
const DropQueue = C.LIBLOCK_DROP_QUEUE

// ForceRelease takes a key away from whoever holds it: his Locks become ErrLost, the next waiter runs. flags is 0 or
// DropQueue. WithResult tells by HadLock and HadQueue what there was. Errors: ErrNotHeld; over a quorum also
// ErrPartial, ErrInDoubt, ErrNoQuorum.
func (c *Context) ForceRelease(ctx context.Context, key string, flags int32) error {
	return c.keyed(ctx, "force_release", C.BRIDGE_FORCE_RELEASE, key, int64(flags), "").err
}

// ReleaseKey gives back a lock by the value that it carries, from any context of the table or prefix; the holder's
// Locks are ErrLost then. nil expects no value. Errors: ErrNotHeld, ErrNotOwner (it carries another value),
// ErrInDoubt.
func (c *Context) ReleaseKey(ctx context.Context, key string, expected []byte) error {
	return c.byValue(ctx, "release_key", C.BRIDGE_RELEASE_KEY, key, expected, 0, 0, nil)
}

// ExtendKey is Lock.Extend in the same way; ttl cannot be Auto. Errors as of ReleaseKey.
func (c *Context) ExtendKey(ctx context.Context, key string, expected []byte, ttl time.Duration) error {
	return c.byValue(ctx, "extend_key", C.BRIDGE_EXTEND_KEY, key, expected, toMs(ttl), C.LIBLOCK_EXTEND_SET, nil)
}

// ExtendKeyBy is Lock.ExtendBy in the same way.
func (c *Context) ExtendKeyBy(ctx context.Context, key string, expected []byte, more time.Duration) error {
	return c.byValue(ctx, "extend_key", C.BRIDGE_EXTEND_KEY, key, expected, toMs(more), C.LIBLOCK_EXTEND_ADD, nil)
}

// UpdateKey is Lock.Update in the same way.
func (c *Context) UpdateKey(ctx context.Context, key string, expected, value []byte) error {
	return c.byValue(ctx, "update_key", C.BRIDGE_UPDATE_KEY, key, expected, 0, 0, value)
}

func (c *Context) byValue(ctx context.Context, op string, call C.int32_t, key string, expected []byte, ms int64,
	flags C.int32_t, value []byte) error {
	if !c.enter() {
		return closedIn(ctx, op)
	}
	defer c.leave()
	leave, err := c.thread(ctx, op)
	if err != nil {
		return err
	}
	defer leave()
	answer := C.bridge_by_value(c.handle, call, keyPtr(key), C.size_t(len(key)), bytesPtr(expected),
		C.size_t(len(expected)), C.int64_t(ms), flags, bytesPtr(value), C.size_t(len(value)))
	return settle(ctx, op, &answer)
}
