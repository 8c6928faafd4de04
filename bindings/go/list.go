// SPDX-License-Identifier: MIT
// Lists of locks, queues, keys and instances, read in batches.

package liblock

// #include "bridge.h"
import "C"

import (
	"context"
	"time"
)

// What says which keys a listing shows.
type What int32

// The listings.
const (
	Locks  What = C.LIBLOCK_LIST_LOCKS  // keys that are held, and the global lock
	Queues What = C.LIBLOCK_LIST_QUEUES // keys that somebody waits for
	Keys   What = C.LIBLOCK_LIST_KEYS   // both, each once
)

// ListOption narrows a listing.
type ListOption func(*listOptions)

type listOptions struct {
	prefix  *string
	batch   *int64
	zombies bool
}

// KeyPrefix shows only keys that begin with these bytes.
func KeyPrefix(prefix string) ListOption { return func(o *listOptions) { o.prefix = &prefix } }

// ListBatch is how many keys are looked at per step: 1 to 65,536; default 500.
func ListBatch(size int64) ListOption { return func(o *listOptions) { o.batch = &size } }

// ZombiesOnly shows only keys whose holder's instance, or that of one who waits, is gone.
func ZombiesOnly() ListOption { return func(o *listOptions) { o.zombies = true } }

func listNative(options []ListOption, a *arena) *C.liblock_list_options {
	if len(options) == 0 {
		return nil
	}
	var o listOptions
	for _, option := range options {
		option(&o)
	}
	n := (*C.liblock_list_options)(a.get(C.sizeof_liblock_list_options))
	C.liblock_list_options_init(n, C.sizeof_liblock_list_options)
	if o.prefix != nil {
		prefix := a.bytes(*o.prefix)
		n.key_prefix, n.key_prefix_size = prefix.data, prefix.size
	}
	if o.batch != nil {
		n.batch_size = C.int64_t(*o.batch)
	}
	if o.zombies {
		n.zombies_only = 1
	}
	return n
}

// Report is what a call that goes over many keys has counted.
type Report struct {
	Locks, Queues, Keys uint64        // shown, or taken away; Keys = Locks + Queues
	Waiters             uint64        // sent away; listings: 0
	Steps               uint64        // batches that it took
	Elapsed             time.Duration // that the library took
	Instances           uint64        // shown, or taken off the list
}

func reportOf(r *C.liblock_report) Report {
	return Report{
		Locks: uint64(r.locks), Queues: uint64(r.queues), Keys: uint64(r.keys), Waiters: uint64(r.waiters),
		Steps: uint64(r.steps), Elapsed: time.Duration(r.elapsed_us) * time.Microsecond,
		Instances: uint64(r.instances),
	}
}

// Each shows the keys of a listing to show until that returns false; nil only counts. Keys that come or go meanwhile
// may be missed; on a server one may be shown twice when its table grows or shrinks. The Report counts also what a
// failing call has shown. While show runs no call of the library is under way: it may wait and make calls of its own,
// and a panic or runtime.Goexit in it ends the listing.
func (c *Context) Each(ctx context.Context, what What, show func(*Info) bool, options ...ListOption) (Report, error) {
	if show == nil {
		return c.count(ctx, what, options)
	}
	cursor, err := c.List(ctx, what, options...)
	if err != nil {
		return Report{}, err
	}
	defer cursor.Close()
	for cursor.Next() && show(cursor.Info()) {
	}
	if err = cursor.Err(); err == nil && ctx.Err() != nil {
		err = endedBy(ctx, "list_each", ErrCanceled)
	}
	if wanted := wantedResult(ctx); wanted != nil && err != nil {
		*wanted = err.(*Error).Result
	}
	report, _ := cursor.Report() // of a cursor that is open, which never fails
	return report, err
}

func (c *Context) count(ctx context.Context, what What, options []ListOption) (Report, error) {
	if !c.enter() {
		return Report{}, closedIn(ctx, "list_each")
	}
	defer c.leave()
	leave, err := c.thread(ctx, "list_each")
	if err != nil {
		return Report{}, err
	}
	defer leave()
	var a arena
	defer a.free()
	r := C.bridge_list_each(c.handle, C.int32_t(what), listNative(options, &a))
	if err = settleInto(wantedResult(ctx), "list_each", Status(r.status), &r.result); err == nil && ctx.Err() != nil {
		err = endedBy(ctx, "list_each", ErrCanceled)
	}
	return reportOf(&r.report), err
}

