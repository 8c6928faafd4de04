// SPDX-License-Identifier: MIT
//! Quorums: founding one, changing its nodes, and how they are. In other contexts these answer `Unsupported`.

use std::ffi::CString;
use std::mem::{size_of, MaybeUninit};
use std::os::raw::{c_char, c_void};
use std::ptr::{null, null_mut};

use crate::bytes::{borrowed, c_text, text};
use crate::context::Context;
use crate::context_options::pointers;
use crate::error::{call, Outcome, Result};
use crate::future::Op;
use crate::kinds::NodeState;
use crate::registry::caught;
use liblock_sys as sys;

/// One node or observer, as it was when it answered last.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Node {
    /// `redis://host:port/db` and the like, without user and password.
    pub address: String,
    /// Of the node in its quorum; empty = not known yet.
    pub id: String,
    /// Why it does not vote: cause and cure; empty = it does.
    pub why: String,
    /// 0 = none.
    pub quarantine_left_ms: i64,
    /// Of its last answer; -1 = none yet.
    pub round_trip_us: i64,
    /// Its clock against this machine's; 0 = not known.
    pub clock_offset_ms: i64,
    /// Observers: how far behind it was when last fed; -1 = not known, no observer.
    pub lag_ms: i64,
    /// How it is.
    pub state: NodeState,
    /// It never votes.
    pub is_observer: bool,
}

/// How a quorum is, as a context has seen it last.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuorumStatus {
    /// How often it was configured; 0 = no node has said.
    pub epoch: u64,
    /// Of the quorum; 0 = no node has said.
    pub max_ttl_ms: i64,
    /// Hexadecimal; empty = no node has said.
    pub cluster_id: String,
    /// The same, of nodes and votes: equal where they are.
    pub config_hash: String,
    /// Nodes that must grant.
    pub votes: u32,
    /// Nodes that could, whatever their state.
    pub node_count: u32,
    /// Of these: answer.
    pub up: u32,
    /// Of these: vote.
    pub voting: u32,
    /// Of these: do not for now.
    pub quarantined: u32,
    /// Observers.
    pub observers: u32,
    /// A change of nodes is under way.
    pub is_configuring: bool,
    /// The nodes in the order of the url, then the observers.
    pub nodes: Vec<Node>,
    /// What is wrong, and the cure.
    pub message: Option<String>,
}

/// Texts and the pointers to them, null where there are none.
struct Urls {
    _texts: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl Urls {
    fn of(urls: &[&str]) -> Result<Urls> {
        let texts = urls.iter().map(|url| c_text(url)).collect::<Result<Vec<_>>>()?;
        let pointers = pointers(&texts);
        Ok(Urls { _texts: texts, pointers })
    }

    fn raw(&self) -> (*const *const c_char, usize) {
        let first = if self.pointers.is_empty() { null() } else { self.pointers.as_ptr() };
        (first, self.pointers.len())
    }
}

impl Context {
    /// Makes a quorum of the context's nodes: once for each set of servers, before the first lock. `force` marks nodes
    /// anew that have been part of a quorum whose locks nobody holds any more.
    ///
    /// # Errors
    /// `NoQuorum`: a node does not answer; `NodesMismatch`: one is part of a quorum, or was; `InDoubt`: some may be
    /// marked: once more, with `force`.
    pub fn quorum_init(&self, force: bool) -> Result<Outcome> {
        let flags = if force { sys::LIBLOCK_QUORUM_INIT_FORCE } else { 0 };
        call(|result| unsafe { sys::liblock_quorum_init(self.raw(), flags, result) })
    }

    /// [`Context::quorum_init`] without a waiting thread.
    pub fn quorum_init_async(&self, force: bool) -> Op<()> {
        let flags = if force { sys::LIBLOCK_QUORUM_INIT_FORCE } else { 0 };
        Op::start(
            self,
            |_, end| end.into_unit(),
            |callback, user_data, request| unsafe {
                sys::liblock_quorum_init_async(self.raw(), flags, null_mut(), callback, user_data, request)
            },
        )
    }

