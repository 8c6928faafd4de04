// SPDX-License-Identifier: MIT
//! The kinds of things that the library tells of, as enums: completions, events, log entries, states of nodes.

use crate::numbers::numbers;
use crate::status::static_text;
use liblock_sys as sys;

numbers! {
    /// What a [`Completion`](crate::Completion) is the end of, or the notice of.
    CompletionKind {
        /// A request to acquire ended; lock is set when status is OK.
        Acquire = sys::LIBLOCK_KIND_ACQUIRE,
        /// An asynchronous release ended.
        Release = sys::LIBLOCK_KIND_RELEASE,
        /// A lock was lost; status LOST, lock says which.
        Lost = sys::LIBLOCK_KIND_LOST,
        /// A wait_…_async ended.
        Watch = sys::LIBLOCK_KIND_WATCH,
        /// Close_async ended.
        Close = sys::LIBLOCK_KIND_CLOSE,
        /// The same of the other _async calls.
        Extend = sys::LIBLOCK_KIND_EXTEND,
        /// Update.
        Update = sys::LIBLOCK_KIND_UPDATE,
        /// Verify.
        Verify = sys::LIBLOCK_KIND_VERIFY,
        /// Ping.
        Ping = sys::LIBLOCK_KIND_PING,
        /// Info is set when status is OK.
        Inspect = sys::LIBLOCK_KIND_INSPECT,
        /// ForceRelease.
        ForceRelease = sys::LIBLOCK_KIND_FORCE_RELEASE,
        /// Info is set when status is OK.
        Read = sys::LIBLOCK_KIND_READ,
        /// QuorumInit.
        QuorumInit = sys::LIBLOCK_KIND_QUORUM_INIT,
        /// SetNodes.
        SetNodes = sys::LIBLOCK_KIND_SET_NODES,
    }
}

