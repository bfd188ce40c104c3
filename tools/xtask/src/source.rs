//! One Rust source: its text, and the same text with nothing left but code.

/// A source file. `code` has blanks where `text` has comments and the insides of literals, so that
/// lines and columns agree.
pub struct Source {
    /// Path from the root of the workspace.
    pub path: String,
    /// The file as it is.
    pub text: String,
    /// The file without comments and literals.
    pub code: String,
    /// For each line whether it belongs to a test.
    test_lines: Vec<bool>,
}

impl Source {
    pub fn new(path: String, text: String) -> Self {
        let code = mask(&text);
        let mut source = Self { path, test_lines: vec![false; text.lines().count()], text, code };
        source.find_tests();
        source
    }

    /// Whether the whole file is tests, examples or benchmarks.
    pub fn is_test_file(&self) -> bool {
        let mut parts = self.path.split('/');
        parts.any(|part| ["tests", "tests.rs", "examples", "benches"].contains(&part))
    }

    /// Whether line `line` (from zero) belongs to tests.
    pub fn is_test_line(&self, line: usize) -> bool {
        self.is_test_file() || self.test_lines.get(line).copied().unwrap_or(false)
    }

    /// The comments and literals: line (from zero) of the start, and text.
    pub fn passages(&self) -> impl Iterator<Item = (usize, &str)> {
        let (bytes, mut at, mut line) = (self.text.as_bytes(), 0, 0);
        std::iter::from_fn(move || {
            while at < bytes.len() {
                let (start, first) = (at, line);
                let end = skip(bytes, at).map(|end| end.min(bytes.len()));
                at = end.unwrap_or(at + 1);
                line += bytes[start..at].iter().filter(|byte| **byte == b'\n').count();
                if end.is_some() {
                    return Some((first, self.text.get(start..at)?));
                }
            }
            None
        })
    }

    /// The lines of code that are no tests: number from zero, and masked text.
    pub fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.lines().enumerate().filter(|(line, _)| !self.is_test_line(*line))
    }

    /// Line (from zero) of a byte of the file.
    pub fn line_of(&self, at: usize) -> usize {
        self.code.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count()
    }

    /// Places of `word` in the code as a whole word.
    pub fn words<'a>(&'a self, word: &'a str) -> impl Iterator<Item = usize> + 'a {
        let bytes = self.code.as_bytes();
        let is_part = |at: Option<&u8>| at.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
        self.code.match_indices(word).map(|(at, _)| at).filter(move |at| {
            let before = at.checked_sub(1).and_then(|at| bytes.get(at));
            !is_part(before) && !is_part(bytes.get(at + word.len()))
        })
    }

    /// End of the item or block that begins at or after `from`: behind its `}` or `;`.
    pub fn end_of_item(&self, from: usize) -> usize {
        let (mut curly, mut round) = (0_i32, 0_i32);
        for (at, byte) in self.code.bytes().enumerate().skip(from) {
            match byte {
                b'{' => curly += 1,
                b'(' | b'[' => round += 1,
                b')' | b']' => round -= 1,
                b'}' => {
                    curly -= 1;
                    if curly <= 0 {
                        return at + 1;
                    }
                }
                b';' if curly == 0 && round == 0 => return at + 1,
                _ => {}
            }
        }
        self.code.len()
    }

    fn find_tests(&mut self) {
        let starts: Vec<_> = self.code.match_indices("#[cfg(test)]").map(|(at, _)| at).collect();
        for start in starts {
            let end = self.end_of_item(start + "#[cfg(test)]".len());
            let lines = self.line_of(start)..=self.line_of(end);
            for line in lines {
                if let Some(mark) = self.test_lines.get_mut(line) {
                    *mark = true;
                }
            }
        }
    }
}

/// Blanks out comments and the insides of strings and characters; byte positions stay.
fn mask(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = skip(bytes, at);
        if let Some(end) = end {
            let end = end.min(bytes.len());
            for byte in &mut code[at..end] {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
            at = end;
        } else {
            at += 1;
        }
    }
    String::from_utf8_lossy(&code).into_owned()
}

/// The end of the comment or literal that begins at `at`, if one does.
fn skip(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    let is_name = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    match rest {
        [b'/', b'/', ..] => Some(find(bytes, at, b"\n")),
        [b'/', b'*', ..] => Some(end_of_comment(bytes, at)),
        [b'"', ..] => Some(end_of_string(bytes, at + 1)),
        [b'r', b'"' | b'#', ..] if !is_name => end_of_raw_string(bytes, at + 1),
        [b'b' | b'c', b'r', b'"' | b'#', ..] if !is_name => end_of_raw_string(bytes, at + 2),
        [b'\'', b'\\', _, ..] => Some(find(bytes, at + 3, b"'") + 1),
        [b'\'', first, ..] => end_of_char(rest, *first).map(|len| at + len),
        _ => None,
    }
}

/// Place of `what` from `at` on; the end of the text if it is missing.
fn find(bytes: &[u8], at: usize, what: &[u8]) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.windows(what.len()).position(|window| window == what).map_or(bytes.len(), |n| at + n)
}

fn end_of_comment(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0;
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return at + 2,
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    at
}

fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

fn end_of_raw_string(bytes: &[u8], at: usize) -> Option<usize> {
    let hashes = bytes[at..].iter().take_while(|byte| **byte == b'#').count();
    if bytes.get(at + hashes) != Some(&b'"') {
        return None;
    }
    let close: Vec<_> = [b'"'].into_iter().chain(std::iter::repeat_n(b'#', hashes)).collect();
    Some(find(bytes, at + hashes + 1, &close) + close.len())
}

/// Length of a character literal; `None` for a lifetime.
fn end_of_char(rest: &[u8], first: u8) -> Option<usize> {
    let len = match first {
        ..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    };
    (rest.get(1 + len) == Some(&b'\'')).then_some(len + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_no_code() {
        let text =
            "a \"{\\\"\" b // }\n'{' c /* /* { */ } */ d r#\"\"{\"# e b'\\'' 'x f<'a>() r\"\\\"";
        let code = mask(text);
        assert_eq!(code.len(), text.len());
        assert_eq!(
            code.split_whitespace().collect::<Vec<_>>(),
            ["a", "b", "c", "d", "e", "b", "'x", "f<'a>()"]
        );
    }

    #[test]
    fn tests_are_told_from_code() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
        let source = Source::new("x/src/lib.rs".into(), text.into());
        let code: Vec<_> = source.code_lines().map(|(line, _)| line).collect();
        assert_eq!(code, [0, 5]);
    }

    #[test]
    fn words_are_whole() {
        let source = Source::new("x.rs".into(), "unsafe_code unsafe {} unsafely".into());
        assert_eq!(source.words("unsafe").collect::<Vec<_>>(), [12]);
    }

    #[test]
    fn an_item_ends_with_its_brace_or_semicolon() {
        let source = Source::new("x.rs".into(), "fn a(x: [u8; 3]) { b(); { } } mod c; d".into());
        assert_eq!(source.end_of_item(0), "fn a(x: [u8; 3]) { b(); { } }".len());
        assert_eq!(source.end_of_item(30), "fn a(x: [u8; 3]) { b(); { } } mod c;".len());
    }
}
