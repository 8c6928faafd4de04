// SPDX-License-Identifier: MIT
// Locks on some of the nodes of a quorum, and quorums that get other nodes while locks are held.

package liblock_test

import (
	"strings"
	"testing"
	"time"

	liblock "liblock.dev/go"
)

// founded is a context over a new quorum of these servers once its nodes vote.
func founded(t *testing.T, urls []string) *liblock.Context {
	t.Helper()
	c := openURL(t, "", liblock.Servers(urls, nil), liblock.MaxTTL(time.Second))
	_, err := c.TryLock(background, "early")
	wants(t, err, liblock.ErrQuarantined)
	if err := c.QuorumInit(background, 0); err != nil {
		t.Fatal(err)
	}
	until(t, "nodes that vote", func() bool {
		state, _, _, err := c.QuorumStatus()
		return err == nil && state.Voting == uint32(len(urls))
	})
	return c
}

func addresses(t *testing.T, c *liblock.Context) (all []string) {
	t.Helper()
	_, nodes, _, err := c.QuorumStatus()
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		if !node.IsObserver {
			all = append(all, node.Address)
		}
	}
	return all
}

func on(nodes ...string) liblock.LockOption { return liblock.OnNodes(nodes, liblock.FailIfDisjoint) }

func TestLocksOnSomeNodesExcludeThoseThatShareOne(t *testing.T) {
	c := founded(t, servers(t))
	nodes := addresses(t, c)
	if len(nodes) != 5 {
		t.Fatal(nodes)
	}
	_, err := c.TryLock(background, "a", on("redis://nobody:1"))
	wants(t, err, liblock.ErrInvalidArgument)
	left := lock(t, c, "a", on(nodes[:3]...))
	right := lock(t, c, "a", on(nodes[3:]...))
	_, err = c.TryLock(background, "a", on(nodes[2:4]...))
	wants(t, err, liblock.ErrBusy)
	_, err = c.TryLock(background, "a")
	wants(t, err, liblock.ErrBusy)
	o := owner(t, c, "o")
	mine := lock(t, c, "b", on(nodes[:2]...), liblock.ByOwner(o))
	_, err = c.TryLock(background, "b", on(nodes[3:]...), liblock.ByOwner(o))
	wants(t, err, liblock.ErrNodesMismatch)
	for _, l := range []*liblock.Lock{left, right, mine} {
		unlock(t, l)
	}
	unlock(t, lock(t, c, "a"))
}

func TestAQuorumGetsOtherNodesWhileItsLocksAreHeld(t *testing.T) {
	urls := servers(t)
	c := founded(t, urls[:3])
	other := openURL(t, "", liblock.Servers(urls[:3], nil), liblock.MaxTTL(time.Second))
	held := lock(t, c, "a")
	before, _, _, err := c.QuorumStatus()
	if err != nil {
		t.Fatal(err)
	}
	wants(t, c.QuorumSetNodes(background, []string{"nonsense://"}, nil, 0), liblock.ErrInvalidArgument)
	if err := c.QuorumSetNodes(background, urls[1:4], urls[4:], 0); err != nil {
		t.Fatal(err)
	}
	until(t, "the new nodes and the observer", func() bool {
		after, nodes, _, err := c.QuorumStatus()
		var voting []string // what the url still names and is no node any more is refused
		for _, node := range nodes {
			if node.State == liblock.NodeUp && !node.IsObserver {
				voting = append(voting, strings.TrimSuffix(node.Address, "?db=0"))
			}
		}
		return err == nil && after.Epoch > before.Epoch && after.ClusterID == before.ClusterID && after.Voting == 3 &&
			after.Observers == 1 && !after.IsConfiguring && strings.Join(voting, " ") == strings.Join(urls[1:4], " ")
	})
	until(t, "a quorum of the new nodes that knows of the lock", func() bool {
		err := held.Verify(background)
		if liblock.StatusOf(err) == liblock.ErrLost {
			t.Fatal("the lock did not stay")
		}
		return err == nil
	})
	_, err = other.TryLock(background, "a")
	wants(t, err, liblock.ErrBusy)
	unlock(t, held)
	until(t, "the other context's lock", func() bool {
		l, err := other.Lock(background, "a", liblock.Wait(time.Second))
		return err == nil && l.Unlock(background) == nil
	})
	wants(t, openURL(t, "local:").QuorumInit(background, 0), liblock.ErrUnsupported)
}
