// SPDX-License-Identifier: MIT
//! On a server or a quorum, whose url is in LIBLOCK_TEST_URL. Asked for by name, with `cargo test --test servers --
//! --ignored`; without the url they fail, so that none passes without having run.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use liblock::{AcquireOptions, Context, ContextBuilder, Read, Status, Target};

mod support;
use support::secrets::Secret;
use support::{block_on, block_on_for, wait_until, Random};

fn url() -> String {
    std::env::var("LIBLOCK_TEST_URL").expect("LIBLOCK_TEST_URL has the url of a server or a quorum")
}

fn is_quorum() -> bool {
    url().starts_with("quorum:")
}

/// Keys of its own for each test.
fn builder(test: &str) -> ContextBuilder {
    Context::builder().prefix(format!("rust-{}-{}:", std::process::id(), test))
}

fn open(test: &str) -> Context {
    builder(test).open(&url()).expect("the server's context opens")
}

#[test]
#[ignore = "needs LIBLOCK_TEST_URL"]
fn a_dropped_guard_releases_in_the_background_and_a_second_context_gets_the_key() {
    let (context, other) = (open("dropped"), open("dropped"));
    context.ping().unwrap();
    let guard = context.acquire("key").unwrap();
    assert_eq!(other.try_acquire("key").unwrap_err().status(), Status::Busy);
    let began = Instant::now();
    drop(guard);
    assert!(began.elapsed() < Duration::from_secs(1));
    let next = other.acquire_with("key", &AcquireOptions::new().wait_ms(10_000)).unwrap();
    next.release().unwrap();
}

#[test]
#[ignore = "needs LIBLOCK_TEST_URL"]
fn a_request_that_is_refused_says_why() {
    let context = open("refused");
    let queue = context.completions(8).unwrap();
    let short = AcquireOptions::new().ttl_ms(5);
    let to_queue = short.clone().completions(&queue);
    let refused = [
        block_on(context.acquire_async("key", &short)).map(drop).unwrap_err(),
        context.submit_acquire(Target::Key(b"key"), &to_queue, 0).map(drop).unwrap_err(),
    ];
    for error in refused {
        assert_eq!(error.status(), Status::InvalidArgument);
        assert!(error.message().starts_with("ttl_ms is 5; use 20 to"), "{error}");
    }
    let told = AcquireOptions::new().on_queued(|_, _| {}).completions(&queue);
    let error = context.submit_acquire(Target::Key(b"key"), &told, 0).map(drop).unwrap_err();
    assert!(error.message().starts_with("on_queued tells an acquire"), "{error}");
    let elsewhere = AcquireOptions::new().completions(&queue);
    let error = open("elsewhere").submit_acquire(Target::Key(b"key"), &elsewhere, 0).map(drop).unwrap_err();
    assert!(error.message().contains("was opened on another context"), "{error}");
    let error = block_on(context.acquire_global_async(&AcquireOptions::new())).map(drop).unwrap_err();
    assert_eq!(error.status(), Status::Unsupported);
    assert!(error.message().contains("has no global lock; agree on"), "{error}");
    assert_eq!(context.inspect("key").unwrap_err().status(), Status::NotHeld);
}

#[test]
#[ignore = "needs LIBLOCK_TEST_URL"]
fn a_future_waits_is_granted_verified_extended_and_released() {
    let (context, other) = (open("future"), open("future"));
    let held = other.acquire("key").unwrap();
    let waiting = context.lock_async("key");
    wait_until(|| other.is_queued("key").unwrap());
    held.release().unwrap();
    let guard = block_on(waiting).unwrap();
    block_on(guard.verify_async()).unwrap();
    block_on(guard.extend_async(liblock::Extend::Set(30_000))).unwrap();
    block_on(guard.update_async("value")).unwrap();
    assert_eq!(block_on(context.inspect_async("key")).unwrap().value(), b"value");
    assert_eq!(block_on(context.read_async("key", Read::Quorum)).unwrap().token(), guard.token());
    block_on(guard.release_async()).unwrap();
    block_on(context.close_async()).unwrap();
}

