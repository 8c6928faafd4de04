// SPDX-License-Identifier: MIT
//! A password is planted in urls, lists of servers and options: nothing that this crate makes of it prints it. Where
//! servers take or refuse it: servers.rs.

use liblock::{Context, Status};

mod support;
use support::secrets::Secret;

const UNREADABLE: [&str; 12] = [
    "redis://me:{}@",
    "redis://me:{}@host:0",
    "redis://me:{}%zz@host",
    "redis:/{}@host",
    "redis://:{}@host/notanumber",
    "http://me:{}@host",
    "{}",
    "redis://me:{}@[::1",
    "redis://{} a",
    "quorum:redis://a,redis://me:{}@b c",
    "unix://{}?db=x",
    "redis://me:{}\0@host",
];

#[test]
fn no_error_prints_a_password_that_was_in_a_url_which_cannot_be_read() {
    for form in UNREADABLE {
        let secret = Secret::new();
        for password in [secret.plain(), &secret.encoded()] {
            let url = form.replace("{}", password);
            let listed = Context::builder().servers(&[&url]).observers(&[&url]);
            let refused = [Context::open(&url).unwrap_err(), listed.open_quorum().unwrap_err()];
            for error in refused {
                secret.is_not_in(&[&error, &error.to_string(), &error.outcome(), &error.info()]);
            }
            secret.is_not_in(&[&listed]);
        }
    }
}

#[test]
fn nothing_prints_a_password_whose_server_is_not_there() {
    let secret = Secret::new();
    let builder = Context::builder().connect_timeout_ms(300);
    let in_options = builder.clone().username("locker").password(secret.plain());
    assert_eq!(secret.is_nowhere(&in_options, Some("redis://127.0.0.1:1")), Status::Connect);
    let account = |port: u16, password: &str| format!("redis://locker:{}@127.0.0.1:{}", password, port);
    for password in [secret.plain(), &secret.encoded()] {
        let forms = [account(1, password), format!("redis://{}@127.0.0.1:1", password)];
        for url in forms {
            assert_eq!(secret.is_nowhere(&builder, Some(&url)), Status::Connect);
        }
        let nodes = [account(1, password), account(2, password), account(3, password)];
        let urls: Vec<&str> = nodes.iter().map(String::as_str).collect();
        assert_ne!(secret.is_nowhere(&builder, Some(&format!("quorum:{}", urls.join(",")))), Status::Ok);
        assert_ne!(secret.is_nowhere(&builder.clone().servers(&urls), None), Status::Ok);
    }
}
