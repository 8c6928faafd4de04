// SPDX-License-Identifier: MIT
// Ends of requests and notices of losses, in the order in which they came.

package main

import (
	"context"
	"time"

	liblock "liblock.dev/go"
)

// Ends of requests and notices of losses, as completion queues deliver them. Whoever reads an end also binds what it
// granted, so that no grant is forgotten; an end that belongs to no pending request is a fault wherever it is found.

func (w *world) requestEnded(slot *contextSlot, end liblock.Completion, f *fault) *object {
	var h *hold
	for _, other := range w.made {
		if other.slot == slot && other.isPending && other.request == end.Request {
			h = other
		}
	}
	if h == nil {
		f.blame("an end (%s) of no pending request, or a second one", end.Status.Name())
		return nil
	}
	h.isPending = false
	slot.pending--
	if end.UserData != h.number {
		f.blame("the end of \"%s\" came with another user_data", h.name)
	}
	isGrant := end.Status == liblock.OK
	if isGrant != (end.Lock != nil) || isGrant != (end.Handle != 0) || isGrant != (end.Token != 0) {
		f.blame("the end of \"%s\" is %s with lock %d and token %d", h.name, end.Status.Name(), end.Handle, end.Token)
	}
	h.lock, h.token = end.Lock, end.Token
	if isGrant {
		w.granted(h, false)
	}
	return newObject().set("kind", "ACQUIRE").set("request", h.name).set("status", end.Status.Name()).
		set("token", wholeU(end.Token)).set("remaining_ms", whole(end.Remaining.Milliseconds())).
		set("waited_ms", whole(end.Waited.Milliseconds()))
}

func (w *world) lockLost(slot *contextSlot, end liblock.Completion, f *fault) *object {
	for _, h := range w.made {
		if h.slot != slot || h.lock == nil || h.lock.Handle() != end.Handle {
			continue
		}
		if end.Request != 0 {
			f.blame("the notice of \"%s\" names a request", h.name)
		}
		return newObject().set("kind", "LOST").set("lock", h.name).set("status", end.Status.Name()).
			set("token", wholeU(end.Token))
	}
	f.blame("a notice that an unknown lock was lost")
	return nil
}

// endRead reads one end or notice; nil when none came in time. 0 does not wait.
func (w *world) endRead(slot *contextSlot, wait time.Duration, f *fault) *object {
	if slot.queue == nil {
		return nil
	}
	var end liblock.Completion
	if wait == 0 {
		var ok bool
		if end, ok = slot.queue.TryNext(); !ok {
			return nil
		}
	} else {
		ctx, cancel := context.WithTimeout(background, wait)
		defer cancel()
		var err error
		if end, err = slot.queue.Next(ctx); err != nil {
			if status := liblock.StatusOf(err); status != liblock.ErrCanceled && status != liblock.ErrClosed {
				f.blame("completions_next answered %s", status.Name())
			}
			return nil
		}
	}
	switch end.Kind {
	case liblock.KindAcquire:
		return w.requestEnded(slot, end, f)
	case liblock.KindLost:
		return w.lockLost(slot, end, f)
	}
	f.blame("a completion of kind %d", end.Kind)
	return nil
}

// endsNone blames when any context has an end that no step has read.
func (w *world) endsNone(f *fault) {
	for _, slot := range w.order {
		if f.isSet() {
			return
		}
		if end := w.endRead(slot, 0, f); end != nil {
			f.blame("an end that no step awaits: %s", line(end))
		}
	}
}

// endsClosed: after the contexts were closed, every request still pending must end as CLOSED, once.
func (w *world) endsClosed() {
	for _, slot := range w.order {
		begun := time.Now()
		for slot.pending > 0 && !w.isSet() && time.Since(begun) < limit {
			end := w.endRead(slot, 100*time.Millisecond, &w.fault)
			if end != nil && end.get("status") != "CLOSED" {
				w.blame("at the end: close ended a pending request as %s", line(end))
			}
		}
		if slot.pending > 0 {
			w.blame("at the end: %d requests of \"%s\" never ended after close", slot.pending, slot.name)
		}
	}
	w.endsNone(&w.fault)
}
