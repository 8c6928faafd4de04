// SPDX-License-Identifier: MIT
//! Calls on keys rather than on locks: looking at them, waiting for what others do with them, and the calls of those
//! who were told a lock's value.

use std::ptr::null_mut;

use crate::bytes::{c_text, data};
use crate::context::Context;
use crate::error::{call, check, Error, Outcome, Result};
use crate::future::Op;
use crate::handle::Extend;
use crate::info::Info;
use crate::status::Status;
use liblock_sys as sys;

/// Whom [`Context::read`] asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read<'a> {
    /// The node or observer that answers fastest; may be old: decide nothing by it.
    Nearest,
    /// The same, of the nodes that vote.
    Master,
    /// What as many nodes as must vote agree on.
    Quorum,
    /// The node or observer of this address or id.
    Node(&'a str),
    /// The node that votes of this address or id.
    MasterNode(&'a str),
}

impl Read<'_> {
    fn raw(&self) -> (i32, Option<&str>) {
        match self {
            Read::Nearest => (sys::LIBLOCK_READ_NEAREST, None),
            Read::Master => (sys::LIBLOCK_READ_MASTER, None),
            Read::Quorum => (sys::LIBLOCK_READ_QUORUM, None),
            Read::Node(node) => (sys::LIBLOCK_READ_NEAREST, Some(node)),
            Read::MasterNode(node) => (sys::LIBLOCK_READ_MASTER, Some(node)),
        }
    }
}

fn pointer(text: &Option<std::ffi::CString>) -> *const std::os::raw::c_char {
    text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
}

/// Neither 1 nor 0 would be a broken contract.
fn truth(written: i32) -> Result<bool> {
    match written {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Error::of(Status::Internal)),
    }
}

fn asked(outcome: Result<Outcome>, info: *mut sys::liblock_info) -> Result<(Option<Info>, Outcome)> {
    let info = unsafe { Info::take(info) };
    outcome.map(|outcome| (info, outcome))
}

fn known((info, _): (Option<Info>, Outcome)) -> Result<Info> {
    info.ok_or_else(|| Error::of(Status::Internal))
}

impl Context {
    /// Does somebody hold the key?
    ///
    /// # Errors
    /// Over a quorum `NoQuorum`, `Quarantined`: nobody can say.
    pub fn is_locked(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        let key = key.as_ref();
        let mut locked = -1;
        check(unsafe { sys::liblock_is_locked(self.raw(), data(key), key.len(), &mut locked) })?;
        truth(locked)
    }

    /// Does somebody wait for the key?
    ///
    /// # Errors
    /// As [`Context::is_locked`].
    pub fn is_queued(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        let key = key.as_ref();
        let mut queued = -1;
        check(unsafe { sys::liblock_is_queued(self.raw(), data(key), key.len(), &mut queued) })?;
        truth(queued)
    }

    /// Who holds a key.
    ///
    /// # Errors
    /// `NotHeld`.
    pub fn inspect(&self, key: impl AsRef<[u8]>) -> Result<Info> {
        self.inspect_told(key).and_then(known)
    }

    /// [`Context::inspect`] with the outcome of the call.
    ///
    /// # Errors
    /// `NotHeld`.
    pub fn inspect_told(&self, key: impl AsRef<[u8]>) -> Result<(Option<Info>, Outcome)> {
        let key = key.as_ref();
        let mut info = null_mut();
        let outcome =
            call(|result| unsafe { sys::liblock_inspect(self.raw(), data(key), key.len(), &mut info, result) });
        asked(outcome, info)
    }

    /// [`Context::inspect`] without a waiting thread.
    pub fn inspect_async(&self, key: impl AsRef<[u8]>) -> Op<Info> {
        let key = key.as_ref();
        Op::start(
            self,
            |_, end| end.into_info(),
            |callback, user_data, request| unsafe {
                sys::liblock_inspect_async(self.raw(), data(key), key.len(), null_mut(), callback, user_data, request)
            },
        )
    }

