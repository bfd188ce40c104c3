//! Commands about the session they are typed in. They are wishes that the session grants; where
//! there is none they fail.

use super::command::Effect;
use super::{Cli, Command, Error};

/// What a command asks of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Show the lines that were typed.
    History,
    /// Show what is known of the terminal.
    Terminal,
    /// Keep the lines that are typed, at most this many; none forgets them.
    KeepHistory(usize),
    /// Stop at each page, or not.
    Pager(bool),
}

/// Lines that are kept when their number is not said.
const HISTORY: usize = 50;

/// Show the lines that were typed in this session.
#[derive(Command)]
#[command("history")]
struct History;

/// Show what is known of this session's terminal.
#[derive(Command)]
#[command("show terminal")]
struct Show;

/// Say whether lines that are typed in this session are kept, and how many.
#[derive(Command)]
#[command("set terminal history")]
struct SetHistory {
    /// keep them
    on: bool,
    /// forget them
    off: bool,
    /// most lines
    limit: Option<usize>,
}

/// Say whether output of this session stops at each page.
#[derive(Command)]
#[command("set terminal pager")]
struct SetPager {
    /// it does
    on: bool,
    /// it does not
    off: bool,
    /// accepted: what waits for a key is bounded, and output rests meanwhile
    #[keyword("limit")]
    _limit: Option<usize>,
}

pub(super) fn register<C: 'static>(cli: &mut Cli<C>) {
    let both = || Error::new("on or off, not both");
    cli.add::<History>(|_, _| Ok(Effect::Wish(Wish::History)));
    cli.add::<Show>(|_, _| Ok(Effect::Wish(Wish::Terminal)));
    cli.add::<SetHistory>(move |_, set| match (set.on, set.off) {
        (true, true) => Err(both()),
        (_, true) => Ok(Effect::Wish(Wish::KeepHistory(0))),
        (_, false) => Ok(Effect::Wish(Wish::KeepHistory(set.limit.unwrap_or(HISTORY)))),
    });
    cli.add::<SetPager>(move |_, set| match (set.on, set.off) {
        (true, true) => Err(both()),
        (_, off) => Ok(Effect::Wish(Wish::Pager(!off))),
    });
}
