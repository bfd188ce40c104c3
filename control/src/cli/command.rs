//! The trait of commands: place in the tree, its arguments, and what it does.

use std::any::Any;
use std::cell::Cell;
use std::path::PathBuf;

use wire::IpVersion;

use super::builtin::ShowCli;
use super::pattern::{Pattern, name_of};
use super::{Args, Error, Line, Output, SessionRequest, Task};
use crate::feature::Owner;
use crate::secret::Secrets;

/// A command as data. Derive it (`#[derive(Command)]`), or write [`parse`](Self::parse) by hand
/// for an odd grammar.
pub trait Command: Sized {
    /// The words before the arguments, such as `create vxlan tunnel`; more than one when the
    /// command has several names, none when several parts have it (`Cli::command_at`).
    const PATHS: &'static [&'static str];
    /// One line for `help`.
    const ABOUT: &'static str;
    /// Arguments in declaration order, for help and completion.
    const ARGS: &'static [ArgInfo] = &[];
    /// Usage line after the path, in the notation of `cli/pattern.rs`; made from
    /// [`ARGS`](Self::ARGS) when empty. Completion follows it.
    const USAGE: &'static str = "";
    /// Keywords before hidden values that are not in [`ARGS`](Self::ARGS).
    const SECRETS: &'static [&'static str] = &[];
    /// The first hidden word after the path, counted from 0; all later ones are hidden as well. The
    /// command omits secrets from its errors.
    const SECRET_REST: Option<usize> = None;

    /// Reads the arguments. Words left over are refused by the caller.
    fn parse(args: &mut Args<'_>) -> Result<Self, Error>;
}

/// Arguments that several commands have, for a field with `#[flatten]`. Derive them.
pub trait Arguments: Sized {
    /// In declaration order.
    const ARGS: &'static [ArgInfo];
    /// Fields read so far.
    type Read: Default;

    /// Takes the next argument if it is one of these.
    ///
    /// # Errors
    /// What is wrong with it.
    fn take(read: &mut Self::Read, args: &mut Args<'_>) -> Result<bool, Error>;
    /// All arguments.
    ///
    /// # Errors
    /// One that is missing.
    fn finish(read: Self::Read) -> Result<Self, Error>;
    /// Writes them, in words that are taken.
    fn print(&self, line: &mut Line<'_>);
    /// Reads them all, where a command has no others.
    ///
    /// # Errors
    /// What is wrong with them.
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut read = Self::Read::default();
        while !args.is_empty() {
            if !Self::take(&mut read, args)? {
                return Err(args.unknown_of(Self::ARGS));
            }
        }
        Self::finish(read)
    }
}

/// An enum whose variants are words. Derive it.
pub trait Words {
    /// The words, with `|` in between.
    const VALUES: &'static str;
}

impl Words for IpVersion {
    const VALUES: &'static str = "ip4|ip6";
}

/// Number of arguments in these together.
pub const fn count(parts: &[&[ArgInfo]]) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < parts.len() {
        count += parts[at].len();
        at += 1;
    }
    count
}

/// All these arguments.
///
/// # Panics
/// Unless there are `COUNT` of them; while the program is compiled.
pub const fn join<const COUNT: usize>(parts: &[&[ArgInfo]]) -> [ArgInfo; COUNT] {
    const NOTHING: ArgInfo = ArgInfo::of("", &[], "", Kind::Flag);
    let mut all = [NOTHING; COUNT];
    let (mut part, mut at, mut to) = (0, 0, 0);
    while part < parts.len() {
        if at == parts[part].len() {
            (part, at) = (part + 1, 0);
        } else {
            all[to] = parts[part][at];
            (at, to) = (at + 1, to + 1);
        }
    }
    assert!(to == COUNT, "the count is that of the parts");
    all
}

/// A command that is known only at run time.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    /// The words before the arguments.
    pub path: &'static str,
    /// One line for `help`.
    pub about: &'static str,
    /// Usage line after the path, as in [`Command::USAGE`].
    pub usage: &'static str,
}

/// One argument, as help and completion show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgInfo {
    /// Name of the value in the usage line.
    pub name: &'static str,
    /// Words that introduce it; none when its position does.
    pub keywords: &'static [&'static str],
    /// One line of help.
    pub help: &'static str,
    /// Whether a value follows and how often.
    pub kind: Kind,
    /// Kind of live names that complete its value, such as `interface`; `file` for paths; the words
    /// it may be, with `|` in between; empty for that of its name.
    pub values: &'static str,
    /// Lowest and highest number it may be, such as `0-255`; empty when it is no number.
    pub range: &'static str,
    /// Whether its value is hidden.
    pub is_secret: bool,
}

/// Shape of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A keyword alone.
    Flag,
    /// A value that must be there.
    Required,
    /// A value that may be left out.
    Optional,
    /// A value that may come any number of times.
    Repeated,
    /// All remaining text.
    Rest,
}

/// Outcome of a command's handler.
pub(super) enum Effect<C> {
    /// Finished.
    Done(Output),
    /// More to do in slices.
    Task(Box<dyn Task<C>>),
    /// Continue with the commands of a file.
    Exec(PathBuf),
    /// Continue with the commands of a text.
    Text(String),
    /// Show help for these words.
    Help(String),
    /// List commands.
    Commands(ShowCli),
    /// Something of the session.
    SessionRequest(SessionRequest),
    /// End the session.
    Quit,
}

