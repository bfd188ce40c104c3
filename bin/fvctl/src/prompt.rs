//! The interactive prompt: history, completion by the router, Ctrl-C, Ctrl-D.

use std::borrow::Cow;
use std::cell::RefCell;
use std::env;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use reedline::{
    ColumnarMenu, Completer, EditCommand, Emacs, FileBackedHistory, KeyCode, KeyModifiers,
    MenuBuilder, Prompt, PromptEditMode, PromptHistorySearch, Reedline, ReedlineEvent,
    ReedlineMenu, SearchDirection, SearchQuery, Signal, SimpleMatchHighlighter, Span, Suggestion,
    default_emacs_keybindings,
};
use rustix::termios::tcgetwinsize;

use crate::link::{Link, Outcome};
use crate::pager::{Pager, Size};
use crate::wait::Keys;
use crate::{Printer, report};

/// Lines kept in the history file.
const HISTORY: usize = 10_000;
const MENU: &str = "words";

/// The connection, shared with the completer. Both use it from this thread only.
type Shared = Arc<Mutex<Link>>;

/// Reads and carries out commands until the operator leaves.
pub fn talk(link: Link, json: bool) -> io::Result<()> {
    let mut prompt = Text { text: link.prompt().to_owned(), failed: false };
    let link: Shared = Arc::new(Mutex::new(link));
    let mut editor = editor(&link)?;
    loop {
        let signal = editor.read_line(&prompt)?;
        let mut link = link.lock().unwrap_or_else(PoisonError::into_inner);
        match signal {
            // Lines are kept here, over sessions.
            Signal::Success(line) if line.trim() == "history" => show_history(&editor)?,
            Signal::Success(line) if !line.trim().is_empty() => {
                prompt.failed = !report(&carry_out(&mut link, &line, json)?);
            }
            Signal::HostCommand(_) => explain(&mut link, editor.current_buffer_contents())?,
            Signal::CtrlD => return Ok(()),
            _ => {}
        }
        if link.has_ended() {
            return Ok(());
        }
    }
}

/// Carries out one command; what it prints stops at each page of a terminal.
fn carry_out(link: &mut Link, line: &str, json: bool) -> io::Result<Outcome> {
    let keys = Keys::watch()?;
    let out = io::stdout();
    let size = if out.is_terminal() { tcgetwinsize(&out).ok() } else { None };
    let Some(size) = size.filter(|size| size.ws_row > 0) else {
        let mut printer = Printer { out: out.lock(), ends_line: true };
        let outcome =
            link.run_watched(line, json, &mut |text| printer.print(text), &mut |s| keys.wait(s))?;
        printer.finish()?;
        return Ok(outcome);
    };
    let size = Size { lines: size.ws_row.into(), columns: size.ws_col.into() };
    let pager = RefCell::new(Pager::new(out.lock(), size, Keys::key));
    let mut wait = |socket: &dyn AsFd| Ok(pager.borrow().is_enough() || keys.wait(socket)?);
    let outcome =
        link.run_watched(line, json, &mut |text| pager.borrow_mut().print(text), &mut wait)?;
    let seen_enough = pager.borrow().is_enough();
    pager.into_inner().finish()?;
    Ok(if seen_enough { Outcome::Done } else { outcome })
}

/// What `?` shows: usage and arguments of the command so far, or the words that begin so.
fn explain(link: &mut Link, line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    // The editor leaves the cursor behind the line.
    writeln!(out, "?")?;
    if line.is_empty() || line.ends_with(' ') {
        let outcome =
            link.run(&format!("{line} ?"), false, &mut |text| out.write_all(text.as_bytes()))?;
        report(&outcome);
        return Ok(());
    }
    for (word, help) in link.complete(line)? {
        writeln!(out, "  {word:<30} {help}")?;
    }
    Ok(())
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
    // A new line begins without the words that were offered for the last one.
    keys.add_binding(
        KeyModifiers::CONTROL,
        KeyCode::Char('u'),
        ReedlineEvent::Multiple(vec![
            ReedlineEvent::Esc,
            ReedlineEvent::Edit(vec![EditCommand::CutFromStart]),
        ]),
    );
    for modifiers in [KeyModifiers::NONE, KeyModifiers::SHIFT] {
        let help = ReedlineEvent::ExecuteHostCommand(String::new());
        keys.add_binding(modifiers, KeyCode::Char('?'), help);
    }
    let menu = Box::new(ColumnarMenu::default().with_name(MENU).with_marker(""));
    let mut editor = Reedline::create()
        .with_completer(Box::new(Words(link.clone())))
        // What is typed has the terminal's own colour: white, the default, is seen on black only.
        .with_highlighter(Box::new(SimpleMatchHighlighter::default()))
        .with_ansi_colors(!is_plain())
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

/// What `history` shows.
fn show_history(editor: &Reedline) -> io::Result<()> {
    let query = SearchQuery::everything(SearchDirection::Forward, None);
    let lines = editor.history().search(query).map_err(io::Error::other)?;
    let mut out = io::stdout().lock();
    let mut numbered = lines.iter().enumerate();
    numbered.try_for_each(|(at, item)| writeln!(out, "{:>5}  {}", at + 1, item.command_line))
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

/// Whether the operator wants no colours.
fn is_plain() -> bool {
    env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty())
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
            append_whitespace: !value.ends_with('/'),
            value,
            description: (!help.is_empty()).then_some(help),
            span: Span::new(start, position),
            ..Suggestion::default()
        };
        words.into_iter().map(suggestion).collect()
    }
}

/// The router's prompt as it is, red after a command that failed.
struct Text {
    text: String,
    failed: bool,
}

impl Prompt for Text {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        if !self.failed || is_plain() {
            return Cow::Borrowed(&self.text);
        }
        Cow::Owned(format!("\x1b[31m{}\x1b[39m", self.text))
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
