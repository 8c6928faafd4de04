// SPDX-License-Identifier: MIT
//! The conformance runner for Rust: reads scenarios, runs those that hold for the backend of --url through the crate
//! `liblock`, prints TAP.
//!
//! ```text
//! conformance [--url URL] [--filter TEXT] [--list] [--selftest] [--census "total=60 order=20"] FILE…
//! ```
//!
//! Ends with 0 when all passed, 1 when one failed or none ran, 2 when it could not run.

mod actors;
mod base;
mod call;
mod check;
mod ends;
mod expect;
mod json;
mod options;
mod suite;
mod verbs;
mod verbs_admin;
mod verbs_drive;
mod verbs_lock;
mod verbs_look;
mod world;

use suite::{Alarm, Outcome, Scenario};

const USAGE: &str = "usage: conformance [--url URL] [--filter TEXT] [--list] [--selftest] [--census CLAIMS] FILE...";

/// Causes that this runner words otherwise than that for C, which the self-tests quote: theirs, ours.
const CAUSES: [(&str, &str); 1] = [("duplicate object key", "duplicate field")];

struct Arguments {
    url: String,
    filter: String,
    census: Option<String>,
    list: bool,
    selftest: bool,
    files: Vec<String>,
}

fn arguments() -> Option<Arguments> {
    let mut words = std::env::args().skip(1).peekable();
    let (mut url, mut filter) = ("local:".to_string(), String::new());
    let (mut census, mut list, mut selftest) = (None, false, false);
    while let Some(word) = words.next_if(|word| word.starts_with("--")) {
        match word.as_str() {
            "--list" => list = true,
            "--selftest" => selftest = true,
            "--url" => url = words.next()?,
            "--filter" => filter = words.next()?,
            "--census" => census = Some(words.next()?),
            _ => return None,
        }
    }
    let files: Vec<String> = words.collect();
    (!files.is_empty()).then_some(Arguments { url, filter, census, list, selftest, files })
}

fn kind_of(url: &str) -> &'static str {
    match url.split(':').next() {
        Some("local") => "local",
        Some("quorum") => "quorum",
        _ => "redis",
    }
}

fn print_cause(scenario: &Scenario, outcome: &Outcome) {
    if outcome.step == 0 {
        println!("# {}: before the first step", scenario.file);
    } else {
        let steps = scenario.node.get("steps").map_or(0, |steps| steps.items().len());
        println!("# {}: step {} of {}: {}", scenario.file, outcome.step, steps, outcome.doing);
    }
    println!("# {}", outcome.fault.text().replace('\n', "\n# "));
}

/// A self-test scenario passes when the runner fails it, at the step and for the reason that it names.
fn bites(scenario: &Scenario, outcome: &Outcome) -> bool {
    let must_fail = scenario.must_fail.as_ref();
    let step = must_fail.and_then(|must_fail| must_fail.int("step"));
    let because = must_fail.and_then(|must_fail| must_fail.text("because"));
    let (step, because) = match (step, because) {
        (Some(step), Some(because)) => (step, because),
        _ => {
            println!("# must_fail needs a step and a because");
            return false;
        }
    };
    if !outcome.fault.is_set() {
        println!("# passed, but must fail: {}", because);
        return false;
    }
    let text = outcome.fault.text();
    let ours = CAUSES.iter().any(|(theirs, ours)| because.contains(theirs) && text.contains(ours));
    if i64::try_from(outcome.step) == Ok(step) && (text.contains(because) || ours) {
        return true;
    }
    println!("# must fail at step {} because of \"{}\", but:", step, because);
    print_cause(scenario, outcome);
    false
}

fn run_all(suite: &[Scenario], arguments: &Arguments) -> i32 {
    let kind = kind_of(&arguments.url);
    let alarm = Alarm::new();
    let (mut planned, mut failed, mut elsewhere) = (0, 0, 0);
    for scenario in suite.iter().filter(|scenario| scenario.name.contains(&arguments.filter)) {
        if !scenario.holds(kind) {
            elsewhere += 1;
            continue;
        }
        planned += 1;
        if arguments.list {
            println!("{} ({})", scenario.name, scenario.file);
            continue;
        }
        let outcome = suite::run(scenario, &arguments.url, planned, &alarm);
        let passed = if arguments.selftest { bites(scenario, &outcome) } else { !outcome.fault.is_set() };
        println!("{} {} - {}", if passed { "ok" } else { "not ok" }, planned, scenario.name);
        if !passed && !arguments.selftest {
            print_cause(scenario, &outcome);
        }
        failed += usize::from(!passed);
    }
    if arguments.list {
        return 0;
    }
    println!("1..{}", planned);
    let passed = planned - failed;
    println!("# {} passed, {} failed, on {}; {} hold on other contexts only", passed, failed, kind, elsewhere);
    i32::from(failed > 0 || planned == 0)
}

/// "order=20": at least so many scenarios carry the tag, "total" counts all. Tags were verified by scenario_check.
fn census(suite: &[Scenario], claims: &str, kind: &str) -> i32 {
    let (mut number, mut failed) = (0, 0);
    let mut understood = true;
    for claim in claims.split_whitespace() {
        let parts = claim.split_once('=').and_then(|(tag, wanted)| Some((tag, wanted.parse::<usize>().ok()?)));
        let (tag, wanted) = match parts {
            Some(parts) => parts,
            None => {
                understood = false;
                break;
            }
        };
        let holding = suite.iter().filter(|scenario| scenario.malformed.is_none() && scenario.holds(kind));
        let found = holding.filter(|scenario| tag == "total" || check::is_tagged(&scenario.node, tag)).count();
        number += 1;
        let met = found >= wanted;
        failed += usize::from(!met);
        let verdict = if met { "ok" } else { "not ok" };
        println!("{} {} - {}: {} scenarios of at least {}", verdict, number, tag, found, wanted);
    }
    println!("1..{}", number);
    if !understood {
        println!("# not understood: {}", claims);
    }
    i32::from(failed > 0 || number == 0 || !understood)
}

fn main() {
    let arguments = match arguments() {
        Some(arguments) => arguments,
        None => {
            eprintln!("{}", USAGE);
            std::process::exit(2);
        }
    };
    let mut suite = Vec::new();
    for file in &arguments.files {
        suite::load(&mut suite, file, arguments.selftest);
    }
    std::process::exit(match &arguments.census {
        Some(claims) => census(&suite, claims, kind_of(&arguments.url)),
        None => run_all(&suite, &arguments),
    });
}