    /// Waiters of a key, in the order in which they will be served, and the holder if there is one.
    ///
    /// # Errors
    /// `NotHeld` when nobody holds or waits.
    pub fn inspect_queue(&self, key: impl AsRef<[u8]>) -> Result<Info> {
        self.inspect_queue_told(key).and_then(known)
    }

    /// [`Context::inspect_queue`] with the outcome of the call.
    ///
    /// # Errors
    /// `NotHeld` when nobody holds or waits.
    pub fn inspect_queue_told(&self, key: impl AsRef<[u8]>) -> Result<(Option<Info>, Outcome)> {
        let key = key.as_ref();
        let mut info = null_mut();
        let outcome =
            call(|result| unsafe { sys::liblock_inspect_queue(self.raw(), data(key), key.len(), &mut info, result) });
        asked(outcome, info)
    }

    /// Waits until the key is held by somebody; -1 = for ever.
    ///
    /// # Errors
    /// `Timeout`, `WouldDeadlock`.
    pub fn wait_held(&self, key: impl AsRef<[u8]>, wait_ms: i64) -> Result<Outcome> {
        let key = key.as_ref();
        call(|result| unsafe { sys::liblock_wait_held(self.raw(), data(key), key.len(), wait_ms, result) })
    }

    /// A future of [`Context::wait_held`]. Dropping it ends the wait.
    pub fn wait_held_async(&self, key: impl AsRef<[u8]>, wait_ms: i64) -> Op<()> {
        let key = key.as_ref();
        Op::start(
            self,
            |_, end| end.into_unit(),
            |callback, user, request| unsafe {
                let (bytes, size) = (data(key), key.len());
                sys::liblock_wait_held_async(self.raw(), bytes, size, wait_ms, null_mut(), callback, user, request)
            },
        )
    }

    /// Waits until the present holder of the key no longer holds it; -1 = for ever.
    ///
    /// # Errors
    /// `Timeout`; `NotHeld`: nobody holds it; `WouldDeadlock`.
    pub fn wait_released(&self, key: impl AsRef<[u8]>, wait_ms: i64) -> Result<Outcome> {
        let key = key.as_ref();
        call(|result| unsafe { sys::liblock_wait_released(self.raw(), data(key), key.len(), wait_ms, result) })
    }

    /// A future of [`Context::wait_released`]. Dropping it ends the wait.
    pub fn wait_released_async(&self, key: impl AsRef<[u8]>, wait_ms: i64) -> Op<()> {
        let key = key.as_ref();
        Op::start(
            self,
            |_, end| end.into_unit(),
            |callback, user, request| unsafe {
                let (bytes, size) = (data(key), key.len());
                sys::liblock_wait_released_async(
                    self.raw(),
                    bytes,
                    size,
                    wait_ms,
                    null_mut(),
                    callback,
                    user,
                    request,
                )
            },
        )
    }

    /// [`Context::wait_held`] on one node of a quorum, by its address or id: until that node, or that observer, knows
    /// of the lock. What it saw comes back, unless the lock was gone again. `None` as node: in any context.
    ///
    /// # Errors
    /// `Timeout`; `Unsupported`: a node's name in another kind of context; `WouldDeadlock`.
    pub fn wait_held_on(&self, key: impl AsRef<[u8]>, node: Option<&str>, wait_ms: i64) -> Result<Option<Info>> {
        let key = key.as_ref();
        let node = node.map(c_text).transpose()?;
        let mut info = null_mut();
        let outcome = call(|result| unsafe {
            let (bytes, size) = (data(key), key.len());
            sys::liblock_wait_held_on(self.raw(), bytes, size, pointer(&node), wait_ms, &mut info, result)
        });
        asked(outcome, info).map(|(info, _)| info)
    }

