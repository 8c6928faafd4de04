// SPDX-License-Identifier: MIT
// Completion queues at their edges: read by several at once, closed with ends in them, used after their end.

package liblock_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	liblock "liblock.dev/go"
)

func queueOf(t testing.TB, c *liblock.Context, capacity int) *liblock.Completions {
	t.Helper()
	queue, err := c.OpenCompletions(capacity)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(queue.Close)
	return queue
}

func submit(t testing.TB, c *liblock.Context, queue *liblock.Completions, key string) {
	t.Helper()
	if _, err := c.Submit(queue, 0, key); err != nil {
		t.Fatal(err)
	}
}

func TestClosingAQueueReleasesTheGrantsThatNobodyHasRead(t *testing.T) {
	c := open(t)
	queue := queueOf(t, c, 8)
	for _, key := range []string{"a", "b", "c"} {
		submit(t, c, queue, key)
	}
	end, err := queue.Next(background) // takes all three out of the library's queue
	if err != nil || end.Lock == nil {
		t.Fatal(end, err)
	}
	unlock(t, end.Lock)
	queue.Close()
	if stats, err := c.Stats(); err != nil || stats.LocksHeld != 0 {
		t.Fatalf("%d locks are held that nobody knows of (%v)", stats.LocksHeld, err)
	}
}

func TestAGrantThatIsReadWhileItsQueueIsClosedIsGivenBack(t *testing.T) {
	c := open(t)
	for round := 0; round < 20000; round++ {
		queue, err := c.OpenCompletions(8)
		if err != nil {
			t.Fatal(err)
		}
		submit(t, c, queue, "a")
		read := make(chan liblock.Completion, 1)
		go func() { end, _ := queue.Next(background); read <- end }()
		if round%2 == 0 {
			runtime.Gosched()
		}
		queue.Close()
		if end := <-read; end.Lock != nil {
			unlock(t, end.Lock)
		} else if end.Status == liblock.OK && end.Kind == liblock.KindAcquire {
			t.Fatal("granted, without a lock", end)
		}
	}
	if stats, err := c.Stats(); err != nil || stats.LocksHeld != 0 {
		t.Fatalf("%d locks are held that nobody knows of (%v)", stats.LocksHeld, err)
	}
}

func TestAReaderThatWaitsKeepsNoOtherFromGivingUp(t *testing.T) {
	c := open(t)
	queue := queueOf(t, c, 8)
	read := make(chan liblock.Completion, 1)
	go func() { end, _ := queue.Next(background); read <- end }()
	time.Sleep(20 * time.Millisecond) // so that it is the one that the others find waiting
	ctx, cancel := context.WithTimeout(background, 20*time.Millisecond)
	defer cancel()
	ended := make(chan error, 2)
	go func() { _, err := queue.Next(ctx); ended <- err }()
	select {
	case err := <-ended:
		wants(t, err, context.DeadlineExceeded)
	case <-time.After(limit):
		t.Fatal("a reader outlives the end of its context")
	}
	go func() {
		queue.TryNext()
		ended <- nil
	}()
	select {
	case <-ended:
	case <-time.After(limit):
		t.Fatal("TryNext waits for another reader")
	}
	submit(t, c, queue, "a")
	unlock(t, (<-read).Lock)
}

func TestAQueueThatIsClosedIsRefusedWhereverItIsNamed(t *testing.T) {
	c := open(t)
	queue := queueOf(t, c, 8)
	held := lock(t, c, "a", liblock.NoticesTo(queue))
	queue.Close()
	if err := c.ForceRelease(background, "a", 0); err != nil { // its notice has nowhere to go
		t.Fatal(err)
	}
	wants(t, held.Unlock(background), liblock.ErrLost)
	_, err := c.Lock(background, "b", liblock.NoticesTo(queue))
	wants(t, err, liblock.ErrClosed)
	_, err = c.TryLock(background, "b", liblock.NoticesTo(queue))
	wants(t, err, liblock.ErrClosed)
	_, err = c.Submit(queue, 0, "b")
	wants(t, err, liblock.ErrClosed)
	if _, ok := queue.TryNext(); ok {
		t.Fatal("an end out of a closed queue")
	}
	if locked, err := c.IsLocked(background, "b"); locked || err != nil {
		t.Fatal(locked, err)
	}
}

func TestQueuesAndOwnersOfAnotherContextAreRefused(t *testing.T) {
	c, other := open(t), open(t)
	queue, o := queueOf(t, other, 8), owner(t, other, "o")
	_, err := c.Submit(queue, 0, "a")
	wants(t, err, liblock.ErrInvalidArgument)
	_, err = c.Lock(background, "a", liblock.ByOwner(o))
	wants(t, err, liblock.ErrInvalidArgument)
	_, err = c.Lock(background, "a", liblock.NoticesTo(queue))
	wants(t, err, liblock.ErrInvalidArgument)
}
