// SPDX-License-Identifier: MIT
//! The C API of liblock, declaration by declaration, by its names in `liblock.h`, which is its documentation.
//!
//! Everything here is as unsafe as it is in C. The crate `liblock` wraps it safely.
#![allow(non_camel_case_types)]
#![deny(missing_docs)]

mod constants;
#[allow(missing_docs)]
mod functions;
#[allow(missing_docs)]
mod look;
#[allow(missing_docs)]
mod types;
mod version;

pub use constants::*;
pub use functions::*;
pub use look::*;
pub use types::*;
pub use version::*;
