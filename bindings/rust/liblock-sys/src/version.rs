// SPDX-License-Identifier: MIT
//! The version of the header that these declarations were written after: `version.h`.

/// First of the three numbers.
pub const LIBLOCK_VERSION_MAJOR: u32 = 0;
/// Second of the three numbers.
pub const LIBLOCK_VERSION_MINOR: u32 = 1;
/// Third of the three numbers.
pub const LIBLOCK_VERSION_PATCH: u32 = 0;
/// The library's soname ends in it; another one is another library.
pub const LIBLOCK_ABI_VERSION: u32 = 0;
/// major * 1,000,000 + minor * 1,000 + patch
pub const LIBLOCK_VERSION_NUMBER: u32 =
    LIBLOCK_VERSION_MAJOR * 1_000_000 + LIBLOCK_VERSION_MINOR * 1_000 + LIBLOCK_VERSION_PATCH;
