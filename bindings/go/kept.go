// SPDX-License-Identifier: MIT
// Locks that may end without a word to them.

package liblock

import "sync"

// kept are locks, of one owner or of all threads, of whose loss the library would tell, by the numbers of that: a
// release by key, of all that an owner has, or by the end of a thread tells no lock. It keeps no lock alive.
type kept struct {
	mutex sync.Mutex // guards what follows
	ids   map[uintptr]struct{}
	held  int // of these, when they were last looked through
}

// remember keeps a lock until it is seen to be over. They are looked through when they have become twice as many, so
// that what is over is hardly more than what is not.
func (k *kept) remember(id uintptr) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.ids == nil {
		k.ids = map[uintptr]struct{}{}
	}
	k.ids[id] = struct{}{}
	if len(k.ids) > 2*k.held+16 {
		k.look()
	}
}

func (k *kept) lookThrough() {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.look()
}

func (k *kept) look() {
	for id := range k.ids {
		if known, ok := objects.get(id).(*loss); !ok || known.isOver() {
			delete(k.ids, id)
		}
	}
	k.held = len(k.ids)
}

// isOver says whether nothing can be told of the lock any more, and tells what can be.
func (l *loss) isOver() bool {
	l.mutex.Lock()
	lock := l.lock
	l.mutex.Unlock()
	switch StatusOf(lock.Held()) {
	case OK, ErrClosed, ErrForked: // a context that closes tells all of its losses itself
		return false
	case ErrLost:
		lock.lostBehind()
	default:
		lock.forget()
	}
	return true
}
