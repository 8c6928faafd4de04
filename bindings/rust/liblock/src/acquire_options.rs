// SPDX-License-Identifier: MIT
//! Options of an acquire. What is not set takes the context's default. The struct of the C API is kept ready; what it
//! points at is filled in for the moment of the call.

use std::ffi::CString;
use std::mem::{size_of, MaybeUninit};
use std::os::raw::c_void;
use std::sync::Arc;
use std::time::Duration;

use crate::bytes::{data, raw};
use crate::completions::Completions;
use crate::context_options::pointers;
use crate::error::{Error, Result};
use crate::loss::{lost, Loss, LossFn, Watched};
use crate::owner::Owner;
use crate::registry::{caught, find, Hook, Registration};
use liblock_sys as sys;

/// A ttl that lasts as long as the process holds the lock: local no expiry, on servers 30 s that are renewed.
pub const TTL_AUTO: i64 = sys::LIBLOCK_TTL_AUTO;
/// A ttl without expiry.
pub const TTL_NONE: i64 = sys::LIBLOCK_TTL_NONE;

macro_rules! choices {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $number:path,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $variant,)*
            /// Another number, for the library to judge.
            Raw(i32),
        }

        impl $name {
            /// The number that the C API has for it.
            pub fn raw(self) -> i32 {
                match self {
                    $($name::$variant => $number,)*
                    $name::Raw(number) => number,
                }
            }
        }
    };
}

choices! {
    /// Who goes first of those who wait.
    Order {
        /// Whoever came first (default).
        Fifo = sys::LIBLOCK_ORDER_FIFO,
        /// Whoever came last.
        Lifo = sys::LIBLOCK_ORDER_LIFO,
        /// The highest priority, which grows with waiting.
        Priority = sys::LIBLOCK_ORDER_PRIORITY,
        /// Whoever gets it.
        Any = sys::LIBLOCK_ORDER_ANY,
    }
}
choices! {
    /// What a lock lets others do.
    Mode {
        /// Nothing (default).
        Exclusive = sys::LIBLOCK_MODE_EXCLUSIVE,
    }
}
choices! {
    /// How retry intervals grow.
    Backoff {
        /// They do not (default).
        Fixed = sys::LIBLOCK_BACKOFF_FIXED,
        /// By `backoff_step_ms`.
        Linear = sys::LIBLOCK_BACKOFF_LINEAR,
        /// By the factor `backoff_base`.
        Exponential = sys::LIBLOCK_BACKOFF_EXPONENTIAL,
    }
}
choices! {
    /// What an acquire of a key does that the same named owner holds already.
    OnConflict {
        /// Gets a further handle on the same hold and token (default).
        Reenter = sys::LIBLOCK_ON_CONFLICT_REENTER,
        /// The same, and the lease is set anew by this acquire's ttl.
        ReenterExtend = sys::LIBLOCK_ON_CONFLICT_REENTER_EXTEND,
        /// Waits, even for itself.
        Wait = sys::LIBLOCK_ON_CONFLICT_WAIT,
        /// Ends as `AlreadyHeld`.
        Fail = sys::LIBLOCK_ON_CONFLICT_FAIL,
    }
}
choices! {
    /// What happens when a wait closes a cycle of named owners.
    OnDeadlock {
        /// The wait that found the cycle ends as `Deadlock` (default).
        FailSelf = sys::LIBLOCK_ON_DEADLOCK_FAIL_SELF,
        /// The wait of the cycle that began last ends as `Deadlock`.
        FailYoungest = sys::LIBLOCK_ON_DEADLOCK_FAIL_YOUNGEST,
        /// It is counted in the statistics only.
        ReportOnly = sys::LIBLOCK_ON_DEADLOCK_REPORT_ONLY,
    }
}
choices! {
    /// What an owner's acquire over a quorum does that asks for other nodes than those that hold the key for it.
    OnNodesMismatch {
        /// Fails when they have no node in common (default).
        FailIfDisjoint = sys::LIBLOCK_NODES_MISMATCH_FAIL_IF_DISJOINT,
        /// Gets a further handle all the same.
        Ignore = sys::LIBLOCK_NODES_MISMATCH_IGNORE,
        /// Fails unless they are the same.
        Fail = sys::LIBLOCK_NODES_MISMATCH_FAIL,
        /// Fails when not more than half of those asked for hold it.
        FailIfMinorityOverlap = sys::LIBLOCK_NODES_MISMATCH_FAIL_IF_MINORITY_OVERLAP,
    }
}

