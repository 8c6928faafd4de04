// SPDX-License-Identifier: MIT
//! One step on its way: prepare (main thread: resolve names, decode values), perform (any thread: the call, what it
//! answered written down as JSON), settle (main thread: bind what was made, check, compare).
//!
//! Invariant: a call that is performed on a named thread touches nothing but itself.

use crate::base::{bytes_read, word_in, Fault, LIMIT_MS};
use crate::expect::expect_match;
use crate::json::Json;
use crate::options::{acquire_options, ttl_read, Notice};
use crate::verbs::{find, Perform, Verb};
use crate::world::World;
use liblock::{AcquireOptions, Context, Error, Lock, Outcome, Owner, Request, Status};

/// Who performs a step for whom.
#[derive(Clone, Default)]
pub enum Who {
    #[default]
    Nobody,
    Thread,
    Named(Owner),
}

pub struct Call {
    pub verb: &'static Verb,
    pub step: Json,
    pub number: usize,
    pub context_name: String,
    pub context: Option<Context>,
    pub owner: Who,
    /// Of an owner with a name of its own.
    pub owner_identity: Option<String>,
    pub instance: Option<String>,
    /// The lock or request that the step names.
    pub lock: Option<Lock>,
    pub request: Option<Request>,
    /// What `as` names in acquires.
    pub made: Option<String>,
    pub keys: Vec<Vec<u8>>,
    pub value: Vec<u8>,
    pub number_ms: i64,
    pub options: Option<AcquireOptions>,
    pub fault: Fault,
    pub got: Json,
    pub status: Status,
    pub reentered: bool,
    pub granted: Option<(Lock, u64)>,
    /// What `owner_id` on a thread found out.
    pub identity: Option<String>,
}

/// Verbs that do not speak of one context.
const AT_LARGE: &str = "open sleep finish end_thread idle await_notice";

impl Call {
    pub fn prepare(world: &mut World, step: &Json, number: usize) -> Result<Box<Call>, String> {
        let verb = find(step.text("do").unwrap_or("")).ok_or("unknown verb")?;
        let mut call = Box::new(Call {
            verb,
            step: step.clone(),
            number,
            context_name: step.text("context").unwrap_or("c").to_string(),
            context: None,
            owner: Who::Nobody,
            owner_identity: None,
            instance: None,
            lock: None,
            request: None,
            made: None,
            keys: Vec::new(),
            value: Vec::new(),
            number_ms: LIMIT_MS,
            options: None,
            fault: Fault::default(),
            got: Json::Object(Vec::new()),
            status: Status::Ok,
            reentered: false,
            granted: None,
            identity: None,
        });
        call.resolve_context(world)?;
        call.resolve_owner(world)?;
        call.resolve_hold(world)?;
        call.read_values()?;
        call.prepare_names(world)?;
        Ok(call)
    }

    fn resolve_context(&mut self, world: &mut World) -> Result<(), String> {
        self.context = world.context(&self.context_name).and_then(|slot| slot.context.clone());
        if self.context.is_none() && !word_in(AT_LARGE, self.verb.name) {
            return Err(format!("no open context is named \"{}\"", self.context_name));
        }
        if let Some(name) = self.step.text("instance") {
            let slot = world.context(name).ok_or_else(|| format!("no context is named \"{}\"", name))?;
            self.instance = Some(slot.instance.clone());
        }
        Ok(())
    }

    fn resolve_owner(&mut self, world: &World) -> Result<(), String> {
        match self.step.text("owner") {
            None => {}
            Some("THREAD") => self.owner = Who::Thread,
            Some(name) => {
                let slot = world.owner(name).ok_or_else(|| format!("no owner is named \"{}\"", name))?;
                self.owner_identity = Some(slot.identity.clone());
                self.owner = slot.owner.clone().map_or(Who::Nobody, Who::Named);
            }
        }
        Ok(())
    }

