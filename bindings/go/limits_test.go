// SPDX-License-Identifier: MIT
// What does not fit: durations, texts with a NUL, bounds that are reached while something must be given back.

package liblock_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	liblock "liblock.dev/go"
)

func TestALockIsReleasedAlsoWhereNoFurtherRequestCanBeMade(t *testing.T) {
	url := server(t)
	for name, option := range map[string]liblock.Option{
		"requests": liblock.Limits(0, 0, 1), "places in the queue": liblock.Capacity(1),
	} {
		c, other := openURL(t, url, option), openURL(t, url)
		inTheWay := lock(t, other, "in the way")
		held := lock(t, c, "key")
		ctx, cancel := context.WithCancel(background)
		ended := make(chan error)
		go func() { _, err := c.Lock(ctx, "in the way"); ended <- err }()
		until(t, "the only request", func() bool { return waiters(t, other, "in the way") == 1 })
		wants(t, c.Ping(background), liblock.ErrLimit)
		if err := held.Unlock(background); err != nil {
			t.Fatal("without "+name+": ", err)
		}
		unlock(t, lock(t, other, "key"))
		cancel()
		wants(t, <-ended, context.Canceled)
		unlock(t, inTheWay)
	}
}

func TestATextWithANULInItIsRefusedInsteadOfCutOff(t *testing.T) {
	const cut = "x\x00y"
	for name, options := range map[string][]liblock.Option{
		"password": {liblock.Credentials("user", cut)}, "user": {liblock.Credentials(cut, "")},
		"client": {liblock.ClientName(cut)}, "file": {liblock.TLS(cut, "", "", "", "")},
		"server": {liblock.TLS("", "", "", "", cut)},
	} {
		_, err := liblock.Open(background, "redis://localhost", options...)
		wants(t, err, liblock.ErrInvalidArgument)
		if !strings.Contains(err.Error(), "NUL") {
			t.Fatal(name, err)
		}
	}
	_, err := liblock.Open(background, "local:"+cut)
	wants(t, err, liblock.ErrInvalidArgument)
	_, err = liblock.Open(background, "", liblock.Servers([]string{"redis://a", "redis://b\x00"}, nil))
	wants(t, err, liblock.ErrInvalidArgument)
	c := openURL(t, "quorum:unix:///nonexistent/a,unix:///nonexistent/b,unix:///nonexistent/c",
		liblock.Timeouts(10*time.Millisecond, 0, 0))
	_, err = c.TryLock(background, "a", liblock.OnNodes([]string{cut}, liblock.IgnoreMismatch))
	wants(t, err, liblock.ErrInvalidArgument)
	_, err = c.Read(background, "a", liblock.ReadNearest, cut)
	wants(t, err, liblock.ErrInvalidArgument)
	_, err = c.WaitHeldOn(background, "a", cut, time.Second)
	wants(t, err, liblock.ErrInvalidArgument)
	wants(t, c.QuorumSetNodes(background, []string{cut}, nil, 0), liblock.ErrInvalidArgument)
	wants(t, c.QuorumSetNodes(background, nil, []string{cut}, 0), liblock.ErrInvalidArgument)
}

func TestBytesOfAnyKindAreKeysValuesAndNames(t *testing.T) {
	c := open(t)
	const odd = "\x00\xff\xfe key"
	o := owner(t, c, odd)
	held := lock(t, c, odd, liblock.ByOwner(o), liblock.Value([]byte(odd)),
		liblock.Metadata(map[string][]byte{odd: []byte(odd), "empty": {}}))
	info, err := c.Inspect(background, odd)
	if err != nil || info.Key != odd || string(info.Value) != odd || string(info.Metadata[odd]) != odd ||
		len(info.Metadata) != 2 || !strings.HasSuffix(info.Owner, odd) {
		t.Fatal(info, err)
	}
	id, err := o.ID()
	if err != nil || id != info.Owner {
		t.Fatalf("%q, %q, %v", id, info.Owner, err)
	}
	if report, err := c.ClearOwner(background, id); err != nil || report.Locks != 1 {
		t.Fatal(report, err)
	}
	wants(t, held.Unlock(background), liblock.ErrLost)
}

func TestWhatIsTooLargeOrEmptyIsRefused(t *testing.T) {
	c := open(t)
	many := map[string][]byte{}
	for i := 0; i < 65; i++ {
		many[strings.Repeat("n", i+1)] = nil
	}
	for name, call := range map[string]func() error{
		"empty key":    func() error { _, err := c.Lock(background, ""); return err },
		"long key":     func() error { _, err := c.Lock(background, strings.Repeat("k", 513)); return err },
		"no keys":      func() error { _, err := c.LockMany(background, nil); return err },
		"an empty one": func() error { _, err := c.LockMany(background, []string{"a", ""}); return err },
		"value": func() error {
			_, err := c.Lock(background, "a", liblock.Value(make([]byte, 4097)))
			return err
		},
		"metadata": func() error {
			_, err := c.Lock(background, "a", liblock.Metadata(map[string][]byte{"n": make([]byte, 1<<20)}))
			return err
		},
		"entries":    func() error { _, err := c.Lock(background, "a", liblock.Metadata(many)); return err },
		"owner name": func() error { _, err := c.OpenOwner(strings.Repeat("o", 256)); return err },
		"no places": func() error {
			_, err := liblock.Open(background, "local:", liblock.Capacity(0))
			return err
		},
		"minus places": func() error {
			_, err := liblock.Open(background, "local:", liblock.Capacity(math.MinInt32))
			return err
		},
	} {
		if err := call(); liblock.StatusOf(err) != liblock.ErrInvalidArgument {
			t.Fatal(name, err)
		}
	}
	if stats, err := c.Stats(); err != nil || stats.LocksHeld != 0 {
		t.Fatal(stats, err)
	}
}

func TestDurationsThatMeanNothingAreRefused(t *testing.T) {
	c := open(t)
	held := lock(t, c, "held", liblock.TTL(time.Minute))
	for _, bad := range []time.Duration{math.MinInt64, -time.Hour, -3 * time.Millisecond, -1} {
		for name, call := range map[string]func() error{
			"Wait":         func() error { _, err := c.Lock(background, "held", liblock.Wait(bad)); return err },
			"TTL":          func() error { _, err := c.Lock(background, "a", liblock.TTL(bad)); return err },
			"QueueTTL":     func() error { _, err := c.Lock(background, "held", liblock.QueueTTL(bad)); return err },
			"Extend":       func() error { return held.Extend(background, bad) },
			"WaitHeld":     func() error { return c.WaitHeld(background, "a", bad) },
			"WaitLost":     func() error { return held.WaitLost(background, bad) },
			"WaitReleased": func() error { return c.WaitReleased(background, "held", bad) },
		} {
			if err := call(); liblock.StatusOf(err) != liblock.ErrInvalidArgument {
				t.Fatalf("%s of %v: %v", name, bad, err)
			}
		}
	}
	unlock(t, lock(t, c, "a", liblock.TTL(math.MaxInt64), liblock.Wait(math.MaxInt64)))
	unlock(t, held)
}
