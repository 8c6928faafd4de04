// SPDX-License-Identifier: MIT

package liblock

import "sync"

// The registry names what C hands back to Go: numbers cross the border as user data, never pointers. A number is
// given once in the life of the process, so that a late callback finds nothing rather than somebody else's.
type registry struct {
	shards [32]struct {
		sync.Mutex
		objects map[uintptr]interface{}
		_       [40]byte // a cache line each: neighbours are used by other threads
	}
	next sync.Mutex
	last uintptr
}

var objects registry

func (r *registry) put(object interface{}) uintptr {
	r.next.Lock()
	r.last++
	id := r.last
	r.next.Unlock()
	shard := &r.shards[id%uintptr(len(r.shards))]
	shard.Lock()
	if shard.objects == nil {
		shard.objects = map[uintptr]interface{}{}
	}
	shard.objects[id] = object
	shard.Unlock()
	return id
}

func (r *registry) get(id uintptr) interface{} {
	shard := &r.shards[id%uintptr(len(r.shards))]
	shard.Lock()
	defer shard.Unlock()
	return shard.objects[id]
}

// take also forgets the number.
func (r *registry) take(id uintptr) interface{} {
	shard := &r.shards[id%uintptr(len(r.shards))]
	shard.Lock()
	defer shard.Unlock()
	object := shard.objects[id]
	delete(shard.objects, id)
	return object
}