    fn resolve_hold(&mut self, world: &mut World) -> Result<(), String> {
        let (lock, request) = (self.step.text("lock"), self.step.text("request"));
        let name = match lock.or(request) {
            Some(name) => name,
            None => return Ok(()),
        };
        let hold = world.hold(name).ok_or_else(|| format!("nothing is named \"{}\"", name))?;
        if lock.is_some() && hold.lock.is_none() {
            return Err(format!("\"{}\" never was granted", name));
        }
        if request.is_some() && hold.request.is_none() {
            return Err(format!("\"{}\" is no request", name));
        }
        self.lock = hold.lock;
        self.request = hold.request;
        Ok(())
    }

    fn read_values(&mut self) -> Result<(), String> {
        if let Some(key) = self.step.get("key") {
            self.keys = vec![bytes_read(key)?];
        } else if let Some(keys) = self.step.get("keys") {
            self.keys = keys.items().iter().map(bytes_read).collect::<Result<_, _>>()?;
        }
        if let Some(value) = self.step.get("value").or_else(|| self.step.get("prefix")) {
            self.value = bytes_read(value)?;
        }
        if let Some(ttl) = self.step.get("ttl_ms") {
            self.number_ms = ttl_read(ttl)?;
        } else if let Some(wait) = self.step.int("wait_ms").or_else(|| self.step.int("ms")) {
            self.number_ms = wait;
        }
        Ok(())
    }

    fn prepare_names(&mut self, world: &mut World) -> Result<(), String> {
        let name = self.step.text("as").map(str::to_string);
        match (self.verb.name, name) {
            ("open", Some(name)) => world.add_context(&name),
            ("owner_open" | "owner_id", Some(name)) => world.add_owner(&name),
            ("acquire" | "try_acquire" | "acquire_async", name) => {
                self.prepare_acquire(world, name.unwrap_or_else(|| format!("#{}", self.number)))
            }
            _ => Ok(()),
        }
    }

    fn prepare_acquire(&mut self, world: &mut World, name: String) -> Result<(), String> {
        let owned = !matches!(self.owner, Who::Nobody);
        world.add_hold(&name, &self.context_name, &self.keys, owned)?;
        self.made = Some(name.clone());
        let is_async = self.verb.name == "acquire_async";
        let node = self.step.get("options");
        // Options are passed only where the scenario needs some, so that all others make the call without.
        if node.is_none() && !owned && !is_async {
            return Ok(());
        }
        let (mut options, notice) = acquire_options(node)?;
        options = match &self.owner {
            Who::Nobody => options,
            Who::Thread => options.owner_thread(),
            Who::Named(owner) => options.owner(owner),
        };
        if is_async || notice == Notice::Completions {
            options = options.completions(&world.completions(&self.context_name)?);
        }
        if notice == Notice::Callback {
            let notices = world.notices.clone();
            options = options.on_lost(move |loss| notices.tell(&name, loss));
        }
        self.options = Some(options);
        Ok(())
    }

    /// The context that preparing has found.
    pub fn context(&self) -> Context {
        self.context.clone().expect("a verb that needs a context is not performed without one")
    }

    pub fn key(&self) -> &[u8] {
        self.keys.first().map_or(&[], Vec::as_slice)
    }

    pub fn keys(&self) -> Vec<&[u8]> {
        self.keys.iter().map(Vec::as_slice).collect()
    }

    /// The lock that preparing has found.
    pub fn lock(&self) -> Lock {
        self.lock.expect("a verb that needs a lock is not performed without one")
    }

    /// On a named thread; verbs that drive the world never come here.
    pub fn perform(&mut self) {
        if let Perform::Call(perform) = self.verb.perform {
            perform(self);
        }
        // The thread's hold on the context ends with the call, not with the scenario.
        self.context = None;
        self.options = None;
        self.owner = Who::Nobody;
    }

    pub fn tell(&mut self, name: &str, value: Json) {
        self.got.set(name, value);
    }

