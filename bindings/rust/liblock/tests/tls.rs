// SPDX-License-Identifier: MIT
//! A server behind TLS that wants to know its clients: its url is in LIBLOCK_TEST_TLS, the files in LIBLOCK_TEST_CA,
//! LIBLOCK_TEST_CERTIFICATE and LIBLOCK_TEST_KEY. Asked for by name, as servers.rs.

use liblock::{Context, ContextBuilder, Status};

mod support;
use support::{block_on, wait_until};

fn given(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{} is set by tests/support/with_tls.py", name))
}

fn known() -> ContextBuilder {
    Context::builder()
        .tls_certificate_file(&given("LIBLOCK_TEST_CERTIFICATE"))
        .tls_key_file(&given("LIBLOCK_TEST_KEY"))
}

#[test]
#[ignore = "needs LIBLOCK_TEST_TLS"]
fn locks_go_through_tls_where_both_sides_are_trusted() {
    let (url, ca) = (given("LIBLOCK_TEST_TLS"), given("LIBLOCK_TEST_CA"));
    let trusting = known().tls_ca_file(&ca);
    let refused = [
        ("unknown", known()),
        ("another name", trusting.clone().tls_server_name("example.org")),
        ("nobody", Context::builder().tls_ca_file(&ca)),
    ];
    for (who, options) in refused {
        let context = options.open(&url).unwrap();
        assert!(context.ping().is_err(), "{} was trusted", who);
        assert!(block_on(context.lock_async("key")).is_err(), "{} was granted a lock", who);
    }
    let missing = format!("{}.not", ca);
    let error = Context::builder().tls_ca_file(&missing).open(&url).unwrap_err();
    assert!(error.status() == Status::InvalidArgument && error.message().contains(&missing), "{}", error);
    let one = trusting.clone().open(&url).unwrap();
    let two = trusting.tls_server_name("localhost").open(&url.replace("localhost", "127.0.0.1")).unwrap();
    let any = known().tls_insecure(true).open(&url).unwrap();
    let held = one.acquire("key").unwrap();
    assert_eq!(any.try_acquire("key").unwrap_err().status(), Status::Busy);
    let waiting = two.lock_async("key");
    wait_until(|| one.is_queued("key").unwrap());
    let token = held.token();
    held.release().unwrap();
    let next = block_on(waiting).unwrap();
    assert!(next.token() > token);
    next.release().unwrap();
}
