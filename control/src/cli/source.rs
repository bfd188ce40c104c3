//! Commands out of a text or a file, one after the other.
//!
//! A command ends with its line unless a `{` is open or the line ends with a backslash. Lines whose
//! first character is `#` are comments, and so is ` # …` at the end of a line; blank lines and a
//! byte order mark are skipped.
//! A file is read as it is consumed.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::args::is_blank;
use super::{Error, io_text};

/// Bytes read from a file at a time, or as many as are there of a command that goes on.
const CHUNK: usize = 64 * 1024;
/// Lines without a command that are passed over at once.
const MOST_SKIPPED: usize = 10_000;
/// Longest command, braces and all: room for an access list of a million rules.
const MAX_COMMAND: usize = 64 * 1024 * 1024;

/// The source of commands.
pub(super) struct Source {
    bytes: Vec<u8>,
    /// Start of what was not consumed.
    at: usize,
    file: Option<(PathBuf, File)>,
    ended: bool,
    /// Line on which the last command started, from 1.
    line: u32,
    /// Line at `at`.
    next_line: u32,
    /// The last command, if its lines had to be joined.
    joined: String,
}

/// Outcome of looking for a command in what has been read.
enum Scan {
    /// Bytes `start..end` are a command; `used` is where the next line starts.
    Found { start: usize, end: usize, used: usize, lines: u32 },
    /// The text ends within a command, which starts at `start`.
    Open { start: usize },
}

impl Source {
    pub fn text(text: String) -> Self {
        Self {
            bytes: text.into_bytes(),
            at: 0,
            file: None,
            ended: true,
            line: 0,
            next_line: 1,
            joined: String::new(),
        }
    }

    /// Opens a regular file.
    pub fn file(path: &Path) -> Result<Self, Error> {
        let failed = |why: &str| Error::new(format!("failed to open `{}': {why}", path.display()));
        let is_file = std::fs::metadata(path).map_err(|e| failed(&io_text(&e)))?.is_file();
        if !is_file {
            return Err(failed("not a regular file"));
        }
        let file = File::open(path).map_err(|e| failed(&io_text(&e)))?;
        let mut source = Self::text(String::new());
        source.file = Some((path.to_owned(), file));
        source.ended = false;
        Ok(source)
    }

    /// The next command, or `None` at the end; an empty one where very many lines have none, so
    /// that others have their turn.
    pub fn next(&mut self) -> Result<Option<&str>, Error> {
        for _ in 0..MOST_SKIPPED {
            match self.scan() {
                Scan::Found { start, end, used, lines } => {
                    self.line = self.next_line;
                    self.next_line += lines;
                    self.at = used;
                    if self.is_command(start, end) {
                        return self.command(start, end).map(Some);
                    }
                }
                Scan::Open { start } if self.ended => {
                    self.line = self.next_line;
                    self.at = self.bytes.len();
                    let end = self.bytes.len();
                    if self.is_command(start, end) {
                        return self.command(start, end).map(Some);
                    }
                    return Ok(None);
                }
                Scan::Open { .. } => self.read_more()?,
            }
        }
        Ok(Some(""))
    }

    /// File and line of the last command, when it comes from a file.
    pub fn place(&self) -> Option<(&Path, u32)> {
        self.file.as_ref().map(|(path, _)| (path.as_path(), self.line))
    }

    fn scan(&self) -> Scan {
        let start = self.at;
        let comment = self.first_byte(start) == Some(b'#');
        let (mut depth, mut lines) = (0_usize, 0);
        for (offset, byte) in self.bytes[start..].iter().enumerate() {
            match byte {
                b'{' if !comment => depth += 1,
                b'}' if !comment => depth = depth.saturating_sub(1),
                b'\n' => {
                    lines += 1;
                    let so_far = &self.bytes[start..start + offset];
                    if depth == 0 && (comment || !ends_joined(so_far)) {
                        let end = start + offset;
                        return Scan::Found { start, end, used: end + 1, lines };
                    }
                }
                _ => {}
            }
        }
        Scan::Open { start }
    }

    /// First byte of the line at `start` that is not blank.
    fn first_byte(&self, start: usize) -> Option<u8> {
        let line = self.bytes[start..].iter().take_while(|b| **b != b'\n');
        line.copied().find(|b| !is_blank(*b))
    }

    fn is_command(&self, start: usize, end: usize) -> bool {
        let mark = BYTE_ORDER_MARK.len_utf8();
        let has_mark = self.bytes[start..end].starts_with("\u{feff}".as_bytes());
        let start = if has_mark { start + mark } else { start };
        let first = self.bytes[start..end].iter().find(|b| !is_blank(**b));
        first.is_some_and(|b| *b != b'#')
    }

