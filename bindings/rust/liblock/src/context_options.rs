// SPDX-License-Identifier: MIT
//! Options of a context. What is not set takes the library's default, which its init function fills in.

use std::ffi::CString;
use std::fmt;
use std::mem::{size_of, MaybeUninit};
use std::os::raw::{c_char, c_void};
use std::sync::Arc;

use crate::bytes::data;
use crate::context::Context;
use crate::error::{Error, Outcome, Result};
use crate::registry::caught;
use liblock_sys as sys;

/// What becomes of the locks of a context that closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnClose {
    /// They are released (default).
    Release,
    /// Their leases run out by themselves.
    Leave,
    /// Another number, for the library to judge.
    Raw(i32),
}

/// What a node of a quorum is worth that has been restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartPolicy {
    /// It may have lost locks: no vote for `max_ttl_ms` (default).
    Quarantine,
    /// Every node says `appendfsync always`: one that still has its marker lost nothing.
    TrustFsync,
}

/// As many votes as there are nodes: for `votes` of contexts, acquires and `quorum_set_nodes`.
pub const VOTES_ALL: i32 = sys::LIBLOCK_VOTES_ALL;

/// Options of a context that is to be opened; what is not set has the library's default. Times are milliseconds;
/// bounds and defaults of each are in `liblock.h` under the same name.
///
/// ```
/// # fn main() -> liblock::Result<()> {
/// let context = liblock::Context::builder().waiters_max(100).open("local:")?;
/// context.ping()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ContextBuilder {
    raw: sys::liblock_context_options,
    prefix: Option<Vec<u8>>,
    texts: [Option<CString>; TEXTS],
    servers: Vec<CString>,
    observers: Vec<CString>,
    on_open: Option<Arc<dyn Fn() + Send + Sync>>,
    refused: Option<&'static str>,
}

const TEXTS: usize = 8;

// The raw struct has pointers in it, which are null until the moment of the call.
unsafe impl Send for ContextBuilder {}
unsafe impl Sync for ContextBuilder {}

/// Names no option: there are passwords among them, and urls that have some.
impl fmt::Debug for ContextBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContextBuilder").finish_non_exhaustive()
    }
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $name: $type) -> Self {
            self.raw.$name = $name;
            self
        })*
    };
}

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident: $at:literal;)*) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $name: &str) -> Self {
            self.texts[$at] = self.text($name);
            self
        })*

        fn point_texts(&self, raw: &mut sys::liblock_context_options) {
            $(if let Some(text) = &self.texts[$at] {
                raw.$name = text.as_ptr();
            })*
        }
    };
}

impl Default for ContextBuilder {
    fn default() -> Self {
        ContextBuilder::new()
    }
}

impl ContextBuilder {
    /// All defaults.
    pub fn new() -> Self {
        let mut raw = MaybeUninit::uninit();
        let raw = unsafe {
            sys::liblock_context_options_init(raw.as_mut_ptr(), size_of::<sys::liblock_context_options>());
            raw.assume_init()
        };
        ContextBuilder {
            raw,
            prefix: None,
            texts: Default::default(),
            servers: Vec::new(),
            observers: Vec::new(),
            on_open: None,
            refused: None,
        }
    }

    fn text(&mut self, text: &str) -> Option<CString> {
        let text = CString::new(text).ok();
        if text.is_none() {
            self.refused = Some("a text in the options has a NUL in it");
        }
        text
    }

    fn list(&mut self, texts: &[&str]) -> Vec<CString> {
        texts.iter().filter_map(|text| self.text(text)).collect()
    }

    numbers! {
        /// Between sweeps for overdue locks; local 300,000; -1 = off; 0 is invalid.
        cleanup_interval_ms: i64;
        /// Entries looked at per step of a sweep; local 100; 1 to 65,536.
        cleanup_batch_size: i64;
        /// Longest ttl accepted; one server 86,400,000, which is also the most; a quorum 60,000.
        max_ttl_ms: i64;
        /// 1 = on (default), 0 = off.
        deadlock_detection: i64;
        /// Waiting time before a search for a deadlock; local 1, servers 100; 0 = at once.
        deadlock_delay_ms: i64;
        /// Keys held at once; 16,777,216; 1 to 67,108,864.
        locks_max: i64;
        /// Requests waiting at once; 1,000,000; 0 to 16,777,216.
        waiters_max: i64;
        /// Asynchronous requests pending at once in this context; 1,000,000.
        requests_max: i64;
        /// Name, connection, TLS and greeting; 1,000; 1 to 600,000.
        connect_timeout_ms: i64;
        /// One answer of the server; 1,000, of a node of a quorum 200; 1 to 600,000.
        command_timeout_ms: i64;
        /// A waiter that is silent so long counts as dead; 3,000; 30 to 600,000.
        alive_ms: i64;
        /// A release with waiters leaves the key free for foreign clients so often at most; 100; 0 = each time;
        /// -1 = never.
        foreign_gap_ms: i64;
        /// On one server a lock goes from hand to hand within this context, without a round trip, while nobody else is
        /// known to wait, and for so long after that; 0; to 600,000; -1 = never.
        front_ms: i64;
        /// Between two signs of life; 10,000; 100 to 3,600,000; -1 = gives none.
        zombie_interval_ms: i64;
        /// A node whose clock moves so far gives no vote for `max_ttl_ms`; 500; 1 to 600,000.
        clock_step_ms: i64;
        /// Nodes that must grant: more than half, or [`VOTES_ALL`]; 0 = a majority.
        votes: i32;
    }

