//! The commands every command line has.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::command::Effect;
use super::{Args, Cli, Command, Error, Output, Step, Task};

/// List commands, or the words that can follow the given ones.
#[derive(Command)]
#[command("help")]
struct Help {
    /// words of a command
    #[rest]
    words: Option<String>,
}

/// `comment { anything }`.
struct Comment;

impl Command for Comment {
    const PATHS: &'static [&'static str] = &["comment"];
    const ABOUT: &'static str = "Do nothing";
    const USAGE: &'static str = "{ <text> }";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        args.rest();
        Ok(Self)
    }
}

/// Run the commands in braces, which `comment` ignores.
#[derive(Command)]
#[command("uncomment")]
struct Uncomment {
    /// { commands }
    #[rest]
    text: Option<String>,
}

/// Print the rest of the line.
#[derive(Command)]
#[command("echo")]
struct Echo {
    /// text
    #[rest]
    text: Option<String>,
}

/// Run the commands in a file.
#[derive(Command)]
#[command("exec")]
struct Exec {
    /// path of the file
    #[positional]
    file: PathBuf,
}

/// Show all commands.
#[derive(Command)]
#[command("show cli")]
pub(super) struct ShowCli {
    /// only commands that stop no threads: all of them
    #[keyword("mp-safe")]
    _mp_safe: bool,
    /// only commands that stop all threads: none
    not_mp_safe: bool,
    /// only commands that ran, and how often
    hit: bool,
    /// clear the numbers of runs
    clear_hit: bool,
}

impl<C: 'static> Cli<C> {
    /// Paths of commands, sorted.
    pub(super) fn list(&self, show: &ShowCli) -> Output {
        let tree = self.tree();
        if show.clear_hit {
            tree.entries().for_each(|(_, entry)| entry.runs.set(0));
        }
        let is_shown = |runs: u64| !show.not_mp_safe && (!show.hit || runs > 0);
        let all = tree.entries().map(|(path, entry)| (path, entry.runs.get()));
        let shown: BTreeMap<_, _> = all.filter(|(_, runs)| is_shown(*runs)).collect();
        if show.hit {
            let lines = shown.iter().map(|(path, runs)| format!("{path}: {runs}"));
            return Output::both(lines.collect::<Vec<_>>().join("\n"), shown);
        }
        let paths: Vec<_> = shown.into_keys().collect();
        Output::both(paths.join("\n"), paths)
    }
}

/// Wait.
#[derive(Command)]
#[command("wait")]
struct Wait {
    /// seconds
    #[positional]
    sec: f64,
}

/// Yield to other sessions for 30 ms.
#[derive(Command)]
#[command("suspend")]
struct Suspend;

/// Rests once.
struct Pause(Option<Duration>);

impl<C> Task<C> for Pause {
    fn step(&mut self, _: &mut C, _: &mut Output) -> Step {
        self.0.take().map_or(Step::Done(Ok(())), Step::Sleep)
    }
}

/// End the session.
#[derive(Command)]
#[command("quit", "exit", "q")]
struct Quit;

pub(super) fn register<C: 'static>(cli: &mut Cli<C>) {
    cli.add::<Help>(|_, help| Ok(Effect::Help(help.words.unwrap_or_default())));
    cli.command(|_, _: Comment| Ok(()));
    cli.add::<Uncomment>(|_, it| {
        let text = it.text.unwrap_or_default();
        let inside = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        let inside = inside.ok_or_else(|| Error::new("expected `{' and commands"))?;
        Ok(Effect::Text(inside.to_owned()))
    });
    cli.command(|_, echo: Echo| Ok(echo.text.unwrap_or_default() + "\n"));
    cli.add::<Exec>(|_, exec| Ok(Effect::Exec(exec.file)));
    cli.task(|_, wait: Wait| {
        let time = Duration::try_from_secs_f64(wait.sec);
        let time = time.map_err(|_| Error::new(format!("invalid sec `{}'", wait.sec)))?;
        Ok(Box::new(Pause(Some(time))))
    });
    cli.task(|_, _: Suspend| Ok(Box::new(Pause(Some(Duration::from_millis(30))))));
    cli.add::<ShowCli>(|_, show| Ok(Effect::Commands(show)));
    cli.add::<Quit>(|_, _| Ok(Effect::Quit));
}
