//! The output of a command: text for people, the same as JSON for programs.

use std::fmt::{self, Display, Write};

use serde::Serialize;

/// Text and reports in the order they were given. Text form and JSON form are made only when
/// asked for.
#[derive(Default)]
pub struct Output {
    parts: Vec<Part>,
}

enum Part {
    Text(String),
    Report(Box<dyn Report>),
    Both(String, serde_json::Value),
}

trait Report {
    fn write_text(&self, out: &mut String);
    fn to_json(&self) -> serde_json::Result<serde_json::Value>;
}

impl<T: Display + Serialize> Report for T {
    fn write_text(&self, out: &mut String) {
        write!(out, "{self}").expect("a String takes all text");
    }

    fn to_json(&self) -> serde_json::Result<serde_json::Value> {
        serde_json::to_value(self)
    }
}

impl Output {
    /// Nothing to print.
    pub fn none() -> Self {
        Self::default()
    }

    /// Plain text; a newline is added when it does not end in one.
    pub fn text(text: impl Into<String>) -> Self {
        let mut text = text.into();
        end_line(&mut text);
        Self { parts: if text.is_empty() { Vec::new() } else { vec![Part::Text(text)] } }
    }

    /// A value that prints itself for people (`Display`) and for programs (`Serialize`).
    pub fn of(value: impl Display + Serialize + 'static) -> Self {
        Self { parts: vec![Part::Report(Box::new(value))] }
    }

    /// Text for people, and what programs get instead; for values that do not print themselves.
    pub fn both(text: impl Into<String>, value: impl Serialize) -> Self {
        let mut text = text.into();
        end_line(&mut text);
        let json = serde_json::to_value(value);
        let json = json.unwrap_or_else(|e| serde_json::Value::String(format!("not JSON: {e}")));
        Self { parts: vec![Part::Both(text, json)] }
    }

    /// True when nothing was put in.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Adds `more` behind what is there.
    pub fn append(&mut self, mut more: Self) {
        self.parts.append(&mut more.parts);
    }

    /// The text form. Each report ends with a newline unless it is empty.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) | Part::Both(text, _) => out.push_str(text),
                Part::Report(report) => {
                    let start = out.len();
                    report.write_text(&mut out);
                    if out.len() > start {
                        end_line(&mut out);
                    }
                }
            }
        }
        out
    }

    /// The JSON form: the value of the one report, or an array of several; text is a JSON string
    /// and no output is `null`.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value;
        let mut values = self.parts.iter().map(|part| match part {
            Part::Text(text) => Value::String(text.clone()),
            Part::Both(_, json) => json.clone(),
            Part::Report(report) => {
                report.to_json().unwrap_or_else(|e| Value::String(format!("not JSON: {e}")))
            }
        });
        match values.len() {
            0 => Value::Null,
            1 => values.next().unwrap_or_default(),
            _ => Value::Array(values.collect()),
        }
    }
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

impl Write for Output {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        match self.parts.last_mut() {
            Some(Part::Text(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.parts.push(Part::Text(text.to_owned())),
        }
        Ok(())
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Output").field(&self.to_text()).finish()
    }
}

impl From<()> for Output {
    fn from((): ()) -> Self {
        Self::none()
    }
}

impl From<String> for Output {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for Output {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}
