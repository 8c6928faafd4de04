// SPDX-License-Identifier: MIT
// Locks: granted, refused, reentered, given back, on one key and several.

package liblock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	liblock "liblock.dev/go"
)

func TestALockExcludesUntilItIsGivenBack(t *testing.T) {
	c := open(t)
	held := lock(t, c, "a")
	_, err := c.TryLock(background, "a")
	wants(t, err, liblock.ErrBusy)
	unlock(t, held)
	unlock(t, lock(t, c, "a"))
}

func TestGoroutinesExcludeEachOther(t *testing.T) {
	c := open(t)
	sum := 0 // guarded by the lock: -race would see it were it not
	var all sync.WaitGroup
	for i := 0; i < 50; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for j := 0; j < 20; j++ {
				l, err := c.Lock(background, "sum")
				if err != nil {
					t.Error(err)
					return
				}
				sum++
				if err := l.Unlock(background); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	all.Wait()
	if sum != 1000 {
		t.Fatalf("%d of 1000", sum)
	}
}

func TestTokensRiseAndALockUnlocksOnce(t *testing.T) {
	c := open(t)
	first := lock(t, c, "a")
	unlock(t, first)
	wants(t, first.Unlock(background), liblock.ErrNotHeld)
	wants(t, first.Held(), liblock.ErrNotHeld)
	second := lock(t, c, "a")
	if token, err := second.FencingToken(); err != nil || token != second.Token() || token <= first.Token() {
		t.Fatalf("token %d, %v after %d", token, err, first.Token())
	}
	if !second.IsHeld() {
		t.Fatal("not held")
	}
	if _, err := first.FencingToken(); !errors.Is(err, liblock.ErrNotHeld) {
		t.Fatal(err)
	}
}

func TestADeadlineEndsAWaitAndIsInTheError(t *testing.T) {
	c := open(t)
	lock(t, c, "a")
	ctx, cancel := context.WithTimeout(background, 20*time.Millisecond)
	defer cancel()
	_, err := c.Lock(ctx, "a")
	wants(t, err, context.DeadlineExceeded)
	wants(t, err, liblock.ErrCanceled)
	if n := waiters(t, c, "a"); n != 0 {
		t.Fatalf("%d still wait", n)
	}
}

func TestCancelingEndsAWaitAndTheNextIsServed(t *testing.T) {
	c := open(t)
	held := lock(t, c, "a")
	ctx, cancel := context.WithCancel(background)
	ended := make(chan error)
	go func() { _, err := c.Lock(ctx, "a"); ended <- err }()
	until(t, "the first waiter", func() bool { return waiters(t, c, "a") == 1 })
	granted := make(chan *liblock.Lock)
	go func() { l, _ := c.Lock(background, "a"); granted <- l }()
	until(t, "the second waiter", func() bool { return waiters(t, c, "a") == 2 })
	cancel()
	err := <-ended
	wants(t, err, context.Canceled)
	unlock(t, held)
	unlock(t, <-granted)
}

func TestAContextThatHasEndedAcquiresNothing(t *testing.T) {
	c := open(t)
	ctx, cancel := context.WithCancel(background)
	cancel()
	_, err := c.Lock(ctx, "a")
	wants(t, err, context.Canceled)
	if locked, err := c.IsLocked(background, "a"); locked || err != nil {
		t.Fatal(locked, err)
	}
}

func TestWaitOptionsLimitAWait(t *testing.T) {
	c := open(t)
	lock(t, c, "a")
	_, err := c.Lock(background, "a", liblock.Wait(5*time.Millisecond))
	wants(t, err, liblock.ErrTimeout)
	_, err = c.Lock(background, "a", liblock.Retries(2), liblock.RetryInterval(time.Millisecond, 0))
	wants(t, err, liblock.ErrRetriesExhausted)
	_, err = c.Lock(background, "a", liblock.Wait(0))
	wants(t, err, liblock.ErrBusy)
	_, err = c.Lock(background, "a", liblock.Wait(-2*time.Millisecond))
	wants(t, err, liblock.ErrInvalidArgument)
	if !liblock.IsRetryable(liblock.ErrTimeout) || liblock.IsRetryable(liblock.ErrLost) {
		t.Fatal("predicates")
	}
}

func TestABackoffFunctionSaysTheIntervals(t *testing.T) {
	c := open(t)
	lock(t, c, "a")
	var attempts []uint32
	var mutex sync.Mutex
	_, err := c.Lock(background, "a", liblock.Retries(3), liblock.BackoffFunc(func(n uint32) time.Duration {
		mutex.Lock()
		defer mutex.Unlock()
		attempts = append(attempts, n)
		return time.Millisecond
	}))
	wants(t, err, liblock.ErrRetriesExhausted)
	mutex.Lock()
	defer mutex.Unlock()
	if fmt.Sprint(attempts) != "[0 1 2]" {
		t.Fatal(attempts)
	}
}

func TestSeveralKeysAreOneLock(t *testing.T) {
	c := open(t)
	many, err := c.LockMany(background, []string{"b", "a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.TryLock(background, "a")
	wants(t, err, liblock.ErrBusy)
	granted := make(chan *liblock.Lock)
	go func() { l, _ := c.LockMany(background, []string{"c", "b"}); granted <- l }()
	until(t, "a waiter", func() bool { return waiters(t, c, "b") == 1 })
	unlock(t, many)
	unlock(t, <-granted)
}

func TestTheGlobalLockExcludesAllKeys(t *testing.T) {
	c := open(t)
	held := lock(t, c, "a")
	granted := make(chan *liblock.Lock)
	go func() { l, _ := c.LockGlobal(background); granted <- l }()
	unlock(t, held)
	global := <-granted
	_, err := c.TryLock(background, "b")
	wants(t, err, liblock.ErrBusy)
	unlock(t, global)
}

func TestALeaseIsExtendedAndSaysWhatRemains(t *testing.T) {
	c := open(t)
	held := lock(t, c, "a", liblock.TTL(time.Minute))
	if left, err := held.Remaining(); err != nil || left <= 0 || left > time.Minute {
		t.Fatal(left, err)
	}
	if err := held.Extend(background, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := held.ExtendBy(background, time.Hour); err != nil {
		t.Fatal(err)
	}
	if left, _ := held.Remaining(); left <= time.Hour {
		t.Fatal(left)
	}
	if err := held.Extend(background, liblock.NoExpiry); err != nil {
		t.Fatal(err)
	}
	if left, _ := held.Remaining(); left != liblock.Forever {
		t.Fatal(left)
	}
	var result liblock.Result
	if err := held.Extend(liblock.WithResult(background, &result), time.Minute); err != nil || result.RemainingMs <= 0 {
		t.Fatal(result, err)
	}
}

func TestAValueIsCarriedChangedAndReleasedBy(t *testing.T) {
	c := open(t)
	held := lock(t, c, "a", liblock.Value([]byte("one")), liblock.Metadata(map[string][]byte{"who": []byte("me")}))
	info, err := c.Inspect(background, "a")
	if err != nil || string(info.Value) != "one" || !bytes.Equal(info.Metadata["who"], []byte("me")) {
		t.Fatal(info, err)
	}
	if err := held.Update(background, []byte("two")); err != nil {
		t.Fatal(err)
	}
	wants(t, c.ReleaseKey(background, "a", []byte("one")), liblock.ErrNotOwner)
	if err := c.UpdateKey(background, "a", []byte("two"), []byte("three")); err != nil {
		t.Fatal(err)
	}
	if err := c.ExtendKey(background, "a", []byte("three"), time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := c.ExtendKeyBy(background, "a", []byte("three"), time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := c.ReleaseKey(background, "a", []byte("three")); err != nil {
		t.Fatal(err)
	}
	wants(t, held.Unlock(background), liblock.ErrLost)
}

func TestBusyInfoTellsWhoIsInTheWay(t *testing.T) {
	c := open(t)
	held := lock(t, c, "a", liblock.Value([]byte("v")))
	_, err := c.Lock(background, "a", liblock.BusyInfo(), liblock.Wait(5*time.Millisecond))
	var failure *liblock.Error
	if !errors.As(err, &failure) || failure.Busy == nil || failure.Busy.Token != held.Token() {
		t.Fatalf("%+v", err)
	}
}

func TestOnQueuedTellsThePlace(t *testing.T) {
	c := open(t)
	held := lock(t, c, "a")
	places := make(chan int64, 10)
	granted := make(chan *liblock.Lock)
	go func() {
		l, _ := c.Lock(background, "a", liblock.RetryInterval(time.Millisecond, 0),
			liblock.OnQueued(func(position, length int64) { places <- position }))
		granted <- l
	}()
	if place := <-places; place != 0 {
		t.Fatal(place)
	}
	unlock(t, held)
	unlock(t, <-granted)
}

func TestADeadlineAlsoEndsABlockingWait(t *testing.T) {
	c := open(t)
	lock(t, c, "a")
	ctx, cancel := context.WithTimeout(background, 20*time.Millisecond)
	defer cancel()
	var result liblock.Result
	_, err := c.Lock(liblock.WithResult(ctx, &result), "a", liblock.Blocking())
	wants(t, err, liblock.ErrTimeout)
	wants(t, err, context.DeadlineExceeded)
	if result.Status != liblock.ErrTimeout || result.QueueLength != 1 {
		t.Fatalf("%+v", result)
	}
	wants(t, c.WaitReleased(ctx, "a", liblock.Forever), context.DeadlineExceeded)
}
