// SPDX-License-Identifier: MIT
//! Events and the log: what the library tells while it works. What is handed to a closure is borrowed until it returns.

use std::fmt;
use std::os::raw::c_void;

use crate::bytes::{borrowed, text};
use crate::context::Context;
use crate::error::{check, Result};
use crate::kinds::{EntryKind, EventKind, LogLevel};
use crate::registry::{caught, find, Hook, Registration};
use crate::status::{static_text, Status};
use crate::Lock;
use liblock_sys as sys;

/// Something that happened. Times in us are microseconds; -1 stands for what is not known, or has no meaning in this
/// kind of event. Has never a password, a value or metadata.
#[derive(Clone, Copy)]
pub struct Event<'a> {
    raw: &'a sys::liblock_event,
}

macro_rules! told {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        $($(#[$doc])*
        pub fn $name(&self) -> $type {
            self.raw.$name
        })*
    };
}

impl<'a> Event<'a> {
    told! {
        /// Fencing token; 0 = none.
        token: u64;
        /// `event_tag` of the acquire.
        tag: u64;
        /// When it happened: wall clock, since 1970.
        at_us: i64;
        /// When the lock was granted: wall clock, since 1970.
        obtained_at_us: i64;
        /// What was asked for; -1 = no expiry.
        ttl_ms: i64;
        /// From the call to the grant.
        acquire_us: i64;
        /// From the grant to its end.
        hold_us: i64;
        /// That the call took: release, extend, administration.
        elapsed_us: i64;
        /// Locks that were cleared or closed; owners of a cycle; nodes.
        count: u64;
        /// 0 = next in line.
        queue_position: i64;
        /// Waiters of the key.
        queue_length: i64;
        /// Attempts made.
        attempts: u32;
        /// Handles that share the hold.
        hold_count: u32;
    }

    /// What happened.
    pub fn kind(&self) -> EventKind {
        EventKind::from_raw(self.raw.kind)
    }

    /// How it ended, where it did.
    pub fn status(&self) -> Status {
        Status::from_raw(self.raw.status)
    }

    /// Which lock it is about.
    pub fn lock(&self) -> Option<Lock> {
        (self.raw.lock != 0).then_some(Lock(self.raw.lock))
    }

    /// One line of English; may be empty.
    pub fn message(&self) -> String {
        let message = self.raw.message;
        if message.is_null() {
            return String::new();
        }
        unsafe { std::ffi::CStr::from_ptr(message) }.to_string_lossy().into_owned()
    }

    /// The key that it is about, without prefix; of several the first.
    pub fn key(&self) -> &'a [u8] {
        unsafe { borrowed(&self.raw.key) }
    }

    /// All keys that were given to the acquire; none for the global lock.
    pub fn keys(&self) -> Vec<&'a [u8]> {
        if self.raw.keys.is_null() {
            return Vec::new();
        }
        let keys = unsafe { std::slice::from_raw_parts(self.raw.keys, self.raw.key_count) };
        keys.iter().map(|key| unsafe { borrowed(key) }).collect()
    }

    /// Identity of the owner.
    pub fn owner(&self) -> String {
        text(unsafe { borrowed(&self.raw.owner) })
    }

    /// Identity of the instance.
    pub fn instance(&self) -> String {
        text(unsafe { borrowed(&self.raw.instance) })
    }

    /// Address of the node of a quorum.
    pub fn node(&self) -> String {
        text(unsafe { borrowed(&self.raw.node) })
    }
}

impl fmt::Debug for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").field("kind", &self.kind()).field("key", &text(self.key())).finish()
    }
}

/// One entry of the log. Has never a password, a value or metadata.
#[derive(Clone, Copy)]
pub struct LogEntry<'a> {
    raw: &'a sys::liblock_log_entry,
}

/// What a field of a log entry has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field<'a> {
    /// A number; its unit is the end of the field's name.
    Number(i64),
    /// Bytes: a key may have any.
    Text(&'a [u8]),
}

impl<'a> LogEntry<'a> {
    /// What it is about.
    pub fn kind(&self) -> EntryKind {
        EntryKind::from_raw(self.raw.id)
    }