    texts! {
        /// Instead of one in the url.
        username: 0;
        /// Instead of one in the url; never printed, and wiped by the library after use.
        password: 1;
        /// For CLIENT SETNAME; "liblock" by default, "" = none.
        client_name: 2;
        /// Whom to trust: a file (PEM).
        tls_ca_file: 3;
        /// Whom to trust: a directory.
        tls_ca_path: 4;
        /// Who we are (PEM), where the server asks; with `tls_key_file`.
        tls_certificate_file: 5;
        /// The key of `tls_certificate_file`.
        tls_key_file: 6;
        /// The name to expect instead of the url's host.
        tls_server_name: 7;
    }

    /// Put before every key; local "", servers "liblock:"; 0 to 256 bytes.
    #[must_use]
    pub fn prefix(mut self, prefix: impl AsRef<[u8]>) -> Self {
        self.prefix = Some(prefix.as_ref().to_vec());
        self
    }

    /// What becomes of the locks when the context closes.
    #[must_use]
    pub fn on_close(mut self, on_close: OnClose) -> Self {
        self.raw.on_close = match on_close {
            OnClose::Release => sys::LIBLOCK_ON_CLOSE_RELEASE,
            OnClose::Leave => sys::LIBLOCK_ON_CLOSE_LEAVE,
            OnClose::Raw(number) => number,
        };
        self
    }

    /// Any certificate will do: anybody in between can be the server.
    #[must_use]
    pub fn tls_insecure(mut self, insecure: bool) -> Self {
        self.raw.tls_insecure = insecure.into();
        self
    }

    /// 1 to 15 servers of a quorum, each a url; for [`ContextBuilder::open_quorum`].
    #[must_use]
    pub fn servers(mut self, urls: &[&str]) -> Self {
        self.servers = self.list(urls);
        self
    }

    /// Up to 15 servers that are told of every lock and never vote.
    #[must_use]
    pub fn observers(mut self, urls: &[&str]) -> Self {
        self.observers = self.list(urls);
        self
    }

    /// What a restarted node is worth; every context of the quorum must say the same.
    #[must_use]
    pub fn restart_policy(mut self, policy: RestartPolicy) -> Self {
        self.raw.restart_policy = match policy {
            RestartPolicy::Quarantine => sys::LIBLOCK_RESTART_QUARANTINE,
            RestartPolicy::TrustFsync => sys::LIBLOCK_RESTART_TRUST_FSYNC,
        };
        self
    }

    /// Called once per table, on the thread that opens, before `open` returns: whoever opens a table first knows it.
    #[must_use]
    pub fn on_open(mut self, on_open: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_open = Some(Arc::new(on_open));
        self
    }

    /// Opens a context.
    ///
    /// # Errors
    /// As [`Context::open`]; `InvalidArgument` for an option out of its range.
    pub fn open(&self, url: &str) -> Result<Context> {
        self.open_told(Some(url)).map(|(context, _)| context)
    }

    /// Opens a context over the quorum of [`ContextBuilder::servers`].
    ///
    /// # Errors
    /// As [`ContextBuilder::open`].
    pub fn open_quorum(&self) -> Result<Context> {
        self.open_told(None).map(|(context, _)| context)
    }

    /// Opens a context, and tells what opening told: of a quorum, which nodes do not vote, and the cure. `None` opens
    /// the quorum of [`ContextBuilder::servers`].
    ///
    /// # Errors
    /// As [`ContextBuilder::open`].
    pub fn open_told(&self, url: Option<&str>) -> Result<(Context, Outcome)> {
        if let Some(cause) = self.refused {
            return Err(Error::invalid(cause));
        }
        let mut raw = self.raw;
        if let Some(prefix) = &self.prefix {
            raw.prefix = data(prefix);
            raw.prefix_size = prefix.len();
        }
        self.point_texts(&mut raw);
        let servers = pointers(&self.servers);
        let observers = pointers(&self.observers);
        if !servers.is_empty() {
            raw.servers = servers.as_ptr();
            raw.server_count = servers.len();
        }
        if !observers.is_empty() {
            raw.observers = observers.as_ptr();
            raw.observer_count = observers.len();
        }
        if let Some(on_open) = &self.on_open {
            raw.on_open = Some(opened);
            raw.on_open_user_data = crate::context::void(on_open);
        }
        Context::open_raw(url, &raw)
    }
}

pub(crate) fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).collect()
}

/// Runs before the open that named it returns, so that what it points at is alive.
unsafe extern "C" fn opened(_context: *mut sys::liblock_context, user_data: *mut c_void) {
    let on_open = &*(user_data as *const Arc<dyn Fn() + Send + Sync>);
    caught((), || on_open());
}