/// Parses the arguments and carries the command out.
type Action<C> = Box<dyn Fn(&mut C, &mut Args<'_>) -> Result<Effect<C>, Error>>;

/// A registered command.
pub(super) struct Entry<C> {
    pub about: &'static str,
    pub args: &'static [ArgInfo],
    usage: &'static str,
    pub secrets: Secrets,
    pub run: Action<C>,
    /// How often it ran, for `show cli hit`.
    pub runs: Cell<u64>,
    /// Owner of the command.
    pub owner: Owner,
}

impl<C> Entry<C> {
    /// A command; values of its arguments look names up in the `context` of the state.
    pub fn new<T: Command>(
        context: fn(&C) -> &dyn Any,
        effect: impl Fn(&mut C, T) -> Result<Effect<C>, Error> + 'static,
    ) -> Self
    where
        C: 'static,
    {
        let run = move |cx: &mut C, args: &mut Args<'_>| {
            let mut command = None;
            read_twice(args.in_context(context(cx)), T::ARGS, &mut |words| {
                command = Some(T::parse(words)?);
                Ok(())
            })?;
            effect(cx, command.expect("it was read"))
        };
        let (about, args, usage, secrets) = (T::ABOUT, T::ARGS, T::USAGE, Secrets::of::<T>());
        Self::with(about, args, usage, secrets, Box::new(run))
    }

    /// A command that is known only at run time.
    pub fn described(
        command: &Described,
        handler: impl Fn(&mut C, &mut Args<'_>) -> Result<Output, Error> + 'static,
    ) -> Self {
        let run = move |cx: &mut C, args: &mut Args<'_>| {
            let output = handler(cx, args)?;
            if args.is_empty() { Ok(Effect::Done(output)) } else { Err(args.unknown()) }
        };
        let (Described { about, usage, .. }, secrets) = (*command, Secrets::NONE);
        Self::with(about, &[], usage, secrets, Box::new(run))
    }

    fn with(
        about: &'static str,
        args: &'static [ArgInfo],
        usage: &'static str,
        secrets: Secrets,
        run: Action<C>,
    ) -> Self {
        Self { about, args, usage, secrets, run, runs: Cell::new(0), owner: Owner::current() }
    }

    /// Pattern of the words after the path; `None` when the usage line cannot be read.
    pub fn pattern(&self) -> Option<Pattern> {
        if self.usage.is_empty() {
            return Some(Pattern::of(self.args));
        }
        Pattern::parse(self.usage)
    }

    /// The argument with the value `name`.
    pub fn value(&self, name: &str) -> Option<&'static ArgInfo> {
        self.args.iter().find(|arg| name_of(arg.name) == name)
    }

    /// The argument that `keyword` introduces.
    pub fn keyword(&self, keyword: &str) -> Option<&'static ArgInfo> {
        let begins = |k: &&str| k.split(' ').next() == Some(keyword);
        self.args.iter().find(|arg| arg.keywords.iter().any(begins))
    }

    /// Usage line after the path.
    pub fn usage(&self) -> String {
        if !self.usage.is_empty() {
            return self.usage.to_owned();
        }
        let words: Vec<_> = self.args.iter().map(ArgInfo::usage).collect();
        words.join(" ")
    }
}

/// Parses all of a command's arguments with `read`, trying a second time as if blanks were missing,
/// and a third time without those inside addresses. The error is that of the first try.
fn read_twice(
    words: Args<'_>,
    known: &'static [ArgInfo],
    read: &mut dyn FnMut(&mut Args<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut whole = |mut words: Args<'_>| {
        read(&mut words)?;
        if words.is_empty() { Ok(()) } else { Err(words.unknown_of(known)) }
    };
    let tried = whole(words).or_else(|why| whole(words.glued()).map_err(|_| why));
    match words.joined().filter(|_| tried.is_err()) {
        Some(text) => whole(words.over(&text)).or(tried),
        None => tried,
    }
}

/// All words that introduce arguments.
pub fn keywords(args: &'static [ArgInfo]) -> impl Iterator<Item = &'static str> {
    args.iter().flat_map(|arg| arg.keywords.iter().copied())
}

impl ArgInfo {
    /// An argument whose value is anything.
    pub const fn of(
        name: &'static str,
        keywords: &'static [&'static str],
        help: &'static str,
        kind: Kind,
    ) -> Self {
        Self { name, keywords, help, kind, values: "", range: "", is_secret: false }
    }

    fn usage(&self) -> String {
        let keyword = self.keywords.first().map_or(String::new(), |k| format!("{k} "));
        // The possible words of a value are more informative than its name.
        let name = if self.values.contains('|') { self.values } else { self.name };
        match self.kind {
            Kind::Flag => format!("[{}]", keyword.trim_end()),
            Kind::Required => format!("{keyword}<{name}>"),
            Kind::Optional => format!("[{keyword}<{name}>]"),
            Kind::Repeated => format!("[{keyword}<{name}>]..."),
            Kind::Rest => format!("<{name}...>"),
        }
    }
}
