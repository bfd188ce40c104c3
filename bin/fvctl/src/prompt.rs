//! The interactive prompt: history, completion by the router, Ctrl-C, Ctrl-D.

use std::borrow::Cow;
use std::cell::RefCell;
use std::env;
use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use control::cli::{SessionRequest, is_unpaged};
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
/// Time between two attempts to find a router that was lost.
const AGAIN: Duration = Duration::from_millis(200);

/// The connection, shared with the completer. Both use it from this thread only.
type Shared = Arc<Mutex<Link>>;

/// A person at a terminal.
struct Person<'s> {
    link: Shared,
    /// The router's socket, as given.
    socket: Option<&'s str>,
    json: bool,
    editor: Reedline,
    prompt: Text,
    /// Output stops at each page.
    pages: bool,
    keys: Keys,
}

/// Reads and runs commands until the operator leaves.
pub fn talk(link: Link, socket: Option<&str>, json: bool) -> io::Result<()> {
    let prompt = Text { text: link.prompt().to_owned(), failed: false, plain: is_plain() };
    let link: Shared = Arc::new(Mutex::new(link));
    let editor = editor(&link)?;
    let keys = Keys::take()?;
    Person { link, socket, json, editor, prompt, pages: true, keys }.talk()
}

impl Person<'_> {
    fn talk(&mut self) -> io::Result<()> {
        let shared = Arc::clone(&self.link);
        loop {
            let signal = self.editor.read_line(&self.prompt)?;
            let mut link = shared.lock().unwrap_or_else(PoisonError::into_inner);
            match signal {
                Signal::Success(line) if !line.trim().is_empty() => {
                    // The history is kept, however the program ends.
                    if let Err(error) = self.editor.sync_history() {
                        writeln!(io::stderr(), "fvctl: the history is not kept: {error}")?;
                    }
                    let outcome = match self.carry_out(&mut link, &line) {
                        Err(_) if link.has_ended() => {
                            writeln!(io::stderr(), "fvctl: the router has ended the session")?;
                            return Ok(());
                        }
                        Err(error) if is_lost(&error) => {
                            *link = self.again(&error)?;
                            let text = "reconnected; the command may or may not have run";
                            Outcome::Failed(text.to_owned())
                        }
                        outcome => outcome?,
                    };
                    self.prompt.failed = !match outcome {
                        Outcome::SessionRequest(session_request) => self.grant(session_request)?,
                        outcome => report(&outcome),
                    };
                }
                Signal::HostCommand(_) => {
                    explain(&mut link, self.editor.current_buffer_contents())?;
                }
                Signal::CtrlD => return Ok(()),
                _ => {}
            }
            if link.has_ended() {
                return Ok(());
            }
        }
    }

    /// A connection in place of the lost one, once the router listens again. Ctrl-C gives up.
    fn again(&self, why: &io::Error) -> io::Result<Link> {
        writeln!(io::stderr(), "fvctl: {why}; waiting for it, Ctrl-C gives up")?;
        loop {
            match Link::open(self.socket) {
                Ok(link) => return Ok(link),
                Err(error) if self.keys.clear() => return Err(error),
                Err(_) => std::thread::sleep(AGAIN),
            }
        }
    }

    /// Runs one command; its output is paged on a terminal.
    fn carry_out(&self, link: &mut Link, line: &str) -> io::Result<Outcome> {
        let keys = &self.keys;
        keys.clear();
        let out = io::stdout();
        let pages = self.pages && !is_unpaged(line);
        let size = if pages && out.is_terminal() { tcgetwinsize(&out).ok() } else { None };
        let Some(size) = size.filter(|size| size.ws_row > 0) else {
            let mut printer = Printer { out: out.lock(), ends_line: true };
            let mut print = |text: &str| printer.print(text);
            let outcome = link.run_watched(line, self.json, &mut print, &mut |s| keys.wait(s))?;
            printer.finish()?;
            return Ok(outcome);
        };
        let size = Size { lines: size.ws_row.into(), columns: size.ws_col.into() };
        let pager = RefCell::new(Pager::new(out.lock(), size, || keys.key()));
        let mut wait = |socket: &dyn AsFd| Ok(pager.borrow().is_enough() || keys.wait(socket)?);
        let mut print = |text: &str| pager.borrow_mut().print(text);
        let outcome = link.run_watched(line, self.json, &mut print, &mut wait)?;
        let seen_enough = pager.borrow().is_enough();
        pager.into_inner().finish()?;
        Ok(if seen_enough { Outcome::Done } else { outcome })
    }

    /// Handles a command's request to the terminal's session; false if that is impossible.
    fn grant(&mut self, session_request: SessionRequest) -> io::Result<bool> {
        match session_request {
            SessionRequest::History => show_history(&self.editor)?,
            SessionRequest::Terminal => self.show_terminal()?,
            SessionRequest::Pager(is_on) => self.pages = is_on,
            SessionRequest::Ansi(is_on) => self.prompt.plain = !is_on,
            SessionRequest::KeepHistory(_) => {
                writeln!(io::stderr(), "fvctl keeps {HISTORY} lines over sessions, always")?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn show_terminal(&self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let size = tcgetwinsize(&out).ok();
        let (width, height) = size.map_or((0, 0), |size| (size.ws_col, size.ws_row));
        let yes = |is_so| if is_so { "yes" } else { "no" };
        let name = env::var("TERM").unwrap_or_default();
        writeln!(out, "Terminal name:   {name}")?;
        writeln!(out, "Terminal width:  {width}")?;
        writeln!(out, "Terminal height: {height}")?;
        writeln!(out, "ANSI capable:    {}", yes(!self.prompt.plain))?;
        writeln!(out, "History enabled: yes")?;
        writeln!(out, "History limit:   {HISTORY}")?;
        writeln!(out, "Pager enabled:   {}", yes(self.pages))
    }
}

/// Whether the router is gone, or was.
fn is_lost(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

/// Output of `?`: usage and arguments of the command so far, or the words that begin so.
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

/// Output of `history`.
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
    let path = folder.join("history");
    // Lines may have secrets in them: only the owner can read them, or those of earlier versions.
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    FileBackedHistory::with_file(HISTORY, path).map_err(io::Error::other)
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
    /// Without colours.
    plain: bool,
}

impl Prompt for Text {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        if !self.failed || self.plain {
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
