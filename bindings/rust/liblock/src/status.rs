// SPDX-License-Identifier: MIT
//! How calls end: the library's statuses as an enum, with what each of them means for the caller.

use std::ffi::CStr;
use std::fmt;

use crate::numbers::numbers;
use liblock_sys as sys;

numbers! {
    /// How a call ended. `Ok` is success; all others come in an [`Error`](crate::Error).
    Status {
        /// Success.
        Ok = sys::LIBLOCK_OK,
        /// Held by another, and one attempt was permitted; wait_ms lets it wait.
        Busy = sys::LIBLOCK_BUSY,
        /// Wait_ms ended before it was granted; liblock_inspect tells who holds it.
        Timeout = sys::LIBLOCK_TIMEOUT,
        /// All permitted retries failed; permit more, or longer intervals.
        RetriesExhausted = sys::LIBLOCK_RETRIES_EXHAUSTED,
        /// The request was canceled.
        Canceled = sys::LIBLOCK_CANCELED,
        /// Waiting would close a cycle of owners that wait for each other.
        Deadlock = sys::LIBLOCK_DEADLOCK,
        /// The owner holds this key already and on_conflict is FAIL.
        AlreadyHeld = sys::LIBLOCK_ALREADY_HELD,
        /// An administrator removed the request from the wait queue.
        Dequeued = sys::LIBLOCK_DEQUEUED,
        /// Granted with less than min_remaining_ms left; undone.
        TooLate = sys::LIBLOCK_TOO_LATE,
        /// Not held: free, or released before; each handle is released once.
        NotHeld = sys::LIBLOCK_NOT_HELD,
        /// The lease ended, or the lock was taken away; stop what you do under it.
        Lost = sys::LIBLOCK_LOST,
        /// Held by another owner, or with another value.
        NotOwner = sys::LIBLOCK_NOT_OWNER,
        /// No answer yet; the library goes on.
        InDoubt = sys::LIBLOCK_IN_DOUBT,
        /// Released on fewer nodes than the quorum; the library goes on.
        Partial = sys::LIBLOCK_PARTIAL,
        /// Fewer nodes answered than the quorum needs.
        NoQuorum = sys::LIBLOCK_NO_QUORUM,
        /// Too many nodes are quarantined after a restart.
        Quarantined = sys::LIBLOCK_QUARANTINED,
        /// The lock is held on another set of nodes.
        NodesMismatch = sys::LIBLOCK_NODES_MISMATCH,
        /// The server cannot be reached.
        Connect = sys::LIBLOCK_CONNECT,
        /// The server refused the credentials or the permission.
        Auth = sys::LIBLOCK_AUTH,
        /// The server answered with an error.
        Server = sys::LIBLOCK_SERVER,
        /// The key holds something that is not a lock.
        WrongType = sys::LIBLOCK_WRONG_TYPE,
        /// The server is a read-only replica.
        ReadOnly = sys::LIBLOCK_READ_ONLY,
        /// The server's answer was not understood.
        Protocol = sys::LIBLOCK_PROTOCOL,
        /// An argument is missing, malformed or out of range.
        InvalidArgument = sys::LIBLOCK_INVALID_ARGUMENT,
        /// No such handle in this context; use handles where they came from.
        InvalidHandle = sys::LIBLOCK_INVALID_HANDLE,
        /// The named context is open with other options.
        OptionsMismatch = sys::LIBLOCK_OPTIONS_MISMATCH,
        /// This context, build or version cannot do that.
        Unsupported = sys::LIBLOCK_UNSUPPORTED,
        /// A bound set in the options is reached.
        Limit = sys::LIBLOCK_LIMIT,
        /// A call that could wait, made from a callback or a loop thread.
        WouldDeadlock = sys::LIBLOCK_WOULD_DEADLOCK,
        /// The context, owner or completion queue is closed.
        Closed = sys::LIBLOCK_CLOSED,
        /// Opened before fork(); open a new context in the child.
        Forked = sys::LIBLOCK_FORKED,
        /// Out of memory.
        NoMemory = sys::LIBLOCK_NO_MEMORY,
        /// An unexpected error inside the library.
        Internal = sys::LIBLOCK_INTERNAL,
    }
}

impl Status {
    /// `"TIMEOUT"` for [`Status::Timeout`]; `"UNKNOWN"` for a number that is no status.
    pub fn name(self) -> &'static str {
        static_text(unsafe { sys::liblock_status_name(self.raw()) })
    }

    /// One line of English for a person.
    pub fn text(self) -> &'static str {
        static_text(unsafe { sys::liblock_status_text(self.raw()) })
    }

    /// The same call may succeed later without any change.
    pub fn is_retryable(self) -> bool {
        self.is(sys::LIBLOCK_RETRYABLE)
    }

    /// The lock may be, or may have been, held on a server.
    pub fn is_maybe_held(self) -> bool {
        self.is(sys::LIBLOCK_MAYBE_HELD)
    }

    /// The caller must stop what it does under the lock.
    pub fn is_lost_lock(self) -> bool {
        self.is(sys::LIBLOCK_LOST_LOCK)
    }

    fn is(self, predicates: i32) -> bool {
        unsafe { sys::liblock_status_is(self.raw(), predicates) != 0 }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Static storage of the library; ASCII by its contract.
pub(crate) fn static_text(text: *const std::os::raw::c_char) -> &'static str {
    if text.is_null() {
        return "";
    }
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")
}