    pub fn tell_int(&mut self, name: &str, value: impl TryInto<i64>) {
        self.tell(name, Json::Int(value.try_into().unwrap_or(i64::MIN)));
    }

    pub fn tell_status(&mut self, status: Status) {
        self.status = status;
        self.tell("status", Json::from(status.name()));
    }

    /// Writes down how a call without a result ended.
    pub fn tell_end<T>(&mut self, ended: &Result<T, Error>) {
        self.tell_status(ended.as_ref().map_or_else(Error::status, |_| Status::Ok));
    }

    /// Writes a result down, and checks what holds for every result.
    pub fn tell_result(&mut self, ended: Result<&Outcome, &Error>) {
        let status = ended.map_or_else(Error::status, |_| Status::Ok);
        self.tell_status(status);
        let outcome = match ended {
            Ok(outcome) => outcome,
            Err(error) => match error.outcome() {
                Some(outcome) => outcome,
                None => return self.fault.blame(format!("{} without a result: {}", status, error)),
            },
        };
        self.check_result(status, outcome);
        self.tell_int("token", outcome.token as i64);
        self.tell_int("attempts", outcome.attempts);
        self.tell_int("waited_ms", outcome.waited_ms);
        self.tell_int("remaining_ms", outcome.remaining_ms);
        self.tell_int("queue_position", outcome.queue_position);
        self.tell_int("queue_length", outcome.queue_length);
        self.tell_int("hold_count", outcome.hold_count);
        self.tell_int("votes", outcome.votes);
        self.tell_int("nodes", outcome.nodes);
        self.tell("flags", flags_write(outcome));
        self.reentered = outcome.is_reentered();
    }

    fn check_result(&mut self, status: Status, outcome: &Outcome) {
        if outcome.status != status {
            self.fault.blame(format!("returned {}, but the result says {}", status, outcome.status));
        }
        if outcome.message.is_none() != (status == Status::Ok) {
            self.fault.blame(format!("status {} with the message {:?}", status, outcome.message));
        }
        let known = outcome.is_reentered() as u32
            | (outcome.has_waited() as u32) << 1
            | (outcome.took_over() as u32) << 2
            | (outcome.had_lock() as u32) << 4
            | (outcome.had_queue() as u32) << 5;
        if outcome.flags != known {
            self.fault.blame(format!("unknown result flags {:#x}", outcome.flags));
        }
        if outcome.waited_ms < 0 {
            self.fault.blame(format!("waited_ms is {}", outcome.waited_ms));
        }
    }

    pub fn settle(mut self: Box<Self>, world: &mut World) {
        if let (Some(name), Some((lock, token))) = (&self.made, self.granted) {
            if let Some(hold) = world.hold(name) {
                hold.lock = Some(lock);
                hold.token = token;
            }
            if !self.fault.is_set() {
                world.granted(name, self.reentered);
            }
        }
        if let (Some(identity), Some(name)) = (self.identity.take(), self.step.text("as")) {
            if let Some(slot) = world.owners.iter_mut().find(|slot| slot.name == name) {
                slot.identity = identity;
            }
        }
        if !self.fault.is_set() && !world.fault.is_set() {
            let nothing = Json::Object(Vec::new());
            let matched = expect_match(world, self.step.get("expect").unwrap_or(&nothing), &self.got);
            self.fault.note(matched);
        }
        if self.fault.is_set() {
            world.fault.blame(self.fault.text());
        }
    }
}

fn flags_write(outcome: &Outcome) -> Json {
    let flags = [
        (outcome.is_reentered(), "REENTERED"),
        (outcome.has_waited(), "WAITED"),
        (outcome.took_over(), "TOOK_OVER"),
        (outcome.had_lock(), "HAD_LOCK"),
        (outcome.had_queue(), "HAD_QUEUE"),
    ];
    Json::List(flags.iter().filter(|flag| flag.0).map(|flag| Json::from(flag.1)).collect())
}
