//! One line typed by a person whose terminal leaves echo and editing to us.

use std::collections::VecDeque;

/// Longest line.
const MAX_LINE: usize = 4096;

/// What a key led to.
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
    history: VecDeque<Vec<u8>>,
    limit: usize,
    /// Place in the history, counted from its end; 0 is the line being typed.
    back: usize,
    /// Bytes of an escape sequence so far.
    escape: Vec<u8>,
    after_return: bool,
}

impl Editor {
    pub fn new(limit: usize) -> Self {
        let (line, history, escape) = (Vec::new(), VecDeque::new(), Vec::new());
        Self { line, history, limit, back: 0, escape, after_return: false }
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
                echo.extend(b"^C\r\n");
                return Key::Interrupt;
            }
            4 if self.line.is_empty() => return Key::End,
            8 | 127 => self.erase(echo),
            b'\t' => return Key::Tab,
            b'?' => return Key::Help,
            21 => self.replace(Vec::new(), echo),
            23 => {
                while self.line.last().is_some_and(|b| *b == b' ') {
                    self.erase(echo);
                }
                while self.line.last().is_some_and(|b| *b != b' ') {
                    self.erase(echo);
                }
            }
            27 => self.escape.push(byte),
            b' '.. => self.insert(&[byte], echo),
            _ => {}
        }
        Key::None
    }

    /// Adds text at the end.
    pub fn insert(&mut self, text: &[u8], echo: &mut Vec<u8>) {
        if self.line.len() + text.len() <= MAX_LINE {
            self.line.extend(text);
            echo.extend(text);
        }
    }

    fn finish(&mut self) -> String {
        let line = std::mem::take(&mut self.line);
        self.back = 0;
        if !line.is_empty() && self.history.back() != Some(&line) && self.limit > 0 {
            if self.history.len() == self.limit {
                self.history.pop_front();
            }
            self.history.push_back(line.clone());
        }
        String::from_utf8_lossy(&line).into_owned()
    }

    /// Takes away the last character, of however many bytes.
    fn erase(&mut self, echo: &mut Vec<u8>) {
        while let Some(byte) = self.line.pop() {
            if byte & 0xc0 != 0x80 {
                echo.extend(b"\x08 \x08");
                return;
            }
        }
    }

    fn replace(&mut self, line: Vec<u8>, echo: &mut Vec<u8>) {
        while !self.line.is_empty() {
            self.erase(echo);
        }
        echo.extend(&line);
        self.line = line;
    }

    /// `ESC [ A` and `ESC [ B` go through the history, all others do nothing.
    fn sequence(&mut self, byte: u8, echo: &mut Vec<u8>) {
        self.escape.push(byte);
        let is_open = matches!(*self.escape.as_slice(), [27, b'[' | b'O'])
            || (self.escape.len() > 2 && self.escape.len() < 16 && !(64..127).contains(&byte));
        if is_open {
            return;
        }
        let back = match (self.escape.len(), byte) {
            (3, b'A') => (self.back + 1).min(self.history.len()),
            (3, b'B') => self.back.saturating_sub(1),
            _ => self.back,
        };
        self.escape.clear();
        if back != self.back {
            self.back = back;
            let place = self.history.len() - back;
            let line = self.history.get(place).cloned().unwrap_or_default();
            self.replace(line, echo);
        }
    }
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
        assert_eq!(echo, b"shx\x08 \x08ow\r\n");
        assert_eq!(type_in(&mut editor, b"a b\x17c\r\0").0, [Key::Line("a c".into())]);
        assert_eq!(type_in(&mut editor, "ä\x08\r".as_bytes()).0, [Key::Line(String::new())]);
        assert_eq!(type_in(&mut editor, b"x\x03\x04").0, [Key::Interrupt, Key::End]);
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
