//! Carrying out commands in slices, so that a long one never holds up the control plane.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::command::{Effect, Entry};
use super::filter::Filters;
use super::source::Source;
use super::{Args, Cli, Error, Output, SessionRequest};
use crate::origin;

/// Longest time between two looks at the rest of the control plane.
const SLICE: Duration = Duration::from_millis(2);
/// Deepest nesting of `exec` files.
const MAX_FILES: usize = 16;

/// Long work of a command, done in slices of at most 2 ms.
pub trait Task<C> {
    /// Does the next slice. Output may be sent on before the task is done.
    fn step(&mut self, cx: &mut C, out: &mut Output) -> Step;

    /// Undoes everything that must not outlive the task, and reports the result so far; called when
    /// the operator cancels it or disconnects, after which the task is dropped.
    fn cancel(&mut self, cx: &mut C, out: &mut Output) {
        let _ = (cx, out);
    }
}

/// The outcome of a slice of work.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Finished, with the command's result.
    Done(Result<(), Error>),
    /// More to do at once.
    Again,
    /// More to do after this time.
    Sleep(Duration),
    /// More to do after something in the router has changed.
    Wait,
}

/// One text on its way through the [`Cli`].
pub struct Run<C> {
    sources: Vec<Source>,
    task: Option<Running<C>>,
    /// Commands started so far.
    commands: usize,
    session_request: Option<SessionRequest>,
    is_empty: bool,
    quits: bool,
    is_unpaged: bool,
}

struct Running<C> {
    /// The command's place in the tree.
    at: usize,
    /// The command there when it began.
    entry: Option<Rc<Entry<C>>>,
    task: Box<dyn Task<C>>,
    filters: Filters,
}

impl<C: 'static> Running<C> {
    /// Whether the command is still the one that was started.
    fn is_there(&self, cli: &Cli<C>) -> bool {
        let (tree, entry) = (cli.tree(), self.entry.as_ref());
        let now = tree.node(self.at).entry.as_ref();
        entry.zip(now).is_some_and(|(entry, now)| Rc::ptr_eq(entry, now))
    }
}

/// The outcome of a text.
#[derive(Debug)]
pub struct Reply {
    /// Output, up to the first error.
    pub output: Output,
    /// The first error.
    pub result: Result<(), Error>,
}

impl Reply {
    /// Output, then the error's text as a line.
    pub fn text(&self) -> String {
        let mut text = self.output.to_text();
        if let Err(error) = &self.result {
            text.push_str(&error.to_string());
            text.push('\n');
        }
        text
    }

    /// 0, or the error's negative number.
    pub fn retval(&self) -> i32 {
        self.result.as_ref().map_or_else(Error::code, |()| 0)
    }
}

