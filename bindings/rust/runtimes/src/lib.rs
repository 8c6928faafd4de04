// SPDX-License-Identifier: MIT
//! Nothing: the tests of this crate are what it is for.
