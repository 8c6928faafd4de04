// SPDX-License-Identifier: MIT
//! The end of a request, or a notice, copied out of what the library lends.

use crate::error::{Error, Outcome, Result};
use crate::info::Info;
use crate::kinds::CompletionKind;
use crate::status::{static_text, Status};
use crate::{Lock, Request};
use liblock_sys as sys;

/// The end of a request, or a notice.
#[derive(Debug)]
#[non_exhaustive]
pub struct Completion {
    /// What ended.
    pub kind: CompletionKind,
    /// How.
    pub status: Status,
    /// Which request; none for a notice.
    pub request: Option<Request>,
    /// The lock that was granted or lost.
    pub lock: Option<Lock>,
    /// Its fencing token, else 0.
    pub token: u64,
    /// What is left of the lease; -1 = no expiry.
    pub remaining_ms: i64,
    /// From the call to its end; of a grant by the coarse clock: up to 20 too few.
    pub waited_ms: i64,
    /// What was given with the request.
    pub user_data: u64,
    /// The library's words.
    pub message: &'static str,
    /// A snapshot, of requests that ask for one.
    pub info: Option<Info>,
    /// Attempts, place, hold count, flags, votes and replicas. A notice has none.
    pub outcome: Outcome,
}

impl Completion {
    /// Takes the info over: it is the receiver's.
    pub(crate) unsafe fn take(told: &sys::liblock_completion) -> Completion {
        Completion {
            kind: CompletionKind::from_raw(told.kind),
            status: Status::from_raw(told.status),
            request: std::num::NonZeroU64::new(told.request).map(|number| Request(number.get())),
            lock: std::num::NonZeroU64::new(told.lock).map(|number| Lock(number.get())),
            token: told.token,
            remaining_ms: told.remaining_ms,
            waited_ms: told.waited_ms,
            user_data: told.user_data as u64,
            message: static_text(told.message),
            info: Info::take(told.info),
            outcome: Outcome::of_completion(told),
        }
    }

    pub(crate) fn into_ok(self) -> Result<Completion> {
        if self.status == Status::Ok {
            return Ok(self);
        }
        Err(Error::ended(self.outcome, self.info))
    }

    pub(crate) fn into_unit(self) -> Result<()> {
        self.into_ok().map(|_| ())
    }

    pub(crate) fn into_info(self) -> Result<Info> {
        self.into_ok()?.info.ok_or_else(|| Error::of(Status::Internal))
    }
}
