// SPDX-License-Identifier: MIT
//! Guards, handles, owners and errors, in a local context.

use std::time::Duration;

use liblock::{AcquireOptions, Context, Extend, Guard, OnConflict, Status, Target, TTL_NONE};

mod support;
use support::wait_until;

fn open() -> Context {
    Context::open("local:").expect("a local context opens")
}

fn is_send_and_sync<T: Send + Sync>() {}
fn is_send<T: Send>() {}

#[test]
fn contexts_owners_and_options_are_shared_by_threads_and_guards_and_futures_are_sent() {
    is_send_and_sync::<Context>();
    is_send_and_sync::<liblock::Owner>();
    is_send_and_sync::<AcquireOptions>();
    is_send_and_sync::<liblock::ContextBuilder>();
    is_send_and_sync::<liblock::Completions>();
    is_send::<Guard<'static>>();
    is_send::<liblock::Op<Guard<'static>>>();
    is_send_and_sync::<liblock::Info>();
    is_send_and_sync::<liblock::Error>();
    is_send::<liblock::Cursor>();
    is_send_and_sync::<liblock::Status>();
}

#[test]
fn a_held_key_is_busy_for_others_until_its_guard_is_dropped() {
    let context = open();
    let guard = context.acquire("key").unwrap();
    assert_eq!(context.try_acquire("key").unwrap_err().status(), Status::Busy);
    drop(guard);
    assert!(context.try_acquire("key").is_ok());
}

#[test]
fn tokens_rise_with_every_grant_of_a_key() {
    let context = open();
    let first = context.acquire("key").unwrap().token();
    let second = context.acquire("key").unwrap().token();
    assert!(0 < first && first < second);
}

#[test]
fn a_release_tells_that_the_lock_was_taken_away_before() {
    let context = open();
    let guard = context.acquire("key").unwrap();
    assert!(guard.is_held());
    let outcome = context.force_release("key", false).unwrap();
    assert!(outcome.had_lock() && !outcome.had_queue());
    assert!(!guard.is_held());
    let error = guard.release().unwrap_err();
    assert_eq!(error.status(), Status::Lost);
    assert!(error.status().is_lost_lock());
    assert!(error.to_string().starts_with("LOST: "), "{}", error);
}

#[test]
fn a_handle_that_was_released_is_not_held_and_does_no_harm() {
    let context = open();
    let (lock, outcome) = context.acquire_lock(Target::Key(b"key"), None).unwrap();
    assert_eq!(context.fencing_token(lock).unwrap(), outcome.token);
    context.release(lock).unwrap();
    let _other = context.acquire("key").unwrap();
    assert_eq!(context.release(lock).unwrap_err().status(), Status::NotHeld);
    assert!(context.is_locked("key").unwrap());
}

#[test]
fn a_handle_becomes_a_guard_and_a_guard_a_handle() {
    let context = open();
    let lock = context.acquire("key").unwrap().into_lock();
    assert!(context.is_locked("key").unwrap());
    let guard = context.guard(lock).unwrap();
    assert_eq!(guard.lock(), lock);
    drop(guard);
    assert!(!context.is_locked("key").unwrap());
    assert_eq!(context.guard(lock).unwrap_err().status(), Status::NotHeld);
}

#[test]
fn a_guard_that_owns_its_context_outlives_the_callers() {
    let guard = open().acquire("key").unwrap().into_owned();
    let handle = std::thread::spawn(move || {
        assert!(guard.is_held());
        guard.release().unwrap();
    });
    handle.join().unwrap();
}

