// SPDX-License-Identifier: MIT
// Threads that a scenario names: each performs its steps on a thread of the operating system of its own.

package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

// actor is a named thread: a goroutine that has a thread of the operating system for itself, since that can be an
// owner. It performs one call at a time and is otherwise parked, so that steps run in the order in which they are
// written.
type actor struct {
	calls  chan *call
	over   chan *call
	ended  chan struct{}
	thread int  // its number; known when the first call is over
	busy   bool // a call was given and not taken back; used by the main goroutine only
}

func (w *world) actorOf(name string) *actor {
	if a := w.actors[name]; a != nil {
		return a
	}
	a := &actor{calls: make(chan *call), over: make(chan *call, 1), ended: make(chan struct{})}
	w.actors[name] = a
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		a.thread = syscall.Gettid()
		defer close(a.ended)
		for c := range a.calls {
			c.verb.perform(c)
			a.over <- c
		}
	}()
	return a
}

func (a *actor) wait() *call {
	if !a.busy {
		return nil
	}
	select {
	case c := <-a.over:
		a.busy = false
		return c
	case <-time.After(limit):
		return nil
	}
}

// actorRun runs the call on the named thread, and waits for it unless it is in the background. True when the call is
// over and can be settled.
func (w *world) actorRun(name string, c *call) bool {
	a := w.actorOf(name)
	if a.busy {
		w.blame("thread \"%s\" still has a call: finish it first", name)
		return false
	}
	a.busy = true
	a.calls <- c
	if c.step.isTrue("background") {
		return false
	}
	if a.wait() == nil {
		w.blame("the call on thread \"%s\" did not end", name)
		return false
	}
	return true
}

func (w *world) actorFinish(name string, f *fault) *call {
	var c *call
	if a := w.actors[name]; a != nil {
		c = a.wait()
	}
	if c == nil {
		f.blame("thread \"%s\" has no call, or its call did not end", name)
	}
	return c
}

// join ends the thread; one that is inside a call leaves after it.
func (a *actor) join() {
	close(a.calls)
	<-a.ended
	// The goroutine is gone, its thread goes a moment later: what the thread owned is released then.
}

// threadLives says whether the process has this thread.
func threadLives(thread int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", thread))
	return err == nil
}

func (w *world) actorEnd(name string, f *fault) {
	a := w.actors[name]
	switch {
	case a == nil:
		f.blame("no thread is named \"%s\"", name)
	case a.busy:
		f.blame("thread \"%s\" still has a call: finish it first", name)
	default:
		delete(w.actors, name)
		a.join()
		for begun := time.Now(); threadLives(a.thread); time.Sleep(time.Millisecond) {
			if time.Since(begun) > limit {
				f.blame("the thread \"%s\" does not end", name)
				return
			}
		}
	}
}

func (w *world) actorsEnd() {
	for name, a := range w.actors {
		if a.busy {
			w.blame("at the end: the background call of thread \"%s\" was never finished", name)
		}
		a.join()
	}
	w.actors = map[string]*actor{}
}
