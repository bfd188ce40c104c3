//! Assistance while typing: completion and help.

use super::Dialog;
use crate::cli::Candidate;

impl<C: 'static> Dialog<C> {
    pub(super) fn candidates(&self, line: &str) -> Vec<Candidate> {
        let shared = &self.server.0;
        shared.cli.complete(&shared.cx.borrow(), line)
    }

    pub(super) fn complete(&mut self) {
        let line = self.editor.before_cursor();
        let found = self.candidates(&line);
        let typed = line.rsplit([' ', '{']).next().unwrap_or_default().len();
        let Some(first) = found.first() else { return };
        let same = |word: &str| {
            let pairs = first.word.chars().zip(word.chars());
            pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
        };
        let common: usize = found.iter().map(|c| same(&c.word)).min().unwrap_or_default();
        let mut text = first.word.get(typed..common).unwrap_or_default().to_owned();
        if found.len() == 1 && !first.word.ends_with('/') {
            text.push(' ');
        }
        if text.is_empty() {
            let words: Vec<_> = found.iter().map(|c| c.word.as_str()).collect();
            return self.show_below(&format!("{}\n", words.join("  ")));
        }
        self.editor.insert(text.as_bytes(), &mut self.out.bytes);
    }

    pub(super) fn help(&mut self) {
        let shared = &self.server.0;
        let text = match shared.cli.explain(&shared.cx.borrow(), &self.editor.line()) {
            Ok(help) => help.to_text(),
            Err(error) => format!("{}\n", error.for_person()),
        };
        self.show_below(&text);
    }

    /// Shows `text` and then the prompt and the line being typed again.
    fn show_below(&mut self, text: &str) {
        let prompt = &self.server.0.settings.prompt;
        let text = format!("\n{text}{prompt}{}", self.editor.line());
        self.write(&text);
    }
}
