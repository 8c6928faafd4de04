// SPDX-License-Identifier: MIT
//! The enumerators and numeric macros of `liblock.h`, by their names there.
//!
//! Enumerators are plain `i32`, as C has them; a field that is unsigned takes them with `as u32`. Their meanings are
//! in the header.

#![allow(missing_docs)]

use crate::liblock_status;

pub const LIBLOCK_RETRYABLE: i32 = 1;
pub const LIBLOCK_MAYBE_HELD: i32 = 2;
pub const LIBLOCK_LOST_LOCK: i32 = 4;

/// Success.
pub const LIBLOCK_OK: liblock_status = 0;
/// Held by another, and one attempt was permitted; wait_ms lets it wait.
pub const LIBLOCK_BUSY: liblock_status = 1;
/// Wait_ms ended before it was granted; liblock_inspect tells who holds it.
pub const LIBLOCK_TIMEOUT: liblock_status = 2;
/// All permitted retries failed; permit more, or longer intervals.
pub const LIBLOCK_RETRIES_EXHAUSTED: liblock_status = 3;
/// The request was canceled.
pub const LIBLOCK_CANCELED: liblock_status = 4;
/// Waiting would close a cycle of owners that wait for each other.
pub const LIBLOCK_DEADLOCK: liblock_status = 5;
/// The owner holds this key already and on_conflict is FAIL.
pub const LIBLOCK_ALREADY_HELD: liblock_status = 6;
/// An administrator removed the request from the wait queue.
pub const LIBLOCK_DEQUEUED: liblock_status = 7;
/// Granted with less than min_remaining_ms left; undone.
pub const LIBLOCK_TOO_LATE: liblock_status = 8;
/// Not held: free, or released before; each handle is released once.
pub const LIBLOCK_NOT_HELD: liblock_status = 20;
/// The lease ended, or the lock was taken away; stop what you do under it.
pub const LIBLOCK_LOST: liblock_status = 21;
/// Held by another owner, or with another value.
pub const LIBLOCK_NOT_OWNER: liblock_status = 22;
/// No answer yet; the library goes on.
pub const LIBLOCK_IN_DOUBT: liblock_status = 30;
/// Released on fewer nodes than the quorum; the library goes on.
pub const LIBLOCK_PARTIAL: liblock_status = 31;
/// Fewer nodes answered than the quorum needs.
pub const LIBLOCK_NO_QUORUM: liblock_status = 32;
/// Too many nodes are quarantined after a restart.
pub const LIBLOCK_QUARANTINED: liblock_status = 33;
/// The lock is held on another set of nodes.
pub const LIBLOCK_NODES_MISMATCH: liblock_status = 34;
/// The server cannot be reached.
pub const LIBLOCK_CONNECT: liblock_status = 40;
/// The server refused the credentials or the permission.
pub const LIBLOCK_AUTH: liblock_status = 41;
/// The server answered with an error.
pub const LIBLOCK_SERVER: liblock_status = 42;
/// The key holds something that is not a lock.
pub const LIBLOCK_WRONG_TYPE: liblock_status = 43;
/// The server is a read-only replica.
pub const LIBLOCK_READ_ONLY: liblock_status = 44;
/// The server's answer was not understood.
pub const LIBLOCK_PROTOCOL: liblock_status = 45;
/// An argument is missing, malformed or out of range.
pub const LIBLOCK_INVALID_ARGUMENT: liblock_status = 60;
/// No such handle in this context; use handles where they came from.
pub const LIBLOCK_INVALID_HANDLE: liblock_status = 61;
/// The named context is open with other options.
pub const LIBLOCK_OPTIONS_MISMATCH: liblock_status = 62;
/// This context, build or version cannot do that.
pub const LIBLOCK_UNSUPPORTED: liblock_status = 63;
/// A bound set in the options is reached.
pub const LIBLOCK_LIMIT: liblock_status = 64;
/// A call that could wait, made from a callback or a loop thread.
pub const LIBLOCK_WOULD_DEADLOCK: liblock_status = 65;
/// The context, owner or completion queue is closed.
pub const LIBLOCK_CLOSED: liblock_status = 66;
/// Opened before fork(); open a new context in the child.
pub const LIBLOCK_FORKED: liblock_status = 67;
/// Out of memory.
pub const LIBLOCK_NO_MEMORY: liblock_status = 68;
/// An unexpected error inside the library.
pub const LIBLOCK_INTERNAL: liblock_status = 69;

