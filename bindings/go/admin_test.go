// SPDX-License-Identifier: MIT
// Administration through the Go binding.

package liblock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	liblock "liblock.dev/go"
)

func TestListingsShowEveryKeyOnce(t *testing.T) {
	c := open(t)
	for i := 0; i < 20; i++ {
		lock(t, c, fmt.Sprintf("user:%d", i))
	}
	lock(t, c, "other")
	shown := map[string]int{}
	cursor, err := c.List(background, liblock.Locks, liblock.KeyPrefix("user:"), liblock.ListBatch(3))
	if err != nil {
		t.Fatal(err)
	}
	for cursor.Next() {
		shown[cursor.Info().Key]++
	}
	if report, err := cursor.Report(); cursor.Err() != nil || err != nil || report.Locks != 20 || len(shown) != 20 {
		t.Fatal(cursor.Err(), err, report, shown)
	}
	cursor.Close()
	cursor.Close()
	if cursor.Next() || !errors.Is(cursor.Err(), liblock.ErrClosed) {
		t.Fatal("a closed cursor goes on")
	}
	count := 0
	report, err := c.Each(background, liblock.Keys, func(*liblock.Info) bool { count++; return count < 5 })
	if err != nil || count != 5 || report.Keys != 5 {
		t.Fatal(count, report, err)
	}
	if report, err = c.Each(background, liblock.Queues, nil); err != nil || report.Keys != 0 {
		t.Fatal(report, err)
	}
	_, err = c.List(background, liblock.Locks, liblock.ListBatch(0))
	wants(t, err, liblock.ErrInvalidArgument)
}

func TestAdministrationTakesLocksAway(t *testing.T) {
	c := open(t)
	o := owner(t, c, "one")
	id, _ := o.ID()
	lock(t, c, "a", liblock.ByOwner(o))
	lock(t, c, "b")
	if report, err := c.ClearOwner(background, id); err != nil || report.Locks != 1 {
		t.Fatal(report, err)
	}
	instance, err := c.InstanceID()
	if err != nil || !strings.Contains(instance, "@") {
		t.Fatal(instance, err)
	}
	if report, err := c.ClearInstance(background, instance, liblock.ClearBatch(1)); err != nil || report.Locks != 1 {
		t.Fatal(report, err)
	}
	lock(t, c, "a")
	ended := make(chan error, 1)
	go func() { _, err := c.Lock(background, "a"); ended <- err }()
	until(t, "a waiter", func() bool { return waiters(t, c, "a") == 1 })
	if queued, err := c.IsQueued(background, "a"); !queued || err != nil {
		t.Fatal(queued, err)
	}
	report, err := c.Clear(background, liblock.ClearScan(10))
	if err != nil || report.Locks != 1 || report.Waiters != 1 {
		t.Fatal(report, err)
	}
	wants(t, <-ended, liblock.ErrDequeued)
	if _, err := c.ClearDead(background, liblock.DeadTTL(time.Hour)); err != nil {
		t.Fatal(err)
	}
	var result liblock.Result
	wants(t, c.ForceRelease(liblock.WithResult(background, &result), "a", liblock.DropQueue), liblock.ErrNotHeld)
	if result.Status != liblock.ErrNotHeld || result.Message == "" || result.Flags&liblock.HadLock != 0 {
		t.Fatal(result)
	}
	lock(t, c, "short", plainTTL(10))
	time.Sleep(30 * time.Millisecond)
	if ended, err := c.Sweep(background); err != nil || ended != 1 {
		t.Fatal(ended, err)
	}
}

func TestInstancesAndZombiesAreTold(t *testing.T) {
	name := fmt.Sprintf("local:instances-%d", time.Now().UnixNano())
	c, other := openURL(t, name), openURL(t, name)
	seen := 0
	report, err := c.EachInstance(background, false, func(i liblock.Instance) bool {
		if i.IsSelf {
			seen++
		}
		return true
	})
	if err != nil || report.Instances != 2 || seen != 1 {
		t.Fatal(report, seen, err)
	}
	if report, err = other.EachInstance(background, true, nil); err != nil || report.Instances != 0 {
		t.Fatal(report, err)
	}
	if z, err := c.Zombies(); err != nil || z.Enabled {
		t.Fatal(z, err)
	}
}

func TestWaitsOnAKeyEndWithWhatTheyWaitFor(t *testing.T) {
	c := open(t)
	wants(t, c.WaitHeld(background, "a", 5*time.Millisecond), liblock.ErrTimeout)
	wants(t, c.WaitReleased(background, "a", limit), liblock.ErrNotHeld)
	ended := make(chan error)
	go func() { ended <- c.WaitHeld(background, "a", liblock.Forever) }()
	held := lock(t, c, "a")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if info, err := c.WaitHeldOn(background, "a", "", limit); err != nil || info == nil || info.Token != held.Token() {
		t.Fatal(info, err)
	}
	go func() { ended <- c.WaitReleased(background, "a", liblock.Forever) }()
	lost := make(chan error)
	go func() { lost <- held.WaitLost(background, liblock.Forever) }()
	until(t, "both wait", func() bool { return waitersOf(t, c) == 2 })
	unlock(t, held)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	wants(t, <-lost, liblock.ErrNotHeld)
	ctx, cancel := context.WithCancel(background)
	go func() { ended <- c.WaitHeld(ctx, "a", liblock.Forever) }()
	cancel()
	wants(t, <-ended, context.Canceled)
}

func TestALocalContextRefusesWhatOnlyServersDo(t *testing.T) {
	c := open(t)
	held := lock(t, c, "a")
	_, err := held.Export(background)
	wants(t, err, liblock.ErrUnsupported)
	_, err = c.Adopt(background, []byte("x"))
	wants(t, err, liblock.ErrUnsupported)
	_, err = c.Read(background, "a", liblock.ReadQuorum, "")
	wants(t, err, liblock.ErrUnsupported)
	wants(t, c.QuorumInit(background, 0), liblock.ErrUnsupported)
	wants(t, c.QuorumSetNodes(background, []string{"redis://x"}, nil, 0), liblock.ErrUnsupported)
	_, _, _, err = c.QuorumStatus()
	wants(t, err, liblock.ErrUnsupported)
}
