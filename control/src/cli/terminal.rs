//! Commands about the session they are typed in. They are requests that the session grants; where
//! there is none they fail.

use std::fmt;
use std::str::FromStr;

use super::command::Effect;
use super::{Cli, Command, Error};

/// A request of a command to its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionRequest {
    /// Show the lines that were typed.
    History,
    /// Show what is known of the terminal.
    Terminal,
    /// Keep the lines that are typed, at most this many; none forgets them.
    KeepHistory(usize),
    /// Use escape sequences, or not.
    Ansi(bool),
    /// Stop at each page, or not.
    Pager(bool),
}

impl fmt::Display for SessionRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::History => f.write_str("history"),
            Self::Terminal => f.write_str("terminal"),
            Self::KeepHistory(lines) => write!(f, "keep-history {lines}"),
            Self::Ansi(is_on) => write!(f, "ansi {is_on}"),
            Self::Pager(is_on) => write!(f, "pager {is_on}"),
        }
    }
}

impl FromStr for SessionRequest {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (word, value) = text.split_once(' ').unwrap_or((text, ""));
        let is_on = || value.parse().map_err(|_| ());
        match word {
            "history" => Ok(Self::History),
            "terminal" => Ok(Self::Terminal),
            "keep-history" => value.parse().map(Self::KeepHistory).map_err(|_| ()),
            "ansi" => is_on().map(Self::Ansi),
            "pager" => is_on().map(Self::Pager),
            _ => Err(()),
        }
    }
}

/// Lines that are kept when their number is not said.
const HISTORY: usize = 50;

/// Show the command history of this session.
#[derive(Command)]
#[command("history", "show history")]
struct History;

/// Show the terminal settings of this session.
#[derive(Command)]
#[command("show terminal")]
struct Show;

/// Set whether this session keeps a command history, and how long.
#[derive(Command)]
#[command("set terminal history")]
struct SetHistory {
    /// keep a history
    on: bool,
    /// keep no history
    off: bool,
    /// maximum number of lines
    limit: Option<usize>,
}

/// Set whether this session's terminal supports escape sequences.
#[derive(Command)]
#[command("set terminal ansi")]
struct SetAnsi {
    /// enable
    on: bool,
    /// disable
    off: bool,
}

/// Set whether this session pages its output.
#[derive(Command)]
#[command("set terminal pager")]
struct SetPager {
    /// enable
    on: bool,
    /// disable
    off: bool,
    /// accepted; the pager's buffer has a fixed bound, and output pauses meanwhile
    #[keyword("limit")]
    _limit: Option<usize>,
}

pub(super) fn register<C: 'static>(cli: &mut Cli<C>) {
    let both = || Error::new("expected on or off, not both");
    cli.add::<History>(|_, _| Ok(Effect::SessionRequest(SessionRequest::History)));
    cli.add::<Show>(|_, _| Ok(Effect::SessionRequest(SessionRequest::Terminal)));
    cli.add::<SetHistory>(move |_, set| match (set.on, set.off) {
        (true, true) => Err(both()),
        (_, true) => Ok(Effect::SessionRequest(SessionRequest::KeepHistory(0))),
        (_, false) => {
            Ok(Effect::SessionRequest(SessionRequest::KeepHistory(set.limit.unwrap_or(HISTORY))))
        }
    });
    cli.add::<SetAnsi>(move |_, set| match (set.on, set.off) {
        (true, true) => Err(both()),
        (_, off) => Ok(Effect::SessionRequest(SessionRequest::Ansi(!off))),
    });
    cli.add::<SetPager>(move |_, set| match (set.on, set.off) {
        (true, true) => Err(both()),
        (_, off) => Ok(Effect::SessionRequest(SessionRequest::Pager(!off))),
    });
}
