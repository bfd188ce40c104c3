//! One line typed by a person whose terminal leaves echo and editing to us.

use std::borrow::Cow;
use std::collections::VecDeque;

/// Longest line.
const MAX_LINE: usize = 4096;

/// Outcome of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// Nothing but echo.
    None,
    /// The line is complete.
    Line(String),
    /// Complete the line so far.
    Tab,
    /// Show what may follow the line so far.
    Help,
    /// Give up the line.
    Interrupt,
    /// End the session.
    End,
}

/// The line being typed and those before it.
pub(super) struct Editor {
    line: Vec<u8>,
    /// Place of the next key in the line, in bytes, at the start of a character.
    at: usize,
    history: VecDeque<Vec<u8>>,
    limit: usize,
    /// Place in the history, counted from its end; 0 is the line being typed.
    back: usize,
    /// Bytes of an escape sequence so far.
    escape: Vec<u8>,
    after_return: bool,
    /// The terminal wipes what it is asked to wipe (ECMA-48).
    wipes: bool,
}

impl Editor {
    pub fn new(limit: usize) -> Self {
        let (line, history, escape) = (Vec::new(), VecDeque::new(), Vec::new());
        Self { line, at: 0, history, limit, back: 0, escape, after_return: false, wipes: true }
    }

    /// The lines that were typed, the oldest first.
    pub fn history(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.history.iter().map(|line| String::from_utf8_lossy(line))
    }

    /// Most lines that are kept.
    pub fn history_limit(&self) -> usize {
        self.limit
    }

    /// Keeps this many lines from now on, the newest.
    pub fn keep(&mut self, limit: usize) {
        self.limit = limit;
        let surplus = self.history.len().saturating_sub(limit);
        self.history.drain(..surplus);
    }

    /// Sets whether the terminal supports escape sequences.
    pub fn set_ansi(&mut self, is_ansi: bool) {
        self.wipes = is_ansi;
    }

    /// Whether it does.
    pub fn is_ansi(&self) -> bool {
        self.wipes
    }

    /// The line so far.
    pub fn line(&self) -> String {
        String::from_utf8_lossy(&self.line).into_owned()
    }

    /// Takes a byte and appends what the terminal must show to `echo`.
    pub fn byte(&mut self, byte: u8, echo: &mut Vec<u8>) -> Key {
        let after_return = std::mem::take(&mut self.after_return);
        if !self.escape.is_empty() {
            self.sequence(byte, echo);
            return Key::None;
        }
        match byte {
            0 => {}
            b'\n' if after_return => {}
            b'\r' | b'\n' => {
                self.after_return = byte == b'\r';
                echo.extend(b"\r\n");
                return Key::Line(self.finish());
            }
            3 => {
                self.line.clear();
                self.at = 0;
                echo.extend(b"^C\r\n");
                return Key::Interrupt;
            }
            4 if self.line.is_empty() => return Key::End,
            8 | 127 => self.erase(echo),
            b'\t' => return Key::Tab,
            b'?' => return Key::Help,
            1 => self.go(0, echo),
            2 => self.go(self.left(), echo),
            5 => self.go(self.line.len(), echo),
            6 => self.go(self.right(), echo),
            11 => {
                let gone = characters(&self.line[self.at..]);
                self.line.truncate(self.at);
                self.show_rest(gone, echo);
            }
            14 => self.walk(self.back.saturating_sub(1), echo),
            16 => self.walk(self.back + 1, echo),
            21 => self.replace(Vec::new(), echo),
            23 => {
                while self.before().is_some_and(|b| b == b' ') {
                    self.erase(echo);
                }
                while self.before().is_some_and(|b| b != b' ') {
                    self.erase(echo);
                }
            }
            27 => self.escape.push(byte),
            b' '.. => self.insert(&[byte], echo),
            _ => {}
        }
        Key::None
    }