impl<C: 'static> Cli<C> {
    /// Runs `text` (one command or several lines) to its end or to the first error. Blocks while
    /// tasks wait: for startup and tests.
    pub fn run(&self, cx: &mut C, text: &str) -> Reply {
        let mut run = Run::new(text);
        let mut output = Output::none();
        loop {
            match run.step(self, cx, &mut output) {
                Step::Done(result) => return Reply { output, result },
                Step::Again => {}
                Step::Sleep(time) => std::thread::sleep(time),
                Step::Wait => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// Starts the command on `line`.
    fn start(&self, cx: &mut C, line: &str) -> Result<(usize, Effect<C>), Error> {
        let mut args = Args::new(line);
        let limit = self.commands.borrow().limit.unwrap_or(|_| Ok(()));
        if let Some(words) = line.trim_ascii_end().strip_suffix('?')
            && words.bytes().next_back().is_none_or(|b| b.is_ascii_whitespace())
        {
            limit("help")?;
            return Ok((0, Effect::Help(words.to_owned())));
        }
        let tree = self.tree();
        let at = tree.descend(&mut args)?;
        let node = tree.node(at);
        let Some(entry) = &node.entry else {
            let known = node.children.iter().map(|(word, _)| *word);
            return Err(args.unknown().meaning(args.peek(), known).under(&node.path));
        };
        limit(&node.path)?;
        let first = node.path.split(' ').next().unwrap_or_default();
        let changes = self.commands.borrow().changes;
        if first != "show" && changes.is_none_or(|changes| changes(&node.path)) {
            origin::note_change();
        }
        let words = args;
        let mut run = |at: usize, entry: &Entry<C>, args: &mut Args<'_>| {
            entry.runs.set(entry.runs.get() + 1);
            guarded(|| (entry.run)(cx, args))
                .map(|effect| (at, effect))
                .map_err(|e| e.under(&tree.node(at).path))
        };
        run(at, entry, &mut args).or_else(|why| {
            // What only shows may be tried again: `show interface pg0 address`.
            let longer = (first == "show").then(|| tree.longer(at, words)).flatten();
            let Some((at, line)) = longer else { return Err(why) };
            let node = tree.node(at);
            let Some(entry) = &node.entry else { return Err(why) };
            limit(&node.path)?;
            run(at, entry, &mut Args::new(&line)).map_err(|_| why)
        })
    }
}

impl<C: 'static> Run<C> {
    /// Prepares to run the commands of `text`.
    pub fn new(text: &str) -> Self {
        Self {
            sources: vec![Source::text(text.to_owned())],
            task: None,
            commands: 0,
            session_request: None,
            is_empty: text.bytes().all(super::args::is_blank),
            quits: false,
            is_unpaged: false,
        }
    }

    /// Works for at most 2 ms (plus the last command). Call it until it is [`Step::Done`].
    pub fn step(&mut self, cli: &Cli<C>, cx: &mut C, out: &mut Output) -> Step {
        if self.is_empty {
            return Step::Done(Err(Args::new("").unknown()));
        }
        #[allow(clippy::disallowed_methods, reason = "slices are real time, not router time")]
        let end = Instant::now() + SLICE;
        loop {
            match self.advance(cli, cx, out) {
                Ok(Step::Again) => {}
                Ok(step) => return step,
                Err(error) => return Step::Done(Err(self.locate(error))),
            }
            #[allow(clippy::disallowed_methods, reason = "slices are real time, not router time")]
            if Instant::now() >= end {
                return Step::Again;
            }
        }
    }

    /// Request of a command to its session, once: take it after each [`step`](Self::step) and grant
    /// it. A session request that is not taken fails.
    pub fn session_request(&mut self) -> Option<SessionRequest> {
        self.session_request.take()
    }

    /// Ends it at once. A running task is notified, and may have output; for a file, the position
    /// is reported.
    pub fn cancel(mut self, cx: &mut C, out: &mut Output) {
        use std::fmt::Write;
        if let Some(mut running) = self.task.take() {
            // A panic in here has nothing more to stop.
            let mut shown = Output::none();
            let _ = guarded(|| {
                running.task.cancel(cx, &mut shown);
                Ok(())
            });
            running.filters.take(shown, out);
            running.filters.finish(out);
        }
        if let Some((path, line)) = self.sources.iter().rev().find_map(Source::place) {
            // The command that called the file is none of its.
            let (path, done) = (path.display(), self.commands - 1);
            // An `Output` takes all text.
            let _ = writeln!(out, "exec: {path}:{line}: stopped; {done} commands were run");
        }
    }

    /// True when a command asked to end the session.
    pub fn quits(&self) -> bool {
        self.quits
    }

    /// True when a command wants its output in one piece.
    pub fn is_unpaged(&self) -> bool {
        self.is_unpaged
    }

    /// A slice of the current task, or the next command.
    fn advance(&mut self, cli: &Cli<C>, cx: &mut C, out: &mut Output) -> Result<Step, Error> {
        if let Some(running) = self.task.take() {
            return self.slice(running, cli, cx, out);
        }
        if self.session_request.is_some() {
            return Err(Error::new("the session has no terminal"));
        }
        let Some(source) = self.sources.last_mut() else { return Ok(Step::Done(Ok(()))) };
        let Some(line) = source.next()? else {
            self.sources.pop();
            return Ok(Step::Again);
        };
        if line.is_empty() {
            return Ok(Step::Again);
        }
        let line = cli.macros.expand(line);
        cli.note(&line);
        let blame = |e: Error| cli.without_secrets(e.marking(&line), &line);
        let (command, mut filters) = Filters::of(&line).map_err(blame)?;
        let (at, effect) = cli.start(cx, command).map_err(blame)?;
        self.commands += 1;
        self.is_unpaged = filters.is_unpaged;
        let is_output = matches!(
            effect,
            Effect::Done(_) | Effect::Task(_) | Effect::Help(_) | Effect::Commands(_)
        );
        if !is_output && !filters.is_none() {
            return Err(
                Error::new("the output cannot be filtered").under(&cli.tree().node(at).path)
            );
        }
        let mut shown = Output::none();
        match effect {
            Effect::Done(output) => shown = output,
            Effect::Task(task) => {
                let entry = cli.tree().node(at).entry.clone();
                return self.slice(Running { at, entry, task, filters }, cli, cx, out);
            }
            Effect::Help(words) => shown = cli.help(cx, &words)?,
            Effect::Exec(path) => self.nest("exec", || Source::file(&path))?,
            Effect::Text(text) => self.nest("uncomment", || Ok(Source::text(text)))?,
            Effect::Commands(show) => shown = cli.list(&show),
            Effect::SessionRequest(session_request) => {
                self.session_request = Some(session_request);
                return Ok(Step::Sleep(Duration::ZERO));
            }
            Effect::Quit => {
                self.sources.clear();
                self.quits = true;
            }
        }
        filters.take(shown, out);
        filters.finish(out);
        Ok(Step::Again)
    }

    /// Continues with other commands first.
    fn nest(
        &mut self,
        command: &str,
        source: impl FnOnce() -> Result<Source, Error>,
    ) -> Result<(), Error> {
        let is_deep = self.sources.len() >= MAX_FILES;
        let nested = if is_deep { Err(Error::new("nested too deeply")) } else { source() };
        self.sources.push(nested.map_err(|e| e.under(command))?);
        Ok(())
    }

    /// A slice of a task, which stays the current one unless it is done.
    fn slice(
        &mut self,
        mut running: Running<C>,
        cli: &Cli<C>,
        cx: &mut C,
        out: &mut Output,
    ) -> Result<Step, Error> {
        if !running.is_there(cli) {
            // What it would undo may be gone as well.
            let _ = guarded(|| {
                running.task.cancel(cx, out);
                Ok(())
            });
            return Err(Error::new("the command was removed: its plugin is unloaded"));
        }
        let mut shown = Output::none();
        let step = guarded(|| Ok(running.task.step(cx, &mut shown)));
        running.filters.take(shown, out);
        match step.unwrap_or_else(|panic| Step::Done(Err(panic))) {
            Step::Done(result) => {
                running.filters.finish(out);
                result.map_err(|e| e.under(&cli.tree().node(running.at).path))?;
                Ok(Step::Again)
            }
            step => {
                self.task = Some(running);
                Ok(step)
            }
        }
    }

    /// Says in which lines of which files the error happened, and forgets what would follow.
    fn locate(&mut self, mut error: Error) -> Error {
        while let Some(source) = self.sources.pop() {
            if let Some((path, line)) = source.place() {
                error = error.within(format_args!("exec: {}:{line}: ", path.display()));
            }
        }
        error
    }
}

/// Turns a panic of a handler into its error.
fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Err(Error::new(format!("internal error: {}", text.unwrap_or("panic"))))
    })
}
