// SPDX-License-Identifier: MIT
//! The world of one scenario: the contexts, owners and holds that its steps name, and what must be true of all of them
//! however the scenario goes.
//!
//! Invariants: names are bound and looked up on the runner's main thread only. Each request ends exactly once. Per key,
//! the tokens of grants rise in the order in which the main thread learns of them.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::actors::Actors;
use crate::base::{Fault, LIMIT_MS};
use liblock::{Completions, Context, Lock, Loss, Owner, Request, Status};

pub struct ContextSlot {
    pub name: String,
    pub context: Option<Context>,
    /// Opened with the first request.
    pub completions: Option<Completions>,
    /// Contexts of one space share their keys.
    pub space: String,
    pub instance: String,
    /// Requests whose end has not been read.
    pub pending: usize,
    pub closed: bool,
}

#[derive(Clone)]
pub struct OwnerSlot {
    pub name: String,
    pub owner: Option<Owner>,
    pub identity: String,
}

/// What an acquire made, or may still make.
pub struct Hold {
    pub name: String,
    pub context: String,
    pub request: Option<Request>,
    pub is_pending: bool,
    pub lock: Option<Lock>,
    pub token: u64,
    pub keys: Vec<Vec<u8>>,
    /// A named owner: its grants may be reentries.
    pub owned: bool,
    pub notices_awaited: u32,
}

/// Calls of `on_lost`, by the name of the hold; written by callbacks.
#[derive(Default)]
pub struct Notices {
    counts: Mutex<HashMap<String, u32>>,
    changed: Condvar,
}

impl Notices {
    pub fn tell(&self, name: &str, loss: Loss) {
        // A wrong notice is reported as a wrong count by the step that awaits it, or at the end.
        let wrong = loss.status != Status::Lost || loss.lock.raw() == 0;
        let mut counts = self.counts.lock().expect("nobody panics under this lock");
        *counts.entry(name.to_string()).or_default() += if wrong { 1001 } else { 1 };
        self.changed.notify_all();
    }

    pub fn count(&self, name: &str) -> u32 {
        self.counts.lock().expect("nobody panics under this lock").get(name).copied().unwrap_or(0)
    }

    /// Waits, within the limit, until there are so many.
    pub fn wait(&self, name: &str, wanted: u32) -> u32 {
        let limit = Instant::now() + Duration::from_millis(LIMIT_MS as u64);
        let mut counts = self.counts.lock().expect("nobody panics under this lock");
        loop {
            let count = counts.get(name).copied().unwrap_or(0);
            let left = limit.saturating_duration_since(Instant::now());
            if count >= wanted || left.is_zero() {
                return count;
            }
            counts = self.changed.wait_timeout(counts, left).expect("nobody panics under this lock").0;
        }
    }
}

pub struct World {
    pub url: String,
    /// Makes the names of spaces unique in this process.
    pub number: usize,
    pub fault: Fault,
    pub contexts: Vec<ContextSlot>,
    pub owners: Vec<OwnerSlot>,
    pub holds: Vec<Hold>,
    pub actors: Actors,
    pub notices: Arc<Notices>,
    fences: HashMap<(String, Vec<u8>), u64>,
}

fn taken(name: &str) -> String {
    format!("the name \"{}\" is taken", name)
}

impl World {
    pub fn new(url: &str, number: usize) -> World {
        World {
            url: url.to_string(),
            number,
            fault: Fault::default(),
            contexts: Vec::new(),
            owners: Vec::new(),
            holds: Vec::new(),
            actors: Actors::default(),
            notices: Arc::default(),
            fences: HashMap::new(),
        }
    }

    pub fn context(&mut self, name: &str) -> Option<&mut ContextSlot> {
        self.contexts.iter_mut().find(|slot| slot.name == name)
    }

    pub fn owner(&self, name: &str) -> Option<&OwnerSlot> {
        self.owners.iter().find(|slot| slot.name == name)
    }

    pub fn hold(&mut self, name: &str) -> Option<&mut Hold> {
        self.holds.iter_mut().find(|hold| hold.name == name)
    }

    pub fn owner_identity(&self, name: &str) -> Result<String, String> {
        let slot = self.owner(name).ok_or_else(|| format!("no owner or context is named \"{}\"", name))?;
        Ok(slot.identity.clone())
    }

    pub fn instance(&self, name: &str) -> Result<String, String> {
        let slot = self.contexts.iter().find(|slot| slot.name == name);
        Ok(slot.ok_or_else(|| format!("no owner or context is named \"{}\"", name))?.instance.clone())
    }

