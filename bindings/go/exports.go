// SPDX-License-Identifier: MIT
// The functions that C calls: their user data is a number of the registry, never a pointer.

package liblock

// #include "bridge.h"
import "C"

import "time"

// What the library calls, through the trampolines of bridge_async.c. Each is given the number of what it means; a
// number that is known no more is the sign of something that has ended.

//export liblockGoEnd
func liblockGoEnd(entry *C.bridge_completion) {
	if w, ok := objects.take(uintptr(entry.id)).(*waiter); ok {
		w.done <- endOf(entry)
	}
}

//export liblockGoLost
func liblockGoLost(id C.uintptr_t, handle C.uint64_t) {
	if l, ok := objects.take(uintptr(id)).(*loss); ok {
		l.tell()
	}
}

//export liblockGoBackoff
func liblockGoBackoff(attempt C.uint32_t, id C.uintptr_t) C.int64_t {
	interval, ok := objects.get(uintptr(id)).(func(uint32) time.Duration)
	if !ok {
		return -1 // ends an acquire that nobody waits for any more
	}
	return C.int64_t(toMs(interval(uint32(attempt))))
}

//export liblockGoQueued
func liblockGoQueued(position, length C.int64_t, id C.uintptr_t) {
	if told, ok := objects.get(uintptr(id)).(func(int64, int64)); ok {
		told(int64(position), int64(length))
	}
}

//export liblockGoOpened
func liblockGoOpened(id C.uintptr_t) {
	if call, ok := objects.get(uintptr(id)).(func()); ok {
		call()
	}
}

//export liblockGoEvent
func liblockGoEvent(event *C.liblock_event, id C.uintptr_t) {
	if hear, ok := objects.get(uintptr(id)).(func(Event)); ok {
		hear(eventOf(event))
	}
}

//export liblockGoLog
func liblockGoLog(entry *C.liblock_log_entry, id C.uintptr_t) {
	if write, ok := objects.get(uintptr(id)).(func(LogEntry)); ok {
		write(entryOf(entry))
	}
}

func toC(goOn bool) C.int32_t {
	if goOn {
		return 0
	}
	return 1
}

//export liblockGoInstance
func liblockGoInstance(i *C.liblock_instance, id C.uintptr_t) C.int32_t {
	show, ok := objects.get(uintptr(id)).(func(Instance) bool)
	return toC(ok && show(Instance{
		ID: goString(i.id), Host: goString(i.host), Heard: timeOfUs(int64(i.heard_us)),
		Silent: fromMs(int64(i.silent_ms)), Interval: fromMs(int64(i.interval_ms)), Listens: int32(i.listens),
		IsZombie: i.is_zombie != 0, IsSelf: i.is_self != 0,
	}))
}

//export liblockGoNode
func liblockGoNode(node *C.liblock_node, id C.uintptr_t) C.int32_t {
	show, ok := objects.get(uintptr(id)).(func(Node) bool)
	return toC(ok && show(nodeOf(node)))
}

//export liblockGoSample
func liblockGoSample(percent C.int32_t, key *C.liblock_bytes, tag C.uint64_t, id C.uintptr_t) C.int32_t {
	sampler, ok := objects.get(uintptr(id)).(Sampler)
	if !ok {
		return 0
	}
	var name *string
	if key != nil {
		text := goString(*key)
		name = &text
	}
	if sampler(int(percent), name, uint64(tag)) {
		return 1
	}
	return 0
}
