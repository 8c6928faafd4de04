// SPDX-License-Identifier: MIT
// Owners: reentry, release by keys, and their end.

package liblock_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	liblock "liblock.dev/go"
)

// The main thread of a process never ends: it is kept for the main goroutine, so that no test has it for its own.
func init() { runtime.LockOSThread() }

func owner(t testing.TB, c *liblock.Context, name string) *liblock.Owner {
	t.Helper()
	o, err := c.OpenOwner(name)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAnOwnerReentersAndReleasesByKey(t *testing.T) {
	c := open(t)
	o := owner(t, c, "worker")
	first, second := lock(t, c, "a", liblock.ByOwner(o)), lock(t, c, "a", liblock.ByOwner(o))
	if count, err := second.HoldCount(); err != nil || count != 2 || first.Token() != second.Token() {
		t.Fatal(count, err)
	}
	if second.Result().Flags&liblock.Reentered == 0 {
		t.Fatal(second.Result())
	}
	_, err := c.Lock(background, "a", liblock.ByOwner(o), liblock.OnConflict(liblock.FailIfHeld))
	wants(t, err, liblock.ErrAlreadyHeld)
	for i := 0; i < 2; i++ {
		if err := o.Release(background, "a"); err != nil {
			t.Fatal(err)
		}
	}
	wants(t, o.Release(background, "a"), liblock.ErrNotHeld)
	wants(t, first.Held(), liblock.ErrNotHeld)
}

func TestAnOwnerThatClosesReleasesWhatItHolds(t *testing.T) {
	c := open(t)
	o := owner(t, c, "worker")
	lock(t, c, "a", liblock.ByOwner(o))
	id, err := o.ID()
	if err != nil || !strings.HasSuffix(id, "/worker") {
		t.Fatal(id, err)
	}
	if info, err := c.Inspect(background, "a"); err != nil || info.Owner != id {
		t.Fatal(info, err)
	}
	for i := 0; i < 2; i++ {
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
	}
	unlock(t, lock(t, c, "a"))
	_, err = c.Lock(background, "a", liblock.ByOwner(o))
	wants(t, err, liblock.ErrClosed)
	wants(t, o.Release(background, "a"), liblock.ErrClosed)
}

func TestACycleOfOwnersIsFound(t *testing.T) {
	c := open(t)
	one, two := owner(t, c, "one"), owner(t, c, "two")
	a := lock(t, c, "a", liblock.ByOwner(one))
	lock(t, c, "b", liblock.ByOwner(two))
	ended := make(chan error, 2)
	go func() { _, err := c.Lock(background, "b", liblock.ByOwner(one)); ended <- err }()
	until(t, "a waiter", func() bool { return waiters(t, c, "b") == 1 })
	go func() { _, err := c.Lock(background, "a", liblock.ByOwner(two)); ended <- err }()
	wants(t, <-ended, liblock.ErrDeadlock)
	unlock(t, a)
}

func TestAThreadCanBeTheOwner(t *testing.T) {
	c := open(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		id, err := c.ThreadID()
		l, lockErr := c.Lock(background, "a", liblock.ByThread())
		if err != nil || lockErr != nil || l == nil {
			t.Error(err, lockErr)
			return
		}
		if info, err := c.Inspect(background, "a"); err != nil || info.Owner != id {
			t.Error(info, err)
		}
		if _, err := c.Lock(background, "b", liblock.ByThread()); err != nil {
			t.Error(err)
		}
		if err := c.ReleaseByThread(background, "b"); err != nil {
			t.Error(err)
		}
	}()
	<-done
	l, err := c.Lock(background, "a", liblock.Wait(limit)) // released by the end of the thread
	if err != nil {
		t.Fatal(err)
	}
	unlock(t, l)
}

func TestALockerIsASyncLocker(t *testing.T) {
	c := open(t)
	one, two := c.NewLocker(background, "a"), c.NewLocker(background, "a", liblock.Wait(5*time.Millisecond))
	panics := func(what string, call func()) {
		t.Helper()
		defer func() {
			if _, ok := recover().(*liblock.Error); !ok {
				t.Fatal("no *Error: " + what)
			}
		}()
		call()
	}
	panics("unlock of an unlocked Locker", one.Unlock)
	one.Lock()
	panics("a wait that ends", two.Lock)
	one.Unlock()
	two.Lock()
	if err := c.ForceRelease(background, "a", 0); err != nil {
		t.Fatal(err)
	}
	panics("unlock of a lock that is lost", two.Unlock)
}
