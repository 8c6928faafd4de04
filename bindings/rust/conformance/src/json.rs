// SPDX-License-Identifier: MIT
//! JSON as scenarios are written in: fields keep their order, and one that is repeated is refused, as one of the two
//! would be ignored.

use std::fmt;

/// A value. Scenarios have no numbers with a fraction: they are refused.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Int(i64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(fields) => fields.iter().find(|field| field.0 == name).map(|field| &field.1),
            _ => None,
        }
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Json::as_text)
    }

    pub fn int(&self, name: &str) -> Option<i64> {
        self.get(name).and_then(Json::as_int)
    }

    pub fn flag(&self, name: &str) -> bool {
        self.get(name) == Some(&Json::Bool(true))
    }

    pub fn as_text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_int(&self) -> Option<i64> {
        match self {
            Json::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// Items of a list; none of anything else.
    pub fn items(&self) -> &[Json] {
        match self {
            Json::List(items) => items,
            _ => &[],
        }
    }

    /// Fields of an object; none of anything else.
    pub fn fields(&self) -> &[(String, Json)] {
        match self {
            Json::Object(fields) => fields,
            _ => &[],
        }
    }

    pub fn set(&mut self, name: &str, value: Json) {
        if let Json::Object(fields) = self {
            fields.retain(|field| field.0 != name);
            fields.push((name.to_string(), value));
        }
    }

    pub fn is_object(&self) -> bool {
        matches!(self, Json::Object(_))
    }

    pub fn is_list(&self) -> bool {
        matches!(self, Json::List(_))
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::Text(text.to_string())
    }
}

/// One line, as causes show it.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(truth) => write!(f, "{}", truth),
            Json::Int(number) => write!(f, "{}", number),
            Json::Text(text) => write!(f, "{:?}", text),
            Json::List(items) => {
                let items: Vec<String> = items.iter().map(Json::to_string).collect();
                write!(f, "[{}]", items.join(","))
            }
            Json::Object(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(name, value)| format!("{:?}:{}", name, value)).collect();
                write!(f, "{{{}}}", fields.join(","))
            }
        }
    }
}

/// Reads a whole file; a cause names the line.
pub fn parse(text: &str) -> Result<Json, String> {
    let mut reader = Reader { text: text.as_bytes(), at: 0 };
    let read = reader.value(0).and_then(|value| {
        reader.skip();
        let over = reader.at == reader.text.len();
        over.then_some(value).ok_or_else(|| "something after the end".to_string())
    });
    read.map_err(|cause| format!("line {}: {}", reader.line(), cause))
}

const DEPTH_MAX: usize = 64;

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn line(&self) -> usize {
        1 + self.text[..self.at.min(self.text.len())].iter().filter(|byte| **byte == b'\n').count()
    }

    fn skip(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        self.skip();
        let found = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn need(&mut self, byte: u8) -> Result<(), String> {
        self.take(byte).then_some(()).ok_or_else(|| format!("expected '{}'", byte as char))
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > DEPTH_MAX {
            return Err("too deep".to_string());
        }
        self.skip();
        match self.text.get(self.at) {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.string().map(Json::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, String> {
        self.need(b'{')?;
        let mut fields: Vec<(String, Json)> = Vec::new();
        if self.take(b'}') {
            return Ok(Json::Object(fields));
        }
        loop {
            self.skip();
            let name = self.string()?;
            if fields.iter().any(|field| field.0 == name) {
                return Err(format!("duplicate field \"{}\"", name));
            }
            self.need(b':')?;
            fields.push((name, self.value(depth + 1)?));
            if !self.take(b',') {
                self.need(b'}')?;
                return Ok(Json::Object(fields));
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Json, String> {
        self.need(b'[')?;
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if !self.take(b',') {
                self.need(b']')?;
                return Ok(Json::List(items));
            }
        }
    }

    fn number(&mut self) -> Result<Json, String> {
        let begin = self.at;
        while matches!(self.text.get(self.at), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
            self.at += 1;
        }
        let text = String::from_utf8_lossy(&self.text[begin..self.at]);
        text.parse().map(Json::Int).map_err(|_| format!("not a whole number of 64 bits: {}", text))
    }

    fn word(&mut self) -> Result<Json, String> {
        for (word, value) in [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))] {
            if self.text[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err("expected a value".to_string())
    }

    fn string(&mut self) -> Result<String, String> {
        if self.text.get(self.at) != Some(&b'"') {
            return Err("expected a string".to_string());
        }
        self.at += 1;
        let mut bytes = Vec::new();
        loop {
            let byte = *self.text.get(self.at).ok_or("a string has no end")?;
            self.at += 1;
            match byte {
                b'"' => return String::from_utf8(bytes).map_err(|_| "not UTF-8".to_string()),
                b'\\' => bytes.extend(self.escape()?.to_string().bytes()),
                0..=0x1f => return Err("a control character in a string".to_string()),
                byte => bytes.push(byte),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let byte = *self.text.get(self.at).ok_or("a string has no end")?;
        self.at += 1;
        Ok(match byte {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'"' | b'\\' | b'/' => byte as char,
            b'u' => {
                let high = self.unit()?;
                let code = if (0xd800..0xdc00).contains(&high) {
                    let escaped = self.text.get(self.at..self.at + 2) == Some(b"\\u");
                    self.at += 2;
                    let low = if escaped { self.unit()? } else { 0 };
                    0x10000 + ((high - 0xd800) << 10) + low.checked_sub(0xdc00).ok_or("half a character")?
                } else {
                    high
                };
                char::from_u32(code).ok_or("no character")?
            }
            _ => return Err("an unknown escape".to_string()),
        })
    }

    fn unit(&mut self) -> Result<u32, String> {
        let digits = self.text.get(self.at..self.at + 4).ok_or("a string has no end")?;
        self.at += 4;
        let text = std::str::from_utf8(digits).map_err(|_| "not hexadecimal")?;
        u32::from_str_radix(text, 16).map_err(|_| "not hexadecimal".to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_field_is_refused_wherever_it_stands() {
        let cause = parse("{\"a\": [{\"b\": 1,\n \"b\": 1}]}").unwrap_err();
        assert_eq!(cause, "line 2: duplicate field \"b\"");
    }

    #[test]
    fn what_stands_after_the_end_is_refused() {
        assert!(parse("{} {}").unwrap_err().contains("after the end"));
        assert!(parse("[1,]").is_err());
        assert!(parse("").is_err());
    }

    #[test]
    fn numbers_with_a_fraction_or_of_more_than_64_bits_are_refused() {
        assert!(parse("1.5").is_err());
        assert!(parse("9223372036854775808").is_err());
        assert_eq!(parse("-9223372036854775808"), Ok(Json::Int(i64::MIN)));
    }

    #[test]
    fn escapes_stand_for_their_characters() {
        assert_eq!(parse(r#""\u00e4\ud83d\ude00\n\\""#), Ok(Json::Text("ä😀\n\\".to_string())));
        assert!(parse(r#""\ud83d""#).is_err());
    }

    #[test]
    fn fields_are_shown_in_the_order_in_which_they_were_written() {
        let text = r#"{"z":[1,true,null],"a":"b"}"#;
        assert_eq!(parse(text).unwrap().to_string(), text);
    }
}
