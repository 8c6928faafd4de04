// SPDX-License-Identifier: MIT
// Events and samplers, copied out of the library before the callback returns.

package liblock

// #include "bridge.h"
import "C"

import (
	"time"
	"unsafe"
)

// EventKind is what an Event tells of; docs/events.md says when each comes and what it carries.
type EventKind int32

// The kinds of events.
const (
	EventConnected            EventKind = C.LIBLOCK_EVENT_CONNECTED
	EventDisconnected         EventKind = C.LIBLOCK_EVENT_DISCONNECTED
	EventServerChanged        EventKind = C.LIBLOCK_EVENT_SERVER_CHANGED
	EventDoubtEnded           EventKind = C.LIBLOCK_EVENT_DOUBT_ENDED
	EventMayEvict             EventKind = C.LIBLOCK_EVENT_MAY_EVICT
	EventObtained             EventKind = C.LIBLOCK_EVENT_OBTAINED
	EventReentered            EventKind = C.LIBLOCK_EVENT_REENTERED
	EventExtended             EventKind = C.LIBLOCK_EVENT_EXTENDED
	EventHoldAndRelease       EventKind = C.LIBLOCK_EVENT_HOLD_AND_RELEASE
	EventSeriesObtained       EventKind = C.LIBLOCK_EVENT_SERIES_OBTAINED
	EventSeriesHoldAndRelease EventKind = C.LIBLOCK_EVENT_SERIES_HOLD_AND_RELEASE
	EventLost                 EventKind = C.LIBLOCK_EVENT_LOST
	EventRequeued             EventKind = C.LIBLOCK_EVENT_REQUEUED
	EventHandedOff            EventKind = C.LIBLOCK_EVENT_HANDED_OFF
	EventDeadlockFound        EventKind = C.LIBLOCK_EVENT_DEADLOCK_FOUND
	EventDequeued             EventKind = C.LIBLOCK_EVENT_DEQUEUED
	EventDequeuedOnLimit      EventKind = C.LIBLOCK_EVENT_DEQUEUED_ON_LIMIT
	EventFailed               EventKind = C.LIBLOCK_EVENT_FAILED
	EventForceReleased        EventKind = C.LIBLOCK_EVENT_FORCE_RELEASED
	EventCleared              EventKind = C.LIBLOCK_EVENT_CLEARED
	EventOwnerCleared         EventKind = C.LIBLOCK_EVENT_OWNER_CLEARED
	EventInstanceCleared      EventKind = C.LIBLOCK_EVENT_INSTANCE_CLEARED
	EventDeadCleared          EventKind = C.LIBLOCK_EVENT_DEAD_CLEARED
	EventOwnerClosed          EventKind = C.LIBLOCK_EVENT_OWNER_CLOSED
	EventNodeUp               EventKind = C.LIBLOCK_EVENT_NODE_UP
	EventNodeDown             EventKind = C.LIBLOCK_EVENT_NODE_DOWN
	EventNodeQuarantined      EventKind = C.LIBLOCK_EVENT_NODE_QUARANTINED
	EventNodeRejoined         EventKind = C.LIBLOCK_EVENT_NODE_REJOINED
	EventNodeStepped          EventKind = C.LIBLOCK_EVENT_NODE_STEPPED
	EventClockDerived         EventKind = C.LIBLOCK_EVENT_CLOCK_DERIVED
	EventConfigured           EventKind = C.LIBLOCK_EVENT_CONFIGURED
	EventCleartextPassword    EventKind = C.LIBLOCK_EVENT_CLEARTEXT_PASSWORD
)

// String is "OBTAINED" for EventObtained.
func (k EventKind) String() string { return C.GoString(C.liblock_event_name(C.int32_t(k))) }

// AllEvents is the mask of every kind.
const AllEvents = ^uint64(0)

// EventMask has the bit of each kind given.
func EventMask(kinds ...EventKind) (mask uint64) {
	for _, kind := range kinds {
		mask |= 1 << uint(kind)
	}
	return mask
}

// Event is something that happened, copied: it may be kept. Durations that are not known are negative. No field ever
// has a password, a value or metadata.
type Event struct {
	Kind                       EventKind
	Status                     Status
	Lock                       uint64 // as Lock.Handle has it; 0 = none
	Token                      uint64
	Message                    string
	Tag                        uint64 // EventTag of the acquire
	At, ObtainedAt             time.Time
	Key                        string   // of several the first, or the one that it is about
	Keys                       []string // all that were given
	Owner, Instance, Node      string
	TTL                        time.Duration // what was asked for; Forever = no expiry
	Acquire, Hold, Elapsed     time.Duration // from the call to the grant; from there to its end; of this call
	Count                      uint64        // locks that were cleared or closed; owners of a cycle
	QueuePosition, QueueLength int64
	Attempts, HoldCount        uint32
}

func microseconds(us C.int64_t) time.Duration { return time.Duration(us) * time.Microsecond }

func eventOf(e *C.liblock_event) Event {
	out := Event{
		Kind: EventKind(e.kind), Status: Status(e.status), Lock: uint64(e.lock), Token: uint64(e.token),
		Message: C.GoString(e.message), Tag: uint64(e.tag), At: timeOfUs(int64(e.at_us)), Key: goString(e.key),
		Owner: goString(e.owner), Instance: goString(e.instance), Node: goString(e.node), TTL: fromMs(int64(e.ttl_ms)),
		Acquire: microseconds(e.acquire_us), Hold: microseconds(e.hold_us), Elapsed: microseconds(e.elapsed_us),
		Count: uint64(e.count), QueuePosition: int64(e.queue_position), QueueLength: int64(e.queue_length),
		Attempts: uint32(e.attempts), HoldCount: uint32(e.hold_count),
	}
	if e.obtained_at_us > 0 {
		out.ObtainedAt = timeOfUs(int64(e.obtained_at_us))
	}
	if e.keys != nil {
		for _, key := range unsafe.Slice(e.keys, int(e.key_count)) {
			out.Keys = append(out.Keys, goString(key))
		}
	}
	return out
}

// callback puts what is called back into the registry in the place of what was called back for this use before. The
// old number stays valid until the context is closed, since what was emitted before may still come.
func (c *Context) callback(use string, call interface{}) uintptr {
	id := objects.put(call)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.isClosed {
		objects.take(id)
		return id
	}
	if old, ok := c.callbacks[use]; ok {
		c.retired = append(c.retired, old)
	}
	c.callbacks[use] = id
	return id
}

// listened counts listeners: while there are any, no acquire is tried first, since a failing try would be told about.
func (c *Context) listened(use string, listens bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.listens[use] != listens {
		c.listens[use] = listens
		if listens {
			c.told.Add(1)
		} else {
			c.told.Add(-1)
		}
	}
}

// OnEvents tells hear of the kinds in mask (EventMask, AllEvents) from now on; nil = none any more. It is called on
// the library's callback thread, one event at a time, those of one lock in their order; it must not block or panic.
// What was emitted before may still come.
func (c *Context) OnEvents(mask uint64, hear func(Event)) error {
	if !c.enter() {
		return closedError("set_events")
	}
	defer c.leave()
	var id uintptr
	if hear != nil {
		id = c.callback("events", hear)
	}
	status := Status(C.bridge_set_events(c.handle, C.uint64_t(mask), C.uintptr_t(id)))
	c.listened("events", hear != nil && status == OK)
	return statusError("set_events", status)
}