#[test]
#[ignore = "needs LIBLOCK_TEST_URL"]
fn dropping_or_panicking_at_every_point_leaves_no_held_lock_after_the_first_lease() {
    let context = open("random");
    context.ping().unwrap();
    for seed in 1..=60 {
        let mut random = Random::new(seed * 0x9e37_79b9);
        let held = (random.below(3) == 0).then(|| context.acquire("key").unwrap().into_owned());
        let future = context.acquire_async("key", &AcquireOptions::new().ttl_ms(2_000));
        let pause = Duration::from_micros(random.below(1_500));
        let releases = std::thread::spawn(move || drop(held));
        std::thread::sleep(pause);
        let panics = random.below(2) == 0;
        let end = std::panic::AssertUnwindSafe(move || {
            let _owned = future;
            if panics {
                std::panic::resume_unwind(Box::new("at this point of an acquire"));
            }
        });
        assert_eq!(std::panic::catch_unwind(end).is_err(), panics);
        releases.join().unwrap();
    }
    wait_until(|| !context.is_locked("key").unwrap());
    context.acquire_with("key", &AcquireOptions::new().wait_ms(10_000)).unwrap().release().unwrap();
}

#[test]
#[ignore = "needs LIBLOCK_TEST_URL"]
fn lost_is_told_by_the_server_without_a_thread() {
    let context = open("lost");
    let guard = context.acquire("key").unwrap();
    let lost = guard.lost();
    block_on(context.force_release_async("key", false)).unwrap();
    assert_eq!(block_on(lost).unwrap(), Status::Lost);
    assert_eq!(guard.release().unwrap_err().status(), Status::Lost);
}

#[test]
#[ignore = "needs LIBLOCK_TEST_URL"]
fn a_guard_that_is_released_in_a_closure_goes_back_in_the_background() {
    let context = open("closure");
    let (sender, receiver) = std::sync::mpsc::channel();
    let sender = std::sync::Mutex::new(sender);
    let slot = std::sync::Mutex::new(Some(context.acquire("inner").unwrap().into_owned()));
    let options = AcquireOptions::new().on_lost(move |_| {
        let guard = slot.lock().unwrap().take().expect("called once");
        sender.lock().unwrap().send(guard.release().unwrap_err().status()).unwrap();
    });
    let _outer = context.acquire_with("outer", &options).unwrap();
    context.force_release("outer", false).unwrap();
    assert_eq!(receiver.recv_timeout(support::LIMIT).unwrap(), Status::WouldDeadlock);
    context.acquire_with("inner", &AcquireOptions::new().wait_ms(10_000)).unwrap().release().unwrap();
}

#[test]
#[ignore = "needs LIBLOCK_TEST_URL"]
fn a_guard_is_released_also_where_no_further_request_can_be_made() {
    let context = builder("limit").requests_max(1).open(&url()).unwrap();
    let other = open("limit");
    let held = other.acquire("in the way").unwrap();
    let guard = context.acquire("key").unwrap();
    let waiting = context.lock_async("in the way");
    let refused = block_on(context.ping_async()).unwrap_err();
    assert_eq!(refused.status(), Status::Limit);
    drop(guard);
    other.acquire_with("key", &AcquireOptions::new().wait_ms(10_000)).unwrap().release().unwrap();
    let guard = context.acquire("key").unwrap();
    assert_eq!(block_on(guard.release_async()).unwrap_err().status(), Status::Limit);
    other.acquire_with("key", &AcquireOptions::new().wait_ms(10_000)).unwrap().release().unwrap();
    drop(waiting);
    drop(held);
}

#[test]
#[ignore = "needs LIBLOCK_TEST_URL"]
fn waits_for_keys_end_with_what_others_do() {
    let (context, other) = (open("waits"), open("waits"));
    let held = context.wait_held_async("key", 10_000);
    let on = context.wait_held_on_async("key", None, 10_000);
    let guard = other.acquire("key").unwrap();
    block_on(held).unwrap();
    // A node of a quorum may be asked before all of them were brought to one token.
    assert!(block_on(on).unwrap().map_or(true, |info| info.token() <= guard.token()));
    let mut released = context.wait_released_async("key", 10_000);
    assert!(block_on_for(&mut released, Duration::from_millis(50)).is_none());
    guard.release().unwrap();
    // Where it had not looked by then.
    assert!(block_on(released).map_or_else(|error| error.status() == Status::NotHeld, |()| true));
}

