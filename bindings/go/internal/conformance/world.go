// SPDX-License-Identifier: MIT
// What a scenario has made: contexts, owners, locks, requests.

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	liblock "liblock.dev/go"
)

// limit: no step waits longer for what must come. Far above any scheduling delay, far below the scenario's alarm.
const limit = 10 * time.Second

var background = context.Background()

// fault is why a scenario failed; it keeps the first cause only, since later ones are mostly its consequences.
type fault struct{ text string }

func (f *fault) isSet() bool { return f.text != "" }

func (f *fault) blame(format string, arguments ...interface{}) {
	if f.text == "" {
		f.text = fmt.Sprintf(format, arguments...)
	}
}

type contextSlot struct {
	name, space, instance string
	c                     *liblock.Context
	queue                 *liblock.Completions // opened with the first request
	pending               int                  // requests whose end has not been read
	closed                bool
}

type ownerSlot struct {
	owner    *liblock.Owner
	identity string
}

// hold is what an acquire made, or may still make.
type hold struct {
	name      string
	number    uint64 // the user data of its request
	slot      *contextSlot
	request   liblock.Request
	isPending bool
	lock      *liblock.Lock
	token     uint64
	keys      []string
	owned     bool // a named owner: its grants may be reentries
	notices   int  // guarded by world.mutex: calls of on_lost so far
	awaited   int
}

type fenceKey struct{ space, key string }

// world is that of one scenario: what its steps name, and what must be true of all of it however the scenario goes.
// Names are bound and looked up by the main goroutine only; named threads see a call whose names have been resolved.
type world struct {
	fault
	url      string
	number   int // makes the names of spaces unique in this process
	contexts map[string]*contextSlot
	order    []*contextSlot
	owners   map[string]*ownerSlot
	holds    map[string]*hold
	made     []*hold
	actors   map[string]*actor
	fences   map[fenceKey]uint64
	mutex    sync.Mutex // guards what callbacks write
	changed  *sync.Cond
}

var worlds int

func newWorld(url string) *world {
	worlds++
	w := &world{
		url: url, number: worlds, contexts: map[string]*contextSlot{}, owners: map[string]*ownerSlot{},
		holds: map[string]*hold{}, actors: map[string]*actor{}, fences: map[fenceKey]uint64{},
	}
	w.changed = sync.NewCond(&w.mutex)
	return w
}

func (w *world) isLocal() bool { return strings.HasPrefix(w.url, "local:") }

func (w *world) addContext(name string) *contextSlot {
	if w.contexts[name] != nil {
		return nil
	}
	slot := &contextSlot{name: name}
	w.contexts[name] = slot
	w.order = append(w.order, slot)
	return slot
}

func (w *world) addOwner(name string) *ownerSlot {
	if w.owners[name] != nil {
		return nil
	}
	w.owners[name] = &ownerSlot{}
	return w.owners[name]
}

func (w *world) addHold(name string) *hold {
	if w.holds[name] != nil {
		return nil
	}
	h := &hold{name: name, number: uint64(len(w.made)) + 0x5a00}
	w.holds[name] = h
	w.made = append(w.made, h)
	return h
}

// queueOf is the completion queue of a context, opened when first asked for.
func (w *world) queueOf(slot *contextSlot) *liblock.Completions {
	if slot.queue == nil {
		queue, err := slot.c.OpenCompletions(4096)
		if err != nil {
			w.blame("completions_open answered %s", liblock.StatusOf(err).Name())
			return nil
		}
		slot.queue = queue
	}
	return slot.queue
}

// granted records a grant and blames the world when its token does not rise. The end of a request does not say whether
// it was a reentry, so grants of named owners may also repeat the token.
func (w *world) granted(h *hold, reentered bool) {
	seen := map[string]bool{}
	for _, key := range h.keys {
		if seen[key] {
			continue
		}
		seen[key] = true
		fence := fenceKey{h.slot.space, key}
		earlier := w.fences[fence]
		if h.token > earlier || (reentered || h.owned) && h.token == earlier {
			w.fences[fence] = h.token
			continue
		}
		w.blame("token %d of \"%s\" does not exceed the key's earlier token %d", h.token, h.name, earlier)
	}
}

func (w *world) lost(h *hold) {
	w.mutex.Lock()
	h.notices++
	w.changed.Broadcast()
	w.mutex.Unlock()
}

// space is where a context lives on the backend under test: local spaces are names of tables, all others are prefixes,
// so that scenarios never meet each other's keys.
func (w *world) spaceURL(slot *contextSlot, named, hasPrefix bool) (string, []liblock.Option) {
	if w.isLocal() && !named {
		return "local:", nil
	}
	name := fmt.Sprintf("conformance-go-%d-%s:", os.Getpid(), slot.space)
	if w.isLocal() {
		return "local:" + name, nil
	}
	if hasPrefix {
		return w.url, nil
	}
	return w.url, []liblock.Option{liblock.Prefix(name)}
}

// end closes everything, then checks what must hold at every end.
func (w *world) end() {
	if !w.isSet() {
		w.endsNone(&w.fault)
	}
	for _, slot := range w.order {
		if slot.c == nil || slot.closed {
			continue
		}
		if err := slot.c.Close(); err != nil {
			w.blame("close of \"%s\" answered %s", slot.name, liblock.StatusOf(err).Name())
		}
	}
	w.actorsEnd()
	if !w.isSet() {
		w.endsClosed()
	}
	for _, slot := range w.order {
		if slot.queue != nil {
			slot.queue.Close()
		}
	}
	if w.isSet() {
		return
	}
	for _, h := range w.made {
		w.mutex.Lock()
		notices := h.notices
		w.mutex.Unlock()
		if notices != h.awaited {
			w.blame("at the end: on_lost of \"%s\" was called %d times, awaited %d times", h.name, notices, h.awaited)
		}
	}
}
