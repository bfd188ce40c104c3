//! The commands every command line has.

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
struct ShowCli;

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
    cli.add::<ShowCli>(|_, _| Ok(Effect::Commands));
    cli.add::<Quit>(|_, _| Ok(Effect::Quit));
}
