// SPDX-License-Identifier: MIT
//! Lists of keys: as iterators, and as calls of a closure.

use std::any::Any;
use std::mem::{size_of, MaybeUninit};
use std::ops::ControlFlow;
use std::os::raw::c_void;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::null_mut;

use crate::bytes::data;
use crate::context::Context;
use crate::error::{call, check, Outcome, Result};
use crate::info::Info;
use liblock_sys as sys;

/// What a list shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Keys that are held.
    Locks,
    /// Keys that somebody waits for.
    Queues,
    /// Both, each key once.
    Keys,
}

/// What a list shows of the keys, and in which steps.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    prefix: Option<Vec<u8>>,
    batch_size: Option<i64>,
    zombies_only: bool,
}

impl ListOptions {
    /// All keys, in steps of 500.
    pub fn new() -> Self {
        ListOptions::default()
    }

    /// Only keys that begin with these bytes.
    #[must_use]
    pub fn prefix(mut self, prefix: impl AsRef<[u8]>) -> Self {
        self.prefix = Some(prefix.as_ref().to_vec());
        self
    }

    /// Keys looked at per step; 1 to 65,536.
    #[must_use]
    pub fn batch_size(mut self, batch_size: i64) -> Self {
        self.batch_size = Some(batch_size);
        self
    }

    /// Only keys whose holder's instance, or that of one who waits, is gone.
    #[must_use]
    pub fn zombies_only(mut self, zombies_only: bool) -> Self {
        self.zombies_only = zombies_only;
        self
    }

    fn raw(&self) -> sys::liblock_list_options {
        let mut raw = MaybeUninit::uninit();
        let mut raw = unsafe {
            sys::liblock_list_options_init(raw.as_mut_ptr(), size_of::<sys::liblock_list_options>());
            raw.assume_init()
        };
        if let Some(prefix) = &self.prefix {
            raw.key_prefix = data(prefix);
            raw.key_prefix_size = prefix.len();
        }
        if let Some(batch_size) = self.batch_size {
            raw.batch_size = batch_size;
        }
        raw.zombies_only = self.zombies_only.into();
        raw
    }
}

/// What a call that goes over many keys has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Locks shown, or taken away.
    pub locks: u64,
    /// Queues shown, or from which somebody was sent away.
    pub queues: u64,
    /// Both.
    pub keys: u64,
    /// Waiters sent away; lists: 0.
    pub waiters: u64,
    /// Batches that it took.
    pub steps: u64,
    /// Microseconds that the library took; closures do not count.
    pub elapsed_us: i64,
    /// Instances shown, or taken off the list of instances.
    pub instances: u64,
}

impl Report {
    /// Full of rubbish where a builder of this crate wants to see what the library forgets.
    pub(crate) fn prepared() -> sys::liblock_report {
        let mut raw = MaybeUninit::uninit();
        unsafe {
            sys::liblock_report_init(raw.as_mut_ptr(), size_of::<sys::liblock_report>());
            let mut raw: sys::liblock_report = raw.assume_init();
            if cfg!(debug_assertions) {
                std::ptr::write_bytes(&mut raw, 0x5a, 1);
                raw.struct_size = size_of::<sys::liblock_report>();
            }
            raw
        }
    }

    pub(crate) fn read(raw: &sys::liblock_report) -> Report {
        Report {
            locks: raw.locks,
            queues: raw.queues,
            keys: raw.keys,
            waiters: raw.waiters,
            steps: raw.steps,
            elapsed_us: raw.elapsed_us,
            instances: raw.instances,
        }
    }
}

/// A listing under way: an iterator over [`Info`]s.
///
/// The table is read in small steps: keys that come or go meanwhile may be missed. A failure on the way is an item;
/// the next one goes on from there.
pub struct Cursor {
    raw: *mut sys::liblock_cursor,
    /// Keeps the context until the cursor is gone.
    _context: Context,
    is_over: bool,
}

// Belongs to one thread at a time: it may be sent, and is not shared.
unsafe impl Send for Cursor {}

impl Cursor {
    /// Counts of what has been shown so far.
    ///
    /// # Errors
    /// `Closed`.
    pub fn report(&self) -> Result<Report> {
        let mut report = Report::prepared();
        check(unsafe { sys::liblock_cursor_report(self.raw, &mut report) })?;
        Ok(Report::read(&report))
    }
}

impl std::fmt::Debug for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cursor").field("report", &self.report().ok()).finish()
    }
}

impl Iterator for Cursor {
    type Item = Result<Info>;