/// What is told of an acquire and its lock whatever the sampling says: bits for [`AcquireOptions::instrument`].
pub mod instrument {
    use liblock_sys as sys;
    /// In events.
    pub const EVENTS: i32 = sys::LIBLOCK_INSTRUMENT_EVENTS;
    /// In the log.
    pub const LOG: i32 = sys::LIBLOCK_INSTRUMENT_LOG;
    /// In the log, with an entry for each step of each attempt.
    pub const ATTEMPTS: i32 = sys::LIBLOCK_INSTRUMENT_ATTEMPTS;
}

#[derive(Clone)]
enum Who {
    Handle,
    Thread,
    Named(Owner),
}

/// Options of an acquire; what is not set has the context's default. Times are milliseconds; bounds and defaults are
/// in `liblock.h` under the same names. May be used for any number of acquires, by any number of threads.
///
/// ```
/// # fn main() -> liblock::Result<()> {
/// use liblock::{AcquireOptions, Context, Status};
///
/// let context = Context::open("local:")?;
/// let _held = context.acquire("key")?;
/// let patient = AcquireOptions::new().wait_ms(20).ttl_ms(5_000).value("worker 7");
/// let error = context.acquire_with("key", &patient).unwrap_err();
/// assert_eq!(error.status(), Status::Timeout);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AcquireOptions {
    raw: sys::liblock_acquire_options,
    who: Who,
    value: Option<Vec<u8>>,
    metadata: Vec<(Vec<u8>, Vec<u8>)>,
    nodes: Vec<CString>,
    on_lost: Option<Arc<LossFn>>,
    on_queued: Option<Arc<dyn Fn(i64, i64) + Send + Sync>>,
    backoff_fn: Option<Arc<dyn Fn(u32) -> i64 + Send + Sync>>,
    pub(crate) completions: Option<Completions>,
    refused: bool,
}

// The raw struct has pointers in it, which are null until the moment of the call.
unsafe impl Send for AcquireOptions {}
unsafe impl Sync for AcquireOptions {}

impl Default for AcquireOptions {
    fn default() -> Self {
        AcquireOptions::new()
    }
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $name: $type) -> Self {
            self.raw.$name = $name;
            self
        })*
    };
}

macro_rules! chosen {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $name: $type) -> Self {
            self.raw.$name = $name.raw();
            self
        })*
    };
}

impl AcquireOptions {
    /// All defaults: waits for ever, and holds for as long as the process does.
    pub fn new() -> Self {
        let mut raw = MaybeUninit::uninit();
        let raw = unsafe {
            sys::liblock_acquire_options_init(raw.as_mut_ptr(), size_of::<sys::liblock_acquire_options>());
            raw.assume_init()
        };
        AcquireOptions {
            raw,
            who: Who::Handle,
            value: None,
            metadata: Vec::new(),
            nodes: Vec::new(),
            on_lost: None,
            on_queued: None,
            backoff_fn: None,
            completions: None,
            refused: false,
        }
    }

    setters! {
        /// The lease: 1 (servers: 20) and more, [`TTL_AUTO`] (default) or [`TTL_NONE`].
        ttl_ms: i64;
        /// How long to wait; -1 = for ever (default); 0 = try once.
        wait_ms: i64;
        /// Retry intervals to wait through; -1 = no limit (default); 0 = try once.
        retries: i64;
        /// Local 10, servers 1,000.
        retry_interval_ms: i64;
        /// 0 to this is added at random.
        retry_jitter_ms: i64;
        /// The factor of [`Backoff::Exponential`]; 2 (default) to 1,000.
        backoff_base: i32;
        /// The step of [`Backoff::Linear`].
        backoff_step_ms: i64;
        /// The longest interval that grows; 60,000.
        backoff_cap_ms: i64;
        /// Of [`Order::Priority`]: higher goes first; -1,000,000 to 1,000,000.
        priority: i32;
        /// Of [`Order::Priority`]: waiting this long counts as one step of priority; 1,000; 1 to 86,400,000.
        age_step_ms: i64;
        /// After it the waiter goes to the end of the queue; -1 = never (default).
        queue_ttl_ms: i64;
        /// 1 = renewed every third of the ttl while held; needs a `ttl_ms`.
        renew: i32;
        /// End of the hold under renewal, from the grant on; -1 = none (default).
        max_hold_ms: i64;
        /// A grant with less left of its lease is undone, as `TooLate`; 0.
        min_remaining_ms: i64;
        /// Servers: a grant waits for so many replicas; 0 to 64.
        replicas: i32;
        /// How long it waits for them, half of the lease at most; 1 to 60,000; 1,000.
        replicas_timeout_ms: i64;
        /// Bits of [`instrument`]: what is told of this acquire whatever the sampling says.
        instrument: i32;
        /// Comes back in every event and log entry of this acquire and its lock.
        event_tag: u64;
        /// Nodes that must grant, of those named by [`AcquireOptions::nodes`]; 0 = the context's, with nodes: all.
        votes: i32;
    }