    /// Puts text where the cursor is.
    pub fn insert(&mut self, text: &[u8], echo: &mut Vec<u8>) {
        if self.line.len() + text.len() <= MAX_LINE {
            self.line.splice(self.at..self.at, text.iter().copied());
            self.at += text.len();
            echo.extend(text);
            self.show_rest(0, echo);
        }
    }

    /// The line up to the cursor.
    pub fn before_cursor(&self) -> String {
        String::from_utf8_lossy(&self.line[..self.at]).into_owned()
    }

    /// Shows what follows the cursor again, wipes as many characters as are `gone` after it, and
    /// brings the terminal's cursor back.
    fn show_rest(&self, gone: usize, echo: &mut Vec<u8>) {
        let rest = &self.line[self.at..];
        echo.extend(rest);
        if gone > 0 && self.wipes {
            echo.extend(b"\x1b[K");
        } else {
            echo.extend(std::iter::repeat_n(b' ', gone));
            back(gone, echo);
        }
        back(characters(rest), echo);
    }

    /// Moves the cursor.
    fn go(&mut self, to: usize, echo: &mut Vec<u8>) {
        if to < self.at {
            back(characters(&self.line[to..self.at]), echo);
        } else {
            echo.extend(&self.line[self.at..to]);
        }
        self.at = to;
    }

    fn before(&self) -> Option<u8> {
        self.line[..self.at].last().copied()
    }

    fn left(&self) -> usize {
        self.line[..self.at].iter().rposition(|b| starts_character(*b)).unwrap_or(0)
    }

    fn right(&self) -> usize {
        let after = self.line[self.at..].iter().skip(1).position(|b| starts_character(*b));
        after.map_or(self.line.len(), |count| self.at + 1 + count)
    }

    fn finish(&mut self) -> String {
        let line = std::mem::take(&mut self.line);
        (self.back, self.at) = (0, 0);
        if !line.is_empty() && self.history.back() != Some(&line) && self.limit > 0 {
            if self.history.len() == self.limit {
                self.history.pop_front();
            }
            self.history.push_back(line.clone());
        }
        String::from_utf8_lossy(&line).into_owned()
    }

    /// Takes away the character before the cursor, of however many bytes.
    fn erase(&mut self, echo: &mut Vec<u8>) {
        if self.at > 0 {
            let left = self.left();
            self.line.drain(left..self.at);
            self.at = left;
            echo.push(8);
            self.show_rest(1, echo);
        }
    }

    fn replace(&mut self, line: Vec<u8>, echo: &mut Vec<u8>) {
        let gone = characters(&self.line).saturating_sub(characters(&line));
        self.go(0, echo);
        echo.extend(&line);
        self.at = line.len();
        self.line = line;
        self.show_rest(gone, echo);
    }

    /// Shows the line `back` lines ago.
    fn walk(&mut self, back: usize, echo: &mut Vec<u8>) {
        let back = back.min(self.history.len());
        if back != self.back {
            self.back = back;
            let place = self.history.len() - back;
            let line = self.history.get(place).cloned().unwrap_or_default();
            self.replace(line, echo);
        }
    }

    /// Keys that move in the line or the history; all others do nothing.
    fn sequence(&mut self, byte: u8, echo: &mut Vec<u8>) {
        self.escape.push(byte);
        let is_open = matches!(*self.escape.as_slice(), [27, b'[' | b'O'])
            || (self.escape.len() > 2 && self.escape.len() < 16 && !(64..127).contains(&byte));
        if is_open {
            return;
        }
        match *std::mem::take(&mut self.escape).as_slice() {
            [_, _, b'A'] => self.walk(self.back + 1, echo),
            [_, _, b'B'] => self.walk(self.back.saturating_sub(1), echo),
            [_, _, b'C'] => self.go(self.right(), echo),
            [_, _, b'D'] => self.go(self.left(), echo),
            [_, _, b'H'] | [_, _, b'1' | b'7', b'~'] => self.go(0, echo),
            [_, _, b'F'] | [_, _, b'4' | b'8', b'~'] => self.go(self.line.len(), echo),
            [_, _, b'3', b'~'] if self.at < self.line.len() => {
                self.go(self.right(), echo);
                self.erase(echo);
            }
            _ => {}
        }
    }
}

