// SPDX-License-Identifier: MIT
//! What every part of the runner stands on: a fault, bytes as scenarios write them, lists of words.

use crate::json::Json;

/// Why a scenario failed: the first cause only, since later ones are mostly its consequences.
#[derive(Default, Debug)]
pub struct Fault(Option<String>);

impl Fault {
    pub fn blame(&mut self, cause: impl Into<String>) {
        self.0.get_or_insert(cause.into());
    }

    pub fn note(&mut self, result: Result<(), String>) {
        if let Err(cause) = result {
            self.blame(cause);
        }
    }

    pub fn is_set(&self) -> bool {
        self.0.is_some()
    }

    pub fn text(&self) -> &str {
        self.0.as_deref().unwrap_or("")
    }
}

/// No step waits longer for what must come: far above any scheduling delay, far below the scenario's alarm.
pub const LIMIT_MS: i64 = 10_000;

/// Is `word` one of the words of `list`, which are separated by single spaces?
pub fn word_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word && !word.is_empty())
}

/// `"text"`, `{"hex": "00ff"}` or `{"repeat": "k", "times": 512}`.
pub fn bytes_read(node: &Json) -> Result<Vec<u8>, String> {
    match node {
        Json::Text(text) => return Ok(text.clone().into_bytes()),
        Json::Object(fields) if fields.len() == 1 => {
            if let Some(hex) = node.text("hex") {
                return read_hex(hex);
            }
        }
        Json::Object(fields) if fields.len() == 2 && node.get("repeat").is_some() => {
            let times = node.int("times").filter(|times| (0..=1_000_000).contains(times));
            return match (node.text("repeat"), times) {
                (Some(unit), Some(times)) => Ok(unit.repeat(times as usize).into_bytes()),
                _ => Err("\"repeat\" takes a string, \"times\" a number of 0 to 1,000,000".to_string()),
            };
        }
        _ => {}
    }
    Err(format!("bytes are \"text\", {{\"hex\": …}} or {{\"repeat\": …, \"times\": …}}, not {}", node))
}

fn read_hex(text: &str) -> Result<Vec<u8>, String> {
    if text.len() % 2 != 0 {
        return Err(format!("\"hex\" needs an even number of digits: {}", text));
    }
    if !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return Err(format!("\"hex\" takes 0-9 and a-f only: {}", text));
    }
    let digits: Vec<u8> =
        text.bytes().map(|byte| if byte <= b'9' { byte - b'0' } else { byte - b'a' + 10 }).collect();
    Ok(digits.chunks(2).map(|pair| pair[0] * 16 + pair[1]).collect())
}

/// Printable ASCII as a string, all else as `{"hex": …}`: equal bytes give equal JSON.
pub fn bytes_write(bytes: &[u8]) -> Json {
    if bytes.iter().all(|byte| (0x20..0x7f).contains(byte)) {
        return Json::Text(String::from_utf8_lossy(bytes).into_owned());
    }
    let hex: String = bytes.iter().map(|byte| format!("{:02x}", byte)).collect();
    Json::Object(vec![("hex".to_string(), Json::Text(hex))])
}