    chosen! {
        /// Who goes first of those who wait.
        order: Order;
        /// What the lock lets others do.
        mode: Mode;
        /// How retry intervals grow.
        backoff: Backoff;
        /// What to do where the owner holds the key already; only with an owner.
        on_conflict: OnConflict;
        /// What to do about a cycle of owners; only with an owner.
        on_deadlock: OnDeadlock;
        /// What to do where the owner holds the key on other nodes; only with an owner.
        on_nodes_mismatch: OnNodesMismatch;
    }

    /// The lease as a duration, rounded up to the millisecond.
    #[must_use]
    pub fn ttl(self, ttl: Duration) -> Self {
        self.ttl_ms(in_ms(ttl))
    }

    /// How long to wait, as a duration, rounded up to the millisecond.
    #[must_use]
    pub fn wait(self, wait: Duration) -> Self {
        self.wait_ms(in_ms(wait))
    }

    /// Who holds: an owner that was opened in the same context. It stays open for as long as these options live.
    #[must_use]
    pub fn owner(mut self, owner: &Owner) -> Self {
        self.who = Who::Named(owner.clone());
        self
    }

    /// Who holds: the thread that acquires. Its locks are released when it exits.
    #[must_use]
    pub fn owner_thread(mut self) -> Self {
        self.who = Who::Thread;
        self
    }

    /// Carried by the lock, 0 to 4,096 bytes.
    #[must_use]
    pub fn value(mut self, value: impl AsRef<[u8]>) -> Self {
        self.value = Some(value.as_ref().to_vec());
        self
    }

    /// One more entry that the lock carries; 4,096 bytes in all, 64 entries at most.
    #[must_use]
    pub fn metadata(mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.metadata.push((name.as_ref().to_vec(), value.as_ref().to_vec()));
        self
    }

    /// Quorum only: the nodes that this lock is on, by address or id.
    #[must_use]
    pub fn nodes(mut self, nodes: &[&str]) -> Self {
        self.nodes = nodes.iter().filter_map(|node| CString::new(*node).ok()).collect();
        self.refused = self.nodes.len() != nodes.len();
        self
    }

    /// A failed end brings the info of the key that was busy; see [`Error::info`].
    #[must_use]
    pub fn busy_info(mut self, busy_info: bool) -> Self {
        self.raw.busy_info = busy_info.into();
        self
    }

    /// Called once when the lock is lost, on the library's callback thread; not for a lock that was released. Of the
    /// locks that share a hold of their owner the first is told; another is when its release answers `Lost`, on a
    /// thread. [`Guard::lost`](crate::Guard::lost) tells each.
    #[must_use]
    pub fn on_lost(mut self, on_lost: impl Fn(Loss) + Send + Sync + 'static) -> Self {
        self.on_lost = Some(Arc::new(on_lost));
        self
    }

    /// Told the place in the queue and its length when they are seen to have changed; 0 = next in line.
    #[must_use]
    pub fn on_queued(mut self, on_queued: impl Fn(i64, i64) + Send + Sync + 'static) -> Self {
        self.on_queued = Some(Arc::new(on_queued));
        self
    }

    /// Says how long to wait before retry `attempt` (0-based), in ms, instead of the other options of back-off;
    /// negative ends the acquire as `InvalidArgument`. Must not block or call the library.
    #[must_use]
    pub fn backoff_fn(mut self, backoff: impl Fn(u32) -> i64 + Send + Sync + 'static) -> Self {
        self.backoff_fn = Some(Arc::new(backoff));
        self
    }

