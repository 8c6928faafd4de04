// SPDX-License-Identifier: MIT
// Numbers that stand for Go values while C knows them.

package liblock

import (
	"sync"
	"sync/atomic"
)

// The registry names what C hands back to Go: numbers cross the border as user data, never pointers. A number is
// given once in the life of the process, so that a late callback finds nothing rather than somebody else's.
type registry struct {
	shards [32]struct {
		sync.Mutex
		objects map[uintptr]interface{}
		_       [40]byte // a cache line each: neighbours are used by other threads
	}
	last atomic.Uintptr
}

var objects registry

func (r *registry) put(object interface{}) uintptr {
	id := r.last.Add(1)
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

// each forgets all objects that match, and hands them to call, which may use the registry.
func (r *registry) each(match func(interface{}) bool, call func(interface{})) {
	for i := range r.shards {
		shard := &r.shards[i]
		var found []interface{}
		shard.Lock()
		for id, object := range shard.objects {
			if match(object) {
				delete(shard.objects, id)
				found = append(found, object)
			}
		}
		shard.Unlock()
		for _, object := range found {
			call(object)
		}
	}
}
