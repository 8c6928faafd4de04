// SPDX-License-Identifier: MIT

// Package liblock excludes by key: the goroutines of a process, the clients of one Redis or Valkey server, and those
// of a quorum of servers, through the same calls. It is a binding of the C library liblock, found by pkg-config.
//
//	locks, err := liblock.Open(ctx, "redis://localhost")
//	lock, err := locks.Lock(ctx, "invoice/4711", liblock.TTL(30*time.Second))
//	defer lock.Unlock(ctx)
//
// Units: durations are time.Duration, of which the library counts whole milliseconds; fields that end in Ms are
// milliseconds. Keys, values and names are bytes in strings, 1 to 512 of a key; nothing asks for UTF-8.
//
// Threads: a Context, Owner, Lock, Completions or Locker may be used by any number of goroutines at once. A waiting
// goroutine keeps no thread of the operating system. Callbacks run on a thread of the library, one at a time unless
// their text says otherwise. They must not panic, and must not block: a Lock that waits in one holds up all others.
// Close, and calls with WithResult or Blocking that could wait, answer ErrWouldDeadlock there. What Each and
// EachInstance are given to show to is no such callback: it runs on the goroutine that lists, and may do anything.
//
// Errors: a failing call answers *Error and has changed nothing unless its text says otherwise. errors.Is asks for a
// status (ErrBusy, ErrLost …) and for context.Canceled or context.DeadlineExceeded where the caller's context ended
// it.
//
// Contexts of Go: a call whose context.Context has ended before answers ErrCanceled and does nothing. Only what gives
// locks back, Lock.Unlock and Owner.Release, is made all the same.
//
// Forks: a Go program that starts others by os/exec is not concerned. A child of a bare fork finds every object of the
// parent answering ErrForked, and takes nothing from its parent by closing them; it opens a Context of its own. Go's
// runtime has lost its threads there: nothing may wait on a channel.
package liblock

// #cgo pkg-config: liblock
// #include "bridge.h"
import "C"

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// counted keeps an object of the library alive while calls are inside it. It begins with one use, that of its owner.
type counted struct{ uses atomic.Int64 }

func (c *counted) enter() bool {
	for {
		uses := c.uses.Load()
		if uses <= 0 {
			return false
		}
		if c.uses.CompareAndSwap(uses, uses+1) {
			return true
		}
	}
}

// core is what outlives a Context for as long as calls, owners and queues use it.
type core struct {
	counted
	handle *C.liblock_context
	local  bool
}

func (c *core) leave() {
	if c.uses.Add(-1) == 0 {
		C.liblock_context_free(c.handle)
	}
}

// giveBack releases a lock of which nobody knows, without waiting for a server. Where no request can be made any more
// a goroutine waits, and with it a thread.
func (c *core) giveBack(lock uint64) {
	release := func() { C.bridge_lock(c.handle, C.BRIDGE_RELEASE, C.uint64_t(lock), 0, 0, nil, 0) }
	if c.local {
		release()
		return
	}
	answer := C.bridge_lock_async(c.handle, C.BRIDGE_RELEASE, C.uint64_t(lock), 0, 0, nil, 0, C.bridge_end{})
	if isFull(Status(answer.status)) && c.enter() {
		go func() { defer c.leave(); release() }()
	}
}

// isFull says that a request was refused which a blocking call can do without.
func isFull(status Status) bool {
	return status == ErrLimit || status == ErrNoMemory || status == ErrInternal // no descriptor left
}

// isForked says that this is a child of the process that opened the context.
func (c *core) isForked() bool {
	var needed C.size_t
	return Status(C.liblock_instance_id(c.handle, nil, 0, &needed)) == ErrForked
}

// What a forked child closes belongs to its parent: were a descriptor closed here that Go's network poller watches, the
// parent, whose poller is the same object of the kernel, would never hear of it again. So it is kept for ever.
var parents struct {
	sync.Mutex
	objects []interface{}
}

func leaveToParent(object interface{}) {
	parents.Lock()
	parents.objects = append(parents.objects, object)
	parents.Unlock()
}

// Context is a namespace of keys on one backend. Close ends it.
type Context struct {
	*core
	told      atomic.Int32 // somebody listens to events or the log: a failing first try would be told about
	opened    Result
	mutex     sync.Mutex // guards what follows
	isClosed  bool
	capacity  int
	engine    *engine
	owners    map[*Owner]struct{}
	callbacks map[string]uintptr // numbers of what is called back, by use; forgotten at the end
	retired   []uintptr          // callbacks that were replaced
	listens   map[string]bool    // who listens to events and the log
	watch     watch
	byThread  kept
}

