// SPDX-License-Identifier: MIT
// The binding on a real server: waiting without threads, loss, administration.

package liblock_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	liblock "liblock.dev/go"
)

// server is the url of a redis-server of this test's own, on a unix socket in a folder of its own. `go test -short` is
// for machines without redis-server; there these tests are left out, and said to be.
func server(t *testing.T, arguments ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs redis-server: not in -short")
	}
	socket := filepath.Join(t.TempDir(), "s")
	process := exec.Command("redis-server", append([]string{"--port", "0", "--unixsocket", socket, "--save", "",
		"--appendonly", "no", "--dir", filepath.Dir(socket)}, arguments...)...)
	if err := process.Start(); err != nil {
		t.Fatal("redis-server cannot be started (see -short): ", err)
	}
	t.Cleanup(func() {
		process.Process.Kill()
		process.Wait()
	})
	url := "unix://" + socket
	probe := openURL(t, url)
	until(t, "the server", func() bool { return probe.Ping(background) == nil })
	return url
}

// servers are urls of five.
func servers(t *testing.T) (urls []string) {
	for i := 0; i < 5; i++ {
		urls = append(urls, server(t))
	}
	return urls
}

func TestARequestThatIsRefusedSaysWhy(t *testing.T) {
	c := openURL(t, server(t))
	queue, err := c.OpenCompletions(8)
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	short := liblock.TTL(5 * time.Millisecond)
	_, locked := c.Lock(background, "a", short)
	_, global := c.LockGlobal(background)
	_, elsewhere := c.Lock(background, "a", on("redis://x"))
	_, submitted := c.Submit(queue, 0, "a", short)
	_, told := c.Submit(queue, 0, "a", liblock.OnQueued(func(_, _ int64) {}))
	_, foreign := openURL(t, "local:").Submit(queue, 0, "a")
	for says, err := range map[string]error{
		"ttl_ms is 5; use 20 to ":           locked,
		"has no global lock; agree on":      global,
		"nodes are those of a quorum, and ": elsewhere,
		"ttl_ms is 5; use 20 to max_ttl_ms": submitted,
		"on_queued tells Lock, not a queue": told,
		"was opened on another context":     foreign,
	} {
		var failure *liblock.Error
		if !errors.As(err, &failure) || !strings.Contains(failure.Message, says) ||
			failure.Result.Message != failure.Message {
			t.Error(says, err)
		}
	}
	if _, err := c.Inspect(background, "a"); liblock.StatusOf(err) != liblock.ErrNotHeld {
		t.Error(err)
	}
}