pub const LIBLOCK_RESULT_REENTERED: i32 = 1;
pub const LIBLOCK_RESULT_WAITED: i32 = 2;
pub const LIBLOCK_RESULT_TOOK_OVER: i32 = 4;
pub const LIBLOCK_RESULT_FEWER_REPLICAS: i32 = 8;
pub const LIBLOCK_RESULT_HAD_LOCK: i32 = 16;
pub const LIBLOCK_RESULT_HAD_QUEUE: i32 = 32;

pub const LIBLOCK_KIND_ACQUIRE: i32 = 1;
pub const LIBLOCK_KIND_RELEASE: i32 = 2;
pub const LIBLOCK_KIND_LOST: i32 = 3;
pub const LIBLOCK_KIND_WATCH: i32 = 4;
pub const LIBLOCK_KIND_CLOSE: i32 = 5;
pub const LIBLOCK_KIND_EXTEND: i32 = 6;
pub const LIBLOCK_KIND_UPDATE: i32 = 7;
pub const LIBLOCK_KIND_VERIFY: i32 = 8;
pub const LIBLOCK_KIND_PING: i32 = 9;
pub const LIBLOCK_KIND_INSPECT: i32 = 10;
pub const LIBLOCK_KIND_FORCE_RELEASE: i32 = 11;
pub const LIBLOCK_KIND_READ: i32 = 12;
pub const LIBLOCK_KIND_QUORUM_INIT: i32 = 13;
pub const LIBLOCK_KIND_SET_NODES: i32 = 14;

pub const LIBLOCK_EVENT_CONNECTED: i32 = 1;
pub const LIBLOCK_EVENT_DISCONNECTED: i32 = 2;
pub const LIBLOCK_EVENT_SERVER_CHANGED: i32 = 3;
pub const LIBLOCK_EVENT_DOUBT_ENDED: i32 = 4;
pub const LIBLOCK_EVENT_MAY_EVICT: i32 = 5;
pub const LIBLOCK_EVENT_OBTAINED: i32 = 6;
pub const LIBLOCK_EVENT_REENTERED: i32 = 7;
pub const LIBLOCK_EVENT_EXTENDED: i32 = 8;
pub const LIBLOCK_EVENT_HOLD_AND_RELEASE: i32 = 9;
pub const LIBLOCK_EVENT_SERIES_OBTAINED: i32 = 10;
pub const LIBLOCK_EVENT_SERIES_HOLD_AND_RELEASE: i32 = 11;
pub const LIBLOCK_EVENT_LOST: i32 = 12;
pub const LIBLOCK_EVENT_REQUEUED: i32 = 13;
pub const LIBLOCK_EVENT_HANDED_OFF: i32 = 14;
pub const LIBLOCK_EVENT_DEADLOCK_FOUND: i32 = 15;
pub const LIBLOCK_EVENT_DEQUEUED: i32 = 16;
pub const LIBLOCK_EVENT_DEQUEUED_ON_LIMIT: i32 = 17;
pub const LIBLOCK_EVENT_FAILED: i32 = 18;
pub const LIBLOCK_EVENT_FORCE_RELEASED: i32 = 19;
pub const LIBLOCK_EVENT_CLEARED: i32 = 20;
pub const LIBLOCK_EVENT_OWNER_CLEARED: i32 = 21;
pub const LIBLOCK_EVENT_INSTANCE_CLEARED: i32 = 22;
pub const LIBLOCK_EVENT_DEAD_CLEARED: i32 = 23;
pub const LIBLOCK_EVENT_OWNER_CLOSED: i32 = 24;
pub const LIBLOCK_EVENT_NODE_UP: i32 = 25;
pub const LIBLOCK_EVENT_NODE_DOWN: i32 = 26;
pub const LIBLOCK_EVENT_NODE_QUARANTINED: i32 = 27;
pub const LIBLOCK_EVENT_NODE_REJOINED: i32 = 28;
pub const LIBLOCK_EVENT_NODE_STEPPED: i32 = 29;
pub const LIBLOCK_EVENT_CLOCK_DERIVED: i32 = 30;
pub const LIBLOCK_EVENT_CONFIGURED: i32 = 31;
pub const LIBLOCK_EVENT_CLEARTEXT_PASSWORD: i32 = 32;

