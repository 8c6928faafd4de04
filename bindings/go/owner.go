// SPDX-License-Identifier: MIT
// Owners: identities that hold a key several times.

package liblock

// #include "bridge.h"
import "C"

import (
	"context"
	"sync"
)

// Owner is an identity that may hold a key several times (reentry), takes part in deadlock detection, and can release
// by key. Acquire by ByOwner; end it by Close.
type Owner struct {
	counted
	c      *Context
	handle *C.liblock_owner
	ending sync.Once
	kept   kept
}

// OpenOwner opens an owner. The name (0 to 255 bytes) is shown in listings and need not be unique.
func (c *Context) OpenOwner(name string) (*Owner, error) {
	return c.openOwner(context.Background(), name)
}

// OpenOwnerWith is OpenOwner for a context that has WithResult.
func (c *Context) OpenOwnerWith(ctx context.Context, name string) (*Owner, error) {
	return c.openOwner(ctx, name)
}

func (c *Context) openOwner(ctx context.Context, name string) (*Owner, error) {
	if !c.enter() {
		return nil, closedIn(ctx, "owner_open")
	}
	answer := C.bridge_owner_open(c.handle, keyPtr(name), C.size_t(len(name)))
	if err := settle(ctx, "owner_open", &answer); err != nil {
		c.leave()
		return nil, err
	}
	o := &Owner{c: c, handle: (*C.liblock_owner)(answer.object)}
	o.uses.Store(1)
	c.mutex.Lock()
	closed := c.isClosed
	if !closed {
		c.owners[o] = struct{}{}
	}
	c.mutex.Unlock()
	if closed {
		o.drop()
		return nil, closedIn(ctx, "owner_open")
	}
	return o, nil
}

func (o *Owner) leave() {
	if o.uses.Add(-1) == 0 {
		C.liblock_owner_free(o.handle)
		o.c.leave()
	}
}

// drop gives up the owner's own use; the library's object goes with the last call that is inside it.
func (o *Owner) drop() { o.ending.Do(o.leave) }

// Close releases all locks of the owner, ends its waits as ErrClosed and lets the next waiters run. A second call
// returns nil.
func (o *Owner) Close() error {
	if !o.enter() {
		return nil
	}
	defer o.leave()
	if status := Status(C.liblock_owner_close(o.handle)); status != OK {
		return statusError("owner_close", status)
	}
	o.c.mutex.Lock()
	delete(o.c.owners, o)
	o.c.mutex.Unlock()
	o.kept.lookThrough()
	o.drop()
	return nil
}

// ID is the identity as shown in listings: "instance/number/name".
func (o *Owner) ID() (string, error) {
	if !o.enter() {
		return "", closedError("owner_id")
	}
	defer o.leave()
	return o.c.ownerID(o.handle, 0)
}

// ThreadID is the identity that ByThread stands for on the calling thread.
func (c *Context) ThreadID() (string, error) {
	if !c.enter() {
		return "", closedError("owner_id")
	}
	defer c.leave()
	return c.ownerID(nil, 1)
}

func (c *Context) ownerID(owner *C.liblock_owner, thread C.int32_t) (string, error) {
	text, status := grown(func(buffer *C.char, size C.size_t, needed *C.size_t) Status {
		return Status(C.bridge_owner_id(c.handle, owner, thread, buffer, size, needed))
	})
	return text, statusError("owner_id", status)
}

// Release gives back keys of the owner, each once, also a part of a lock on several; of several locks on one key the
// youngest gives. All or nothing. Errors: ErrNotHeld (one of them is not held by this owner).
func (o *Owner) Release(ctx context.Context, keys ...string) error {
	if !o.enter() {
		return closedIn(ctx, "release_keys")
	}
	defer o.leave()
	return o.c.releaseKeys(ctx, o.handle, 0, keys)
}

// ReleaseByThread is Owner.Release for what ByThread holds on the calling thread, to which the goroutine must be
// locked.
func (c *Context) ReleaseByThread(ctx context.Context, keys ...string) error {
	if !c.enter() {
		return closedIn(ctx, "release_keys")
	}
	defer c.leave()
	return c.releaseKeys(ctx, nil, 1, keys)
}

func (c *Context) releaseKeys(ctx context.Context, owner *C.liblock_owner, thread C.int32_t, keys []string) error {
	var a arena
	defer a.free()
	list, count := a.list(keys), C.size_t(len(keys))
	if !c.local && thread == 0 && wantedResult(ctx) == nil {
		_, err := c.call(ctx, "release_keys", func(end C.bridge_end) C.bridge_answer {
			return C.bridge_release_keys(c.handle, owner, thread, list, count, &end)
		})
		if !isFull(StatusOf(err)) {
			return err
		}
	}
	leave, err := c.thread(ctx, "release_keys")
	if err != nil {
		return err
	}
	defer leave()
	answer := C.bridge_release_keys(c.handle, owner, thread, list, count, nil)
	return settle(ctx, "release_keys", &answer)
}
