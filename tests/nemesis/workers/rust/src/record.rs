// SPDX-License-Identifier: MIT
//! What the worker writes down, and the resource: see tests/integration/client_record.c.

use std::fs::{File, OpenOptions};
use std::io::{Result, Write};
use std::os::raw::{c_int, c_long};
use std::os::unix::fs::FileExt;
use std::os::unix::io::AsRawFd;
use std::path::Path;

#[repr(C)]
struct Timespec {
    seconds: c_long,
    nanoseconds: c_long,
}

extern "C" {
    fn clock_gettime(clock: c_int, now: *mut Timespec) -> c_int;
    fn flock(file: c_int, operation: c_int) -> c_int;
}

const CLOCK_MONOTONIC: c_int = 1;
const LOCK_EX: c_int = 2;
const LOCK_UN: c_int = 8;
const IDLE: i64 = 0;
const ASKING: i64 = 1;
const HOLDING: i64 = 2;
const RELEASING: i64 = 3;

/// The clock that all processes share.
pub fn now_ns() -> i64 {
    let mut now = Timespec { seconds: 0, nanoseconds: 0 };
    assert_eq!(unsafe { clock_gettime(CLOCK_MONOTONIC, &mut now) }, 0);
    now.seconds * 1_000_000_000 + now.nanoseconds
}

/// Words of eight bytes, as they stand in the files.
fn bytes<const N: usize>(words: &[i64; N]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[derive(Default)]
struct Moment {
    state: i64,
    key: i64,
    token: i64,
    asked: i64,
    from: i64,
    until: i64,
}

pub struct Record {
    name: String,
    moment: Moment,
    now: File,
    log: File,
    resource: File,
}

impl Record {
    pub fn open(directory: &Path, name: &str) -> Result<Record> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true);
        let record = Record {
            name: name.to_string(),
            moment: Moment::default(),
            now: options.open(directory.join(format!("{}.now", name)))?,
            log: OpenOptions::new().append(true).create(true).open(directory.join(format!("{}.log", name)))?,
            resource: OpenOptions::new().read(true).write(true).open(directory.join("resource"))?,
        };
        record.write()?;
        Ok(record)
    }

    fn write(&self) -> Result<()> {
        let m = &self.moment;
        self.now.write_all_at(&bytes(&[m.state, m.key, m.token, m.asked, m.from, m.until]), 0)
    }

    pub fn asking(&mut self, key: u64) -> Result<()> {
        self.moment = Moment { state: ASKING, key: key as i64, asked: now_ns(), ..Moment::default() };
        self.write()
    }

    pub fn holding(&mut self, token: u64) -> Result<()> {
        self.moment.state = HOLDING;
        self.moment.token = token as i64;
        self.moment.from = now_ns();
        self.write()
    }

    pub fn until(&mut self, ns: i64) -> Result<()> {
        self.moment.until = ns;
        self.write()
    }

    pub fn releasing(&mut self) -> Result<()> {
        self.moment.state = RELEASING;
        self.write()
    }

    pub fn ended(&mut self, status: i32) -> Result<()> {
        let ended = now_ns();
        self.moment.state = IDLE;
        self.write()?;
        let m = &self.moment;
        let line = if m.from > 0 && m.until > m.from {
            let times = format!("{} {} {} {}", m.asked, m.from, m.until, ended);
            format!("hold k{} {} {} {} {}\n", m.key, self.name, m.token, times, status)
        } else {
            format!("call k{} {} {} {} {} {}\n", m.key, self.name, m.token, m.asked, ended, status)
        };
        self.log.write_all(line.as_bytes())
    }

    /// Reads, or writes the value that is given. The second is false where it is refused: a larger token was here.
    pub fn visit(&self, key: u64, token: u64, value: Option<i64>) -> Result<(i64, bool)> {
        let file = self.resource.as_raw_fd();
        while unsafe { flock(file, LOCK_EX) } != 0 {}
        let visited = self.visit_alone(key, token as i64, value);
        unsafe { flock(file, LOCK_UN) };
        visited
    }

    fn visit_alone(&self, key: u64, token: i64, value: Option<i64>) -> Result<(i64, bool)> {
        let mut raw = [0u8; 32];
        self.resource.read_exact_at(&mut raw, key * 32)?;
        let mut place = [0i64; 4]; // token, value, written, refused
        for (word, bytes) in place.iter_mut().zip(raw.chunks(8)) {
            *word = i64::from_le_bytes(bytes.try_into().unwrap());
        }
        let is_allowed = token >= place[0];
        if is_allowed {
            place[0] = token;
        } else {
            place[3] += 1;
        }
        if let (true, Some(value)) = (is_allowed, value) {
            place[1] = value;
            place[2] += 1;
        }
        self.resource.write_all_at(&bytes(&place), key * 32)?;
        Ok((place[1], is_allowed))
    }
}
