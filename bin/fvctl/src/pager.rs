//! Output that does not fit on the terminal stops at each page.
//!
//! Keys: space shows a page more, Enter a line, `G` the rest, `/TEXT` goes on at the next line with
//! `TEXT`, `q` and Ctrl-C end it.

use std::io::{self, Write};

const MORE: &[u8] = b"-- more -- (space, Enter, G, /text, q)";
/// The same where that would not fit on a line.
const NARROW: &[u8] = b"-- more --";
const WIPE: &[u8] = b"\r\x1b[K";

/// Size of a terminal in characters.
#[derive(Clone, Copy)]
pub struct Size {
    pub lines: usize,
    pub columns: usize,
}

/// Next move of the reader.
#[derive(PartialEq)]
enum Wanted {
    /// This many lines of the terminal.
    Lines(usize),
    /// All.
    Rest,
    /// From the next line with this text on.
    Match(String),
    /// Nothing.
    Nothing,
}

/// Shows text page by page; `key` waits for the next key.
pub struct Pager<W, K> {
    out: W,
    key: K,
    size: Size,
    wanted: Wanted,
    /// Start of a line whose end has not come yet.
    partial: String,
}

impl<W: Write, K: FnMut() -> io::Result<u8>> Pager<W, K> {
    /// A first page to fill.
    pub fn new(out: W, size: Size, key: K) -> Self {
        let mut pager = Self { out, key, size, wanted: Wanted::Rest, partial: String::new() };
        pager.wanted = Wanted::Lines(pager.page());
        pager
    }

    /// True when the reader has seen enough.
    pub fn is_enough(&self) -> bool {
        self.wanted == Wanted::Nothing
    }

    /// Takes more text.
    pub fn print(&mut self, text: &str) -> io::Result<()> {
        for piece in text.split_inclusive('\n') {
            self.partial.push_str(piece);
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.partial);
                self.line(&line)?;
            }
        }
        self.out.flush()
    }

    /// No more text comes: ends the last line.
    pub fn finish(mut self) -> io::Result<()> {
        if !self.partial.is_empty() {
            let line = std::mem::take(&mut self.partial) + "\n";
            self.line(&line)?;
        }
        if let Wanted::Match(text) = &self.wanted {
            writeln!(self.out, "-- no more lines with `{text}' --")?;
        }
        self.out.flush()
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        let rows = line.trim_end().chars().count().max(1).div_ceil(self.size.columns.max(1));
        if matches!(self.wanted, Wanted::Lines(left) if left < rows) {
            self.ask()?;
        }
        match &mut self.wanted {
            // After a key the next line is shown, however long it is.
            Wanted::Lines(left) => *left = left.saturating_sub(rows),
            Wanted::Rest => {}
            Wanted::Match(text) if line.contains(text.as_str()) => {
                self.wanted = Wanted::Lines(self.page().saturating_sub(rows));
            }
            Wanted::Match(_) | Wanted::Nothing => return Ok(()),
        }
        self.out.write_all(line.as_bytes())
    }

    fn page(&self) -> usize {
        self.size.lines.saturating_sub(1).max(1)
    }

    fn ask(&mut self) -> io::Result<()> {
        let fits = MORE.len() < self.size.columns;
        self.out.write_all(if fits { MORE } else { NARROW })?;
        self.out.flush()?;
        self.wanted = loop {
            match (self.key)()? {
                b' ' => break Wanted::Lines(self.page()),
                b'\r' | b'\n' => break Wanted::Lines(1),
                b'G' => break Wanted::Rest,
                b'q' | b'Q' | 3 | 4 => break Wanted::Nothing,
                b'/' => break Wanted::Match(self.text()?),
                _ => {}
            }
        };
        self.out.write_all(WIPE)
    }

    /// Reads what to look for.
    fn text(&mut self) -> io::Result<String> {
        let mut typed = Vec::new();
        loop {
            self.out.write_all(WIPE)?;
            write!(self.out, "/{}", String::from_utf8_lossy(&typed))?;
            self.out.flush()?;
            match (self.key)()? {
                b'\r' | b'\n' => return Ok(String::from_utf8_lossy(&typed).into_owned()),
                8 | 127 => drop(typed.pop()),
                byte => typed.push(byte),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Screen for `text` on a terminal of 4 lines and 10 columns, and a reader that types `keys`.
    fn shown(text: &str, keys: &str) -> (String, bool) {
        let mut keys = keys.bytes();
        let key = || keys.next().ok_or_else(|| io::Error::other("asked once more"));
        let mut out = Vec::new();
        let mut pager = Pager::new(&mut out, Size { lines: 4, columns: 10 }, key);
        // In pieces, as they come from a socket.
        for piece in text.as_bytes().chunks(3) {
            pager.print(std::str::from_utf8(piece).unwrap()).unwrap();
        }
        let enough = pager.is_enough();
        pager.finish().unwrap();
        let text = String::from_utf8(out).unwrap();
        (text.replace("\r\x1b[K", "|").replace(std::str::from_utf8(NARROW).unwrap(), "?"), enough)
    }

    #[test]
    fn what_fits_is_shown_without_a_key() {
        assert_eq!(shown("1\n2\n3\n", ""), ("1\n2\n3\n".into(), false));
        assert_eq!(shown("1\n2", ""), ("1\n2\n".into(), false));
    }

    #[test]
    fn keys_show_a_page_a_line_the_rest_or_nothing() {
        let text = "1\n2\n3\n4\n5\n6\n7\n8\n";
        assert_eq!(shown(text, "xq"), ("1\n2\n3\n?|".into(), true));
        assert_eq!(shown(text, "\r \x03"), ("1\n2\n3\n?|4\n?|5\n6\n7\n?|".into(), true));
        assert_eq!(shown(text, "G").0, "1\n2\n3\n?|4\n5\n6\n7\n8\n");
    }

    #[test]
    fn long_lines_count_as_often_as_they_wrap() {
        let (text, _) = shown("1\n0123456789abcdefghij-\n3\n", "\r ");
        assert_eq!(text, "1\n?|0123456789abcdefghij-\n?|3\n");
    }

    #[test]
    fn a_text_is_looked_for() {
        let text = "1\n2\n3\n4\n5\n6x\n7\n8\n9\n";
        assert_eq!(shown(text, "/z\r").0, "1\n2\n3\n?|/|/z|-- no more lines with `z' --\n");
        assert_eq!(shown(text, "/y\x7fx\rq").0, "1\n2\n3\n?|/|/y|/|/x|6x\n7\n8\n?|");
    }
}
