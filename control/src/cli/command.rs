//! What a command is: where it stands in the tree, its arguments, and what it does.

use std::path::PathBuf;

use super::pattern::{Pattern, name_of};
use super::{Args, Error, Output, Task, Wish};
use crate::feature::Owner;

/// A command as data. Derive it (`#[derive(Command)]`), or write [`parse`](Self::parse) by hand
/// for an odd grammar.
pub trait Command: Sized {
    /// The words before the arguments, such as `create vxlan tunnel`; more than one when the
    /// command has several names.
    const PATHS: &'static [&'static str];
    /// One line for `help`.
    const ABOUT: &'static str;
    /// Arguments in declaration order, for help and completion.
    const ARGS: &'static [ArgInfo] = &[];
    /// What follows the path in the usage line, in the notation of `cli/pattern.rs`; made
    /// from [`ARGS`](Self::ARGS) when empty. Completion follows it.
    const USAGE: &'static str = "";

    /// Reads the arguments. Words left over are refused by the caller.
    fn parse(args: &mut Args<'_>) -> Result<Self, Error>;
}

/// A command that is known only at run time.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    /// The words before the arguments.
    pub path: &'static str,
    /// One line for `help`.
    pub about: &'static str,
    /// What follows the path, as in [`Command::USAGE`].
    pub usage: &'static str,
}

/// One argument, as help and completion show it.
#[derive(Clone, Copy, Debug)]
pub struct ArgInfo {
    /// Name of the value in the usage line.
    pub name: &'static str,
    /// Words that introduce it; none when its position does.
    pub keywords: &'static [&'static str],
    /// One line of help.
    pub help: &'static str,
    /// Whether a value follows and how often.
    pub kind: Kind,
    /// Which live names complete its value, such as `interface`; `file` for paths; the words it may
    /// be, with `|` in between; empty for what its name says.
    pub values: &'static str,
    /// Lowest and highest number it may be, such as `0-255`; empty when it is no number.
    pub range: &'static str,
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

/// What running a command's handler led to.
pub(super) enum Effect<C> {
    /// Finished.
    Done(Output),
    /// More to do in slices.
    Task(Box<dyn Task<C>>),
    /// Continue with the commands of a file.
    Exec(PathBuf),
    /// Show help for these words.
    Help(String),
    /// List all commands.
    Commands,
    /// Something of the session.
    Wish(Wish),
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
    pub run: Action<C>,
    /// Whose it is.
    pub owner: Owner,
}

impl<C> Entry<C> {
    pub fn new<T: Command>(effect: impl Fn(&mut C, T) -> Result<Effect<C>, Error> + 'static) -> Self
    where
        C: 'static,
    {
        let run = move |cx: &mut C, args: &mut Args<'_>| {
            let mut words = args.in_context(cx);
            let mut glued = words.glued();
            let command = read(&mut words).or_else(|e| read(&mut glued).map_err(|_| e))?;
            effect(cx, command)
        };
        let (about, args, usage) = (T::ABOUT, T::ARGS, T::USAGE);
        Self { about, args, usage, run: Box::new(run), owner: Owner::CORE }
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
        let Described { about, usage, .. } = *command;
        Self { about, args: &[], usage, run: Box::new(run), owner: Owner::CORE }
    }

    /// What may follow the path; `None` when the usage line cannot be read.
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

    /// What follows the path in the usage line.
    pub fn usage(&self) -> String {
        if !self.usage.is_empty() {
            return self.usage.to_owned();
        }
        let words: Vec<_> = self.args.iter().map(ArgInfo::usage).collect();
        words.join(" ")
    }
}

/// Reads all of a command's arguments.
fn read<T: Command>(args: &mut Args<'_>) -> Result<T, Error> {
    let command = T::parse(args)?;
    if args.is_empty() { Ok(command) } else { Err(args.unknown_of(T::ARGS)) }
}

/// All words that introduce arguments.
pub fn keywords(args: &'static [ArgInfo]) -> impl Iterator<Item = &'static str> {
    args.iter().flat_map(|arg| arg.keywords.iter().copied())
}

impl ArgInfo {
    fn usage(&self) -> String {
        let keyword = self.keywords.first().map_or(String::new(), |k| format!("{k} "));
        let name = self.name;
        match self.kind {
            Kind::Flag => format!("[{}]", keyword.trim_end()),
            Kind::Required => format!("{keyword}<{name}>"),
            Kind::Optional => format!("[{keyword}<{name}>]"),
            Kind::Repeated => format!("[{keyword}<{name}>]..."),
            Kind::Rest => format!("<{name}...>"),
        }
    }
}