    pub fn token_of(&self, name: &str) -> Result<i64, String> {
        let hold = self.holds.iter().find(|hold| hold.name == name && hold.token != 0);
        Ok(hold.ok_or_else(|| format!("no token of \"{}\" is known", name))?.token as i64)
    }

    pub fn add_context(&mut self, name: &str) -> Result<(), String> {
        if self.context(name).is_some() {
            return Err(taken(name));
        }
        self.contexts.push(ContextSlot {
            name: name.to_string(),
            context: None,
            completions: None,
            space: String::new(),
            instance: String::new(),
            pending: 0,
            closed: false,
        });
        Ok(())
    }

    pub fn add_owner(&mut self, name: &str) -> Result<(), String> {
        if self.owner(name).is_some() {
            return Err(taken(name));
        }
        self.owners.push(OwnerSlot { name: name.to_string(), owner: None, identity: String::new() });
        Ok(())
    }

    pub fn add_hold(&mut self, name: &str, context: &str, keys: &[Vec<u8>], owned: bool) -> Result<(), String> {
        if self.hold(name).is_some() {
            return Err(taken(name));
        }
        self.holds.push(Hold {
            name: name.to_string(),
            context: context.to_string(),
            request: None,
            is_pending: false,
            lock: None,
            token: 0,
            keys: keys.to_vec(),
            owned,
            notices_awaited: 0,
        });
        Ok(())
    }

    /// The completion queue of a context, opened when first asked for.
    pub fn completions(&mut self, name: &str) -> Result<Completions, String> {
        let slot = self.context(name).ok_or("no such context")?;
        if let Some(completions) = &slot.completions {
            return Ok(completions.clone());
        }
        let context = slot.context.as_ref().ok_or("no such context")?;
        let completions = context.completions(4096);
        let completions = completions.map_err(|error| format!("completions_open answered {}", error.status()))?;
        slot.completions = Some(completions.clone());
        Ok(completions)
    }

    /// Records a grant and blames the world when its token does not rise. The end of a request does not say whether it
    /// was a reentry, so grants of named owners may also repeat the token.
    pub fn granted(&mut self, name: &str, reentered: bool) {
        let index = match self.holds.iter().position(|hold| hold.name == name) {
            Some(index) => index,
            None => return,
        };
        let hold = &self.holds[index];
        let space = self.contexts.iter().find(|slot| slot.name == hold.context);
        let space = space.map_or_else(String::new, |slot| slot.space.clone());
        let mut keys = hold.keys.clone();
        keys.sort();
        keys.dedup();
        for key in keys {
            let fence = self.fences.entry((space.clone(), key)).or_insert(0);
            let repeats = (reentered || hold.owned) && hold.token == *fence;
            if hold.token > *fence || repeats {
                *fence = hold.token;
                continue;
            }
            let cause = "does not exceed the key's earlier token";
            self.fault.blame(format!("token {} of \"{}\" {} {}", hold.token, name, cause, fence));
        }
    }

    /// Closes everything, then checks what must hold at every end.
    pub fn end(&mut self) {
        if !self.fault.is_set() {
            let none = crate::ends::none(self);
            self.fault.note(none);
        }
        self.close_all();
        let unfinished = self.actors.end_all();
        if let (Some(name), false) = (unfinished, self.fault.is_set()) {
            let cause = "was never finished";
            self.fault.blame(format!("at the end: the background call of thread \"{}\" {}", name, cause));
        }
        if !self.fault.is_set() {
            let closed = crate::ends::closed(self);
            self.fault.note(closed);
        }
        self.owners.clear();
        for slot in &mut self.contexts {
            slot.completions = None;
            slot.context = None;
        }
        if !self.fault.is_set() {
            self.check_notices();
        }
    }

    fn close_all(&mut self) {
        for slot in self.contexts.iter().filter(|slot| !slot.closed) {
            if let Some(Err(error)) = slot.context.as_ref().map(Context::close) {
                self.fault.blame(format!("close of \"{}\" answered {}", slot.name, error.status()));
            }
        }
    }

    fn check_notices(&mut self) {
        for hold in &self.holds {
            let (count, awaited) = (self.notices.count(&hold.name), hold.notices_awaited);
            if count != awaited {
                let told = format!("was called {} times, awaited {} times", count, awaited);
                self.fault.blame(format!("at the end: on_lost of \"{}\" {}", hold.name, told));
            }
        }
    }
}
