// SPDX-License-Identifier: MIT
//! What a call answers: the outcome that goes with every status, and the error that carries a status other than OK.

use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::{addr_of, addr_of_mut};

use crate::info::Info;
use crate::status::Status;
use liblock_sys as sys;

/// What calls of this crate answer.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed: its status, and the library's own words about cause and cure.
///
/// ```
/// # fn main() -> liblock::Result<()> {
/// let context = liblock::Context::open("local:")?;
/// let _held = context.acquire("key")?;
/// let error = context.try_acquire("key").unwrap_err();
/// assert_eq!(error.status(), liblock::Status::Busy);
/// assert!(error.status().is_retryable());
/// # Ok(())
/// # }
/// ```
///
/// `{:?}` prints what `{}` does: so a `main` that returns a [`Result`] tells cause and cure to whoever ran it.
pub struct Error {
    status: Status,
    message: String,
    outcome: Option<Box<Outcome>>,
    info: Option<Info>,
}

impl Error {
    /// What the call returned; never [`Status::Ok`].
    pub fn status(&self) -> Status {
        self.status
    }

    /// Cause and cure in English, for a person.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Attempts, waiting time, votes and the like; `None` where the call has no more than a status.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_deref()
    }

    /// With `busy_info`: the key that was busy, its holder and its waiters.
    pub fn info(&self) -> Option<&Info> {
        self.info.as_ref()
    }

    #[cold]
    pub(crate) fn of(status: Status) -> Self {
        Error { status, message: status.text().to_string(), outcome: None, info: None }
    }

    pub(crate) fn invalid(message: &str) -> Self {
        Error { message: message.to_string(), ..Error::of(Status::InvalidArgument) }
    }

    pub(crate) fn told(status: Status, message: &str) -> Self {
        Error { status, message: message.to_string(), outcome: None, info: None }
    }

    /// Of a request whose completion tells an outcome.
    pub(crate) fn ended(outcome: Outcome, info: Option<Info>) -> Self {
        let status = outcome.status;
        let message = outcome.message.clone().unwrap_or_else(|| status.text().to_string());
        Error { status, message, outcome: Some(Box::new(outcome)), info }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.status.name(), self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

/// What a call tells besides its status. Times are milliseconds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The same status that the call answered.
    pub status: Status,
    /// Attempts made: 1 and the elapsed retry intervals, where something counts them.
    pub attempts: u32,
    /// Fencing token of the grant, else 0.
    pub token: u64,
    /// From the call to its end.
    pub waited_ms: i64,
    /// What is left of the lease; -1 = no expiry.
    pub remaining_ms: i64,
    /// 0 = next in line, when the wait ended; -1 = not queued.
    pub queue_position: i64,
    /// Waiters of that key at the same moment; -1 = unknown.
    pub queue_length: i64,
    /// Handles that share the hold, this one included.
    pub hold_count: u32,
    /// The `LIBLOCK_RESULT_…` bits, which the methods name.
    pub flags: u32,
    /// Nodes that granted, released or did what was asked.
    pub votes: u32,
    /// Nodes asked.
    pub nodes: u32,
    /// Replicas that had the grant within `replicas_timeout_ms`.
    pub replicas: u32,
    /// Cause and cure of a failure. On success `None`, but for what is wrong with nodes of a quorum.
    pub message: Option<String>,
}

impl Outcome {
    /// Shares the hold and token of an earlier acquire of the same owner.
    pub fn is_reentered(&self) -> bool {
        self.has(sys::LIBLOCK_RESULT_REENTERED)
    }

    /// Was queued before it was granted.
    pub fn has_waited(&self) -> bool {
        self.has(sys::LIBLOCK_RESULT_WAITED)
    }

    /// Ended an overdue lease of a former holder.
    pub fn took_over(&self) -> bool {
        self.has(sys::LIBLOCK_RESULT_TOOK_OVER)
    }

    /// Granted, but fewer replicas than asked for had it in time.
    pub fn has_fewer_replicas(&self) -> bool {
        self.has(sys::LIBLOCK_RESULT_FEWER_REPLICAS)
    }

    /// Of a forced release: somebody held the key.
    pub fn had_lock(&self) -> bool {
        self.has(sys::LIBLOCK_RESULT_HAD_LOCK)
    }

    /// Of a forced release: somebody waited for it.
    pub fn had_queue(&self) -> bool {
        self.has(sys::LIBLOCK_RESULT_HAD_QUEUE)
    }

