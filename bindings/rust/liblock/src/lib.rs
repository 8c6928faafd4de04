// SPDX-License-Identifier: MIT
//! Keyed mutual exclusion for the threads of a process, the clients of one Redis server and the clients of a quorum of
//! servers, through the same calls.
//!
//! ```
//! # fn main() -> liblock::Result<()> {
//! use liblock::{AcquireOptions, Context};
//!
//! let context = Context::open("local:orders")?;
//! let guard = context.acquire("order/17")?;
//! assert!(guard.token() > 0);
//! drop(guard);
//!
//! let options = AcquireOptions::new().ttl_ms(5_000).wait_ms(100);
//! let guard = context.acquire_with("order/17", &options)?;
//! guard.release()?;
//! # Ok(())
//! # }
//! ```
//!
//! - [`Context`] is a namespace of keys on one backend; cheap to clone, for any number of threads.
//! - [`Guard`] is a lock that is released when it is dropped, without blocking.
//! - [`Op`] is a future of any call; it needs no particular runtime, and dropping a pending acquire cancels it.
//! - [`Lock`] is a lock as a plain handle, for those who keep books themselves.
//! - [`Error`] has a [`Status`], and says in English what went wrong and what helps.
//!
//! Times are milliseconds where a name ends in `_ms`. Keys and values are bytes. Closures that the library calls run
//! on its callback thread, where every call that could wait answers `WouldDeadlock`; a panic in one is caught.
#![deny(missing_docs)]
#![deny(rust_2018_idioms)]

mod acquire;
mod acquire_options;
mod admin;
mod bytes;
mod completion;
mod completions;
mod context;
mod context_options;
mod error;
mod events;
mod future;
mod guard;
mod handle;
mod info;
mod instruments;
mod keys;
mod kinds;
mod list;
mod loss;
mod numbers;
mod owner;
mod quorum;
#[cfg(doctest)]
mod refused;
mod registry;
mod status;
mod submitted;

pub use acquire::Target;
pub use acquire_options::{
    instrument, AcquireOptions, Backoff, Mode, OnConflict, OnDeadlock, OnNodesMismatch, Order, TTL_AUTO, TTL_NONE,
};
pub use admin::{Clear, ClearOptions, Instance, Stats, ZombiesStatus};
pub use completion::Completion;
pub use completions::Completions;
pub use context::{version, version_number, Context};
pub use context_options::{ContextBuilder, OnClose, RestartPolicy, VOTES_ALL};
pub use error::{Error, Outcome, Result};
pub use events::{Event, Field, LogEntry, ALL_EVENTS};
pub use future::Op;
pub use guard::Guard;
pub use handle::{Extend, Lock, Request};
pub use info::{Info, Waiter};
pub use instruments::{Histogram, Instruments, Measured};
pub use keys::Read;
pub use kinds::{CompletionKind, EntryKind, EventKind, LogLevel, NodeState};
pub use list::{Cursor, List, ListOptions, Report};
pub use loss::Loss;
pub use owner::Owner;
pub use quorum::{Node, QuorumStatus};
pub use status::Status;
