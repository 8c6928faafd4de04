// SPDX-License-Identifier: MIT
//! Files of scenarios, and running one of them.
//!
//! Invariants: one scenario's world is gone before the next begins; a scenario that hangs ends the whole run after
//! 30 s, naming the step, since what it left behind could spoil all later ones.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::base::{word_in, Fault};
use crate::call::Call;
use crate::check::scenario_check;
use crate::json::{parse, Json};
use crate::verbs::Perform;
use crate::world::World;

const SCHEMA: i64 = 1;
const SCENARIO_LIMIT: Duration = Duration::from_secs(30);

pub struct Scenario {
    /// Without folders.
    pub file: String,
    /// Of the scenario, or of its file where the file cannot be read.
    pub name: String,
    pub node: Json,
    pub must_fail: Option<Json>,
    pub malformed: Option<String>,
}

impl Scenario {
    /// Does it hold in contexts of this kind: `local`, `redis` or `quorum`? One that is malformed fails everywhere.
    pub fn holds(&self, kind: &str) -> bool {
        let contexts = self.node.get("contexts").map_or(&[][..], Json::items);
        self.malformed.is_some() || contexts.iter().any(|context| context.as_text() == Some(kind))
    }
}

#[derive(Default)]
pub struct Outcome {
    pub fault: Fault,
    /// 1-based; 0 = before the first step; one more than there are = at the end.
    pub step: usize,
    pub doing: String,
}

fn head_read(root: &Json, selftest: bool) -> Result<(), String> {
    for (name, _) in root.fields() {
        let is_known = word_in("schema about scenarios", name) || (selftest && name == "must_fail");
        if !is_known {
            return Err(format!("unknown field \"{}\" of a file", name));
        }
    }
    if root.int("schema") != Some(SCHEMA) {
        return Err(format!("this runner reads schema {} only", SCHEMA));
    }
    if root.text("about").is_none() {
        return Err("\"about\" says what the file is for".to_string());
    }
    if root.get("scenarios").map_or(true, |list| list.items().is_empty()) {
        return Err("the file has no scenarios".to_string());
    }
    Ok(())
}

/// A file that cannot be read becomes one malformed scenario, so that it fails loudly.
pub fn load(suite: &mut Vec<Scenario>, path: &str, selftest: bool) {
    let file = path.rsplit('/').next().unwrap_or(path).to_string();
    let root = std::fs::read_to_string(path).map_err(|cause| cause.to_string()).and_then(|text| parse(&text));
    let (root, mut fault) = match root {
        Ok(root) => (root, None),
        Err(cause) => (Json::Null, Some(cause)),
    };
    if fault.is_none() {
        fault = head_read(&root, selftest).err();
    }
    if fault.is_some() {
        let must_fail = root.get("must_fail").cloned();
        suite.push(Scenario { name: file.clone(), file, node: Json::Null, must_fail, malformed: fault });
        return;
    }
    for node in root.get("scenarios").map_or(&[][..], Json::items) {
        let name = node.text("name").unwrap_or("(no name)").to_string();
        let taken = suite.iter().find(|other| other.name == name);
        let taken = taken.map(|other| format!("the name is taken by {}", other.file));
        let malformed = scenario_check(node, selftest).err().or(taken);
        let must_fail = node.get("must_fail").cloned();
        suite.push(Scenario { file: file.clone(), name, node: node.clone(), must_fail, malformed });
    }
}

/// Ends the process when nobody moves it forward for too long.
#[derive(Clone)]
pub struct Alarm(Arc<Mutex<(Option<Instant>, String)>>);

impl Alarm {
    pub fn new() -> Alarm {
        let alarm = Alarm(Arc::default());
        let watched = alarm.clone();
        std::thread::spawn(move || loop {
            std::thread::sleep(Duration::from_millis(200));
            let state = watched.0.lock().expect("nobody panics under this lock");
            if state.0.map_or(false, |limit| Instant::now() > limit) {
                println!("Bail out! {}", state.1);
                std::process::exit(2);
            }
        });
        alarm
    }

    fn watch(&self, name: &str, step: usize) {
        let mut state = self.0.lock().expect("nobody panics under this lock");
        *state = (Some(Instant::now() + SCENARIO_LIMIT), format!("{} hangs at step {}", name, step));
    }

    fn off(&self) {
        self.0.lock().expect("nobody panics under this lock").0 = None;
    }
}

fn run_step(world: &mut World, step: &Json, number: usize) {
    let mut call = match Call::prepare(world, step, number) {
        Ok(call) => call,
        Err(cause) => return world.fault.blame(cause),
    };
    match (step.text("thread"), call.verb.perform) {
        (Some(thread), _) => match world.actors.run(thread, call) {
            Ok(Some(over)) => over.settle(world),
            Ok(None) => {}
            Err(cause) => world.fault.blame(cause),
        },
        (None, Perform::Call(_)) => {
            call.perform();
            call.settle(world);
        }
        (None, Perform::World(perform)) => {
            perform(world, &mut call);
            call.settle(world);
        }
    }
}

/// `"context": null` opens nothing; anything else opens the context "c" as an `open` step would.
fn open_first(world: &mut World, scenario: &Json) {
    let options = scenario.get("context");
    if options == Some(&Json::Null) {
        return;
    }
    let mut fields = vec![("do".to_string(), Json::from("open")), ("as".to_string(), Json::from("c"))];
    if let Some(options) = options {
        fields.push(("options".to_string(), options.clone()));
    }
    run_step(world, &Json::Object(fields), 0);
}

pub fn run(scenario: &Scenario, url: &str, number: usize, alarm: &Alarm) -> Outcome {
    let mut outcome = Outcome::default();
    if let Some(cause) = &scenario.malformed {
        outcome.fault.blame(cause);
        return outcome;
    }
    let steps = scenario.node.get("steps").map_or(&[][..], Json::items);
    let mut world = World::new(url, number);
    alarm.watch(&scenario.name, 0);
    open_first(&mut world, &scenario.node);
    while !world.fault.is_set() && outcome.step < steps.len() {
        let step = &steps[outcome.step];
        outcome.step += 1;
        alarm.watch(&scenario.name, outcome.step);
        outcome.doing = step.to_string();
        run_step(&mut world, step, outcome.step);
    }
    let failed = world.fault.is_set();
    alarm.watch(&scenario.name, steps.len() + 1);
    world.end();
    outcome.fault = std::mem::take(&mut world.fault);
    if outcome.fault.is_set() && !failed {
        outcome.step = steps.len() + 1;
        outcome.doing = "(the end)".to_string();
    }
    drop(world);
    alarm.off();
    outcome
}