    /// Gives the quorum of this context other nodes, observers or votes; takes longer than `max_ttl_ms`. No servers:
    /// other votes alone. See `liblock_quorum_set_nodes` for what happens when it ends on the way.
    ///
    /// # Errors
    /// `NoQuorum`, `NodesMismatch`, `Limit`, `InDoubt`; the message names the nodes.
    pub fn quorum_set_nodes(&self, servers: &[&str], observers: &[&str], votes: i32) -> Result<Outcome> {
        let (servers, observers) = (Urls::of(servers)?, Urls::of(observers)?);
        let ((first, count), (first_observer, observer_count)) = (servers.raw(), observers.raw());
        call(|result| unsafe {
            let raw = self.raw();
            sys::liblock_quorum_set_nodes(raw, first, count, first_observer, observer_count, votes, result)
        })
    }

    /// [`Context::quorum_set_nodes`] without a waiting thread.
    pub fn quorum_set_nodes_async(&self, servers: &[&str], observers: &[&str], votes: i32) -> Op<()> {
        let (servers, observers) = match (Urls::of(servers), Urls::of(observers)) {
            (Ok(servers), Ok(observers)) => (servers, observers),
            (Err(error), _) | (_, Err(error)) => return Op::refused(self, error),
        };
        let ((first, count), (other, others)) = (servers.raw(), observers.raw());
        Op::start(
            self,
            |_, end| end.into_unit(),
            |callback, user, request| unsafe {
                let (raw, queue) = (self.raw(), null_mut());
                sys::liblock_quorum_set_nodes_async(
                    raw, first, count, other, others, votes, queue, callback, user, request,
                )
            },
        )
    }

    /// How the quorum and its nodes are, as this context has seen them last: asks no server.
    ///
    /// # Errors
    /// `Unsupported`, `Closed`.
    pub fn quorum_status(&self) -> Result<QuorumStatus> {
        let mut state = MaybeUninit::uninit();
        let mut state: sys::liblock_quorum_state = unsafe {
            sys::liblock_quorum_state_init(state.as_mut_ptr(), size_of::<sys::liblock_quorum_state>());
            state.assume_init()
        };
        let mut nodes: Vec<Node> = Vec::new();
        let user_data: *mut c_void = (&mut nodes as *mut Vec<Node>).cast();
        let outcome = call(|result| unsafe {
            sys::liblock_quorum_status(self.raw(), &mut state, Some(shown), user_data, result)
        })?;
        Ok(QuorumStatus {
            epoch: state.epoch,
            max_ttl_ms: state.max_ttl_ms,
            cluster_id: until_nul(&state.cluster_id),
            config_hash: until_nul(&state.config_hash),
            votes: state.votes,
            node_count: state.nodes,
            up: state.up,
            voting: state.voting,
            quarantined: state.quarantined,
            observers: state.observers,
            is_configuring: state.configuring == 1,
            nodes,
            message: outcome.message,
        })
    }
}

fn until_nul(characters: &[c_char]) -> String {
    let bytes: Vec<u8> = characters.iter().take_while(|c| **c != 0).map(|c| *c as u8).collect();
    text(&bytes)
}

/// Runs on the thread that asks, within `quorum_status`, whose list is alive.
unsafe extern "C" fn shown(node: *const sys::liblock_node, user_data: *mut c_void) -> i32 {
    let nodes = &mut *(user_data as *mut Vec<Node>);
    let raw = &*node;
    caught(1, || {
        nodes.push(Node {
            address: text(borrowed(&raw.address)),
            id: text(borrowed(&raw.id)),
            why: text(borrowed(&raw.why)),
            quarantine_left_ms: raw.quarantine_left_ms,
            round_trip_us: raw.round_trip_us,
            clock_offset_ms: raw.clock_offset_ms,
            lag_ms: raw.lag_ms,
            state: NodeState::from_raw(raw.state),
            is_observer: raw.is_observer == 1,
        });
        0
    })
}
