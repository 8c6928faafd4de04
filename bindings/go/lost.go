// SPDX-License-Identifier: MIT
// How the loss of a lock is told: a channel, or a context.Context that ends.

package liblock

import (
	"context"
	"sync"
	"time"
)

// loss is where the library's notice of a lost lock goes. The notice may come before the acquire has returned.
type loss struct {
	c     *Context
	once  sync.Once
	lost  chan struct{}
	told  func(*Lock)
	mutex sync.Mutex // guards lock
	lock  *Lock
}

func (l *loss) granted(lock *Lock) {
	l.mutex.Lock()
	l.lock = lock
	l.mutex.Unlock()
}

func (l *loss) happened() { l.once.Do(func() { close(l.lost) }) }

// losses ends what waits for losses of a context that is closed: its locks are held no more.
func (c *Context) losses() {
	objects.each(func(object interface{}) bool {
		l, ok := object.(*loss)
		return ok && l.c == c
	}, func(object interface{}) { object.(*loss).happened() })
}

// lookEvery is how often locks are looked at that the library does not tell of.
const lookEvery = 100 * time.Millisecond

// watch looks at the plain local locks whose Lost was asked for: one goroutine for all of a context, while there are
// any.
type watch struct {
	mutex   sync.Mutex // guards all
	locks   map[*Lock]struct{}
	running bool
}

// Lost is closed when the lock is lost: its lease has ended, it was taken away, or its context was closed. It stays
// open for a lock that was released.
//
// The library tells at once of locks with a ttl, of locks on a server and of those acquired with NotifyLost or by
// WithLock. A local lock without any of that, which only an administrator can take away, is looked at every 100 ms
// from the first call of Lost on.
func (l *Lock) Lost() <-chan struct{} {
	w := &l.c.watch
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if l.loss != nil {
		return l.loss.lost
	}
	l.loss = &loss{c: l.c, lost: make(chan struct{}), lock: l}
	w.locks[l] = struct{}{}
	if !w.running {
		w.running = true
		go w.run()
	}
	return l.loss.lost
}

func (w *watch) run() {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for range ticker.C {
		w.mutex.Lock()
		for lock := range w.locks {
			status := StatusOf(lock.Held())
			if status == OK {
				continue
			}
			delete(w.locks, lock)
			if status != ErrNotHeld {
				lock.loss.happened()
			}
		}
		w.running = len(w.locks) > 0
		running := w.running
		w.mutex.Unlock()
		if !running {
			return
		}
	}
}

// Context is a context for work under the lock: it ends when the lock is lost, when parent ends, or by the function
// returned, which must be called.
func (l *Lock) Context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	lost := l.Lost()
	go func() {
		select {
		case <-lost:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
