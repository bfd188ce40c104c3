//! The terminal as a screen of lines, as it was before once this is dropped.

use std::io::{self, Stdout, Write};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::style::{Attribute, Print, SetAttribute};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode, size,
};
use crossterm::{execute, queue};

/// A line and whether it stands out.
pub struct Line {
    pub text: String,
    pub attribute: Attribute,
}

impl Line {
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), attribute: Attribute::Reset }
    }
    pub fn bold(text: impl Into<String>) -> Self {
        Self { text: text.into(), attribute: Attribute::Bold }
    }
    pub fn reverse(text: impl Into<String>) -> Self {
        Self { text: text.into(), attribute: Attribute::Reverse }
    }
}

/// The terminal, in its other screen and with keys as they are.
pub struct Screen {
    out: Stdout,
}

impl Screen {
    /// Takes the terminal. It is given back also when this program panics.
    pub fn take() -> io::Result<Self> {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |why| {
            give_back();
            usual(why);
        }));
        enable_raw_mode()?;
        let screen = Self { out: io::stdout() };
        execute!(&screen.out, EnterAlternateScreen, Hide)?;
        Ok(screen)
    }
    /// Columns and lines.
    pub fn size(&self) -> (usize, usize) {
        size().map_or((80, 24), |(columns, lines)| (columns.into(), lines.into()))
    }
    /// Shows lines, cut where the screen ends.
    pub fn show(&mut self, lines: &[Line]) -> io::Result<()> {
        let (columns, height) = self.size();
        for (at, line) in lines.iter().take(height).enumerate() {
            let text: String = line.text.chars().take(columns).collect();
            let width = if line.attribute == Attribute::Reverse { columns } else { 0 };
            queue!(
                self.out,
                MoveTo(0, at as u16),
                SetAttribute(line.attribute),
                Print(format!("{text:<width$}")),
                SetAttribute(Attribute::Reset),
                Clear(ClearType::UntilNewLine)
            )?;
        }
        if lines.len() < height {
            queue!(self.out, MoveTo(0, lines.len() as u16), Clear(ClearType::FromCursorDown))?;
        }
        self.out.flush()
    }
}

fn give_back() {
    // The terminal is closed: nowhere to report this.
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}