    /// Where the end of [`Context::submit_acquire`](crate::Context::submit_acquire) is read, and the loss of any lock
    /// that is acquired with these options.
    #[must_use]
    pub fn completions(mut self, completions: &Completions) -> Self {
        self.completions = Some(completions.clone());
        self
    }

    pub(crate) fn tells_place(&self) -> bool {
        self.on_queued.is_some()
    }

    /// The same for one attempt of a blocking call; a wait that cannot be meant stays one.
    pub(crate) fn once(&self) -> AcquireOptions {
        let mut once = AcquireOptions { on_lost: None, ..self.clone() };
        if once.raw.wait_ms >= -1 || once.raw.wait_ms == sys::LIBLOCK_DEFAULT {
            once.raw.wait_ms = 0;
        }
        once
    }

    pub(crate) fn refuse(&self) -> Result<()> {
        if self.refused {
            return Err(Error::invalid("a node's name has a NUL in it"));
        }
        Ok(())
    }

    /// The struct of the C API, for one call, and the closures that must stay reachable after it.
    pub(crate) fn with_raw<T>(&self, make: impl FnOnce(&sys::liblock_acquire_options) -> T) -> Result<(T, Kept)> {
        let mut kept = Kept::default();
        let made = self.with_kept(|options, theirs| {
            kept = theirs;
            make(options)
        })?;
        Ok((made, kept))
    }

    /// The same where the call itself puts the closures in their place.
    pub(crate) fn with_kept<T>(&self, make: impl FnOnce(&sys::liblock_acquire_options, Kept) -> T) -> Result<T> {
        self.refuse()?;
        let mut options = self.raw;
        options.owner = match &self.who {
            Who::Handle => std::ptr::null_mut(),
            Who::Thread => sys::LIBLOCK_OWNER_THREAD,
            Who::Named(owner) => owner.raw(),
        };
        if let Some(value) = &self.value {
            options.value = data(value);
            options.value_size = value.len();
        }
        let pairs =
            self.metadata.iter().map(|(name, value)| sys::liblock_metadata { name: raw(name), value: raw(value) });
        let pairs: Vec<_> = pairs.collect();
        if !pairs.is_empty() {
            options.metadata = pairs.as_ptr();
            options.metadata_count = pairs.len();
        }
        let nodes = pointers(&self.nodes);
        if !nodes.is_empty() {
            options.nodes = nodes.as_ptr();
            options.node_count = nodes.len();
        }
        if let Some(completions) = &self.completions {
            options.completions = completions.raw();
        }
        let kept = self.register(&mut options);
        Ok(make(&options, kept))
    }

    fn register(&self, options: &mut sys::liblock_acquire_options) -> Kept {
        let mut kept = Kept::default();
        if let Some(on_lost) = &self.on_lost {
            let watched = Watched::new(on_lost.clone());
            options.on_lost = Some(lost);
            options.on_lost_user_data = watched.registration.user_data();
            kept.watched = Some(watched);
        }
        if let Some(on_queued) = &self.on_queued {
            let registration = Registration::new(Hook::Queued(on_queued.clone()));
            options.on_queued = Some(queued);
            options.on_queued_user_data = registration.user_data();
            kept.hooks.push(registration);
        }
        if let Some(backoff) = &self.backoff_fn {
            let registration = Registration::new(Hook::Backoff(backoff.clone()));
            options.backoff_callback = Some(back_off);
            options.backoff_user_data = registration.user_data();
            kept.hooks.push(registration);
        }
        kept
    }
}

/// Closures of one acquire.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) watched: Option<Watched>,
    pub(crate) hooks: Vec<Registration>,
}

/// Rounded up, so that a short wait is never none.
pub(crate) fn in_ms(duration: Duration) -> i64 {
    let ms = duration.as_millis() + u128::from(duration.subsec_nanos() % 1_000_000 != 0);
    i64::try_from(ms).unwrap_or(i64::MAX)
}

unsafe extern "C" fn queued(position: i64, length: i64, user_data: *mut c_void) {
    caught((), || {
        if let Some(Hook::Queued(callback)) = find(user_data) {
            callback(position, length);
        }
    });
}

/// A panic, as a negative interval does, ends the acquire as INVALID_ARGUMENT; so does a closure that is gone, whose
/// acquire nobody waits for.
unsafe extern "C" fn back_off(attempt: u32, user_data: *mut c_void) -> i64 {
    caught(-1, || match find(user_data) {
        Some(Hook::Backoff(callback)) => callback(attempt),
        _ => -1,
    })
}
