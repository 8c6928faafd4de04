// SPDX-License-Identifier: MIT
//! A snapshot of one key: who holds it, and who waits.

use std::fmt;
use std::mem::ManuallyDrop;
use std::os::raw::c_void;
use std::ptr::NonNull;
use std::sync::Mutex;

use crate::acquire_options::Order;
use crate::bytes::{borrowed, slice, text};
use liblock_sys as sys;

/// What the library knew of one key at one moment. Times of day are microseconds since 1970, on a server by its
/// clock; 0 = not known.
pub struct Info {
    raw: NonNull<sys::liblock_info>,
    /// The library wants one thread at a time in its getters; what they point at lives as long as the info.
    turn: Mutex<()>,
}

// Whoever shares an info asks it in turn.
unsafe impl Send for Info {}
unsafe impl Sync for Info {}

/// One who waits for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiter {
    /// Its owner's identity; `None` = none, or not known.
    pub owner: Option<String>,
    /// Its instance's identity.
    pub instance: Option<String>,
    /// When it was queued.
    pub since_us: i64,
    /// How long it has waited.
    pub waited_ms: i64,
    /// In which order it waits.
    pub order: Order,
    /// With which priority.
    pub priority: i32,
}

type Bytes = unsafe extern "C" fn(*const sys::liblock_info, *mut usize) -> *const c_void;
type WaiterBytes = unsafe extern "C" fn(*const sys::liblock_info, usize, *mut usize) -> *const c_void;

impl Info {
    /// Takes over an info that the library has given away.
    pub(crate) unsafe fn take(raw: *mut sys::liblock_info) -> Option<Info> {
        NonNull::new(raw).map(|raw| Info { raw, turn: Mutex::new(()) })
    }

    /// An info that stays the library's.
    pub(crate) unsafe fn lent(raw: *const sys::liblock_info) -> ManuallyDrop<Option<Info>> {
        ManuallyDrop::new(Info::take(raw as *mut _))
    }

    fn ask<T>(&self, get: impl FnOnce(*const sys::liblock_info) -> T) -> T {
        let _turn = self.turn.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        get(self.raw.as_ptr())
    }

    fn bytes(&self, get: Bytes) -> Option<&[u8]> {
        let mut size = 0;
        let data = self.ask(|info| unsafe { get(info, &mut size) });
        (!data.is_null()).then(|| unsafe { slice(data, size) })
    }

    fn name(&self, get: Bytes) -> Option<String> {
        self.bytes(get).map(text)
    }

    fn waiter_name(&self, index: usize, get: WaiterBytes) -> Option<String> {
        let mut size = 0;
        let data = self.ask(|info| unsafe { get(info, index, &mut size) });
        (!data.is_null()).then(|| text(unsafe { slice(data, size) }))
    }

    /// The key, without the context's prefix; empty for the global lock.
    pub fn key(&self) -> &[u8] {
        self.bytes(sys::liblock_info_key).unwrap_or(&[])
    }

    /// Is it the global lock?
    pub fn is_global(&self) -> bool {
        self.ask(|info| unsafe { sys::liblock_info_is_global(info) == 1 })
    }

    /// Does somebody hold the key?
    pub fn is_held(&self) -> bool {
        self.ask(|info| unsafe { sys::liblock_info_is_held(info) == 1 })
    }

    /// Identity of the owner who holds it.
    pub fn owner(&self) -> Option<String> {
        self.name(sys::liblock_info_owner)
    }

    /// The same as it is, for [`Clear::Owner`](crate::Clear::Owner): names may have any bytes.
    pub fn owner_bytes(&self) -> Option<&[u8]> {
        self.bytes(sys::liblock_info_owner)
    }

    /// Identity of the instance that holds it.
    pub fn instance(&self) -> Option<String> {
        self.name(sys::liblock_info_instance)
    }

    /// Where that instance runs.
    pub fn host(&self) -> Option<String> {
        self.name(sys::liblock_info_host)
    }

