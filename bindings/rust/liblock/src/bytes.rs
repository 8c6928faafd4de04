// SPDX-License-Identifier: MIT
//! Bytes and texts on their way over the border: what is handed in is borrowed for the call, what comes out is copied.

use std::ffi::CString;
use std::os::raw::{c_char, c_void};

use crate::error::{check, Error, Result};
use liblock_sys as sys;

/// Empty slices have a pointer that is not null and points at nothing, as C is allowed to be given.
pub(crate) fn data(bytes: &[u8]) -> *const c_void {
    bytes.as_ptr().cast()
}

pub(crate) fn raw(bytes: &[u8]) -> sys::liblock_bytes {
    sys::liblock_bytes { data: data(bytes), size: bytes.len() }
}

/// Borrowed bytes of the library. The caller names a lifetime within which they live.
pub(crate) unsafe fn slice<'a>(data: *const c_void, size: usize) -> &'a [u8] {
    if data.is_null() || size == 0 {
        return &[];
    }
    std::slice::from_raw_parts(data.cast(), size)
}

pub(crate) unsafe fn borrowed<'a>(bytes: &sys::liblock_bytes) -> &'a [u8] {
    slice(bytes.data, bytes.size)
}

/// Identities, addresses and hosts are text; other bytes in them are shown as U+FFFD.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A text that ends in NUL, for which it must have none within.
pub(crate) fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::invalid("a text has a NUL in it"))
}

/// The same as a text.
pub(crate) fn text_of(ask: impl Fn(*mut c_char, usize, *mut usize) -> sys::liblock_status) -> Result<String> {
    bytes_of(ask).map(|bytes| text(&bytes))
}

/// Asks for bytes until the buffer is large enough; they may become more between two calls.
pub(crate) fn bytes_of(ask: impl Fn(*mut c_char, usize, *mut usize) -> sys::liblock_status) -> Result<Vec<u8>> {
    let mut buffer = vec![0_u8; 512];
    loop {
        let mut needed = 0;
        check(ask(buffer.as_mut_ptr().cast(), buffer.len(), &mut needed))?;
        if needed < buffer.len() {
            buffer.truncate(needed);
            return Ok(buffer);
        }
        buffer.resize(needed + 512, 0);
    }
}