numbers! {
    /// What an [`Event`](crate::Event) tells; `docs/events.md` says when each comes and what it carries.
    EventKind {
        /// A server answers.
        Connected = sys::LIBLOCK_EVENT_CONNECTED,
        /// It does not any more, or cannot be reached; status, message: why.
        Disconnected = sys::LIBLOCK_EVENT_DISCONNECTED,
        /// Another server answers: locks are verified before they are renewed.
        ServerChanged = sys::LIBLOCK_EVENT_SERVER_CHANGED,
        /// A release that was IN_DOUBT has come to its end; lock says which.
        DoubtEnded = sys::LIBLOCK_EVENT_DOUBT_ENDED,
        /// The server's maxmemory-policy can evict locks; told once.
        MayEvict = sys::LIBLOCK_EVENT_MAY_EVICT,
        /// A lock on one key, or the global lock, was granted or adopted.
        Obtained = sys::LIBLOCK_EVENT_OBTAINED,
        /// Granted as a further handle of the owner's own hold.
        Reentered = sys::LIBLOCK_EVENT_REENTERED,
        /// The lease was set anew by `liblock_extend` or REENTER_EXTEND, or back.
        Extended = sys::LIBLOCK_EVENT_EXTENDED,
        /// Given back by its holder: how long it took to get, and was held.
        HoldAndRelease = sys::LIBLOCK_EVENT_HOLD_AND_RELEASE,
        /// OBTAINED of a lock on several keys.
        SeriesObtained = sys::LIBLOCK_EVENT_SERIES_OBTAINED,
        /// HOLD_AND_RELEASE of a lock on several keys.
        SeriesHoldAndRelease = sys::LIBLOCK_EVENT_SERIES_HOLD_AND_RELEASE,
        /// The lease ended, or the lock was taken away.
        Lost = sys::LIBLOCK_EVENT_LOST,
        /// A waiter went to the end of the queue after its queue_ttl_ms.
        Requeued = sys::LIBLOCK_EVENT_REQUEUED,
        /// A waiter was handed a key by its holder's release.
        HandedOff = sys::LIBLOCK_EVENT_HANDED_OFF,
        /// A wait closed a cycle of owners; count: how many.
        DeadlockFound = sys::LIBLOCK_EVENT_DEADLOCK_FOUND,
        /// An administrator ended a wait.
        Dequeued = sys::LIBLOCK_EVENT_DEQUEUED,
        /// An acquire ended as BUSY, TIMEOUT or RETRIES_EXHAUSTED; status.
        DequeuedOnLimit = sys::LIBLOCK_EVENT_DEQUEUED_ON_LIMIT,
        /// An acquire ended in any other way without a lock; status.
        Failed = sys::LIBLOCK_EVENT_FAILED,
        /// `liblock_force_release` took a key away.
        ForceReleased = sys::LIBLOCK_EVENT_FORCE_RELEASED,
        /// `liblock_clear`; count: locks.
        Cleared = sys::LIBLOCK_EVENT_CLEARED,
        /// `liblock_clear_owner`; owner, count.
        OwnerCleared = sys::LIBLOCK_EVENT_OWNER_CLEARED,
        /// `liblock_clear_instance`; instance, count.
        InstanceCleared = sys::LIBLOCK_EVENT_INSTANCE_CLEARED,
        /// `liblock_clear_dead`, or a flush in the background; count.
        DeadCleared = sys::LIBLOCK_EVENT_DEAD_CLEARED,
        /// `liblock_owner_close`, or the owner's thread has ended; owner, count.
        OwnerClosed = sys::LIBLOCK_EVENT_OWNER_CLOSED,
        /// A node of a quorum answers; node, as in all of these.
        NodeUp = sys::LIBLOCK_EVENT_NODE_UP,
        /// It does not any more, or cannot be reached; status, message: why.
        NodeDown = sys::LIBLOCK_EVENT_NODE_DOWN,
        /// It may have lost its data: no vote until that is safe.
        NodeQuarantined = sys::LIBLOCK_EVENT_NODE_QUARANTINED,
        /// It votes again.
        NodeRejoined = sys::LIBLOCK_EVENT_NODE_REJOINED,
        /// Its clock has moved by clock_step_ms: no vote for max_ttl_ms here.
        NodeStepped = sys::LIBLOCK_EVENT_NODE_STEPPED,
        /// Too few nodes remember: tokens go on from the clock of this one.
        ClockDerived = sys::LIBLOCK_EVENT_CLOCK_DERIVED,
        /// The quorum has other nodes or votes; no node; count: nodes.
        Configured = sys::LIBLOCK_EVENT_CONFIGURED,
        /// The password goes to another host without TLS.
        CleartextPassword = sys::LIBLOCK_EVENT_CLEARTEXT_PASSWORD,
    }
}