    /// The same in small letters: `attempt_started`.
    pub fn name(&self) -> &'static str {
        static_text(self.raw.name)
    }

    /// How important it is.
    pub fn level(&self) -> LogLevel {
        LogLevel::from_raw(self.raw.level)
    }

    /// Wall clock, since 1970.
    pub fn at_us(&self) -> i64 {
        self.raw.at_us
    }

    /// `event_tag` of the acquire.
    pub fn tag(&self) -> u64 {
        self.raw.tag
    }

    /// One line of English.
    pub fn message(&self) -> String {
        if self.raw.message.is_null() {
            return String::new();
        }
        unsafe { std::ffi::CStr::from_ptr(self.raw.message) }.to_string_lossy().into_owned()
    }

    /// Names and what they have.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, Field<'a>)> + 'a {
        let fields: &'a [sys::liblock_log_field] = if self.raw.fields.is_null() {
            &[]
        } else {
            unsafe { std::slice::from_raw_parts(self.raw.fields, self.raw.field_count) }
        };
        fields.iter().map(|field| {
            let value = match field.type_ {
                sys::LIBLOCK_FIELD_NUMBER => Field::Number(field.number),
                _ => Field::Text(unsafe { borrowed(&field.text) }),
            };
            (static_text(field.name), value)
        })
    }
}

impl fmt::Debug for LogEntry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogEntry").field("name", &self.name()).field("message", &self.message()).finish()
    }
}

/// All kinds of events, for the mask of [`Context::on_event`].
pub const ALL_EVENTS: u64 = u64::MAX;

impl Context {
    /// Tells a closure of events from now on, instead of whoever was told before. `mask` has the bits of
    /// [`EventKind::bit`]. It runs on the library's callback thread. A panic in it is caught.
    ///
    /// ```
    /// # fn main() -> liblock::Result<()> {
    /// use liblock::{Context, EventKind, ALL_EVENTS};
    /// use std::sync::mpsc::channel;
    /// use std::sync::Mutex;
    ///
    /// let context = Context::open("local:")?;
    /// let (sender, receiver) = channel();
    /// let sender = Mutex::new(sender);
    /// context.on_event(ALL_EVENTS, move |event| {
    ///     sender.lock().unwrap().send((event.kind(), event.key().to_vec())).unwrap();
    /// })?;
    /// context.acquire("key")?.release()?;
    /// assert_eq!(receiver.recv().unwrap(), (EventKind::Obtained, b"key".to_vec()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Closed`.
    pub fn on_event(&self, mask: u64, tell: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Result<()> {
        let registration = Registration::new(Hook::Event(std::sync::Arc::new(tell)));
        let user_data = registration.user_data();
        let mut registration = Some(registration);
        self.replace(|hooks| {
            check(unsafe { sys::liblock_set_events(self.raw(), mask, Some(event), user_data) })?;
            Ok(std::mem::replace(&mut hooks.events, registration.take()))
        })
    }

    /// Tells nobody of events any more.
    ///
    /// # Errors
    /// `Closed`.
    pub fn no_events(&self) -> Result<()> {
        self.replace(|hooks| {
            check(unsafe { sys::liblock_set_events(self.raw(), 0, None, std::ptr::null_mut()) })?;
            Ok(hooks.events.take())
        })
    }

    /// Writes entries of this level and below to a closure from now on, on whatever thread they come from, several at
    /// once. It must be quick, must not block, and writes nothing for what it calls itself. A panic in it is caught.
    ///
    /// # Errors
    /// `Closed`.
    pub fn on_log(&self, level: LogLevel, write: impl Fn(&LogEntry<'_>) + Send + Sync + 'static) -> Result<()> {
        let registration = Registration::new(Hook::Log(std::sync::Arc::new(write)));
        let user_data = registration.user_data();
        let mut registration = Some(registration);
        self.replace(|hooks| {
            check(unsafe { sys::liblock_set_log(self.raw(), level.raw(), Some(log), user_data) })?;
            Ok(std::mem::replace(&mut hooks.log, registration.take()))
        })
    }

    /// Writes no log any more.
    ///
    /// # Errors
    /// `Closed`.
    pub fn no_log(&self) -> Result<()> {
        self.replace(|hooks| {
            check(unsafe { sys::liblock_set_log(self.raw(), sys::LIBLOCK_LOG_OFF, None, std::ptr::null_mut()) })?;
            Ok(hooks.log.take())
        })
    }

    /// Under one lock, so that of two threads' closures the one that is kept is the one that is called. No closure is
    /// dropped under it: it may own a context.
    pub(crate) fn replace<T>(&self, change: impl FnOnce(&mut crate::context::Hooks) -> Result<T>) -> Result<()> {
        let mut hooks = self.inner.hooks.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let former = change(&mut hooks);
        drop(hooks);
        former.map(drop)
    }
}

unsafe extern "C" fn event(told: *const sys::liblock_event, user_data: *mut c_void) {
    let event = Event { raw: &*told };
    caught((), || {
        if let Some(Hook::Event(tell)) = find(user_data) {
            tell(&event);
        }
    });
}

unsafe extern "C" fn log(told: *const sys::liblock_log_entry, user_data: *mut c_void) {
    let entry = LogEntry { raw: &*told };
    caught((), || {
        if let Some(Hook::Log(write)) = find(user_data) {
            write(&entry);
        }
    });
}