#[test]
fn a_panic_releases_what_the_panicking_code_held() {
    let context = open();
    let panics = || {
        let _guard = context.acquire("key").unwrap();
        panic!("under the lock");
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
    assert!(!context.is_locked("key").unwrap());
}

#[test]
fn the_lease_is_told_and_set_and_added_to() {
    let context = open();
    let guard = context.acquire_with("key", &AcquireOptions::new().ttl_ms(60_000)).unwrap();
    let told = guard.remaining().unwrap().unwrap();
    assert!(told <= Duration::from_millis(60_000) && told > Duration::from_millis(30_000), "{:?}", told);
    guard.extend(Extend::Add(60_000)).unwrap();
    assert!(guard.remaining().unwrap().unwrap() > Duration::from_millis(80_000));
    guard.extend(Extend::Set(TTL_NONE)).unwrap();
    assert_eq!(guard.remaining().unwrap(), None);
    guard.verify().unwrap();
}

#[test]
fn a_lease_that_ends_is_a_lost_lock_and_the_key_is_free() {
    let context = open();
    let guard = context.acquire_with("key", &AcquireOptions::new().ttl_ms(20)).unwrap();
    assert_eq!(guard.wait_lost(10_000).unwrap(), Status::Lost);
    assert!(context.try_acquire("key").is_ok());
    assert_eq!(guard.release().unwrap_err().status(), Status::Lost);
}

#[test]
fn a_value_and_metadata_are_what_inspecting_shows() {
    let context = open();
    let options = AcquireOptions::new().value(b"v\x00w").metadata("m", "1").metadata("n", [255_u8]);
    let guard = context.acquire_with(b"a\x00b", &options).unwrap();
    let info = context.inspect(b"a\x00b").unwrap();
    assert_eq!((info.key(), info.value(), info.token()), (&b"a\x00b"[..], &b"v\x00w"[..], guard.token()));
    assert_eq!(info.metadata(), [(&b"m"[..], &b"1"[..]), (&b"n"[..], &[255_u8][..])]);
    assert_eq!(info.instance().unwrap(), context.instance_id().unwrap());
    guard.update("new").unwrap();
    assert_eq!(context.inspect(b"a\x00b").unwrap().value(), b"new");
}

#[test]
fn whoever_knows_the_value_extends_updates_and_releases_by_it() {
    let context = open();
    let _guard = context.acquire_with("key", &AcquireOptions::new().value("secret").ttl_ms(60_000)).unwrap();
    let wrong = context.release_key("key", "guess").unwrap_err();
    assert_eq!(wrong.status(), Status::NotOwner);
    context.extend_key("key", "secret", Extend::Set(90_000)).unwrap();
    context.update_key("key", "secret", "other").unwrap();
    context.release_key("key", "other").unwrap();
    assert!(!context.is_locked("key").unwrap());
}

#[test]
fn several_keys_are_one_lock_and_the_global_lock_excludes_all() {
    let context = open();
    let options = AcquireOptions::new();
    let many = context.acquire_many(&["a", "b", "a"], &options).unwrap();
    assert!(context.is_locked("a").unwrap() && context.is_locked("b").unwrap());
    let once = AcquireOptions::new().wait_ms(0);
    assert_eq!(context.acquire_global(&once).unwrap_err().status(), Status::Busy);
    many.release().unwrap();
    let global = context.acquire_global(&once).unwrap();
    assert_eq!(context.try_acquire("c").unwrap_err().status(), Status::Busy);
    drop(global);
}

#[test]
fn an_owner_reenters_and_releases_by_key() {
    let context = open();
    let owner = context.owner("importer").unwrap();
    assert!(owner.id().unwrap().ends_with("/importer"));
    let options = AcquireOptions::new().owner(&owner);
    let first = context.acquire_with("key", &options).unwrap();
    let second = context.acquire_with("key", &options).unwrap();
    assert_eq!((first.token(), second.hold_count().unwrap()), (second.token(), 2));
    let fails = AcquireOptions::new().owner(&owner).on_conflict(OnConflict::Fail);
    assert_eq!(context.acquire_with("key", &fails).unwrap_err().status(), Status::AlreadyHeld);
    owner.release_keys(&["key"]).unwrap();
    owner.release_keys(&["key"]).unwrap();
    assert_eq!(owner.release_keys(&["key"]).unwrap_err().status(), Status::NotHeld);
    assert!(!first.is_held() && !second.is_held());
}

#[test]
fn a_thread_that_exits_gives_back_what_it_held_as_an_owner() {
    let context = open();
    let theirs = context.clone();
    let work = move || {
        let options = AcquireOptions::new().owner_thread();
        theirs.acquire_with("key", &options).unwrap().into_lock();
    };
    std::thread::spawn(work).join().unwrap();
    wait_until(|| !context.is_locked("key").unwrap());
}

#[test]
fn an_error_says_who_is_in_the_way_where_that_is_asked_for() {
    let context = open();
    let owner = context.owner("holder").unwrap();
    let _guard = context.acquire_with("key", &AcquireOptions::new().owner(&owner)).unwrap();
    let options = AcquireOptions::new().wait_ms(0).busy_info(true);
    let error = context.acquire_with("key", &options).unwrap_err();
    assert_eq!(error.info().unwrap().owner(), Some(owner.id().unwrap()));
    assert_eq!(error.outcome().unwrap().token, 0);
    assert!(!error.message().is_empty());
}

#[test]
fn an_option_or_a_text_that_is_out_of_range_is_an_invalid_argument() {
    let context = open();
    let options = AcquireOptions::new().ttl_ms(-7);
    assert_eq!(context.acquire_with("key", &options).unwrap_err().status(), Status::InvalidArgument);
    assert_eq!(context.acquire("").unwrap_err().status(), Status::InvalidArgument);
    assert_eq!(Context::open("local:a\0b").unwrap_err().status(), Status::InvalidArgument);
    let nodes = AcquireOptions::new().nodes(&["a\0b"]);
    assert_eq!(context.acquire_with("key", &nodes).unwrap_err().status(), Status::InvalidArgument);
    let builder = Context::builder().username("a\0b");
    assert_eq!(builder.open("local:").unwrap_err().status(), Status::InvalidArgument);
}

#[test]
fn a_context_that_was_closed_answers_closed_to_all_its_clones() {
    let context = open();
    let clone = context.clone();
    context.close().unwrap();
    context.close().unwrap();
    assert_eq!(clone.acquire("key").unwrap_err().status(), Status::Closed);
    assert_eq!(clone.ping().unwrap_err().status(), Status::Closed);
}

#[test]
fn statuses_have_the_names_and_predicates_of_the_library() {
    assert_eq!(Status::RetriesExhausted.name(), "RETRIES_EXHAUSTED");
    assert_eq!(Status::from_raw(Status::InDoubt.raw()), Status::InDoubt);
    assert!(Status::InDoubt.is_maybe_held() && Status::InDoubt.is_retryable());
    assert!(!Status::Ok.is_retryable());
    assert_eq!((Status::from_raw(9_999), Status::from_raw(9_999).name()), (Status::Unknown(9_999), "UNKNOWN"));
}