    fn has(&self, flag: i32) -> bool {
        self.flags & flag as u32 != 0
    }

    pub(crate) fn of_completion(told: &sys::liblock_completion) -> Outcome {
        let status = Status::from_raw(told.status);
        let message = if status == Status::Ok { "" } else { crate::status::static_text(told.message) };
        Outcome {
            attempts: told.attempts,
            token: told.token,
            waited_ms: told.waited_ms,
            remaining_ms: told.remaining_ms,
            queue_position: told.queue_position,
            queue_length: told.queue_length,
            hold_count: told.hold_count,
            flags: told.flags,
            votes: told.votes,
            nodes: told.nodes,
            replicas: told.replicas,
            message: (!message.is_empty()).then(|| message.to_string()),
            ..Outcome::untold(status)
        }
    }

    /// Of an end that tells its status alone.
    pub(crate) fn untold(status: Status) -> Outcome {
        Outcome {
            status,
            attempts: 0,
            token: 0,
            waited_ms: 0,
            remaining_ms: -1,
            queue_position: -1,
            queue_length: -1,
            hold_count: 0,
            flags: 0,
            votes: 0,
            nodes: 0,
            replicas: 0,
            message: None,
        }
    }

    /// By pointer, as what follows a message's NUL was never written.
    #[inline]
    unsafe fn read(result: *const sys::liblock_result) -> Outcome {
        Outcome {
            status: Status::from_raw((*result).status),
            attempts: (*result).attempts,
            token: (*result).token,
            waited_ms: (*result).waited_ms,
            remaining_ms: (*result).remaining_ms,
            queue_position: (*result).queue_position,
            queue_length: (*result).queue_length,
            hold_count: (*result).hold_count,
            flags: (*result).flags,
            votes: (*result).votes,
            nodes: (*result).nodes,
            replicas: (*result).replicas,
            message: message_of(addr_of!((*result).message).cast()),
        }
    }
}

#[inline]
unsafe fn message_of(message: *const u8) -> Option<String> {
    if *message == 0 {
        return None;
    }
    let bytes: Vec<u8> = (0..MESSAGE_MAX).map(|at| *message.add(at)).take_while(|byte| *byte != 0).collect();
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The size of a result's message, its NUL included.
const MESSAGE_MAX: usize = 256;

/// A result that is ready for a call. The library fills it in wholly; builds with debug assertions hand in rubbish, so
/// that a field it forgot would show.
#[inline]
fn prepared() -> MaybeUninit<sys::liblock_result> {
    let mut storage = MaybeUninit::<sys::liblock_result>::uninit();
    let result = storage.as_mut_ptr();
    unsafe {
        if cfg!(debug_assertions) {
            std::ptr::write_bytes(result, 0x5a, 1);
        }
        addr_of_mut!((*result).struct_size).write(std::mem::size_of::<sys::liblock_result>());
    }
    storage
}

/// Makes a call with a result.
#[inline]
pub(crate) fn call(make: impl FnOnce(*mut sys::liblock_result) -> sys::liblock_status) -> Result<Outcome> {
    let mut storage = prepared();
    let result = storage.as_mut_ptr();
    let status = make(result);
    if status == sys::LIBLOCK_OK {
        return Ok(unsafe { Outcome::read(result) });
    }
    Err(unsafe { failed(status, result) })
}

/// Makes a call of whose success the fencing token alone is wanted.
#[inline]
pub(crate) fn call_for_token(make: impl FnOnce(*mut sys::liblock_result) -> sys::liblock_status) -> Result<u64> {
    let mut storage = prepared();
    let result = storage.as_mut_ptr();
    let status = make(result);
    if status == sys::LIBLOCK_OK {
        return Ok(unsafe { (*result).token });
    }
    Err(unsafe { failed(status, result) })
}

#[cold]
unsafe fn failed(status: sys::liblock_status, result: *const sys::liblock_result) -> Error {
    let outcome = Outcome { status: Status::from_raw(status), ..Outcome::read(result) };
    Error::ended(outcome, Info::take((*result).info))
}

/// A bare status as a `Result`.
#[inline]
pub(crate) fn check(status: sys::liblock_status) -> Result<()> {
    if status == sys::LIBLOCK_OK {
        return Ok(());
    }
    Err(Error::of(Status::from_raw(status)))
}
