// SPDX-License-Identifier: MIT
// Leases that end and locks that are taken away, as their holders hear of it.

package liblock_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	liblock "liblock.dev/go"
)

func comes(t testing.TB, what string, channel <-chan struct{}) {
	t.Helper()
	select {
	case <-channel:
	case <-time.After(limit):
		t.Fatal("never came: " + what)
	}
}

func TestALeaseThatEndsIsTold(t *testing.T) {
	c := open(t)
	told := make(chan *liblock.Lock, 2)
	held := lock(t, c, "a", liblock.TTL(20*time.Millisecond), liblock.OnLost(func(l *liblock.Lock) { told <- l }))
	comes(t, "the loss", held.Lost())
	if l := <-told; l != held {
		t.Fatal("told of another lock")
	}
	wants(t, held.Held(), liblock.ErrLost)
	wants(t, held.Unlock(background), liblock.ErrLost)
	wants(t, held.Unlock(background), liblock.ErrNotHeld)
	if len(told) != 0 {
		t.Fatal("told twice")
	}
}

func TestARenewedLeaseOutlivesItsTTL(t *testing.T) {
	c := open(t)
	held := lock(t, c, "a", liblock.TTL(900*time.Millisecond), liblock.Renew())
	time.Sleep(1200 * time.Millisecond)
	if err := held.Verify(background); err != nil {
		t.Fatal(err)
	}
	unlock(t, held)
	select {
	case <-held.Lost():
		t.Fatal("a lock that was released is not lost")
	case <-time.After(100 * time.Millisecond):
	}
}

func TestAPlainLockThatIsTakenAwayIsNoticed(t *testing.T) {
	c := open(t)
	held, given := lock(t, c, "a"), lock(t, c, "b")
	lost, never := held.Lost(), given.Lost()
	unlock(t, given)
	if err := c.ForceRelease(background, "a", 0); err != nil {
		t.Fatal(err)
	}
	comes(t, "the loss", lost)
	again := lock(t, c, "a", liblock.NotifyLost())
	if err := c.ForceRelease(background, "a", 0); err != nil {
		t.Fatal(err)
	}
	comes(t, "the second loss", again.Lost())
	select {
	case <-never:
		t.Fatal("a lock that was released is not lost")
	default:
	}
}

func TestTheContextOfALockEndsWithIt(t *testing.T) {
	c := open(t)
	held := lock(t, c, "a", liblock.NotifyLost())
	ctx, cancel := held.Context(background)
	defer cancel()
	if ctx.Err() != nil {
		t.Fatal(ctx.Err())
	}
	if err := c.ForceRelease(background, "a", 0); err != nil {
		t.Fatal(err)
	}
	comes(t, "the end of the context", ctx.Done())
	wants(t, held.Unlock(background), liblock.ErrLost)
}

func TestWithLockReleasesHoweverItsCallEnds(t *testing.T) {
	c := open(t)
	free := func(after string) {
		t.Helper()
		if locked, err := c.IsLocked(background, "a"); locked || err != nil {
			t.Fatal(after, locked, err)
		}
	}
	if err := c.WithLock(background, "a", func(ctx context.Context) error { return ctx.Err() }); err != nil {
		t.Fatal(err)
	}
	free("a success")
	failure := errors.New("mine")
	wants(t, c.WithLock(background, "a", func(context.Context) error { return failure }), failure)
	free("a failure")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		c.WithLock(background, "a", func(context.Context) error { panic("mine") })
	}()
	free("a panic")
	var gone sync.WaitGroup
	gone.Add(1)
	go func() {
		defer gone.Done()
		c.WithLock(background, "a", func(context.Context) error { runtime.Goexit(); return nil })
	}()
	gone.Wait()
	free("a Goexit")
	wants(t, c.WithLock(background, "a", func(held context.Context) error {
		if err := c.ForceRelease(background, "a", 0); err != nil {
			return err
		}
		<-held.Done()
		return nil
	}), liblock.ErrLost)
}

func threadCount(t testing.TB) int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(tasks)
}

func TestTenThousandWaitingGoroutinesCostNoThreads(t *testing.T) {
	const many = 10000
	c := open(t)
	held := lock(t, c, "a")
	lock(t, c, "warm", liblock.TTL(time.Hour)) // the library's own threads begin
	before := threadCount(t)
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	ended := make(chan error, many)
	for i := 0; i < many; i++ {
		go func() {
			l, err := c.Lock(ctx, "a")
			if err == nil {
				err = l.Unlock(background)
			}
			ended <- err
		}()
	}
	queued := func() bool { s, err := c.Stats(); return err == nil && s.Waiters == many }
	until(t, "all waiters", queued)
	if during := threadCount(t); during > before+many/40 { // some start where a busy machine delays calls of C
		t.Fatalf("%d threads before, %d while %d wait", before, during, many)
	}
	unlock(t, held)
	for i := 0; i < many/2; i++ {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	for i := many / 2; i < many; i++ {
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	until(t, "a free key", func() bool { locked, _ := c.IsLocked(background, "a"); return !locked })
}