    /// Fencing token of the grant; 0 = not held.
    pub fn token(&self) -> u64 {
        self.ask(|info| unsafe { sys::liblock_info_token(info) })
    }

    /// When the hold began; not known of the plainest local locks, whose acquire asks no clock.
    pub fn since_us(&self) -> i64 {
        self.ask(|info| unsafe { sys::liblock_info_since_us(info) })
    }

    /// The lease that it was granted with; -1 = no expiry, 0 = not known.
    pub fn initial_ttl_ms(&self) -> i64 {
        self.ask(|info| unsafe { sys::liblock_info_initial_ttl_ms(info) })
    }

    /// What is left of the lease; -1 = no expiry.
    pub fn remaining_ms(&self) -> i64 {
        self.ask(|info| unsafe { sys::liblock_info_remaining_ms(info) })
    }

    /// Handles that share the hold; on servers known of own locks only.
    pub fn hold_count(&self) -> u32 {
        self.ask(|info| unsafe { sys::liblock_info_hold_count(info) })
    }

    /// Is the instance that holds it gone?
    pub fn is_zombie(&self) -> bool {
        self.ask(|info| unsafe { sys::liblock_info_is_zombie(info) == 1 })
    }

    /// What the lock carries; empty where it carries nothing.
    pub fn value(&self) -> &[u8] {
        self.bytes(sys::liblock_info_value).unwrap_or(&[])
    }

    /// Names and values that the lock carries.
    pub fn metadata(&self) -> Vec<(&[u8], &[u8])> {
        let count = self.ask(|info| unsafe { sys::liblock_info_metadata_count(info) });
        let entry = |index| {
            let none = sys::liblock_bytes { data: std::ptr::null(), size: 0 };
            let mut pair = sys::liblock_metadata { name: none, value: none };
            let status = self.ask(|info| unsafe { sys::liblock_info_metadata_at(info, index, &mut pair) });
            let told = status == sys::LIBLOCK_OK;
            told.then(|| unsafe { (borrowed(&pair.name), borrowed(&pair.value)) })
        };
        (0..count).filter_map(entry).collect()
    }

    /// How many wait.
    pub fn waiter_count(&self) -> usize {
        self.ask(|info| unsafe { sys::liblock_info_waiter_count(info) })
    }

    /// One who waits, by its place: 0 is served next. `None` where nothing is known of that place.
    pub fn waiter(&self, index: usize) -> Option<Waiter> {
        if index >= self.waiter_count() {
            return None;
        }
        Some(Waiter {
            owner: self.waiter_name(index, sys::liblock_info_waiter_owner),
            instance: self.waiter_name(index, sys::liblock_info_waiter_instance),
            since_us: self.ask(|info| unsafe { sys::liblock_info_waiter_since_us(info, index) }),
            waited_ms: self.ask(|info| unsafe { sys::liblock_info_waiter_waited_ms(info, index) }),
            order: match self.ask(|info| unsafe { sys::liblock_info_waiter_order(info, index) }) {
                sys::LIBLOCK_ORDER_FIFO => Order::Fifo,
                sys::LIBLOCK_ORDER_LIFO => Order::Lifo,
                sys::LIBLOCK_ORDER_PRIORITY => Order::Priority,
                sys::LIBLOCK_ORDER_ANY => Order::Any,
                other => Order::Raw(other),
            },
            priority: self.ask(|info| unsafe { sys::liblock_info_waiter_priority(info, index) }),
        })
    }

    /// Those who wait, in the order in which they will be served.
    pub fn waiters(&self) -> impl Iterator<Item = Waiter> + '_ {
        (0..self.waiter_count()).filter_map(move |index| self.waiter(index))
    }
}

impl fmt::Debug for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Info")
            .field("key", &text(self.key()))
            .field("is_held", &self.is_held())
            .field("owner", &self.owner())
            .field("token", &self.token())
            .field("waiter_count", &self.waiter_count())
            .finish()
    }
}

impl Drop for Info {
    fn drop(&mut self) {
        unsafe { sys::liblock_info_free(self.raw.as_ptr()) }
    }
}