// Cursor is a listing under way; it belongs to one goroutine at a time.
//
//	cursor, err := locks.List(ctx, liblock.Locks)
//	defer cursor.Close()
//	for cursor.Next() { … cursor.Info() … }
//	err = cursor.Err()
type Cursor struct {
	c      *Context
	ctx    context.Context
	handle *C.liblock_cursor
	info   *Info
	err    error
}

// List begins a listing: Each as an iterator.
func (c *Context) List(ctx context.Context, what What, options ...ListOption) (*Cursor, error) {
	if !c.enter() {
		return nil, closedIn(ctx, "list")
	}
	defer c.leave()
	leave, err := c.thread(ctx, "list")
	if err != nil {
		return nil, err
	}
	defer leave()
	var a arena
	defer a.free()
	answer := C.bridge_list(c.handle, C.int32_t(what), listNative(options, &a))
	if err = settle(ctx, "list", &answer); err != nil {
		return nil, err
	}
	c.enter() // the cursor's own use, until Close
	return &Cursor{c: c, ctx: ctx, handle: (*C.liblock_cursor)(answer.object)}, nil
}

// Next goes on to the next key; false at the end and after a failure, from where another Next goes on.
func (cursor *Cursor) Next() bool {
	cursor.info, cursor.err = nil, nil
	if cursor.handle == nil {
		cursor.err = closedError("cursor_next")
		return false
	}
	leave, err := cursor.c.thread(cursor.ctx, "cursor_next")
	if err != nil {
		cursor.err = err
		return false
	}
	defer leave()
	var info *C.liblock_info
	cursor.err = statusError("cursor_next", Status(C.liblock_cursor_next(cursor.handle, &info)))
	if info != nil {
		cursor.info = takeInfo(info)
	}
	return cursor.err == nil && cursor.info != nil
}

// Info is the key that Next went to.
func (cursor *Cursor) Info() *Info { return cursor.info }

// Err is what kept Next from going on; nil at the end.
func (cursor *Cursor) Err() error { return cursor.err }

// Report counts what was shown so far.
func (cursor *Cursor) Report() (Report, error) {
	if cursor.handle == nil {
		return Report{}, closedError("cursor_report")
	}
	var r C.liblock_report
	C.liblock_report_init(&r, C.sizeof_liblock_report)
	status := Status(C.liblock_cursor_report(cursor.handle, &r))
	return reportOf(&r), statusError("cursor_report", status)
}

// Close ends the listing; a second call does nothing.
func (cursor *Cursor) Close() {
	if cursor.handle != nil {
		C.liblock_cursor_free(cursor.handle)
		cursor.handle = nil
		cursor.c.leave()
	}
}

// Instance is one context that is open on the table or prefix.
type Instance struct {
	ID, Host string
	Heard    time.Time // when it was last heard of, by the clock of the server
	Silent   time.Duration
	Interval time.Duration // between its signs of life; Forever = gives none
	Listens  int32         // 1 = its connection for messages is there, 0 = is not, -1 = not known
	IsZombie bool
	IsSelf   bool // the context that lists
}

// EachInstance shows the instances until show returns false; nil only counts. All have been read when the first is
// shown, so that show may do what that of Each may. Errors: ErrUnsupported over a quorum.
func (c *Context) EachInstance(ctx context.Context, zombiesOnly bool, show func(Instance) bool) (Report, error) {
	if !c.enter() {
		return Report{}, closedIn(ctx, "list_instances")
	}
	defer c.leave()
	leave, err := c.thread(ctx, "list_instances")
	if err != nil {
		return Report{}, err
	}
	defer leave()
	var options C.liblock_instance_list_options
	C.liblock_instance_list_options_init(&options, C.sizeof_liblock_instance_list_options)
	if zombiesOnly {
		options.zombies_only = 1
	}
	var id uintptr
	var found []Instance
	if show != nil {
		id = objects.put(func(i Instance) bool { found = append(found, i); return true })
		defer objects.take(id)
	}
	r := C.bridge_list_instances(c.handle, &options, C.uintptr_t(id))
	leave()
	report := reportOf(&r.report)
	err = settleInto(wantedResult(ctx), "list_instances", Status(r.status), &r.result)
	for i, instance := range found {
		if !show(instance) {
			report.Instances = uint64(i + 1)
			break
		}
	}
	return report, err
}