    fn next(&mut self) -> Option<Result<Info>> {
        if self.is_over {
            return None;
        }
        let mut info = null_mut();
        let status = check(unsafe { sys::liblock_cursor_next(self.raw, &mut info) });
        let info = unsafe { Info::take(info) };
        match status {
            Ok(()) => {
                self.is_over = info.is_none();
                info.map(Ok)
            }
            Err(error) => {
                // Nobody can go on in a context that is gone; all else may be asked again.
                self.is_over = !error.status().is_retryable();
                Some(Err(error))
            }
        }
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        unsafe { sys::liblock_cursor_free(self.raw) }
    }
}

type Make = unsafe extern "C" fn(
    *mut sys::liblock_context,
    *const sys::liblock_list_options,
    *mut *mut sys::liblock_cursor,
    *mut sys::liblock_result,
) -> sys::liblock_status;

impl Context {
    /// Lists keys. The outcome of the call that began the list comes with it.
    ///
    /// # Errors
    /// `InvalidArgument`, `Closed`, and those of a server.
    pub fn list(&self, list: List, options: Option<&ListOptions>) -> Result<(Cursor, Outcome)> {
        let make: Make = match list {
            List::Locks => sys::liblock_list_locks,
            List::Queues => sys::liblock_list_queues,
            List::Keys => sys::liblock_list_keys,
        };
        let options = options.map(ListOptions::raw);
        let pointer = options.as_ref().map_or(std::ptr::null(), |options| options as *const _);
        let mut raw = null_mut();
        let outcome = call(|result| unsafe { make(self.raw(), pointer, &mut raw, result) })?;
        Ok((Cursor { raw, _context: self.clone(), is_over: false }, outcome))
    }

    /// An iterator over all keys that are held.
    ///
    /// ```
    /// # fn main() -> liblock::Result<()> {
    /// let context = liblock::Context::open("local:")?;
    /// let _guard = context.acquire("orders/17")?;
    /// let keys = context.list_locks()?.map(|info| Ok(info?.key().to_vec()));
    /// let keys = keys.collect::<liblock::Result<Vec<_>>>()?;
    /// assert_eq!(keys, [b"orders/17".to_vec()]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Context::list`].
    pub fn list_locks(&self) -> Result<Cursor> {
        self.list(List::Locks, None).map(|(cursor, _)| cursor)
    }

    /// An iterator over all keys that somebody waits for.
    ///
    /// # Errors
    /// As [`Context::list`].
    pub fn list_queues(&self) -> Result<Cursor> {
        self.list(List::Queues, None).map(|(cursor, _)| cursor)
    }

    /// An iterator over all keys that are held or waited for.
    ///
    /// # Errors
    /// As [`Context::list`].
    pub fn list_keys(&self) -> Result<Cursor> {
        self.list(List::Keys, None).map(|(cursor, _)| cursor)
    }

    /// Shows the same keys to a closure, which may end the list, and counts them. A panic in it ends the list, and goes
    /// on here.
    ///
    /// # Errors
    /// As [`Context::list`].
    pub fn list_each(
        &self,
        list: List,
        options: Option<&ListOptions>,
        mut show: impl FnMut(&Info) -> ControlFlow<()>,
    ) -> Result<Report> {
        let what = match list {
            List::Locks => sys::LIBLOCK_LIST_LOCKS,
            List::Queues => sys::LIBLOCK_LIST_QUEUES,
            List::Keys => sys::LIBLOCK_LIST_KEYS,
        };
        let options = options.map(ListOptions::raw);
        let pointer = options.as_ref().map_or(std::ptr::null(), |options| options as *const _);
        let mut report = Report::prepared();
        let mut showing = Showing { show: &mut show, panic: None };
        let user_data: *mut c_void = (&mut showing as *mut Showing<'_>).cast();
        let listed = call(|result| unsafe {
            sys::liblock_list_each(self.raw(), what, pointer, Some(shown), user_data, &mut report, result)
        });
        if let Some(panic) = showing.panic {
            resume_unwind(panic);
        }
        listed.map(|_| Report::read(&report))
    }
}

struct Showing<'s> {
    show: &'s mut dyn FnMut(&Info) -> ControlFlow<()>,
    /// Kept from the frames of the library, which it must not cross.
    panic: Option<Box<dyn Any + Send>>,
}

/// Runs on the thread that lists, within `list_each`, whose closure is alive.
unsafe extern "C" fn shown(info: *const sys::liblock_info, user_data: *mut c_void) -> i32 {
    let showing = &mut *(user_data as *mut Showing<'_>);
    let info = Info::lent(info);
    let show = &mut showing.show;
    match info.as_ref().map(|info| catch_unwind(AssertUnwindSafe(|| show(info)))) {
        None | Some(Ok(ControlFlow::Continue(()))) => 0,
        Some(Ok(ControlFlow::Break(()))) => 1,
        Some(Err(panic)) => {
            showing.panic = Some(panic);
            1
        }
    }
}