    /// A future of [`Context::wait_held_on`].
    pub fn wait_held_on_async(&self, key: impl AsRef<[u8]>, node: Option<&str>, wait_ms: i64) -> Op<Option<Info>> {
        let key = key.as_ref();
        let node = match node.map(c_text).transpose() {
            Ok(node) => node,
            Err(error) => return Op::refused(self, error),
        };
        let finish = |_: &Context, end: crate::Completion| end.into_ok().map(|end| end.info);
        Op::start(self, finish, |callback, user, request| unsafe {
            let (bytes, size, node) = (data(key), key.len(), pointer(&node));
            let queue = null_mut();
            sys::liblock_wait_held_on_async(self.raw(), bytes, size, node, wait_ms, queue, callback, user, request)
        })
    }

    /// Who holds a key and with which value, of the nodes that `read` says. One server: [`Context::inspect`].
    ///
    /// # Errors
    /// `NotHeld`; `NoQuorum`: too few answers, or they do not agree; `Quarantined`; `Connect`: the node named does not
    /// answer; `Unsupported`: a local context, or a node's name on one server.
    pub fn read(&self, key: impl AsRef<[u8]>, read: Read<'_>) -> Result<Info> {
        let key = key.as_ref();
        let (mode, node) = read.raw();
        let node = node.map(c_text).transpose()?;
        let mut info = null_mut();
        let outcome = call(|result| unsafe {
            let (bytes, size) = (data(key), key.len());
            sys::liblock_read(self.raw(), bytes, size, mode, pointer(&node), &mut info, result)
        });
        asked(outcome, info).and_then(known)
    }

    /// A future of [`Context::read`].
    pub fn read_async(&self, key: impl AsRef<[u8]>, read: Read<'_>) -> Op<Info> {
        let key = key.as_ref();
        let (mode, node) = read.raw();
        let node = match node.map(c_text).transpose() {
            Ok(node) => node,
            Err(error) => return Op::refused(self, error),
        };
        Op::start(
            self,
            |_, end| end.into_info(),
            |callback, user, request| unsafe {
                let (bytes, size, node) = (data(key), key.len(), pointer(&node));
                sys::liblock_read_async(self.raw(), bytes, size, mode, node, null_mut(), callback, user, request)
            },
        )
    }

    /// Releases a key by the value that its lock carries (empty = none), without its handle and from any context of
    /// the table or prefix. Its holder's handles are `Lost`.
    ///
    /// # Errors
    /// `NotHeld`; `NotOwner`: it carries another value, or belongs to a foreign client; `InDoubt`: no answer.
    pub fn release_key(&self, key: impl AsRef<[u8]>, expected: impl AsRef<[u8]>) -> Result<Outcome> {
        let (key, expected) = (key.as_ref(), expected.as_ref());
        call(|result| unsafe {
            sys::liblock_release_key(self.raw(), data(key), key.len(), data(expected), expected.len(), result)
        })
    }

    /// Extends the lease of a key by the value that its lock carries; see [`Context::release_key`]. The ttl cannot be
    /// [`TTL_AUTO`](crate::TTL_AUTO).
    ///
    /// # Errors
    /// As [`Context::release_key`].
    pub fn extend_key(&self, key: impl AsRef<[u8]>, expected: impl AsRef<[u8]>, extend: Extend) -> Result<Outcome> {
        let (key, expected) = (key.as_ref(), expected.as_ref());
        let (ttl_ms, flags) = extend.raw();
        call(|result| unsafe {
            let (bytes, value) = (data(key), data(expected));
            sys::liblock_extend_key(self.raw(), bytes, key.len(), value, expected.len(), ttl_ms, flags, result)
        })
    }

    /// Replaces the value of a key's lock by the value that it carries; see [`Context::release_key`].
    ///
    /// # Errors
    /// As [`Context::release_key`].
    pub fn update_key(
        &self,
        key: impl AsRef<[u8]>,
        expected: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<Outcome> {
        let (key, expected, value) = (key.as_ref(), expected.as_ref(), value.as_ref());
        call(|result| unsafe {
            let (bytes, was, new) = (data(key), data(expected), data(value));
            sys::liblock_update_key(self.raw(), bytes, key.len(), was, expected.len(), new, value.len(), result)
        })
    }
}