    fn command(&mut self, start: usize, end: usize) -> Result<&str, Error> {
        let text = str::from_utf8(&self.bytes[start..end]);
        let text = text.map_err(|_| Error::bare("input is not UTF-8 text"))?;
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        match joined(text) {
            Cow::Borrowed(text) => Ok(without_comment(text)),
            Cow::Owned(text) => {
                self.joined = text;
                Ok(without_comment(&self.joined))
            }
        }
    }

    fn read_more(&mut self) -> Result<(), Error> {
        self.bytes.drain(..self.at);
        self.at = 0;
        if self.bytes.len() > MAX_COMMAND {
            return Err(Error::bare(format!("command longer than {MAX_COMMAND} bytes")));
        }
        let Some((path, file)) = &mut self.file else {
            self.ended = true;
            return Ok(());
        };
        let old = self.bytes.len();
        self.bytes.resize(old + old.max(CHUNK), 0);
        let count = file.read(&mut self.bytes[old..]).map_err(|e| {
            Error::bare(format!("failed to read `{}': {}", path.display(), io_text(&e)))
        })?;
        self.bytes.truncate(old + count);
        self.ended = count == 0;
        Ok(())
    }
}

/// Byte order mark that some editors write.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A command without a comment at the end of its last line: `#` between blanks, outside of braces.
/// Commands whose text goes to the end of the line keep it.
fn without_comment(text: &str) -> &str {
    const TEXTS: [&str; 3] = ["echo", "comment", "define"];
    let first = text.split_ascii_whitespace().next().unwrap_or_default();
    if !text.contains('#') || TEXTS.contains(&first) {
        return text;
    }
    let (bytes, mut depth) = (text.as_bytes(), 0_usize);
    let is_blank_at = |at: usize| bytes.get(at).is_none_or(|b| is_blank(*b));
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b'#' if depth == 0 && at > 0 && is_blank_at(at - 1) && is_blank_at(at + 1) => {
                return &text[..at];
            }
            _ => {}
        }
    }
    text
}

/// Whether the last line of `text` ends with a backslash, and blanks at most.
fn ends_joined(text: &[u8]) -> bool {
    let mut line = text.iter().rev().take_while(|b| **b != b'\n');
    line.find(|b| !is_blank(**b)) == Some(&b'\\')
}

/// `text` in one line, with blanks for the backslashes that end lines or stand alone.
pub fn joined(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return text.into();
    }
    let mut joined = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match ends_joined(line.trim_end_matches('\n').as_bytes()) {
            true => {
                let end = line.rfind('\\').unwrap_or(line.len());
                joined.push_str(&line[..end]);
                joined.push(' ');
            }
            false => joined.push_str(line),
        }
    }
    joined.replace(" \\ ", "   ").into()
}

/// Whether a command continues with the next line, line by line: inside `{ }`, or after a
/// backslash. Each line is read once, however long the command gets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Joining {
    depth: usize,
    is_continued: bool,
}

impl Joining {
    /// Whether the last command continues.
    pub fn is_continued(self) -> bool {
        self.is_continued
    }
    /// Takes a line of a command; true when the command continues with the next one. A line that
    /// begins a command and is a comment never does.
    pub fn take(&mut self, line: &str) -> bool {
        if !self.is_continued && line.trim_ascii_start().starts_with('#') {
            return false;
        }
        self.depth = line.bytes().fold(self.depth, |depth, byte| match byte {
            b'{' => depth + 1,
            b'}' => depth.saturating_sub(1),
            _ => depth,
        });
        self.is_continued = self.depth > 0 || ends_joined(line.as_bytes());
        self.is_continued
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Joining;

    /// Result of [`Joining`] for the last line, from the whole text.
    fn is_open(lines: &[&str]) -> bool {
        let text = lines.join("\n");
        if text.trim_start().starts_with('#') {
            return false;
        }
        let depth = text.bytes().fold(0_usize, |depth, byte| match byte {
            b'{' => depth + 1,
            b'}' => depth.saturating_sub(1),
            _ => depth,
        });
        depth > 0 || text.trim_end_matches([' ', '\t']).ends_with('\\')
    }

    proptest! {
        #[test]
        fn commands_end_where_their_whole_text_does(
            lines in prop::collection::vec("[a{}#\\\\ ]{0,5}", 1..8),
        ) {
            let (mut joining, mut of) = (Joining::default(), Vec::new());
            for line in &lines {
                of.push(line.as_str());
                let is_continued = joining.take(line);
                prop_assert_eq!(is_continued, is_open(&of), "{:?}", of);
                if !is_continued {
                    (joining, of) = (Joining::default(), Vec::new());
                }
            }
        }
    }
}
