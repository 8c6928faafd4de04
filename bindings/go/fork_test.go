// SPDX-License-Identifier: MIT
// What the child of a bare fork finds, and what it leaves its parent: each in a program of its own, as a child of the
// tests' process would take the tests' goroutines for its own.

package liblock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	liblock "liblock.dev/go"
	"liblock.dev/go/internal/forking"
)

const forkingURL = "LIBLOCK_TEST_FORKING_URL"

var exit = os.Exit

// forkedOr is for the process that is started to fork, and otherwise for the tests.
func forkedOr(tests func() int) int {
	url := os.Getenv(forkingURL)
	if url == "" {
		return tests()
	}
	if err := forks(url); err != nil {
		fmt.Println("parent:", err)
		return 1
	}
	return 0
}

// world is what a process has when it forks.
type world struct {
	c      *liblock.Context
	held   *liblock.Lock
	o      *liblock.Owner
	queue  *liblock.Completions
	cursor *liblock.Cursor
	next   chan error // tells how the goroutine ended that waits for what is held
}

func newWorld(url string) (w world, err error) {
	if w.c, err = liblock.Open(background, url); err != nil {
		return
	}
	if w.held, err = w.c.Lock(background, "a", liblock.TTL(time.Minute), liblock.NotifyLost()); err != nil {
		return
	}
	if w.o, err = w.c.OpenOwner("o"); err != nil {
		return
	}
	if w.queue, err = w.c.OpenCompletions(4); err != nil {
		return
	}
	if w.cursor, err = w.c.List(background, liblock.Locks); err != nil {
		return
	}
	w.next = make(chan error, 1)
	go func() {
		l, err := w.c.Lock(background, "a")
		if err == nil {
			err = l.Unlock(background)
		}
		w.next <- err
	}()
	for waits := false; !waits; time.Sleep(time.Millisecond) {
		if waits, err = w.c.IsQueued(background, "a"); err != nil {
			return
		}
	}
	return w, nil
}

func forks(url string) error {
	debug.SetGCPercent(-1) // the threads that collect are not in the child
	w, err := newWorld(url)
	if err != nil {
		return err
	}
	for left := 3; ; left-- {
		child := forking.Fork()
		if child == 0 {
			if err := w.inChild(); err != nil {
				fmt.Println("child:", err)
				forking.Exit(1)
			}
			forking.Exit(0)
		}
		// One may hang for a reason of its own: Go's scheduler was held by a thread that is not there any more.
		if err := endOfChild(child); err == errHangs && left > 1 {
			continue
		} else if err != nil {
			return err
		}
		break
	}
	if err := w.held.Verify(background); err != nil {
		return fmt.Errorf("the parent's lock: %v", err)
	}
	if err := w.held.Unlock(background); err != nil {
		return err
	}
	select {
	case err := <-w.next:
		if err != nil {
			return err
		}
	case <-time.After(limit):
		return fmt.Errorf("a waiter of the parent was never granted what its holder has released")
	}
	return w.c.Close()
}

var errHangs = errors.New("the child hangs")

// endOfChild waits for a child to end well, and not for ever.
func endOfChild(child int) error {
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(child, &status, syscall.WNOHANG, nil)
		switch {
		case err != nil:
			return err
		case ended == child && status != 0:
			return fmt.Errorf("the child ended as %v", status)
		case ended == child:
			return nil
		case time.Since(begun) > limit/2:
			syscall.Kill(child, syscall.SIGKILL)
			syscall.Wait4(child, &status, 0, nil)
			return errHangs
		}
	}
}

func (w world) inChild() error {
	for name, call := range map[string]func() error{
		"Lock":         func() error { _, err := w.c.Lock(background, "b"); return err },
		"LockBlocking": func() error { _, err := w.c.Lock(background, "b", liblock.Blocking()); return err },
		"LockByOwner":  func() error { _, err := w.c.Lock(background, "b", liblock.ByOwner(w.o)); return err },
		"TryLock":      func() error { _, err := w.c.TryLock(background, "b"); return err },
		"Submit":       func() error { _, err := w.c.Submit(w.queue, 0, "b"); return err },
		"Next":         func() error { _, err := w.queue.Next(background); return err },
		"OpenQueue":    func() error { _, err := w.c.OpenCompletions(1); return err },
		"OpenOwner":    func() error { _, err := w.c.OpenOwner("p"); return err },
		"OwnerID":      func() error { _, err := w.o.ID(); return err },
		"OwnerRelease": func() error { return w.o.Release(background, "a") },
		"Held":         w.held.Held,
		"Verify":       func() error { return w.held.Verify(background) },
		"Extend":       func() error { return w.held.Extend(background, time.Minute) },
		"Unlock":       func() error { return w.held.Unlock(background) },
		"WaitLost":     func() error { return w.held.WaitLost(background, time.Second) },
		"WaitReleased": func() error { return w.c.WaitReleased(background, "a", time.Second) },
		"Ping":         func() error { return w.c.Ping(background) },
		"Inspect":      func() error { _, err := w.c.Inspect(background, "a"); return err },
		"IsLocked":     func() error { _, err := w.c.IsLocked(background, "a"); return err },
		"ForceRelease": func() error { return w.c.ForceRelease(background, "a", 0) },
		"Clear":        func() error { _, err := w.c.Clear(background); return err },
		"Stats":        func() error { _, err := w.c.Stats(); return err },
		"List":         func() error { _, err := w.c.List(background, liblock.Locks); return err },
		"CursorNext":   func() error { w.cursor.Next(); w.cursor.Next(); return w.cursor.Err() },
		"OnEvents":     func() error { return w.c.OnEvents(0, nil) },
		"InstanceID":   func() error { _, err := w.c.InstanceID(); return err },
		"CloseAsync":   func() error { return <-w.c.CloseAsync() },
	} {
		if err := call(); liblock.StatusOf(err) != liblock.ErrForked {
			return fmt.Errorf("%s answers %v, want ErrForked", name, err)
		}
	}
	w.cursor.Close()
	w.queue.Close()
	if err := w.o.Close(); err != nil {
		return fmt.Errorf("closing an owner: %v", err)
	}
	if err := w.c.Close(); err != nil {
		return fmt.Errorf("closing: %v", err)
	}
	return ownWorld()
}

// ownWorld is what a child may have: a context that it has opened itself.
func ownWorld() error {
	c, err := liblock.Open(background, "local:")
	if err != nil {
		return err
	}
	err = c.WithLock(background, "a", func(held context.Context) error { return held.Err() })
	if err != nil {
		return err
	}
	return c.Close()
}

func forksAt(t *testing.T, url string) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(program)
	run.Env = append(os.Environ(), forkingURL+"="+url, "GOMAXPROCS=4")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
}

func TestTheChildOfAForkFindsEverythingForkedAndItsParentKeepsAll(t *testing.T) {
	forksAt(t, "local:")
}

func TestTheChildOfAForkLeavesConnectionsToItsParent(t *testing.T) { forksAt(t, server(t)) }

func TestAnotherProgramMayBeRunWhileGoroutinesWait(t *testing.T) {
	handedOn := func() string {
		out, err := exec.Command("ls", "/proc/self/fd").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	before := handedOn()
	c := open(t)
	held := lock(t, c, "a")
	granted := make(chan *liblock.Lock)
	go func() { l, _ := c.Lock(background, "a"); granted <- l }()
	until(t, "a waiter", func() bool { return waiters(t, c, "a") == 1 })
	if now := handedOn(); now != before {
		t.Fatal("descriptors are handed on to programs: ", before, now)
	}
	unlock(t, held)
	unlock(t, <-granted)
}