pub const LIBLOCK_LOG_OFF: i32 = 0;
pub const LIBLOCK_LOG_ERROR: i32 = 1;
pub const LIBLOCK_LOG_WARNING: i32 = 2;
pub const LIBLOCK_LOG_INFO: i32 = 3;
pub const LIBLOCK_LOG_DEBUG: i32 = 4;

pub const LIBLOCK_ENTRY_ACQUIRE_STARTED: i32 = 1;
pub const LIBLOCK_ENTRY_CYCLE_STARTED: i32 = 2;
pub const LIBLOCK_ENTRY_REQUEUED: i32 = 3;
pub const LIBLOCK_ENTRY_OBTAINED: i32 = 4;
pub const LIBLOCK_ENTRY_DEQUEUED_ON_LIMIT: i32 = 5;
pub const LIBLOCK_ENTRY_RELEASED: i32 = 6;
pub const LIBLOCK_ENTRY_ATTEMPT_STARTED: i32 = 7;
pub const LIBLOCK_ENTRY_ATTEMPT_READY: i32 = 8;
pub const LIBLOCK_ENTRY_ATTEMPT_QUEUED: i32 = 9;
pub const LIBLOCK_ENTRY_ATTEMPT_OVERDUE_REMOVED: i32 = 10;
pub const LIBLOCK_ENTRY_ATTEMPT_FIRST_IN_QUEUE: i32 = 11;
pub const LIBLOCK_ENTRY_ATTEMPT_QUEUE_TTL_REACHED: i32 = 12;
pub const LIBLOCK_ENTRY_ATTEMPT_NOT_FIRST: i32 = 13;
pub const LIBLOCK_ENTRY_ATTEMPT_STILL_HELD: i32 = 14;
pub const LIBLOCK_ENTRY_ATTEMPT_FREE: i32 = 15;
pub const LIBLOCK_ENTRY_ATTEMPT_FAILED: i32 = 16;
pub const LIBLOCK_ENTRY_REENTERED: i32 = 17;
pub const LIBLOCK_ENTRY_EXTENDED: i32 = 18;
pub const LIBLOCK_ENTRY_LOST: i32 = 19;
pub const LIBLOCK_ENTRY_HANDED_OFF: i32 = 20;
pub const LIBLOCK_ENTRY_DEADLOCK_FOUND: i32 = 21;
pub const LIBLOCK_ENTRY_FAILED: i32 = 22;
pub const LIBLOCK_ENTRY_SERVER: i32 = 23;

pub const LIBLOCK_FIELD_NUMBER: i32 = 1;
pub const LIBLOCK_FIELD_TEXT: i32 = 2;

pub const LIBLOCK_ON_CLOSE_RELEASE: i32 = 0;
pub const LIBLOCK_ON_CLOSE_LEAVE: i32 = 1;

pub const LIBLOCK_RESTART_QUARANTINE: i32 = 0;
pub const LIBLOCK_RESTART_TRUST_FSYNC: i32 = 1;

