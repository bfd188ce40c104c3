//! The dialog with one client: requests and answers, without a socket.

mod assist;
mod dialect;
mod framed;
mod grant;

use std::collections::VecDeque;
use std::rc::Rc;

use tokio::sync::Notify;

use super::Server;
use super::edit::{Editor, Key};
use super::frame::Answer;
use super::job::Job;
use super::pager::Pager;
use super::telnet::{ASK_WINDOW, DO, Decoder, Event, FRAMES, GREETING, IAC};
use super::terminal::{self, Terminal};
use crate::cli::{Error, Joining, Output, SHOWN, Session, Step, joined};
use crate::turn::Turn;
use dialect::Dialect;
use framed::is_cancel;

/// Bytes of output that may wait before the command that makes them rests.
const MAX_WAITING: usize = 256 * 1024;
/// Events that may wait before no more input is read.
const MAX_EVENTS: usize = 64 * 1024;
/// Longest command.
const MAX_COMMAND: usize = 1024 * 1024;

/// State of one session.
pub(super) struct Dialog<C: 'static> {
    server: Server<C>,
    dialect: Dialect,
    decoder: Decoder,
    terminal: Terminal,
    editor: Editor,
    pager: Pager,
    /// Input not yet acted on.
    events: VecDeque<Event>,
    /// Line so far, in dialects without editor.
    line: Vec<u8>,
    /// Earlier lines of a command whose braces are open.
    block: String,
    joining: Joining,
    work: Option<Work<C>>,
    session: Session,
    origin: Rc<str>,
    out: Outgoing,
    prompts: bool,
    /// The client sends no more.
    ended: bool,
    /// Whether input is no longer read.
    closing: bool,
}

/// The command in progress.
struct Work<C: 'static> {
    job: Job<C>,
    form: Form,
}

/// Form of its output.
enum Form {
    Typed,
    Text(u32),
    /// Also whether it is one that shows something: an empty list is `[]`.
    Json(u32, Output, bool),
}

/// Bytes for the client.
#[derive(Default)]
struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
}

