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

// tell is for whoever has taken the loss out of the registry, which nobody else then has.
func (l *loss) tell() {
	l.happened()
	if l.told == nil {
		return
	}
	l.mutex.Lock()
	lock := l.lock
	l.mutex.Unlock()
	l.told(lock)
}

// lostBehind is for a lock whose release has told that it was lost, which may be before the library's notice comes; to
// a lock that shares another's hold none comes.
func (l *Lock) lostBehind() {
	w := &l.c.watch
	w.mutex.Lock()
	known := l.loss
	w.mutex.Unlock()
	if known != nil {
		known.happened()
	}
	l.over.Store(true)
	l.tellOnce()
}

func (l *Lock) tellOnce() {
	if l.lossID == 0 {
		return
	}
	if known, ok := objects.take(l.lossID).(*loss); ok {
		go known.tell() // what it calls may block
	}
}

// losses ends what waits for losses of a context that is closed: its locks are held no more.
func (c *Context) losses() {
	objects.each(func(object interface{}) bool {
		l, ok := object.(*loss)
		return ok && l.c == c
	}, func(object interface{}) { object.(*loss).happened() })
}

// lookEvery is how often locks are looked at that the library does not tell of.
const lookEvery = 100 * time.Millisecond

// watch looks at the locks of which the library does not tell, where somebody wants to hear of them: plain local ones,
// and those that may share another's hold. One goroutine for all of a context, while there are any.
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
// from the first call of Lost on. So is one that shares a hold of its owner: the library tells the first of these.
func (l *Lock) Lost() <-chan struct{} {
	w := &l.c.watch
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if l.loss == nil {
		l.loss = &loss{c: l.c, lost: make(chan struct{}), lock: l}
		w.add(l)
	} else if l.shares {
		w.add(l)
	}
	return l.loss.lost
}

func (w *watch) add(l *Lock) {
	if l.over.Load() {
		return
	}
	w.locks[l] = struct{}{}
	if !w.running {
		w.running = true
		go w.run()
	}
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
			if status == ErrNotHeld || lock.over.Load() {
				continue
			}
			lock.loss.happened()
			if status == ErrLost {
				lock.tellOnce()
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
