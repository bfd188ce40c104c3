//! Desired state: the records of a router below the fleet's prefix, as lines of a configuration.
//!
//! Nothing counts before `routers/R/desired` says so: it has a revision, and what belongs to it is
//! what the store had when that key was written.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::signature::PublicKey;

/// Bytes of a section at most.
pub const MOST_SECTION: usize = 1 << 20;
/// Bytes of all sections of a router at most.
pub const MOST_BYTES: usize = 16 << 20;
/// Lines of a router at most.
pub const MOST_LINES: usize = 200_000;
/// Sections of a router or a set at most.
pub const MOST_SECTIONS: usize = 1000;
/// Sets of a router at most.
pub const MOST_SETS: usize = 64;
/// Bytes of a line at most, with its variables.
const MOST_LINE: usize = 64 << 10;

/// A value of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its bytes.
    pub value: Vec<u8>,
    /// Revision of the store at which it was written.
    pub modified: u64,
}

/// Values by key below the fleet's prefix.
pub type Records = BTreeMap<String, Record>;

/// The value of `desired`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Revision of the router's state, which only grows.
    pub revision: u64,
    /// The author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Minutes in which the router has to reach the store afterwards, or the change is undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<f64>,
    /// Whether it holds even if its revision is no higher than the one before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Hash of the sections that belong to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Signature of name, revision and digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// A line of a configuration, and its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Section, such as `10-base`, or `sets/edge/20-acl`.
    pub section: String,
    /// Number of the line there, from 1.
    pub number: usize,
    /// The command.
    pub text: String,
}

/// A state that a router is to have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// Revision.
    pub revision: u64,
    /// Minutes to confirm it.
    pub confirm: Option<f64>,
    /// Whether a lower revision is meant.
    pub force: bool,
    /// Hash of its sections.
    pub digest: String,
    /// Its lines, each once.
    pub lines: Vec<Line>,
}

/// Reason why a desired state is invalid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Section that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Line of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The reason.
    pub text: String,
}

impl Refusal {
    /// Creates a refusal of the whole state.
    pub fn new(text: impl Into<String>) -> Self {
        Self { section: None, line: None, text: text.into() }
    }

    fn of(section: &str, text: impl Into<String>) -> Self {
        Self { section: Some(section.to_owned()), line: None, text: text.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.section.iter().try_for_each(|section| write!(f, "{section}:"))?;
        self.line.iter().try_for_each(|line| write!(f, "{line}:"))?;
        let blank = if self.section.is_some() { " " } else { "" };
        write!(f, "{blank}{}", self.text)
    }
}

/// The value of `routers/NAME/desired`; `None` if there is none.
///
/// # Errors
/// It is no such value.
pub fn order(name: &str, records: &Records) -> Result<Option<(Order, u64)>, Refusal> {
    let Some(record) = records.get(&format!("routers/{name}/desired")) else { return Ok(None) };
    let order = serde_json::from_slice::<Order>(&record.value);
    let order = order.map_err(|e| Refusal::of("desired", format!("is invalid: {e}")))?;
    let is_time = |minutes: f64| minutes.is_finite() && minutes > 0.0 && minutes <= 1440.0;
    if order.confirm.is_some_and(|minutes| !is_time(minutes)) {
        return Err(Refusal::of("desired", "`confirm' must be more than 0, at most 1440 minutes"));
    }
    Ok(Some((order, record.modified)))
}

/// The names of the sets that a router uses.
///
/// # Errors
/// The value is no list of names.
pub fn sets(name: &str, records: &Records) -> Result<Vec<String>, Refusal> {
    let Some(record) = records.get(&format!("routers/{name}/use")) else { return Ok(Vec::new()) };
    let sets = serde_json::from_slice::<Vec<String>>(&record.value);
    let sets = sets.map_err(|e| Refusal::of("use", format!("is no list of names: {e}")))?;
    if sets.len() > MOST_SETS {
        return Err(Refusal::of("use", format!("has more than {MOST_SETS} names")));
    }
    match sets.iter().find(|set| !is_name(set)) {
        Some(set) => Err(Refusal::of("use", format!("`{}' is no name", set.escape_debug()))),
        None => Ok(sets),
    }
}

/// Whether a text is a valid name of a router, a set or a section.
pub fn is_name(text: &str) -> bool {
    let is_fit = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    !text.is_empty() && text.len() <= 128 && text.bytes().all(is_fit)
}

/// The state that an order asks for. `records` has those of the router and of its sets.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn resolve(
    name: &str,
    order: &Order,
    records: &Records,
    key: Option<&PublicKey>,
) -> Result<Goal, Refusal> {
    let sections = sections(name, records)?;
    let digest = digest(&sections);
    if order.digest.as_ref().is_some_and(|wanted| *wanted != digest) {
        return Err(Refusal::new("the sections do not match the digest in `desired'"));
    }
    if let Some(key) = key {
        let signature = order.signature.as_deref();
        let signature = signature.ok_or_else(|| Refusal::new("`desired' is not signed"))?;
        if !key.verifies(&signed(name, order, &digest), signature) {
            return Err(Refusal::new("the signature of `desired' is wrong"));
        }
    }
    let mut seen = HashSet::new();
    let mut lines = Vec::new();
    for (section, text) in &sections {
        for (number, text) in text.lines().enumerate() {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') || !seen.insert(text.to_owned()) {
                continue;
            }
            let line = Line { section: section.clone(), number: number + 1, text: text.to_owned() };
            check(&line)?;
            if lines.len() == MOST_LINES {
                return Err(Refusal::new(format!("there are more than {MOST_LINES} lines")));
            }
            lines.push(line);
        }
    }
    let Order { revision, confirm, force, .. } = *order;
    Ok(Goal { revision, confirm, force, digest, lines })
}