fn starts_character(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

fn characters(text: &[u8]) -> usize {
    text.iter().filter(|b| starts_character(**b)).count()
}

/// Moves the terminal's cursor to the left.
fn back(count: usize, echo: &mut Vec<u8>) {
    echo.extend(std::iter::repeat_n(8, count));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_in(editor: &mut Editor, bytes: &[u8]) -> (Vec<Key>, Vec<u8>) {
        let mut echo = Vec::new();
        let keys = bytes.iter().map(|b| editor.byte(*b, &mut echo)).filter(|k| *k != Key::None);
        (keys.collect(), echo)
    }

    #[test]
    fn lines_are_echoed_and_edited() {
        let mut editor = Editor::new(10);
        let (keys, echo) = type_in(&mut editor, b"shx\x7fow\r\n");
        assert_eq!(keys, [Key::Line("show".into())]);
        assert_eq!(echo, b"shx\x08\x1b[Kow\r\n");
        assert_eq!(type_in(&mut editor, b"a b\x17c\r\0").0, [Key::Line("a c".into())]);
        assert_eq!(type_in(&mut editor, "ä\x08\r".as_bytes()).0, [Key::Line(String::new())]);
        assert_eq!(type_in(&mut editor, b"x\x03\x04").0, [Key::Interrupt, Key::End]);
    }

    #[test]
    fn the_cursor_moves_in_the_line() {
        let typed = |bytes: &[u8]| type_in(&mut Editor::new(2), bytes);
        let (keys, echo) = typed(b"ac\x1b[Db\r");
        assert_eq!(keys, [Key::Line("abc".into())]);
        assert_eq!(echo, b"ac\x08bc\x08\r\n");
        assert_eq!(typed(b"bd\x01a\x1b[Cc\x05e\r").0, [Key::Line("abcde".into())]);
        assert_eq!(typed("äöü\x1b[D\x1b[D\x08\r".as_bytes()).0, [Key::Line("öü".into())]);
        assert_eq!(typed(b"abc\x1b[H\x1b[3~\x06\x0b\r").0, [Key::Line("b".into())]);
        assert_eq!(typed(b"one\rx\x10\x1b[D\x7f\r").0[1], Key::Line("oe".into()));
        assert_eq!(typed(b"a b\x02\x17c\x1b[D\x1b[D\x1b[D\x1b[C\r").0, [Key::Line("cb".into())]);
    }

    #[test]
    fn a_terminal_without_escapes_is_overwritten() {
        let mut editor = Editor::new(2);
        editor.set_ansi(false);
        let (keys, echo) = type_in(&mut editor, b"abc\x02\x7f\x0bxy\x15z\r");
        assert_eq!(keys, [Key::Line("z".into())]);
        let shown = [
            &b"abc\x08"[..],   // one to the left
            b"\x08c \x08\x08", // b is gone
            b" \x08",          // and what was behind it
            b"xy",
            b"\x08\x08\x08   \x08\x08\x08", // all of the line
            b"z\r\n",
        ];
        assert_eq!(echo, shown.concat());
    }

    #[test]
    fn the_history_is_walked() {
        let mut editor = Editor::new(2);
        type_in(&mut editor, b"one\rtwo\rthree\r");
        let keys = type_in(&mut editor, b"\x1b[A\x1b[A\x1b[A\r").0;
        assert_eq!(keys, [Key::Line("two".into())]);
        let keys = type_in(&mut editor, b"\x1b[A\x1b[A\x1b[B\x1b[1;5C!\r").0;
        assert_eq!(keys, [Key::Line("two!".into())]);
    }
}
