// SPDX-License-Identifier: MIT
//! Sampling of events and the log, and histograms.

use std::mem::{size_of, MaybeUninit};
use std::os::raw::c_void;
use std::ptr::null;
use std::sync::Arc;

use crate::bytes::borrowed;
use crate::context::Context;
use crate::error::{check, Result};
use crate::registry::{caught, find, Hook, Registration, SamplerFn};
use liblock_sys as sys;

/// What is told and measured of the acquires that begin from now on.
#[derive(Clone)]
pub struct Instruments {
    raw: sys::liblock_instrument_options,
    events_sampler: Option<Arc<SamplerFn>>,
    log_sampler: Option<Arc<SamplerFn>>,
}

// The raw struct has pointers in it, which are null until the moment of the call.
unsafe impl Send for Instruments {}
unsafe impl Sync for Instruments {}

impl Default for Instruments {
    fn default() -> Self {
        Instruments::new()
    }
}

impl Instruments {
    /// All are told about, nothing is measured.
    pub fn new() -> Self {
        let mut raw = MaybeUninit::uninit();
        let raw = unsafe {
            sys::liblock_instrument_options_init(raw.as_mut_ptr(), size_of::<sys::liblock_instrument_options>());
            raw.assume_init()
        };
        Instruments { raw, events_sampler: None, log_sampler: None }
    }

    /// Of the acquires, that are told about in events; 0 to 100 (default).
    #[must_use]
    pub fn events_percent(mut self, percent: i32) -> Self {
        self.raw.events_percent = percent;
        self
    }

    /// The same of the log.
    #[must_use]
    pub fn log_percent(mut self, percent: i32) -> Self {
        self.raw.log_percent = percent;
        self
    }

    /// Decides instead of chance which acquires are told about in events: given the percentage, the first key (none
    /// for the global lock) and the `event_tag`. Runs on the thread that acquires; must not block or call the library.
    #[must_use]
    pub fn events_sampler(
        mut self,
        sampler: impl Fn(i32, Option<&[u8]>, u64) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.events_sampler = Some(Arc::new(sampler));
        self
    }

    /// The same of the log.
    #[must_use]
    pub fn log_sampler(mut self, sampler: impl Fn(i32, Option<&[u8]>, u64) -> bool + Send + Sync + 'static) -> Self {
        self.log_sampler = Some(Arc::new(sampler));
        self
    }

    /// Events that wait to be delivered; one more is dropped and counted; 65,536; 1 to 1,048,576.
    #[must_use]
    pub fn events_max(mut self, events_max: i64) -> Self {
        self.raw.events_max = events_max;
        self
    }

    /// Log each step of each attempt.
    #[must_use]
    pub fn log_attempts(mut self, log_attempts: bool) -> Self {
        self.raw.log_attempts = log_attempts.into();
        self
    }

    /// Measure every acquire and hold of this context.
    #[must_use]
    pub fn histograms(mut self, histograms: bool) -> Self {
        self.raw.histograms = histograms.into();
        self
    }
}

/// Which durations a [`Histogram`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// From the call to the grant, of granted acquires.
    Acquire,
    /// From the grant to its end.
    Hold,
}

/// How many of the measured durations were so long. Bucket n counts those above 2^(n-1) and up to 2^n microseconds; the
/// first also 0, the last everything longer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Histogram {
    /// All that were measured.
    pub count: u64,
    /// Their sum, in microseconds.
    pub sum_us: u64,
    /// How many were so long.
    pub buckets: Vec<u64>,
}

impl Context {
    /// Sampling, and what is measured, for the acquires that begin from now on. `None` = all defaults.
    ///
    /// # Errors
    /// `InvalidArgument`, `Closed`.
    pub fn set_instruments(&self, instruments: Option<&Instruments>) -> Result<()> {
        let mut registrations = Vec::new();
        let options = instruments.map(|instruments| {
            let mut raw = instruments.raw;
            let mut register = |sampler: &Option<Arc<SamplerFn>>| {
                sampler.as_ref().map(|sampler| {
                    let registration = Registration::new(Hook::Sampler(sampler.clone()));
                    let user_data = registration.user_data();
                    registrations.push(registration);
                    user_data
                })
            };
            if let Some(user_data) = register(&instruments.events_sampler) {
                raw.events_sampler = Some(sample);
                raw.events_sampler_user_data = user_data;
            }
            if let Some(user_data) = register(&instruments.log_sampler) {
                raw.log_sampler = Some(sample);
                raw.log_sampler_user_data = user_data;
            }
            raw
        });
        let pointer = options.as_ref().map_or(null(), |options| options as *const _);
        self.replace(|hooks| {
            check(unsafe { sys::liblock_set_instruments(self.raw(), pointer) })?;
            Ok(std::mem::replace(&mut hooks.samplers, std::mem::take(&mut registrations)))
        })
    }

    /// Durations that were measured while histograms were on.
    ///
    /// # Errors
    /// `Closed`.
    pub fn histogram(&self, measured: Measured) -> Result<Histogram> {
        let which = match measured {
            Measured::Acquire => sys::LIBLOCK_HISTOGRAM_ACQUIRE,
            Measured::Hold => sys::LIBLOCK_HISTOGRAM_HOLD,
        };
        let mut raw = MaybeUninit::uninit();
        let raw: sys::liblock_histogram = unsafe {
            sys::liblock_histogram_init(raw.as_mut_ptr(), size_of::<sys::liblock_histogram>());
            check(sys::liblock_histogram_get(self.raw(), which, raw.as_mut_ptr()))?;
            raw.assume_init()
        };
        Ok(Histogram { count: raw.count, sum_us: raw.sum_us, buckets: raw.buckets.to_vec() })
    }
}

/// A sampler that is gone, or panics, tells of the acquire.
unsafe extern "C" fn sample(percent: i32, key: *const sys::liblock_bytes, tag: u64, user_data: *mut c_void) -> i32 {
    let key = (!key.is_null()).then(|| borrowed(&*key));
    caught(1, || match find(user_data) {
        Some(Hook::Sampler(sampler)) => i32::from(sampler(percent, key, tag)),
        _ => 1,
    })
}