#[test]
#[ignore = "needs LIBLOCK_TEST_URL"]
fn an_exported_lock_goes_on_where_it_is_adopted() {
    let (context, other) = (open("export"), open("export"));
    let options = AcquireOptions::new().ttl_ms(10_000).value("v");
    let mut guard = context.acquire_with("key", &options).unwrap();
    let token = guard.token();
    let exported = guard.export().unwrap();
    assert!(!guard.is_held());
    drop(guard);
    let adopted = other.adopt(&exported, &AcquireOptions::new().ttl_ms(10_000)).unwrap();
    assert_eq!((adopted.token(), adopted.is_held()), (token, true));
    adopted.release().unwrap();
    assert_eq!(other.adopt(&exported, &AcquireOptions::new()).unwrap_err().status(), Status::Lost);
}

#[test]
#[ignore = "needs LIBLOCK_TEST_URL"]
fn a_quorum_tells_of_its_nodes_and_one_server_has_none() {
    let context = open("nodes");
    context.ping().unwrap();
    if !is_quorum() {
        assert_eq!(context.quorum_status().unwrap_err().status(), Status::Unsupported);
        assert!(context.instances(false).is_ok());
        return;
    }
    let status = context.quorum_status().unwrap();
    assert_eq!(status.nodes.len(), status.node_count as usize);
    assert!(status.up >= status.votes && !status.cluster_id.is_empty());
    let node = status.nodes[0].address.clone();
    let guard = context.acquire("key").unwrap();
    let info = context.wait_held_on("key", Some(&node), 10_000).unwrap().expect("the node knows of the lock");
    assert_eq!(info.token(), guard.token());
    assert_eq!(context.read("key", Read::Master).unwrap().token(), guard.token());
    assert_eq!(context.quorum_init(false).unwrap_err().status(), Status::NodesMismatch);
}

#[test]
#[ignore = "needs LIBLOCK_TEST_URL"]
fn a_server_that_is_not_there_is_told_as_connect() {
    let context = Context::builder().connect_timeout_ms(200).open("redis://127.0.0.1:1").unwrap();
    assert_eq!(context.ping().unwrap_err().status(), Status::Connect);
    assert_eq!(block_on(context.ping_async()).unwrap_err().status(), Status::Connect);
    let options = AcquireOptions::new().wait_ms(300);
    assert!(context.acquire_with("key", &options).is_err());
}

fn servers() -> Vec<String> {
    url().trim_start_matches("quorum:").split(',').map(str::to_string).collect()
}

/// Says to each server what no lock needs.
fn tell_servers(command: &str) {
    for url in servers() {
        let place = url.trim_start_matches("redis://").split('/').next().unwrap_or_default().to_string();
        let mut server = TcpStream::connect(&place).expect("a server with a port");
        server.write_all(format!("{}\r\n", command).as_bytes()).unwrap();
        let mut answer = [0; 1];
        server.read_exact(&mut answer).unwrap();
        assert!(answer == *b"+" || answer == *b":", "{}", command);
    }
}

#[test]
#[ignore = "needs LIBLOCK_TEST_URL"]
fn nothing_prints_a_password_that_servers_take_or_refuse() {
    let secret = Secret::new();
    let as_user = |user: &str, password: &str| url().replace("://", &format!("://{}:{}@", user, password));
    tell_servers(&format!("ACL SETUSER locker on >{} ~* &* +@all", secret.plain()));
    let builder = builder("secrets");
    for password in [secret.plain(), &secret.encoded()] {
        let known = as_user("locker", password);
        assert_eq!(secret.is_nowhere(&builder, Some(&known)), Status::Ok);
        let unknown = as_user("somebody", password);
        if is_quorum() {
            let urls: Vec<&str> = known.trim_start_matches("quorum:").split(',').collect();
            assert_eq!(secret.is_nowhere(&builder.clone().servers(&urls), None), Status::Ok);
            let error = builder.open(&unknown).unwrap_err();
            assert_eq!(error.status(), Status::Auth);
            secret.is_not_in(&[&error, &error.to_string(), &error.outcome()]);
        } else {
            assert_eq!(secret.is_nowhere(&builder, Some(&unknown)), Status::Auth);
        }
    }
    let in_options = builder.username("locker").password(secret.plain());
    assert_eq!(secret.is_nowhere(&in_options, Some(&url())), Status::Ok);
    tell_servers("ACL DELUSER locker");
}
