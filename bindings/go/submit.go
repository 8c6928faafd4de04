// SPDX-License-Identifier: MIT

package liblock

// #include "bridge.h"
import "C"

// Request names an acquire that was submitted.
type Request uint64

// submission is what a queue of the caller knows of a request.
type submission struct {
	queue    *Completions
	pending  *pending
	userData uint64
}

// Submit asks for one key without waiting; the end comes to queue, with userData. Errors: ErrLimit.
func (c *Context) Submit(queue *Completions, userData uint64, key string, options ...LockOption) (Request, error) {
	return c.submit(queue, userData, target{how: C.BRIDGE_ONE, key: key}, options)
}

// SubmitMany is Submit for several keys as one lock.
func (c *Context) SubmitMany(queue *Completions, userData uint64, keys []string,
	options ...LockOption) (Request, error) {
	return c.submit(queue, userData, target{how: C.BRIDGE_MANY, keys: keys}, options)
}

// SubmitGlobal is Submit for the global lock.
func (c *Context) SubmitGlobal(queue *Completions, userData uint64, options ...LockOption) (Request, error) {
	return c.submit(queue, userData, target{how: C.BRIDGE_GLOBAL}, options)
}

func (c *Context) submit(queue *Completions, userData uint64, what target, options []LockOption) (Request, error) {
	o := readLockOptions(options)
	if !c.enter() {
		return 0, closedError("acquire")
	}
	defer c.leave()
	if !queue.enter() {
		return 0, closedError("acquire")
	}
	defer queue.leave()
	leave, ok := o.enter()
	if !ok {
		return 0, closedError("acquire")
	}
	defer leave()
	var a arena
	defer a.free()
	p := c.prepare(o)
	n := p.native(&a)
	if err := a.refuse("acquire"); err != nil {
		p.ended(ErrInvalidArgument)
		return 0, err
	}
	if o.queued != nil {
		p.ended(ErrInvalidArgument)
		return 0, invalid("acquire", "on_queued tells Lock, not a queue: leave OnQueued out, or call Lock")
	}
	n.completions = queue.handle
	id := objects.put(&submission{queue, p, userData})
	keys := a.list(what.keys)
	answer := C.bridge_acquire_async(c.handle, what.how, keyPtr(what.key), C.size_t(len(what.key)), keys,
		C.size_t(len(what.keys)), n, C.bridge_end{queue: queue.handle, id: C.uintptr_t(id)})
	if status := Status(answer.status); status != OK {
		objects.take(id)
		err := c.why(status, what, n, keys)
		p.ended(status)
		return 0, err
	}
	return Request(answer.request), nil
}

// why finds the words for a request that was refused, which come with a result only: one blocking attempt is refused
// in the same ones. A wait that cannot be meant stays what is refused.
func (c *core) why(status Status, what target, n *C.liblock_acquire_options, keys *C.liblock_bytes) error {
	plain := statusError("acquire", status)
	if status != ErrInvalidArgument && status != ErrUnsupported {
		return plain
	}
	n.busy_info = 0
	if n.wait_ms > 0 || waitsForever(n.wait_ms) {
		n.wait_ms = 0
	}
	answer := C.bridge_acquire(c.handle, what.how, keyPtr(what.key), C.size_t(len(what.key)), keys,
		C.size_t(len(what.keys)), n)
	if Status(answer.status) == OK {
		c.giveBack(uint64(answer.lock))
	}
	if Status(answer.status) != status {
		return plain
	}
	return settleInto(nil, "acquire", status, &answer.result)
}

// Cancel asks a request that was submitted to end. Its Completion still comes: ErrCanceled, or whatever ended it
// before, which may be a grant. Errors: ErrInvalidHandle (it has ended already, or never was).
func (c *Context) Cancel(request Request) error {
	if !c.enter() {
		return closedError("cancel")
	}
	defer c.leave()
	return statusError("cancel", Status(C.liblock_cancel(c.handle, C.liblock_request(request))))
}
