// SPDX-License-Identifier: MIT
//! Named threads. Each performs one call at a time and is otherwise parked, so that the order in which the steps of all
//! threads run is the order in which they are written. A call belongs to the thread from being sent to coming back.

use std::sync::mpsc::{channel, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::base::LIMIT_MS;
use crate::call::Call;

struct Actor {
    name: String,
    calls: Sender<Box<Call>>,
    over: Receiver<Box<Call>>,
    is_busy: bool,
    thread: JoinHandle<()>,
}

#[derive(Default)]
pub struct Actors(Vec<Actor>);

fn begin(name: &str) -> Result<Actor, String> {
    let (calls, inbox) = channel::<Box<Call>>();
    let (outbox, over) = channel();
    let work = move || {
        for mut call in inbox {
            call.perform();
            if outbox.send(call).is_err() {
                return;
            }
        }
    };
    let thread = std::thread::Builder::new().spawn(work).map_err(|_| "no thread could be started")?;
    Ok(Actor { name: name.to_string(), calls, over, is_busy: false, thread })
}

impl Actor {
    fn wait(&mut self) -> Option<Box<Call>> {
        let call = self.over.recv_timeout(Duration::from_millis(LIMIT_MS as u64)).ok()?;
        self.is_busy = false;
        Some(call)
    }

    fn still_busy(&self) -> String {
        format!("thread \"{}\" still has a call: finish it first", self.name)
    }

    /// The thread leaves at once when parked; one that is inside a call leaves after it.
    fn join(self) {
        drop(self.calls);
        drop(self.over);
        drop(self.thread.join());
    }
}

impl Actors {
    fn find(&mut self, name: &str) -> Option<&mut Actor> {
        self.0.iter_mut().find(|actor| actor.name == name)
    }

    /// Runs the call on the named thread, which begins with its first call. Answers the call when it is over, nothing
    /// when it goes on in the background.
    pub fn run(&mut self, name: &str, call: Box<Call>) -> Result<Option<Box<Call>>, String> {
        if self.find(name).is_none() {
            self.0.push(begin(name)?);
        }
        let actor = self.find(name).ok_or("no thread")?;
        if actor.is_busy {
            return Err(actor.still_busy());
        }
        let in_background = call.step.flag("background");
        actor.is_busy = true;
        actor.calls.send(call).map_err(|_| format!("thread \"{}\" is gone", name))?;
        if in_background {
            return Ok(None);
        }
        actor.wait().map(Some).ok_or_else(|| format!("the call on thread \"{}\" did not end", name))
    }

    /// Waits until the thread's background call is over.
    pub fn finish(&mut self, name: &str) -> Result<Box<Call>, String> {
        let call = self.find(name).filter(|actor| actor.is_busy).and_then(Actor::wait);
        call.ok_or_else(|| format!("thread \"{}\" has no call, or its call did not end", name))
    }

    /// Ends the thread and joins it.
    pub fn end(&mut self, name: &str) -> Result<(), String> {
        let at = self.0.iter().position(|actor| actor.name == name);
        let at = at.ok_or_else(|| format!("no thread is named \"{}\"", name))?;
        if self.0[at].is_busy {
            return Err(self.0[at].still_busy());
        }
        self.0.remove(at).join();
        Ok(())
    }

    /// Joins all; answers one whose background call nobody finished.
    pub fn end_all(&mut self) -> Option<String> {
        let unfinished = self.0.iter().find(|actor| actor.is_busy).map(|actor| actor.name.clone());
        self.0.drain(..).for_each(Actor::join);
        unfinished
    }
}
