// SPDX-License-Identifier: MIT
// Opening, closing, and what a context.Context that ends does to a wait.

package liblock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	liblock "liblock.dev/go"
)

func TestWhatCannotBeOpenedSaysWhy(t *testing.T) {
	_, err := liblock.Open(background, "nonsense://")
	var failure *liblock.Error
	if !errors.As(err, &failure) || failure.Message == "" || failure.Op != "open" {
		t.Fatal(err)
	}
	_, err = liblock.Open(background, "local:", liblock.Cleanup(0, 0))
	wants(t, err, liblock.ErrInvalidArgument)
	ctx, cancel := context.WithCancel(background)
	cancel()
	_, err = liblock.Open(ctx, "local:")
	wants(t, err, context.Canceled)
}

func TestContextsOfOneNameShareTheirTable(t *testing.T) {
	name, opened := fmt.Sprintf("local:shared-%d", time.Now().UnixNano()), 0
	one := openURL(t, name, liblock.OnOpen(func() { opened++ }), liblock.Prefix("p"))
	two := openURL(t, name, liblock.OnOpen(func() { opened++ }), liblock.Prefix("p"))
	if opened != 1 {
		t.Fatalf("opened %d times", opened)
	}
	lock(t, one, "a")
	_, err := two.TryLock(background, "a")
	wants(t, err, liblock.ErrBusy)
	_, err = liblock.Open(background, name, liblock.Prefix("q"))
	wants(t, err, liblock.ErrOptionsMismatch)
}

func TestClosingEndsWaitsAndEverythingAfterwardsIsClosed(t *testing.T) {
	c := open(t)
	held := lock(t, c, "a", liblock.NotifyLost())
	o := owner(t, c, "o")
	ended := make(chan error, 3)
	for i := 0; i < 3; i++ {
		go func() { _, err := c.Lock(background, "a"); ended <- err }()
	}
	until(t, "three waiters", func() bool { return waiters(t, c, "a") == 3 })
	for i := 0; i < 2; i++ {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < 3; i++ {
		wants(t, <-ended, liblock.ErrClosed)
	}
	comes(t, "the loss", held.Lost())
	_, listErr := c.List(background, liblock.Locks)
	_, lockErr := c.Lock(background, "a")
	_, ownerErr := c.OpenOwner("x")
	_, remainingErr := held.Remaining()
	var result liblock.Result
	ping := c.Ping(liblock.WithResult(background, &result))
	for i, err := range []error{listErr, lockErr, ownerErr, remainingErr, ping, held.Unlock(background),
		held.Held(), o.Release(background, "a"), c.WaitHeld(background, "a", limit), c.Cancel(1),
		c.OnEvents(0, nil), c.QuorumInit(background, 0)} {
		if !errors.Is(err, liblock.ErrClosed) {
			t.Fatal(i, err)
		}
	}
	if result.Status != liblock.ErrClosed || result.Message == "" {
		t.Fatal(result)
	}
}

func TestClosingWithoutWaitingTellsItsEnd(t *testing.T) {
	c := open(t)
	lock(t, c, "a")
	if err := <-c.CloseAsync(); err != nil {
		t.Fatal(err)
	}
	if err := <-c.CloseAsync(); err != nil {
		t.Fatal(err)
	}
	_, err := c.Lock(background, "a")
	wants(t, err, liblock.ErrClosed)
}

func TestCallsThatCouldWaitAreRefusedInCallbacks(t *testing.T) {
	c := open(t)
	told := make(chan error, 1)
	err := c.OnEvents(liblock.EventMask(liblock.EventObtained), func(liblock.Event) { told <- c.Close() })
	if err != nil {
		t.Fatal(err)
	}
	lock(t, c, "a")
	wants(t, <-told, liblock.ErrWouldDeadlock)
}

func TestAContextThatIsForgottenIsClosed(t *testing.T) {
	name := fmt.Sprintf("local:forgotten-%d", time.Now().UnixNano())
	witness := openURL(t, name)
	func() {
		c, err := liblock.Open(background, name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.Lock(background, "a", liblock.Retries(-1), liblock.Value([]byte("x"))); err != nil {
			t.Fatal(err)
		}
		if _, err = c.Lock(background, "a", liblock.Wait(time.Millisecond)); !errors.Is(err, liblock.ErrTimeout) {
			t.Fatal(err) // so that its queue and reader have begun
		}
	}()
	until(t, "the release of what it held", func() bool {
		runtime.GC()
		locked, _ := witness.IsLocked(background, "a")
		return !locked
	})
}

func TestRequestsEndInTheirQueueInOrder(t *testing.T) {
	c := open(t)
	queue, err := c.OpenCompletions(8)
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	held := lock(t, c, "a")
	var requests []liblock.Request
	for i := uint64(1); i <= 3; i++ {
		request, err := c.Submit(queue, i, "a", liblock.Wait(limit))
		if err != nil {
			t.Fatal(err)
		}
		requests = append(requests, request)
	}
	if err := c.Cancel(requests[1]); err != nil {
		t.Fatal(err)
	}
	end, err := queue.Next(background)
	if err != nil || end.Status != liblock.ErrCanceled || end.UserData != 2 || end.Request != requests[1] {
		t.Fatal(end, err)
	}
	if _, ok := queue.TryNext(); ok {
		t.Fatal("an end that nobody asked for")
	}
	ctx, cancel := context.WithTimeout(background, 10*time.Millisecond)
	_, err = queue.Next(ctx)
	cancel()
	wants(t, err, context.DeadlineExceeded)
	unlock(t, held)
	for _, data := range []uint64{1, 3} {
		end, err = queue.Next(background)
		if err != nil || end.Status != liblock.OK || end.UserData != data {
			t.Fatal(end, err)
		}
		unlock(t, end.Lock)
	}
	wants(t, c.Cancel(requests[0]), liblock.ErrInvalidHandle)
	queue.Stop()
	_, err = queue.Next(background)
	wants(t, err, liblock.ErrClosed)
	_, err = c.Submit(queue, 4, "a")
	wants(t, err, liblock.ErrClosed)
}

func TestAQueueThatIsFullRefusesRequests(t *testing.T) {
	c := open(t)
	queue, err := c.OpenCompletions(1)
	if err != nil {
		t.Fatal(err)
	}
	lock(t, c, "a")
	if _, err = c.Submit(queue, 1, "a"); err != nil {
		t.Fatal(err)
	}
	_, err = c.Submit(queue, 2, "a")
	wants(t, err, liblock.ErrLimit)
	waiting := make(chan error)
	go func() { _, err := queue.Next(background); waiting <- err }()
	time.Sleep(5 * time.Millisecond)
	queue.Close()
	queue.Close()
	wants(t, <-waiting, liblock.ErrClosed)
	_, err = c.OpenCompletions(0)
	wants(t, err, liblock.ErrInvalidArgument)
}

func TestErrorsAreStatusesOfTheLibrary(t *testing.T) {
	if liblock.ErrTimeout.Name() != "TIMEOUT" || liblock.Status(250).Name() != "UNKNOWN" {
		t.Fatal("names")
	}
	if liblock.StatusOf(nil) != liblock.OK || liblock.StatusOf(errors.New("x")) != liblock.ErrInternal {
		t.Fatal("StatusOf")
	}
	wrapped := fmt.Errorf("mine: %w", liblock.ErrLost)
	if liblock.StatusOf(wrapped) != liblock.ErrLost || !liblock.ErrLost.Has(liblock.LostLock) {
		t.Fatal("wrapped")
	}
	if liblock.Version() == "" || liblock.VersionNumber() == 0 {
		t.Fatal("version")
	}
}
