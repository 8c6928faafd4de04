// SPDX-License-Identifier: MIT
// Quorums: founding, status, and other nodes.

package liblock

// #include "bridge.h"
import "C"

import (
	"context"
	"time"
)

// ForceInit makes QuorumInit mark nodes anew that have voted before.
const ForceInit = C.LIBLOCK_QUORUM_INIT_FORCE

// QuorumInit makes a quorum of the context's nodes: once for each set of servers, before the first lock. flags is 0,
// or ForceInit for a quorum whose locks nobody holds any more. Errors: ErrNoQuorum (a node does not answer),
// ErrNodesMismatch (one is part of a quorum, or was), ErrInDoubt (once more, with ForceInit), ErrUnsupported.
func (c *Context) QuorumInit(ctx context.Context, flags int32) error {
	return c.keyed(ctx, "quorum_init", C.BRIDGE_QUORUM_INIT, "", int64(flags), "").err
}

// QuorumSetNodes gives the quorum other nodes, observers or votes; locks stay held. nil servers: nodes and observers
// as they are, other votes alone. It takes longer than the longest ttl. Errors: ErrNoQuorum, ErrNodesMismatch (another
// change is under way), ErrLimit, ErrInDoubt, ErrUnsupported.
func (c *Context) QuorumSetNodes(ctx context.Context, servers, observers []string, votes int32) error {
	if !c.enter() {
		return closedIn(ctx, "quorum_set_nodes")
	}
	defer c.leave()
	var a arena
	defer a.free()
	s, o := a.texts(servers), a.texts(observers)
	if err := a.refuse("quorum_set_nodes"); err != nil {
		return err
	}
	ask := func(end *C.bridge_end) C.bridge_answer {
		return C.bridge_set_nodes(c.handle, s, C.size_t(len(servers)), o, C.size_t(len(observers)), C.int32_t(votes),
			end)
	}
	if c.local || wantedResult(ctx) != nil {
		leave, err := c.thread(ctx, "quorum_set_nodes")
		if err != nil {
			return err
		}
		defer leave()
		answer := ask(nil)
		return settle(ctx, "quorum_set_nodes", &answer)
	}
	_, err := c.call(ctx, "quorum_set_nodes", func(end C.bridge_end) C.bridge_answer { return ask(&end) })
	return err
}

// NodeState is how a node of a quorum is.
type NodeState int32

// The states.
const (
	NodeUp          NodeState = C.LIBLOCK_NODE_UP          // it answers, and votes
	NodeDown        NodeState = C.LIBLOCK_NODE_DOWN        // it does not answer
	NodeQuarantined NodeState = C.LIBLOCK_NODE_QUARANTINED // it was restarted or is new: no vote for QuarantineLeft
	NodeNeedsFloor  NodeState = C.LIBLOCK_NODE_NEEDS_FLOOR // no vote until it knows the tokens that the others gave
	NodeStepped     NodeState = C.LIBLOCK_NODE_STEPPED     // its clock has moved: no vote for QuarantineLeft here
	NodeRefused     NodeState = C.LIBLOCK_NODE_REFUSED     // it is not what the url says: Why says which
)

// Node is one node or observer, as it was when it answered last.
type Node struct {
	Address, ID    string
	Why            string // it does not vote: cause and cure; "" = it does
	State          NodeState
	IsObserver     bool
	QuarantineLeft time.Duration
	RoundTrip      time.Duration // of its last answer; negative = none yet
	ClockOffset    time.Duration // its clock against this machine's
	Lag            time.Duration // observers: how far behind; Forever = not known
}

// QuorumState is the sum of the nodes.
type QuorumState struct {
	Epoch                 uint64        // how often it was configured; 0 = no node has said
	MaxTTL                time.Duration // 0 = no node has said
	ClusterID, ConfigHash string
	Votes, Nodes          uint32 // nodes that must grant, and that could
	Up, Voting            uint32 // of these: answer; vote
	Quarantined           uint32 // of these: do not for now
	Observers             uint32
	IsConfiguring         bool // a change of nodes is under way
}

// QuorumStatus is how the quorum and its nodes are, as this context has seen them last: it asks no server. The text
// says what is wrong, and the cure. Errors: ErrUnsupported.
func (c *Context) QuorumStatus() (QuorumState, []Node, string, error) {
	if !c.enter() {
		return QuorumState{}, nil, "", closedError("quorum_status")
	}
	defer c.leave()
	var nodes []Node
	id := objects.put(func(node Node) bool { nodes = append(nodes, node); return true })
	defer objects.take(id)
	var s C.liblock_quorum_state
	C.liblock_quorum_state_init(&s, C.sizeof_liblock_quorum_state)
	answer := C.bridge_quorum_status(c.handle, &s, C.uintptr_t(id))
	state := QuorumState{
		Epoch: uint64(s.epoch), MaxTTL: fromMs(int64(s.max_ttl_ms)), ClusterID: C.GoString(&s.cluster_id[0]),
		ConfigHash: C.GoString(&s.config_hash[0]), Votes: uint32(s.votes), Nodes: uint32(s.nodes), Up: uint32(s.up),
		Voting: uint32(s.voting), Quarantined: uint32(s.quarantined), Observers: uint32(s.observers),
		IsConfiguring: s.configuring != 0,
	}
	return state, nodes, messageOf(&answer.result), settle(context.Background(), "quorum_status", &answer)
}

func nodeOf(n *C.liblock_node) Node {
	return Node{
		Address: goString(n.address), ID: goString(n.id), Why: goString(n.why), State: NodeState(n.state),
		IsObserver: n.is_observer != 0, QuarantineLeft: fromMs(int64(n.quarantine_left_ms)),
		RoundTrip: time.Duration(n.round_trip_us) * time.Microsecond, ClockOffset: fromMs(int64(n.clock_offset_ms)),
		Lag: fromMs(int64(n.lag_ms)),
	}
}
