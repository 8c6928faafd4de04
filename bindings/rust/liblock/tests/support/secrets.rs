// SPDX-License-Identifier: MIT
//! A password that is planted, and the search for it in all that `{:?}` and `{}` have to say of what a context gives.

use std::collections::hash_map::RandomState;
use std::fmt::Debug;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Arc, Mutex};

use liblock::{AcquireOptions, Clear, Context, ContextBuilder, LogLevel, Measured, Read, Status, Target, ALL_EVENTS};

use super::block_on;

/// Of letters and digits, told apart by chance from all else.
pub struct Secret(String);

impl Secret {
    pub fn new() -> Secret {
        let random = || RandomState::new().build_hasher().finish();
        Secret(format!("S3cr{:016x}{:016x}", random(), random()))
    }

    pub fn plain(&self) -> &str {
        &self.0
    }

    /// The same for a url, every character of it.
    pub fn encoded(&self) -> String {
        self.0.bytes().map(|byte| format!("%{:02X}", byte)).collect()
    }

    /// What a text and its bytes look like where they are printed.
    fn disguises(&self) -> Vec<String> {
        let bytes = format!("{:?}", self.0.as_bytes());
        let hex = self.0.bytes().map(|byte| format!("{:02x}", byte)).collect();
        let (head, tail) = (self.0[..12].to_string(), self.0[self.0.len() - 12..].to_string());
        let listed = bytes.trim_matches(|c| c == '[' || c == ']').to_string();
        vec![self.0.clone(), self.encoded(), self.encoded().to_lowercase(), hex, listed, head, tail]
    }

    pub fn is_not_in(&self, things: &[&dyn Debug]) {
        for thing in things {
            let text = format!("{:?} {:#?}", thing, thing);
            let found = self.disguises().into_iter().find(|disguise| text.contains(disguise.as_str()));
            assert!(found.is_none(), "the password is printed: {}", text);
        }
    }

    /// Does with a context what can be done with one, and looks through all that it gets to see. Answers how the ping
    /// ended.
    pub fn is_nowhere(&self, builder: &ContextBuilder, url: Option<&str>) -> Status {
        let (context, opened) = builder.open_told(url).unwrap();
        let told = listen(&context);
        let pinged = context.ping();
        self.is_not_in(&[builder, &context, &opened, &pinged]);
        assert_eq!(self.is_granted_a_lock(&context), pinged.is_ok(), "{:?}", pinged);
        self.is_not_in_what_others_show(&context);
        context.close().unwrap();
        self.is_not_in(&[&context, &context.ping()]);
        let told = told.lock().unwrap();
        assert!(!told.is_empty(), "neither an event nor the log was told");
        for text in &*told {
            self.is_not_in(&[text]);
        }
        pinged.map_or_else(|error| error.status(), |_| Status::Ok)
    }

    fn is_granted_a_lock(&self, context: &Context) -> bool {
        let options = AcquireOptions::new().ttl_ms(1_000).wait_ms(1_000).busy_info(true);
        let guard = context.acquire_with("a", &options);
        self.is_not_in(&[&guard, &block_on(context.acquire_async("b", &options))]);
        if let Ok(guard) = &guard {
            let info = context.inspect_queue("a");
            let waiters = info.as_ref().map(|info| info.waiters().collect::<Vec<_>>());
            let busy = context.acquire_with("a", &options.clone().wait_ms(1)).unwrap_err();
            self.is_not_in(&[&guard.verify(), &waiters, &busy.outcome(), &busy.info(), &busy]);
        }
        let owner = context.owner("o").unwrap();
        let queue = context.completions(4).unwrap();
        let request = context.submit_acquire(Target::Key(b"c"), &options.completions(&queue), 0);
        self.is_not_in(&[&owner, &queue, &request]);
        if request.is_ok() {
            self.is_not_in(&[&queue.next(10_000)]);
        }
        let node = format!("redis://me:{}@127.0.0.1:1", self.0);
        let elsewhere = AcquireOptions::new().nodes(&[&node]);
        self.is_not_in(&[&context.try_acquire_with("d", &elsewhere), &context.wait_held_on("a", Some(&node), 1)]);
        guard.and_then(|guard| guard.release()).is_ok()
    }

    fn is_not_in_what_others_show(&self, context: &Context) {
        let listed = context.list_locks().map(|cursor| (format!("{:?}", cursor), cursor.collect::<Vec<_>>()));
        let unreadable = format!("redis://me:{}@host:0", self.0);
        self.is_not_in(&[
            &listed,
            &context.stats(),
            &context.prometheus(),
            &context.histogram(Measured::Acquire),
            &context.instance_id(),
            &context.instances(false),
            &context.zombies_status(),
            &context.read("a", Read::Nearest),
            &context.quorum_status(),
            &context.quorum_set_nodes(&[&unreadable], &[], 0),
            &block_on(context.quorum_set_nodes_async(&[&unreadable], &[], 0)),
            &context.clear(Clear::All, None),
        ]);
    }
}

/// What events and the log have to say, from now on.
fn listen(context: &Context) -> Arc<Mutex<Vec<String>>> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let (of_log, of_events) = (told.clone(), told.clone());
    let write = move |text: String, to: &Mutex<Vec<String>>| to.lock().unwrap().push(text);
    let logged = move |entry: &liblock::LogEntry<'_>| {
        let fields: Vec<_> = entry.fields().collect();
        write(format!("{:?} {} {:?}", entry, entry.message(), fields), &of_log);
    };
    let heard = move |event: &liblock::Event<'_>| {
        let words = [event.message(), event.owner(), event.instance(), event.node()];
        write(format!("{:?} {:?} {:?}", event, words, event.keys()), &of_events);
    };
    context.on_log(LogLevel::Debug, logged).unwrap();
    context.on_event(ALL_EVENTS, heard).unwrap();
    told
}
