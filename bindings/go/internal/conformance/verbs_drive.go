// SPDX-License-Identifier: MIT
// Verbs that drive a scenario: await, sleep, finish.

package main

import (
	"time"

	liblock "liblock.dev/go"
)

// Verbs that drive the scenario rather than the library: awaiting ends and notices, passing time, ending threads. Each
// waits for a condition with a generous limit; only sleep waits for nothing but time.

func endNamed(expected, end *object) bool {
	for _, field := range []string{"request", "lock"} {
		if expected.has(field) {
			return equal(expected.get(field), end.get(field))
		}
	}
	return false
}

// expectationOf: in order, the next expectation must be the one; in any order, whichever names this end.
func expectationOf(left []interface{}, end *object, anyOrder bool) int {
	if !anyOrder {
		return 0
	}
	for i, expected := range left {
		if endNamed(expected.(*object), end) {
			return i
		}
	}
	return -1
}

func performAwait(c *call) {
	w := c.world
	left := append([]interface{}{}, c.step.list("ends")...)
	for len(left) > 0 && !c.isSet() && !w.isSet() {
		end := w.endRead(c.slot, limit, &c.fault)
		if end == nil {
			c.blame("expected the end %s, got none", line(left[0]))
			return
		}
		i := expectationOf(left, end, c.step.isTrue("any_order"))
		if i < 0 {
			c.blame("expected the end %s, got %s", line(left), line(end))
			return
		}
		expected := left[i].(*object)
		if !endNamed(expected, end) {
			c.blame("expected the end %s, got %s", line(expected), line(end))
			return
		}
		if err := w.expectMatch(expected, end); err != nil {
			c.blame("%s", err)
		}
		left = append(left[:i], left[i+1:]...)
	}
}

func performIdle(c *call) { c.world.endsNone(&c.fault) }

// performAwaitQueue asks inspect_queue, as a waiter on a named thread gives no other sign of itself.
func performAwaitQueue(c *call) {
	wanted, _ := number(c.step.get("waiters"))
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		waiters := 0
		info, err := c.slot.c.InspectQueue(background, c.key())
		if status := liblock.StatusOf(err); status == liblock.OK {
			waiters = info.WaiterCount
		} else if status != liblock.ErrNotHeld {
			c.blame("inspect_queue answered %s", status.Name())
			return
		}
		if int64(waiters) == wanted {
			return
		}
		if time.Since(begun) > limit {
			c.blame("expected %d waiters, got %d", wanted, waiters)
			return
		}
	}
}

func performAwaitNotice(c *call) {
	w, h := c.world, c.hold
	alarm := time.AfterFunc(limit, func() {
		w.mutex.Lock()
		w.changed.Broadcast()
		w.mutex.Unlock()
	})
	defer alarm.Stop()
	w.mutex.Lock()
	h.awaited++
	for begun := time.Now(); h.notices < h.awaited && time.Since(begun) < limit; {
		w.changed.Wait()
	}
	notices := h.notices
	w.mutex.Unlock()
	if notices != h.awaited {
		c.blame("expected %d calls of on_lost of \"%s\", got %d", h.awaited, h.name, notices)
	}
}

func performSleep(c *call) { time.Sleep(c.duration()) }

func performFinish(c *call) {
	if over := c.world.actorFinish(c.step.text("of"), &c.fault); over != nil {
		over.settle()
	}
}

func performEndThread(c *call) { c.world.actorEnd(c.step.text("of"), &c.fault) }