func TestContextsOfAServerExcludeEachOther(t *testing.T) {
	url := server(t)
	one, two := openURL(t, url), openURL(t, url)
	held := lock(t, one, "a", liblock.Value([]byte("mine")))
	if held.Result().RemainingMs <= 0 {
		t.Fatal(held.Result())
	}
	_, err := two.TryLock(background, "a")
	wants(t, err, liblock.ErrBusy)
	granted := make(chan *liblock.Lock)
	go func() { l, _ := two.Lock(background, "a"); granted <- l }()
	until(t, "a waiter", func() bool { return waiters(t, one, "a") == 1 })
	if info, err := two.Inspect(background, "a"); err != nil || string(info.Value) != "mine" {
		t.Fatal(info, err)
	}
	if err := held.Extend(background, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := held.Update(background, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if err := held.Verify(background); err != nil {
		t.Fatal(err)
	}
	unlock(t, held)
	next := <-granted
	if next == nil || next.Token() <= held.Token() {
		t.Fatal(next)
	}
	if info, err := one.Read(background, "a", liblock.ReadNearest, ""); err != nil || info.Token != next.Token() {
		t.Fatal(info, err)
	}
	unlock(t, next)
}

func TestALossOnAServerIsHeardOf(t *testing.T) {
	url := server(t)
	one, two := openURL(t, url), openURL(t, url)
	held := lock(t, one, "a")
	lost := make(chan error)
	go func() { lost <- held.WaitLost(background, limit) }()
	if err := two.ForceRelease(background, "a", 0); err != nil {
		t.Fatal(err)
	}
	comes(t, "the loss", held.Lost())
	wants(t, <-lost, liblock.ErrLost)
	wants(t, held.Unlock(background), liblock.ErrLost)
	wants(t, held.Unlock(background), liblock.ErrNotHeld)
}

func TestALockIsHandedToAnotherContext(t *testing.T) {
	url := server(t)
	one, two := openURL(t, url), openURL(t, url)
	held := lock(t, one, "a", liblock.TTL(time.Minute))
	secret, err := held.Export(background)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, held.Held(), liblock.ErrNotHeld)
	adopted, err := two.Adopt(background, secret, liblock.TTL(time.Minute))
	if err != nil || adopted.Token() != held.Token() {
		t.Fatal(adopted, err)
	}
	unlock(t, adopted)
	_, err = two.Adopt(background, secret)
	wants(t, err, liblock.ErrLost)
}

func TestOwnersWaitsAndInstancesOnAServer(t *testing.T) {
	c := openURL(t, server(t), liblock.ZombieInterval(100*time.Millisecond))
	o := owner(t, c, "o")
	ended := make(chan error)
	go func() { ended <- c.WaitHeld(background, "a", limit) }()
	lock(t, c, "a", liblock.ByOwner(o))
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if info, err := c.WaitHeldOn(background, "a", "", limit); err != nil || info == nil {
		t.Fatal(info, err)
	}
	go func() { ended <- c.WaitReleased(background, "a", limit) }()
	time.Sleep(20 * time.Millisecond)
	if err := o.Release(background, "a"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil && !errors.Is(err, liblock.ErrNotHeld) {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(background, 20*time.Millisecond)
	defer cancel()
	wants(t, c.WaitHeld(ctx, "nobody", liblock.Forever), context.DeadlineExceeded)
	until(t, "a sign of life", func() bool { z, err := c.Zombies(); return err == nil && z.Enabled && z.Runs > 0 })
	if report, err := c.EachInstance(background, false, nil); err != nil || report.Instances != 1 {
		t.Fatal(report, err)
	}
}

func TestAServerThatIsNotThereIsToldAtOnce(t *testing.T) {
	c := openURL(t, "unix:///nonexistent/socket")
	wants(t, c.Ping(background), liblock.ErrConnect)
	_, err := c.Lock(background, "a")
	wants(t, err, liblock.ErrConnect)
	_, err = c.TryLock(background, "a", liblock.Blocking())
	wants(t, err, liblock.ErrConnect)
}

func TestManyGoroutinesOnAServerCostNoThreads(t *testing.T) {
	const many = 500
	c := openURL(t, server(t))
	held := lock(t, c, "a")
	before := threadCount(t)
	ctx, cancel := context.WithCancel(background)
	var all sync.WaitGroup
	for i := 0; i < many; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			if l, err := c.Lock(ctx, "a"); err == nil {
				l.Unlock(background)
			}
		}()
	}
	until(t, "all waiters", func() bool { return waiters(t, c, "a") == many })
	if during := threadCount(t); during > before+many/10 {
		t.Fatalf("%d threads before, %d while %d wait", before, during, many)
	}
	cancel()
	all.Wait()
	unlock(t, held)
	until(t, "a free key", func() bool { locked, _ := c.IsLocked(background, "a"); return !locked })
}

func TestAQuorumIsMadeAndLocksOnAMajority(t *testing.T) {
	urls := servers(t)
	c := openURL(t, "quorum:"+strings.Join(urls, ","), liblock.MaxTTL(time.Second))
	if err := c.QuorumInit(background, 0); err != nil {
		t.Fatal(err)
	}
	var held *liblock.Lock
	until(t, "nodes that vote", func() bool {
		l, err := c.Lock(background, "a", liblock.TTL(900*time.Millisecond), liblock.Renew(),
			liblock.Wait(time.Second), liblock.Value([]byte("v")))
		held = l
		return err == nil
	})
	info, err := c.Read(background, "a", liblock.ReadQuorum, "")
	if err != nil || string(info.Value) != "v" || info.Token != held.Token() {
		t.Fatal(info, err)
	}
	_, nodes, _, err := c.QuorumStatus()
	if err != nil || len(nodes) != 5 {
		t.Fatal(nodes, err)
	}
	info, err = c.WaitHeldOn(background, "a", nodes[0].Address, limit)
	if err != nil || info == nil || info.Token != held.Token() {
		t.Fatal(info, err)
	}
	unlock(t, held)
	state, nodes, _, err := c.QuorumStatus()
	if err != nil || state.Nodes != 5 || state.Votes != 3 || len(nodes) != 5 || nodes[0].State != liblock.NodeUp {
		t.Fatal(fmt.Sprintf("%+v %+v", state, nodes), err)
	}
	wants(t, c.QuorumInit(background, 0), liblock.ErrNodesMismatch)
	if err := c.QuorumSetNodes(background, nil, nil, liblock.AllVotes); err != nil {
		t.Fatal(err)
	}
	if state, _, _, err = c.QuorumStatus(); err != nil || state.Votes != 5 {
		t.Fatal(state, err)
	}
}

func TestAServerThatIsNotThereIsNamedByWhateverIsAskedOfIt(t *testing.T) {
	locks := openURL(t, "redis://127.0.0.1:1") // nobody listens there
	_, byLock := locks.Lock(background, "a")
	_, byTry := locks.TryLock(background, "a")
	_, byInspect := locks.Inspect(background, "a")
	for _, err := range []error{byLock, byTry, byInspect, locks.Ping(background)} {
		wants(t, err, liblock.ErrConnect)
		if !strings.Contains(err.Error(), "CONNECT: redis://127.0.0.1:1/0: ") {
			t.Error(err)
		}
	}
}

func TestAnErrorOfAQuorumThatWasNotMadeYetSaysHowItIsMade(t *testing.T) {
	locks := openURL(t, "", liblock.Servers(servers(t), nil))
	_, err := locks.Lock(background, "a", liblock.Wait(100*time.Millisecond))
	wants(t, err, liblock.ErrQuarantined)
	if !strings.Contains(err.Error(), "liblock_quorum_init") || !strings.Contains(err.Error(), "ends in a while") {
		t.Error(err)
	}
	if err = locks.QuorumInit(background, 0); err != nil {
		t.Fatal(err)
	}
	until(t, "all nodes answer", func() bool {
		err = locks.QuorumInit(background, 0)
		return !errors.Is(err, liblock.ErrNoQuorum)
	})
	wants(t, err, liblock.ErrNodesMismatch)
	if !strings.Contains(err.Error(), "it is part of a quorum already") {
		t.Error(err)
	}
}