pub const LIBLOCK_ORDER_FIFO: i32 = 0;
pub const LIBLOCK_ORDER_LIFO: i32 = 1;
pub const LIBLOCK_ORDER_PRIORITY: i32 = 2;
pub const LIBLOCK_ORDER_ANY: i32 = 3;

pub const LIBLOCK_MODE_EXCLUSIVE: i32 = 0;

pub const LIBLOCK_BACKOFF_FIXED: i32 = 0;
pub const LIBLOCK_BACKOFF_LINEAR: i32 = 1;
pub const LIBLOCK_BACKOFF_EXPONENTIAL: i32 = 2;

pub const LIBLOCK_ON_CONFLICT_REENTER: i32 = 0;
pub const LIBLOCK_ON_CONFLICT_REENTER_EXTEND: i32 = 1;
pub const LIBLOCK_ON_CONFLICT_WAIT: i32 = 2;
pub const LIBLOCK_ON_CONFLICT_FAIL: i32 = 3;

pub const LIBLOCK_ON_DEADLOCK_FAIL_SELF: i32 = 0;
pub const LIBLOCK_ON_DEADLOCK_FAIL_YOUNGEST: i32 = 1;
pub const LIBLOCK_ON_DEADLOCK_REPORT_ONLY: i32 = 2;

pub const LIBLOCK_INSTRUMENT_EVENTS: i32 = 1;
pub const LIBLOCK_INSTRUMENT_LOG: i32 = 2;
pub const LIBLOCK_INSTRUMENT_ATTEMPTS: i32 = 4;

pub const LIBLOCK_NODES_MISMATCH_FAIL_IF_DISJOINT: i32 = 0;
pub const LIBLOCK_NODES_MISMATCH_IGNORE: i32 = 1;
pub const LIBLOCK_NODES_MISMATCH_FAIL: i32 = 2;
pub const LIBLOCK_NODES_MISMATCH_FAIL_IF_MINORITY_OVERLAP: i32 = 3;

pub const LIBLOCK_EXTEND_SET: i32 = 0;
pub const LIBLOCK_EXTEND_ADD: i32 = 1;

pub const LIBLOCK_LIST_LOCKS: i32 = 0;
pub const LIBLOCK_LIST_QUEUES: i32 = 1;
pub const LIBLOCK_LIST_KEYS: i32 = 2;

pub const LIBLOCK_READ_NEAREST: i32 = 0;
pub const LIBLOCK_READ_MASTER: i32 = 1;
pub const LIBLOCK_READ_QUORUM: i32 = 2;

pub const LIBLOCK_QUORUM_INIT_FORCE: i32 = 1;

pub const LIBLOCK_NODE_UP: i32 = 1;
pub const LIBLOCK_NODE_DOWN: i32 = 2;
pub const LIBLOCK_NODE_QUARANTINED: i32 = 3;
pub const LIBLOCK_NODE_NEEDS_FLOOR: i32 = 4;
pub const LIBLOCK_NODE_STEPPED: i32 = 5;
pub const LIBLOCK_NODE_REFUSED: i32 = 6;

pub const LIBLOCK_DROP_QUEUE: i32 = 1;

pub const LIBLOCK_HISTOGRAM_ACQUIRE: i32 = 1;
pub const LIBLOCK_HISTOGRAM_HOLD: i32 = 2;

pub const LIBLOCK_HISTOGRAM_BUCKETS: i32 = 40;

/// "The default of this context", in every option that is an `i64`.
pub const LIBLOCK_DEFAULT: i64 = i64::MIN;
/// As long as the process holds it.
pub const LIBLOCK_TTL_AUTO: i64 = -1;
/// No expiry.
pub const LIBLOCK_TTL_NONE: i64 = -2;
/// As many votes as there are nodes.
pub const LIBLOCK_VOTES_ALL: i32 = -1;
/// Passed as an owner: the calling thread.
pub const LIBLOCK_OWNER_THREAD: *mut crate::liblock_owner = 1 as *mut crate::liblock_owner;
