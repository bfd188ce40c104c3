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

/// A value and the function that writes its text.
struct Written<T, W> {
    value: T,
    write: W,
}

impl<T: Serialize, W: Fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result> Report for Written<T, W> {
    fn write_text(&self, out: &mut String) {
        let text = fmt::from_fn(|f| (self.write)(&self.value, f));
        write!(out, "{text}").expect("a String takes all text");
    }

    fn to_json(&self) -> serde_json::Result<serde_json::Value> {
        serde_json::to_value(&self.value)
    }
}

/// `value` in the middle of `width` columns; the longer part of an odd rest is in front of it.
pub fn centred(value: impl Display, width: usize) -> String {
    let text = value.to_string();
    let behind = width.saturating_sub(text.chars().count()) / 2;
    format!("{text:>before$}{:behind$}", "", before = width.saturating_sub(behind))
}

/// Values, each in the middle of its columns.
pub fn in_columns<const N: usize>(widths: [usize; N], values: [&dyn Display; N]) -> String {
    widths.into_iter().zip(values).map(|(width, value)| centred(value, width)).collect()
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

    /// Rows, which are an array for programs; `write` makes the text of all.
    pub fn rows<R: Serialize + 'static>(
        rows: impl IntoIterator<Item = R>,
        write: impl Fn(&[R], &mut fmt::Formatter<'_>) -> fmt::Result + 'static,
    ) -> Self {
        let rows: Vec<R> = rows.into_iter().collect();
        Self::written(rows, move |rows, f| write(rows, f))
    }

    /// Rows that write themselves, a line or more each.
    pub fn list<R: Display + Serialize + 'static>(rows: impl IntoIterator<Item = R>) -> Self {
        Self::rows(rows, |rows, f| {
            rows.iter().try_for_each(|row| {
                let mut text = row.to_string();
                end_line(&mut text);
                f.write_str(&text)
            })
        })
    }

    /// A value for programs; `write` makes its text for people.
    pub fn written<T: Serialize + 'static>(
        value: T,
        write: impl Fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result + 'static,
    ) -> Self {
        Self { parts: vec![Part::Report(Box::new(Written { value, write }))] }
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

    /// Appends `more`.
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
