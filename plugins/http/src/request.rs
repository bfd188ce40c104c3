//! Arguments of a request: parameters of its query, or members of its JSON object.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::routes::{Kind, Param};

/// The parameters that were given, checked.
#[derive(Debug, Default)]
pub struct Input(BTreeMap<&'static str, String>);

impl Input {
    /// Checks parameters by name and text.
    pub fn of(takes: &'static [Param], given: &[(&str, &str)]) -> Result<Self, String> {
        let mut all = BTreeMap::new();
        for (name, value) in given {
            let found = takes.iter().find(|p| p.name == *name);
            let param = found.ok_or_else(|| format!("no parameter `{name}'"))?;
            check(param, value)?;
            if all.insert(param.name, (*value).to_owned()).is_some() {
                return Err(format!("`{name}' is given twice"));
            }
        }
        match takes.iter().find(|p| p.required && !all.contains_key(p.name)) {
            Some(param) => Err(format!("missing `{}': {}", param.name, param.about)),
            None => Ok(Self(all)),
        }
    }

    /// Reads the query of a path.
    pub fn query(takes: &'static [Param], query: &str) -> Result<Self, String> {
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let decoded = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, "true"));
            Some((decode(name)?, decode(value)?))
        });
        let decoded: Option<Vec<_>> = decoded.collect();
        let decoded = decoded.ok_or("the query is not form-encoded")?;
        let given: Vec<_> = decoded.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        Self::of(takes, &given)
    }

    /// Reads a JSON object; nothing is an empty one.
    pub fn json(takes: &'static [Param], body: &[u8]) -> Result<Self, String> {
        if body.is_empty() {
            return Self::of(takes, &[]);
        }
        let value = serde_json::from_slice(body).map_err(|e| format!("invalid JSON: {e}"))?;
        let Value::Object(object) = value else { return Err("not a JSON object".to_owned()) };
        let mut all = Vec::new();
        for (name, value) in &object {
            let text = match value {
                Value::Null => continue,
                Value::String(text) => text.clone(),
                Value::Bool(_) | Value::Number(_) => value.to_string(),
                _ => return Err(format!("`{name}' is not a string, number or boolean")),
            };
            all.push((name.as_str(), text));
        }
        let given: Vec<_> = all.iter().map(|(n, v)| (*n, v.as_str())).collect();
        Self::of(takes, &given)
    }

    /// A value as it was given; empty when it was not.
    pub fn word(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// A value, or another.
    pub fn or<'a>(&'a self, name: &str, other: &'a str) -> &'a str {
        self.0.get(name).map_or(other, String::as_str)
    }

    /// A value behind its keyword, with blanks before both; nothing when it was not given.
    pub fn with(&self, name: &str, keyword: &str) -> String {
        self.0.get(name).map_or_else(String::new, |value| format!(" {keyword} {value}"))
    }

    /// Whether a flag is set.
    pub fn is(&self, name: &str) -> bool {
        self.word(name) == "true"
    }
}

fn check(param: &Param, value: &str) -> Result<(), String> {
    let is_clean = !value.chars().any(char::is_control);
    let (fits, wanted) = match param.kind {
        Kind::Word => {
            let is_word = !value.contains(char::is_whitespace) && value != "?";
            (is_clean && is_word && !value.is_empty(), "one word")
        }
        Kind::Line => (is_clean && !value.trim_end().ends_with('?'), "one line"),
        Kind::Text => (true, "text"),
        Kind::Number => {
            let digits = |c: char| c.is_ascii_digit() || c == '.';
            (value.chars().all(digits) && value.parse::<f64>().is_ok(), "a number")
        }
        Kind::Flag => (matches!(value, "true" | "false"), "true or false"),
        Kind::Choice(all) => {
            let text = || format!("`{}' must be one of: {}", param.name, all.join(", "));
            return if all.contains(&value) { Ok(()) } else { Err(text()) };
        }
    };
    if fits { Ok(()) } else { Err(format!("`{}' must be {wanted}", param.name)) }
}

/// Decodes `%41` and `+` of a query.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || (rest.next()? as char).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAKES: &[Param] = &[
        Param { name: "node", kind: Kind::Word, required: true, about: "the node" },
        Param { name: "count", kind: Kind::Number, required: false, about: "" },
        Param { name: "all", kind: Kind::Flag, required: false, about: "" },
        Param { name: "why", kind: Kind::Line, required: false, about: "" },
    ];

    #[test]
    fn queries_and_objects_say_the_same() {
        let query = Input::query(TAKES, "node=a%2Fb&count=5&all&why=for+me").unwrap();
        let json = br#"{"node": "a/b", "count": 5, "all": true, "why": "for me"}"#;
        let json = Input::json(TAKES, json).unwrap();
        for input in [query, json] {
            assert_eq!((input.word("node"), input.is("all")), ("a/b", true));
            assert_eq!(
                (input.with("count", "max"), input.or("why", "")),
                (" max 5".into(), "for me")
            );
            assert_eq!((input.with("x", "max"), input.or("x", "y")), (String::new(), "y"));
        }
    }

    #[test]
    fn a_parameter_is_never_a_second_command() {
        for (query, named) in [
            ("node=a%0Ashow+version", "node"),
            ("node=a+b", "node"),
            ("node=%3F", "node"),
            ("node=", "node"),
            ("node=a&why=x%0Ay", "why"),
            ("node=a&why=x+%3F", "why"),
            ("node=a&count=-1", "count"),
            ("node=a&count=1e9", "count"),
            ("node=a&all=yes", "all"),
            ("node=a&node=b", "node"),
            ("count=1", "node"),
            ("node=a&nosuch=1", "nosuch"),
            ("node=%ff", "form-encoded"),
            ("node=%4", "form-encoded"),
        ] {
            let why = Input::query(TAKES, query).unwrap_err();
            assert!(why.contains(named), "{query}: {why}");
        }
        for body in [&b"{"[..], b"[]", br#"{"node": ["a"]}"#, br#"{"node": "a\nb"}"#] {
            assert!(Input::json(TAKES, body).is_err());
        }
    }
}
