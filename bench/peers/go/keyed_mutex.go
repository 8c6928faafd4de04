// SPDX-License-Identifier: MIT

// The keyed mutex of the usual Go kind: one mutex over a map from the key to a mutex with a count of its
// users. The entry is made by the first user and removed by the last; removed ones are kept for reuse, which
// saves an allocation per pair.
package main

import "sync"

type entry struct {
	sync.Mutex
	users int
}

type keyedMutex struct {
	mutex   sync.Mutex
	entries map[string]*entry
	spare   []*entry
}

func newKeyedMutex() *keyedMutex {
	return &keyedMutex{entries: make(map[string]*entry)}
}

func (k *keyedMutex) lock(key string) {
	k.mutex.Lock()
	e, found := k.entries[key]
	if !found {
		if last := len(k.spare) - 1; last >= 0 {
			e, k.spare = k.spare[last], k.spare[:last]
		} else {
			e = new(entry)
		}
		k.entries[key] = e
	}
	e.users++
	k.mutex.Unlock()
	e.Lock()
}

func (k *keyedMutex) unlock(key string) {
	k.mutex.Lock()
	e := k.entries[key]
	e.Unlock() // before it can become another key's
	e.users--
	if e.users == 0 {
		delete(k.entries, key)
		k.spare = append(k.spare, e)
	}
	k.mutex.Unlock()
}
