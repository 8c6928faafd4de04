// SPDX-License-Identifier: MIT
// What every asynchronous call shares: submitted, awaited, canceled, and undone when its grant crosses.

package liblock

// #include "bridge.h"
import "C"

import (
	"context"
	"strings"
	"sync"
	"time"
)

// The engine of a context: one completion queue for all its waiting goroutines, and one goroutine that reads it. Each
// waiter has a number, which the library hands back with its end, and a channel with room for that end.
type engine struct {
	queue *Completions
	ended chan struct{}
}

// end is the end of a request, copied from the library.
type end struct {
	status      Status
	lock, token uint64
	told        Result
	info        *C.liblock_info // whoever receives the end frees it
}

type waiter struct{ done chan end }

func newWaiter() *waiter { return &waiter{done: make(chan end, 1)} }

func endOf(entry *C.bridge_completion) end {
	return end{
		status: Status(entry.status), lock: uint64(entry.lock), token: uint64(entry.token), told: toldBy(entry),
		info: entry.info,
	}
}

func toldBy(entry *C.bridge_completion) Result {
	return Result{
		Status: Status(entry.status), Message: C.GoString(entry.message), Attempts: uint32(entry.attempts),
		Token: uint64(entry.token), WaitedMs: int64(entry.waited_ms), RemainingMs: int64(entry.remaining_ms),
		QueuePosition: int64(entry.queue_position), QueueLength: int64(entry.queue_length),
		HoldCount: uint32(entry.hold_count), Flags: ResultFlags(entry.flags), Votes: uint32(entry.votes),
		Nodes: uint32(entry.nodes), Replicas: uint32(entry.replicas),
	}
}

func (e end) result() Result {
	r := e.told
	if e.status == OK {
		r.Message = "" // as a result has it; a completion says OK in words
	}
	return r
}

func (e end) err(op string) error {
	if e.status == OK {
		return nil
	}
	failure := &Error{Op: op, Status: e.status, Message: e.told.Message, Result: e.result()}
	if e.info != nil {
		failure.Busy = takeInfo(e.info)
	}
	return failure
}

func (e end) drop() {
	if e.info != nil {
		C.liblock_info_free(e.info)
	}
}

// started is the engine of the context, made when first needed.
func (c *Context) started() (*engine, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.isClosed {
		return nil, closedError("completions_open")
	}
	if c.engine != nil {
		return c.engine, nil
	}
	queue, err := c.OpenCompletions(c.capacity)
	if err != nil {
		return nil, err
	}
	c.engine = &engine{queue: queue, ended: make(chan struct{})}
	go c.engine.run()
	return c.engine, nil
}

func (e *engine) run() {
	defer close(e.ended)
	for {
		entry, err := e.queue.take(nil)
		if err != nil {
			return
		}
		if Kind(entry.kind) == KindLost {
			continue // on_lost tells of losses: it is never dropped
		}
		if w, ok := objects.take(uintptr(entry.id)).(*waiter); ok {
			w.done <- endOf(&entry)
		}
	}
}

// end waits for all pending ends to be delivered; the context has been closed, so they come.
func (e *engine) end() {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		e.queue.Stop() // again and again: a request that is refused at the last moment leaves without a sign
		select {
		case <-e.ended:
			e.queue.Close()
			return
		case <-look.C:
		}
	}
}

func endedBy(ctx context.Context, op string, status Status) error {
	const message = "the caller's context ended"
	failure := &Error{Op: op, Status: status, Message: message, Result: Result{Status: status, Message: message},
		cause: ctx.Err()}
	if wanted := wantedResult(ctx); wanted != nil {
		*wanted = failure.Result
	}
	return failure
}

// call makes an asynchronous call and waits for its end. When ctx ends before, a wait for others is canceled; any other
// call goes on and is ErrInDoubt.
func (c *Context) call(ctx context.Context, op string, submit func(C.bridge_end) C.bridge_answer) (end, error) {
	if ctx.Err() != nil && !givesBack(op) {
		return end{}, endedBy(ctx, op, ErrCanceled)
	}
	engine, err := c.started()
	if err != nil {
		return end{}, err
	}
	if !engine.queue.enter() { // it stays until the call has its place in it
		return end{}, closedError(op)
	}
	w := newWaiter()
	id := objects.put(w)
	answer := submit(C.bridge_end{queue: engine.queue.handle, id: C.uintptr_t(id)})
	engine.queue.leave()
	if status := Status(answer.status); status != OK {
		objects.take(id)
		return end{}, statusError(op, status)
	}
	select {
	case e := <-w.done:
		return e, e.err(op)
	case <-ctx.Done():
	}
	select {
	case e := <-w.done:
		return e, e.err(op)
	default:
	}
	isWait := strings.HasPrefix(op, "wait_")
	if isWait {
		C.liblock_cancel(c.handle, answer.request)
	}
	go func() { (<-w.done).drop() }()
	if isWait { // nothing was changed by it, whichever way it ends
		return end{}, endedBy(ctx, op, ErrCanceled)
	}
	return end{}, endedBy(ctx, op, ErrInDoubt)
}

// Calls of a server that only block are made by so many goroutines at once at most: each keeps a thread, and Go ends a
// program that has 10,000 of them.
const threadsMax = 256

var threads = make(chan struct{}, threadsMax)

// givesBack names the calls that the end of a context must not keep from being made.
func givesBack(op string) bool { return op == "release" || op == "release_keys" }

// thread waits for leave to make a blocking call; the function returned gives it back.
func (c *Context) thread(ctx context.Context, op string) (func(), error) {
	if givesBack(op) {
		ctx = context.Background()
	}
	if ctx.Err() != nil {
		return nil, endedBy(ctx, op, ErrCanceled)
	}
	if c.local {
		return func() {}, nil
	}
	select {
	case threads <- struct{}{}:
		var once sync.Once
		return func() { once.Do(func() { <-threads }) }, nil
	case <-ctx.Done():
		return nil, endedBy(ctx, op, ErrCanceled)
	}
}
