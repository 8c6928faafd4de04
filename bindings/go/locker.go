// SPDX-License-Identifier: MIT
// sync.Locker over one key.

package liblock

import (
	"context"
	"sync"
)

// Locker is one key as a sync.Locker. Like a sync.Mutex it belongs to nobody in particular, and one Locker may be used
// by many goroutines; they exclude each other and everybody else who asks for the key.
type Locker struct {
	c       *Context
	ctx     context.Context
	key     string
	options []LockOption
	mutex   sync.Mutex // guards lock
	lock    *Lock
}

var _ sync.Locker = (*Locker)(nil)

// NewLocker makes a sync.Locker of a key. ctx and options count for every Lock.
func (c *Context) NewLocker(ctx context.Context, key string, options ...LockOption) *Locker {
	return &Locker{c: c, ctx: ctx, key: key, options: options}
}

// Lock acquires the key. It panics with the *Error where that fails, since a sync.Locker has no other way to say so:
// when ctx ends, the context is closed, the options limit the wait, or a server cannot be reached.
func (l *Locker) Lock() {
	lock, err := l.c.Lock(l.ctx, l.key, l.options...)
	if err != nil {
		panic(err)
	}
	l.mutex.Lock()
	l.lock = lock
	l.mutex.Unlock()
}

// Unlock gives the key back. It panics with the *Error where the lock was not held any more: ErrNotHeld without a Lock
// before, ErrLost when the lease had ended or the lock was taken away. A release that a server has not answered yet
// goes on and does not panic.
func (l *Locker) Unlock() {
	l.mutex.Lock()
	lock := l.lock
	l.lock = nil
	l.mutex.Unlock()
	if lock == nil {
		panic(statusError("release", ErrNotHeld))
	}
	switch err := lock.Unlock(context.Background()); StatusOf(err) {
	case OK, ErrInDoubt, ErrPartial:
	default:
		panic(err)
	}
}
