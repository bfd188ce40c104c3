//! The terminal at the other end of a session.

use std::fmt;

use serde::Serialize;

use super::edit::Editor;
use crate::cli::Output;

/// The terminal as it says it is, and how it is used.
pub(super) struct Terminal {
    /// Its type; empty if unknown.
    pub name: String,
    /// Characters in a line; 0 when unknown.
    pub columns: u16,
    /// Lines; 0 when unknown.
    pub lines: u16,
    /// Output stops at each page.
    pub pages: bool,
}

/// Output of `show terminal`.
#[derive(Serialize)]
struct Shown {
    name: String,
    width: u16,
    height: u16,
    ansi: bool,
    history: bool,
    history_limit: usize,
    pager: bool,
}

impl Terminal {
    /// One that has said nothing yet.
    pub fn new(pages: bool) -> Self {
        Self { name: String::new(), columns: 0, lines: 0, pages }
    }

    pub fn show(&self, editor: &Editor) -> Output {
        let history_limit = editor.history_limit();
        Output::of(Shown {
            name: self.name.clone(),
            width: self.columns,
            height: self.lines,
            ansi: editor.is_ansi(),
            history: history_limit > 0,
            history_limit,
            pager: self.pages,
        })
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let yes = |is_so| if is_so { "yes" } else { "no" };
        writeln!(f, "Terminal name:   {}", self.name)?;
        writeln!(f, "Terminal width:  {}", self.width)?;
        writeln!(f, "Terminal height: {}", self.height)?;
        writeln!(f, "ANSI capable:    {}", yes(self.ansi))?;
        writeln!(f, "History enabled: {}", yes(self.history))?;
        writeln!(f, "History limit:   {}", self.history_limit)?;
        writeln!(f, "Pager enabled:   {}", yes(self.pager))
    }
}

/// Whether a terminal of this type supports escape sequences; assumed if unknown.
pub(super) fn is_ansi(name: &str) -> bool {
    !["dumb", "unknown", "network", "paper"].contains(&name.to_ascii_lowercase().as_str())
}

/// Output of `history`.
pub(super) fn history(editor: &Editor) -> Output {
    let lines: Vec<_> = editor.history().map(std::borrow::Cow::into_owned).collect();
    let numbered = lines.iter().enumerate();
    let text: String = numbered.map(|(at, line)| format!("{:>5}  {line}\n", at + 1)).collect();
    Output::both(text, lines)
}
