// SPDX-License-Identifier: MIT
//! What must not compile, as the tests of the documentation try: promises that the compiler keeps.
//!
//! A guard does not outlive the context that it borrows:
//! ```compile_fail,E0597
//! let guard;
//! {
//!     let context = liblock::Context::open("local:").unwrap();
//!     guard = context.acquire("key").unwrap();
//! }
//! drop(guard);
//! ```
//!
//! What a closure is shown of a list is gone when it returns:
//! ```compile_fail,E0521
//! let context = liblock::Context::open("local:").unwrap();
//! let mut kept = Vec::new();
//! let _ = context.list_each(liblock::List::Locks, None, |info| {
//!     kept.push(info.key());
//!     std::ops::ControlFlow::Continue(())
//! });
//! ```
//!
//! So is what it is told by an event:
//! ```compile_fail,E0521
//! let context = liblock::Context::open("local:").unwrap();
//! let kept = std::sync::Mutex::new(Vec::new());
//! let _ = context.on_event(liblock::ALL_EVENTS, move |event| kept.lock().unwrap().push(event.key()));
//! ```
//!
//! Closures run on a thread of the library, and own what they use:
//! ```compile_fail,E0277
//! let count = std::rc::Rc::new(0);
//! let _ = liblock::AcquireOptions::new().on_lost(move |_| println!("{}", count));
//! ```
//! ```compile_fail,E0373
//! let context = liblock::Context::open("local:").unwrap();
//! let name = String::from("mine");
//! let _ = context.on_event(liblock::ALL_EVENTS, |_| println!("{}", name));
//! ```
//!
//! A listing belongs to one thread at a time:
//! ```compile_fail,E0277
//! fn shared<T: Sync>(_: &T) {}
//! shared(&liblock::Context::open("local:").unwrap().list_locks().unwrap());
//! ```
//!
//! A guard that was released is no more:
//! ```compile_fail,E0382
//! let context = liblock::Context::open("local:").unwrap();
//! let guard = context.acquire("key").unwrap();
//! guard.release().unwrap();
//! guard.is_held();
//! ```
//!
//! And what should compile does, so that none of the above fails for a reason of its own:
//! ```
//! fn sent<T: Send>(_: &T) {}
//! fn shared<T: Sync>(_: &T) {}
//! let context = liblock::Context::open("local:").unwrap();
//! let guard = context.acquire("key").unwrap();
//! sent(&context.list_locks().unwrap());
//! sent(&context.lock_async("other"));
//! sent(&guard);
//! shared(&guard);
//! shared(&context.inspect("key").unwrap());
//! let name = String::from("mine");
//! context.on_event(liblock::ALL_EVENTS, move |_| println!("{}", name)).unwrap();
//! let mut kept = Vec::new();
//! let _ = context.list_each(liblock::List::Locks, None, |info| {
//!     kept.push(info.key().to_vec());
//!     std::ops::ControlFlow::Continue(())
//! });
//! assert!(kept.contains(&b"key".to_vec()));
//! ```