impl<C: 'static> Dialog<C> {
    pub fn telnet(server: &Server<C>, peer: String, user: &str) -> Self {
        let mut dialog = Self::new(server, Dialect::Undecided, peer, user);
        dialog.out.bytes.extend(GREETING);
        dialog.out.bytes.extend(ASK_WINDOW);
        dialog
    }

    pub fn lines(server: &Server<C>) -> Self {
        let mut dialog = Self::new(server, Dialect::Undecided, "standard input".to_owned(), "");
        dialog.begin(Dialect::Lines);
        dialog
    }

    fn new(server: &Server<C>, dialect: Dialect, peer: String, user: &str) -> Self {
        Self {
            server: server.clone(),
            dialect,
            decoder: Decoder::default(),
            terminal: Terminal::new(server.0.settings.pager),
            editor: Editor::new(server.0.settings.history),
            pager: Pager::default(),
            events: VecDeque::new(),
            line: Vec::new(),
            block: String::new(),
            joining: Joining::default(),
            work: None,
            origin: format!("CLI {user}").trim_end().into(),
            session: server.0.cli.sessions().open(peer),
            out: Outgoing::default(),
            prompts: false,
            ended: false,
            closing: false,
        }
    }

    pub fn wants_input(&self) -> bool {
        let has_place = self.events.len() < MAX_EVENTS || self.pager.holds();
        !self.ended && !self.closing && has_place
    }

    pub fn wants_step(&self) -> bool {
        self.work.is_some() && self.has_room()
    }

    /// Whether there is input to act on once others have had their turn.
    pub fn wants_turn(&self) -> bool {
        self.may_act() && (self.prompts || !self.events.is_empty())
    }

    pub fn is_undecided(&self) -> bool {
        self.dialect == Dialect::Undecided
    }

    pub fn has_ended(&self) -> bool {
        self.ended || self.closing
    }

    /// True when nothing is left to do or to send.
    pub fn is_over(&self) -> bool {
        let idle = self.work.is_none() && self.output().is_empty();
        idle && (self.closing || (self.ended && !self.is_undecided() && self.events.is_empty()))
    }

    /// Bytes to send.
    pub fn output(&self) -> &[u8] {
        &self.out.bytes[self.out.sent..]
    }

    /// The first `count` of them are sent.
    pub fn sent(&mut self, count: usize) {
        self.out.sent += count;
        if self.output().is_empty() {
            self.out = Outgoing::default();
        }
    }

    /// Waits until the command in progress can go on.
    pub async fn ready(&self) {
        match &self.work {
            Some(work) => work.job.ready().await,
            None => std::future::pending().await,
        }
    }

    /// The client has sent everything. One that uses frames stays for the answers, so it is gone:
    /// its command could not be stopped.
    pub fn end(&mut self) {
        self.ended = true;
        if self.dialect == Dialect::Framed && self.is_busy() {
            self.interrupt();
        }
        if self.is_undecided() {
            self.begin(Dialect::Plain);
        }
        self.pager.restart();
        self.pager.set_window(0, 0);
    }

    /// Begins with a client that does not identify itself.
    pub fn decide(&mut self) {
        self.begin(self.kind());
    }

    /// Notified when another session ends this one.
    pub fn killed(&self) -> Rc<Notify> {
        self.session.killed()
    }

    /// Ends it, whatever is in progress, and says why.
    pub fn close(&mut self) {
        let why = self.session.why();
        if self.is_busy() {
            self.interrupt();
        }
        match self.dialect {
            Dialect::Framed => self.answer(0, &Answer::Bye),
            _ => self.write(&format!("\n{why}\n")),
        }
        self.closing = true;
    }

    /// Takes bytes from the client.
    pub fn receive(&mut self, bytes: &[u8], turn: &Turn) {
        for byte in bytes {
            let event = match self.dialect {
                Dialect::Lines => Some(Event::Byte(*byte)),
                _ => self.decoder.byte(*byte),
            };
            match event {
                None => {}
                Some(Event::Terminal(name)) if self.is_undecided() => {
                    self.terminal.name.clone_from(&name);
                    self.editor.set_ansi(terminal::is_ansi(&name));
                    let is_client = name.eq_ignore_ascii_case("vppctl");
                    self.begin(if is_client { Dialect::Plain } else { self.kind() });
                }
                Some(Event::Terminal(_)) => {}
                Some(Event::Window { width, height }) => {
                    (self.terminal.columns, self.terminal.lines) = (width, height);
                    self.set_page();
                }
                Some(Event::Frames) => self.begin(Dialect::Framed),
                Some(Event::Interrupt) => self.interrupt(),
                Some(Event::Byte(3)) if self.is_busy() && self.dialect == Dialect::Terminal => {
                    self.interrupt();
                }
                Some(Event::Byte(key)) if self.pager.holds() => self.turn_page(key),
                Some(Event::Frame(frame)) if is_cancel(&frame) => self.interrupt(),
                Some(event) => {
                    self.events.push_back(event);
                    // What follows may be meant for the command that this starts.
                    self.act(turn);
                }
            }
        }
    }

    /// Acts on input as far as possible in this turn.
    pub fn act(&mut self, turn: &Turn) {
        while self.may_act() && !turn.is_over() {
            if std::mem::take(&mut self.prompts) {
                let prompt = &self.server.0.settings.prompt;
                self.out.bytes.extend(prompt.as_bytes());
            }
            match self.events.pop_front() {
                None => return,
                Some(Event::Byte(byte)) if self.dialect == Dialect::Terminal => self.key(byte),
                Some(Event::Byte(byte)) if self.dialect != Dialect::Framed => self.byte(byte),
                Some(Event::Frame(frame)) if self.dialect == Dialect::Framed => {
                    self.request(&frame);
                }
                Some(_) => {}
            }
        }
    }

    /// Runs a slice of the command in progress.
    pub fn step(&mut self) {
        let Some(mut work) = self.work.take() else { return };
        let mut output = Output::none();
        let step = work.job.step(&mut output);
        if work.job.is_unpaged() {
            self.pager.let_all_through();
        }
        match &mut work.form {
            Form::Typed => self.print(&output.to_text()),
            Form::Text(_) if output.is_empty() => {}
            Form::Text(number) => self.answer_output(*number, &output.to_text()),
            Form::Json(_, all, _) => all.append(output),
        }
        if let Some(session_request) = work.job.session_request() {
            match work.form {
                Form::Typed => {
                    let granted = self.grant(session_request);
                    self.print(&granted.to_text());
                }
                // Programs that speak in frames keep lines and pages themselves.
                Form::Text(number) | Form::Json(number, ..) => {
                    self.answer(number, &Answer::SessionRequest { session_request });
                }
            }
        }
        match step {
            Step::Done(result) => self.done(work, result),
            // No client waits for a long command.
            _ if self.ended => {}
            _ => self.work = Some(work),
        }
    }

    fn begin(&mut self, dialect: Dialect) {
        if !self.is_undecided() {
            return;
        }
        self.dialect = dialect;
        self.session.change(|session| {
            session.dialect = dialect.word();
            session.terminal.clone_from(&self.terminal.name);
        });
        match dialect {
            Dialect::Terminal | Dialect::Lines => {
                let banner = self.server.0.settings.banner.clone();
                self.write(&banner);
                self.prompts = true;
            }
            Dialect::Framed => {
                self.out.bytes.extend([IAC, DO, FRAMES]);
                let prompt = self.server.0.settings.prompt.clone();
                self.answer(0, &Answer::Hello { prompt });
            }
            Dialect::Plain | Dialect::Undecided => {}
        }
    }

    fn kind(&self) -> Dialect {
        if self.server.0.settings.line_mode { Dialect::Lines } else { Dialect::Terminal }
    }

    fn is_busy(&self) -> bool {
        self.work.is_some() || self.pager.holds() || !self.events.is_empty()
    }

    fn may_act(&self) -> bool {
        !self.closing && self.work.is_none() && self.has_room() && !self.is_undecided()
    }

    fn has_room(&self) -> bool {
        self.output().len() < MAX_WAITING && !self.pager.holds()
    }

    fn key(&mut self, byte: u8) {
        match self.editor.byte(byte, &mut self.out.bytes) {
            Key::None => {}
            Key::Line(line) => self.entered(&line),
            Key::Tab => self.complete(),
            Key::Help => self.help(),
            Key::Interrupt => {
                self.take_block();
                self.prompts = true;
            }
            Key::End => self.closing = true,
        }
    }

    fn byte(&mut self, byte: u8) {
        match byte {
            b'\n' => {
                let line = std::mem::take(&mut self.line);
                self.entered(&String::from_utf8_lossy(&line));
            }
            0 | b'\r' => {}
            _ if self.line.len() == MAX_COMMAND => self.closing = true,
            _ => self.line.push(byte),
        }
    }

    fn take_block(&mut self) -> String {
        self.joining = Joining::default();
        std::mem::take(&mut self.block)
    }

    fn entered(&mut self, line: &str) {
        self.block.push_str(line);
        if self.joining.take(line) && self.block.len() < MAX_COMMAND {
            self.block.push('\n');
            return self.acknowledge();
        }
        let block = self.take_block();
        let text = joined(&block);
        if text.trim().is_empty() {
            return self.acknowledge();
        }
        self.pager.restart();
        self.start(&text, Form::Typed);
    }

    fn start(&mut self, text: &str, form: Form) {
        let first = text.floor_char_boundary(SHOWN);
        self.session.begin(&self.server.0.cli.shown(&text[..first]));
        self.work = Some(Work { job: Job::new(&self.server, text, Rc::clone(&self.origin)), form });
    }

    fn done(&mut self, work: Work<C>, result: Result<(), Error>) {
        self.session.finish();
        self.closing |= work.job.quits();
        let number = match work.form {
            Form::Typed => {
                if let Err(error) = result {
                    let text = match self.dialect {
                        Dialect::Plain => error.to_string(),
                        _ => error.marked(),
                    };
                    self.print(&format!("{text}\n"));
                }
                return self.acknowledge();
            }
            Form::Text(number) => number,
            Form::Json(number, output, shows) => {
                let text = match shows && result.is_ok() && output.is_empty() {
                    true => "[]".to_owned(),
                    false => output.to_json().to_string(),
                };
                self.answer_output(number, &text);
                number
            }
        };
        if self.closing {
            self.answer(number, &Answer::Bye);
        }
        self.answer_done(number, result);
    }

    /// Signals that the next command may be sent. `vppctl` ends at the first such signal, so lines
    /// from a pipe are all answered before it.
    fn acknowledge(&mut self) {
        match self.dialect {
            Dialect::Plain => {
                while matches!(self.events.front(), Some(Event::Byte(0 | b'\r'))) {
                    self.events.pop_front();
                }
                if self.events.is_empty() {
                    self.out.bytes.push(0);
                }
            }
            Dialect::Terminal | Dialect::Lines => self.prompts = true,
            Dialect::Framed | Dialect::Undecided => {}
        }
    }

    /// Stops what is in progress and forgets what was typed ahead.
    fn interrupt(&mut self) {
        self.session.finish();
        self.pager.restart();
        let mut output = Output::none();
        let form = self.work.take().map(|mut work| {
            work.job.cancel(&mut output);
            work.form
        });
        match form {
            Some(form @ (Form::Text(number) | Form::Json(number, ..))) => {
                if matches!(form, Form::Text(_)) && !output.is_empty() {
                    self.answer_output(number, &output.to_text());
                }
                self.answer(number, &Answer::Done { code: -1, error: "interrupted".to_owned() });
            }
            None if self.dialect == Dialect::Framed => {}
            Some(Form::Typed) | None => {
                self.events.clear();
                self.write("^C\n");
                self.write(&output.to_text());
                self.acknowledge();
            }
        }
    }

    fn turn_page(&mut self, key: u8) {
        let (text, goes_on) = self.pager.key(key);
        self.write(&text);
        if !goes_on && self.work.take().is_some() {
            self.session.finish();
            self.acknowledge();
        }
    }

    /// Output of a command typed in.
    fn print(&mut self, text: &str) {
        if self.dialect == Dialect::Terminal {
            let text = self.pager.text(text);
            self.write(&text);
        } else {
            self.write(text);
        }
    }

    fn write(&mut self, text: &str) {
        if self.dialect == Dialect::Lines {
            return self.out.bytes.extend(text.as_bytes());
        }
        for byte in text.bytes() {
            if byte == b'\n' {
                self.out.bytes.push(b'\r');
            }
            self.out.bytes.push(byte);
        }
    }
}