/// The message that a signature is of: an order for a router, with the hash of its sections.
pub fn signed(name: &str, order: &Order, digest: &str) -> Vec<u8> {
    let Order { revision, force, .. } = order;
    let confirm = order.confirm.map_or("never".to_owned(), |minutes| minutes.to_string());
    format!("ferrovia desired 2\n{name}\n{revision}\n{digest}\n{force}\n{confirm}\n").into_bytes()
}

/// Hash of sections.
pub fn digest(sections: &[(String, String)]) -> String {
    let mut context = Context::new(&SHA256);
    for (name, text) in sections {
        context.update(format!("{} {}\n{name}\n", name.len(), text.len()).as_bytes());
        context.update(text.as_bytes());
    }
    crate::signature::hex(context.finish().as_ref())
}

/// The sections of a router in their order, with its variables in them: those of its sets, in the
/// order of `use`, then its own.
///
/// # Errors
/// The first thing that is wrong.
pub fn sections(name: &str, records: &Records) -> Result<Vec<(String, String)>, Refusal> {
    let vars = vars(name, records)?;
    let mut all = Vec::new();
    let mut bytes = 0;
    let own = (format!("routers/{name}/config/"), String::new());
    let of_sets = sets(name, records)?.into_iter().map(|set| {
        let path = format!("sets/{set}/");
        (path.clone(), path)
    });
    for (prefix, shown) in of_sets.chain([own]) {
        let mut count = 0;
        for (key, record) in records.range(prefix.clone()..) {
            let Some(section) = key.strip_prefix(&prefix) else { break };
            let shown = format!("{shown}{}", section.escape_debug());
            count += 1;
            bytes += record.value.len();
            if !is_name(section) {
                return Err(Refusal::of(&shown, "is no name of a section"));
            }
            if record.value.len() > MOST_SECTION {
                return Err(Refusal::of(&shown, format!("is longer than {MOST_SECTION} bytes")));
            }
            if count > MOST_SECTIONS || bytes > MOST_BYTES {
                let most = format!("more than {MOST_SECTIONS} sections or {MOST_BYTES} bytes");
                return Err(Refusal::of(&shown, most));
            }
            let text = std::str::from_utf8(&record.value);
            let text = text.map_err(|_| Refusal::of(&shown, "is not UTF-8"))?;
            let text = filled(text, &vars).map_err(|(line, text)| Refusal {
                section: Some(shown.clone()),
                line: Some(line),
                text,
            })?;
            bytes += text.len().saturating_sub(record.value.len());
            all.push((shown, text));
        }
        if count == 0 && !shown.is_empty() {
            return Err(Refusal::of(
                "use",
                format!("there is no set `{}'", &prefix[5..prefix.len() - 1]),
            ));
        }
    }
    Ok(all)
}

fn vars(name: &str, records: &Records) -> Result<BTreeMap<String, String>, Refusal> {
    let wrong = |text: String| Refusal::of("vars", text);
    let Some(record) = records.get(&format!("routers/{name}/vars")) else {
        return Ok(BTreeMap::new());
    };
    let object = serde_json::from_slice::<BTreeMap<String, Value>>(&record.value);
    let object = object.map_err(|e| wrong(format!("is no object of texts: {e}")))?;
    object
        .into_iter()
        .map(|(name, value)| match value {
            Value::String(text) if text.contains("${") || text.chars().any(char::is_control) => {
                Err(wrong(format!(
                    "`{}' has a variable or a control character",
                    name.escape_debug()
                )))
            }
            Value::String(text) => Ok((name, text)),
            Value::Number(number) => Ok((name, number.to_string())),
            _ => Err(wrong(format!("`{}' is no text", name.escape_debug()))),
        })
        .collect()
}

/// A text with its variables filled in; the line and the reason if one is unknown.
fn filled(text: &str, vars: &BTreeMap<String, String>) -> Result<String, (usize, String)> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        out.push_str(before);
        let line = |out: &str| out.matches('\n').count() + 1;
        let name = behind.split_once('}').filter(|(name, _)| is_name(name));
        let Some((name, behind)) = name else {
            return Err((line(&out), "`${' begins no variable".to_owned()));
        };
        let Some(value) = vars.get(name) else {
            return Err((line(&out), format!("there is no variable `{name}'")));
        };
        out.push_str(value);
        if out.len() > MOST_BYTES {
            return Err((line(&out), format!("is longer than {MOST_BYTES} bytes")));
        }
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

fn check(line: &Line) -> Result<(), Refusal> {
    let wrong = |text: &str| {
        let (section, number) = (Some(line.section.clone()), Some(line.number));
        Err(Refusal { section, line: number, text: text.to_owned() })
    };
    if line.text.len() > MOST_LINE {
        return wrong("is too long a line");
    }
    if line.text.chars().any(|c| c.is_control() && c != '\t') {
        return wrong("has a control character");
    }
    let depth = line.text.chars().try_fold(0_usize, |depth, c| match c {
        '{' => Some(depth + 1),
        '}' => depth.checked_sub(1),
        _ => Some(depth),
    });
    match depth {
        Some(0) => Ok(()),
        _ => wrong("has braces that do not match: a command is on one line"),
    }
}
