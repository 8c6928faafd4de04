// SPDX-License-Identifier: MIT
//! Enumerators of the library as enums. The library may be newer than this crate, so that every enum can also be a
//! number that has no name here, and none may be matched exhaustively.

macro_rules! numbers {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $number:path,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $variant,)*
            /// A number that this version of the crate has no name for.
            Unknown(i32),
        }

        impl $name {
            /// The number that the C API has for it.
            pub fn raw(self) -> i32 {
                match self {
                    $($name::$variant => $number,)*
                    $name::Unknown(number) => number,
                }
            }

            /// The variant of a number of the C API.
            pub fn from_raw(number: i32) -> Self {
                match number {
                    $($number => $name::$variant,)*
                    other => $name::Unknown(other),
                }
            }
        }
    };
}

pub(crate) use numbers;
