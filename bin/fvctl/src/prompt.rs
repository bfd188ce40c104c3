//! The interactive prompt: history, completion by the router, Ctrl-C, Ctrl-D.

use std::borrow::Cow;
use std::env;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use reedline::{
    ColumnarMenu, Completer, Emacs, FileBackedHistory, KeyCode, KeyModifiers, MenuBuilder, Prompt,
    PromptEditMode, PromptHistorySearch, Reedline, ReedlineEvent, ReedlineMenu, Signal, Span,
    Suggestion, default_emacs_keybindings,
};

use crate::link::Link;
use crate::wait::Keys;
use crate::{Printer, report};

/// Lines kept in the history file.
const HISTORY: usize = 10_000;
const MENU: &str = "words";

/// The connection, shared with the completer. Both use it from this thread only.
type Shared = Arc<Mutex<Link>>;

/// Reads and carries out commands until the operator leaves.
pub fn talk(link: Link, json: bool) -> io::Result<()> {
    let prompt = Text(link.prompt().to_owned());
    let link: Shared = Arc::new(Mutex::new(link));
    let mut editor = editor(&link)?;
    loop {
        let line = match editor.read_line(&prompt)? {
            Signal::Success(line) => line,
            Signal::CtrlD => return Ok(()),
            _ => continue,
        };
        if line.trim().is_empty() {
            continue;
        }
        let mut link = link.lock().unwrap_or_else(PoisonError::into_inner);
        let mut printer = Printer { out: io::stdout().lock(), ends_line: true };
        let outcome = {
            let keys = Keys::watch()?;
            link.run_watched(&line, json, &mut |text| printer.print(text), &mut |s| keys.wait(s))?
        };
        printer.finish()?;
        report(&outcome);
        if link.has_ended() {
            return Ok(());
        }
    }
}

fn editor(link: &Shared) -> io::Result<Reedline> {
    let mut keys = default_emacs_keybindings();
    keys.add_binding(
        KeyModifiers::NONE,
        KeyCode::Tab,
        ReedlineEvent::UntilFound(vec![
            ReedlineEvent::Menu(MENU.to_owned()),
            ReedlineEvent::MenuNext,
        ]),
    );
    let menu = Box::new(ColumnarMenu::default().with_name(MENU));
    let mut editor = Reedline::create()
        .with_completer(Box::new(Words(link.clone())))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_menu(ReedlineMenu::EngineCompleter(menu))
        .with_edit_mode(Box::new(Emacs::new(keys)));
    match history() {
        Ok(history) => editor = editor.with_history(Box::new(history)),
        Err(error) => writeln!(io::stderr(), "fvctl: no history: {error}")?,
    }
    Ok(editor)
}

/// `$XDG_STATE_HOME/ferrovia/history`, else `~/.local/state/ferrovia/history`.
fn history() -> io::Result<FileBackedHistory> {
    let state = env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    let missing = || io::Error::new(io::ErrorKind::NotFound, "neither XDG_STATE_HOME nor HOME");
    let folder = state.or_else(home).ok_or_else(missing)?.join("ferrovia");
    std::fs::create_dir_all(&folder)?;
    FileBackedHistory::with_file(HISTORY, folder.join("history")).map_err(io::Error::other)
}

/// Asks the router what may come next.
struct Words(Shared);

impl Completer for Words {
    fn complete(&mut self, line: &str, position: usize) -> Vec<Suggestion> {
        let line = line.get(..position).unwrap_or(line);
        let start = line.rfind([' ', '\t', '{']).map_or(0, |at| at + 1);
        let mut link = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Without the router there is nothing to suggest; the next command will say so.
        let words = link.complete(line).unwrap_or_default();
        let suggestion = |(value, help): (String, String)| Suggestion {
            value,
            description: (!help.is_empty()).then_some(help),
            span: Span::new(start, position),
            append_whitespace: true,
            ..Suggestion::default()
        };
        words.into_iter().map(suggestion).collect()
    }
}

/// The router's prompt as it is.
struct Text(String);

impl Prompt for Text {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        Cow::Owned(format!("(search: {}) ", search.term))
    }
}