numbers! {
    /// What a [`LogEntry`](crate::LogEntry) is about; `docs/events.md` says when each comes.
    EntryKind {
        /// An acquire begins.
        AcquireStarted = sys::LIBLOCK_ENTRY_ACQUIRE_STARTED,
        /// Its attempts begin.
        CycleStarted = sys::LIBLOCK_ENTRY_CYCLE_STARTED,
        /// It went to the end of the queue.
        Requeued = sys::LIBLOCK_ENTRY_REQUEUED,
        /// It was granted.
        Obtained = sys::LIBLOCK_ENTRY_OBTAINED,
        /// It ended as BUSY, TIMEOUT or RETRIES_EXHAUSTED.
        DequeuedOnLimit = sys::LIBLOCK_ENTRY_DEQUEUED_ON_LIMIT,
        /// The lock was given back.
        Released = sys::LIBLOCK_ENTRY_RELEASED,
        /// An attempt begins: the first, or one that a retry interval counts.
        AttemptStarted = sys::LIBLOCK_ENTRY_ATTEMPT_STARTED,
        /// It has what it needs: a connection, the parts of a local table.
        AttemptReady = sys::LIBLOCK_ENTRY_ATTEMPT_READY,
        /// It stands in the queue now.
        AttemptQueued = sys::LIBLOCK_ENTRY_ATTEMPT_QUEUED,
        /// Whose time is over has been removed.
        AttemptOverdueRemoved = sys::LIBLOCK_ENTRY_ATTEMPT_OVERDUE_REMOVED,
        /// Who is first in the queue has been seen.
        AttemptFirstInQueue = sys::LIBLOCK_ENTRY_ATTEMPT_FIRST_IN_QUEUE,
        /// It ends since the waiter is to go to the end of the queue.
        AttemptQueueTtlReached = sys::LIBLOCK_ENTRY_ATTEMPT_QUEUE_TTL_REACHED,
        /// It ends since others go first.
        AttemptNotFirst = sys::LIBLOCK_ENTRY_ATTEMPT_NOT_FIRST,
        /// It ends since somebody holds the key.
        AttemptStillHeld = sys::LIBLOCK_ENTRY_ATTEMPT_STILL_HELD,
        /// Nobody is in the way: the lock is taken.
        AttemptFree = sys::LIBLOCK_ENTRY_ATTEMPT_FREE,
        /// It could not be made; status.
        AttemptFailed = sys::LIBLOCK_ENTRY_ATTEMPT_FAILED,
        /// Granted as a further handle of the owner's own hold.
        Reentered = sys::LIBLOCK_ENTRY_REENTERED,
        /// The lease was set anew.
        Extended = sys::LIBLOCK_ENTRY_EXTENDED,
        /// The lease ended, or the lock was taken away.
        Lost = sys::LIBLOCK_ENTRY_LOST,
        /// A waiter was handed a key.
        HandedOff = sys::LIBLOCK_ENTRY_HANDED_OFF,
        /// Its wait closed a cycle of owners.
        DeadlockFound = sys::LIBLOCK_ENTRY_DEADLOCK_FOUND,
        /// The acquire ended without a lock in another way.
        Failed = sys::LIBLOCK_ENTRY_FAILED,
        /// Events 1 to 5, and 25 to 32.
        Server = sys::LIBLOCK_ENTRY_SERVER,
    }
}

numbers! {
    /// How a node of a quorum is.
    NodeState {
        /// It answers, and votes.
        Up = sys::LIBLOCK_NODE_UP,
        /// It does not answer.
        Down = sys::LIBLOCK_NODE_DOWN,
        /// It was restarted or is new: no vote for quarantine_left_ms.
        Quarantined = sys::LIBLOCK_NODE_QUARANTINED,
        /// After that: no vote until it knows the tokens that the others have given.
        NeedsFloor = sys::LIBLOCK_NODE_NEEDS_FLOOR,
        /// Its clock has moved: no vote for quarantine_left_ms in this context.
        Stepped = sys::LIBLOCK_NODE_STEPPED,
        /// It is not what the url says: of another quorum, of none, a replica; why says which.
        Refused = sys::LIBLOCK_NODE_REFUSED,
    }
}

numbers! {
    /// Levels of the log: each contains those before it.
    LogLevel {
        /// Off.
        Off = sys::LIBLOCK_LOG_OFF,
        /// Error.
        Error = sys::LIBLOCK_LOG_ERROR,
        /// Warning.
        Warning = sys::LIBLOCK_LOG_WARNING,
        /// Info.
        Info = sys::LIBLOCK_LOG_INFO,
        /// Debug.
        Debug = sys::LIBLOCK_LOG_DEBUG,
    }
}

impl EventKind {
    /// `"OBTAINED"` for [`EventKind::Obtained`]; `"UNKNOWN"` for a number that is no kind.
    pub fn name(self) -> &'static str {
        static_text(unsafe { sys::liblock_event_name(self.raw()) })
    }

    /// The bit of this kind in the mask of [`Context::on_event`](crate::Context::on_event).
    pub fn bit(self) -> u64 {
        1_u64.checked_shl(self.raw() as u32).unwrap_or(0)
    }
}