// Open opens a context.
//
//	"local:NAME"  the same table for everyone in the process who opens this name (1 to 255 bytes)
//	"local:"      a table of its own
//	"redis://[user[:password]@]host[:port][/db]", "rediss://…" over TLS, "unix:///path[?db=N]"
//	"quorum:URL,URL,…"  1 to 15 servers of which a majority must agree; or "" and the option Servers
//
// A server is connected to with the first call that needs it: Ping tells whether it is there. A quorum is waited for,
// up to its connection time-out; what is wrong with its nodes is then in Opened. Errors: ErrInvalidArgument,
// ErrOptionsMismatch, ErrUnsupported. The context of Go is looked at before the call only.
func Open(ctx context.Context, url string, options ...Option) (*Context, error) {
	if ctx.Err() != nil {
		return nil, endedBy(ctx, "open", ErrCanceled)
	}
	o := &openOptions{Open: openDefaults, capacity: capacityMax}
	for _, option := range options {
		option(o)
	}
	if o.capacity < 1 || o.capacity > capacityMax {
		return nil, &Error{Op: "open", Status: ErrInvalidArgument, Message: "Capacity is not 1 to 1,048,576"}
	}
	var a arena
	defer a.free()
	var text *C.char
	if url != "" || o.servers == nil {
		text = a.text(url)
	}
	native := o.native(&a)
	if err := a.refuse("open"); err != nil {
		return nil, err
	}
	var id uintptr
	if o.onOpen != nil {
		id = objects.put(o.onOpen)
		defer objects.take(id)
	}
	answer := C.bridge_open(text, native, C.uintptr_t(id))
	if err := settle(ctx, "open", &answer); err != nil {
		return nil, err
	}
	c := &Context{
		core:     &core{handle: (*C.liblock_context)(answer.object), local: strings.HasPrefix(url, "local:")},
		capacity: o.capacity,
		opened:   resultOf(&answer.result), owners: map[*Owner]struct{}{}, callbacks: map[string]uintptr{},
		listens: map[string]bool{},
	}
	c.uses.Store(1)
	c.watch.locks = map[*Lock]struct{}{}
	runtime.SetFinalizer(c, func(c *Context) { go c.Close() }) // a backstop: Close may wait, finalizers must not
	return c, nil
}

// Opened is what Open told: of a quorum, what is wrong with its nodes.
func (c *Context) Opened() Result { return c.opened }

func closedError(op string) error { return statusError(op, ErrClosed) }

// closedIn also fills in the Result that the caller's context asks for.
func closedIn(ctx context.Context, op string) error {
	err := statusError(op, ErrClosed)
	if wanted := wantedResult(ctx); wanted != nil {
		*wanted = err.(*Error).Result
	}
	return err
}

// Close ends everything the context does: waits end as ErrClosed, locks are released or left (OnClose), owners are
// closed. It waits until that is done; afterwards every call answers ErrClosed. A second call returns nil. Errors:
// ErrWouldDeadlock from inside a callback.
func (c *Context) Close() error {
	if !c.enter() {
		return nil
	}
	defer c.leave()
	if status := Status(C.liblock_close(c.handle)); status != OK {
		return statusError("close", status)
	}
	if c.isForked() {
		leaveToParent(c)
		return nil
	}
	c.finish()
	return nil
}

// CloseAsync is Close without waiting; the channel receives its end, once. May be called in callbacks.
func (c *Context) CloseAsync() <-chan error {
	ended := make(chan error, 1)
	if !c.enter() {
		ended <- nil
		return ended
	}
	w := newWaiter()
	id := objects.put(w)
	if status := Status(C.bridge_close_async(c.handle, C.uintptr_t(id))); status != OK {
		objects.take(id)
		c.leave()
		ended <- statusError("close", status)
		return ended
	}
	go func() {
		defer c.leave()
		end := <-w.done
		c.finish()
		ended <- statusError("close", end.status)
	}()
	return ended
}

// finish takes down what Go has of a context that the library has closed.
func (c *Context) finish() {
	c.mutex.Lock()
	if c.isClosed {
		c.mutex.Unlock()
		return
	}
	c.isClosed = true
	engine, owners, callbacks, retired := c.engine, c.owners, c.callbacks, c.retired
	c.owners, c.callbacks = nil, nil
	c.mutex.Unlock()
	runtime.SetFinalizer(c, nil)
	if engine != nil {
		engine.end()
	}
	for owner := range owners {
		owner.drop()
	}
	for _, id := range callbacks {
		retired = append(retired, id)
	}
	for _, id := range retired {
		objects.take(id)
	}
	c.losses()
	c.leave()
}

// Ping asks whether the backend is there. Local: nil while open. Errors: ErrConnect, ErrAuth, ErrServer …
func (c *Context) Ping(ctx context.Context) error {
	return c.keyed(ctx, "ping", C.BRIDGE_PING, "", 0, "").err
}

// InstanceID is the identity of this context among all instances: "process-random@host".
func (c *Context) InstanceID() (string, error) {
	if !c.enter() {
		return "", closedError("instance_id")
	}
	defer c.leave()
	text, status := grown(func(buffer *C.char, size C.size_t, needed *C.size_t) Status {
		return Status(C.liblock_instance_id(c.handle, buffer, size, needed))
	})
	return text, statusError("instance_id", status)
}
