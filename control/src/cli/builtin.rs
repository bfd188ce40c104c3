//! The commands every command line has.

use std::path::PathBuf;

use super::command::Effect;
use super::{Args, Cli, Command, Error};

/// List commands, or what may follow the given words.
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

/// Print the rest of the line.
#[derive(Command)]
#[command("echo")]
struct Echo {
    /// what to print
    #[rest]
    text: Option<String>,
}

/// Carry out the commands of a file.
#[derive(Command)]
#[command("exec")]
struct Exec {
    /// path of the file
    #[positional]
    file: PathBuf,
}

/// End the session.
#[derive(Command)]
#[command("quit", "exit")]
struct Quit;

pub(super) fn register<C: 'static>(cli: &mut Cli<C>) {
    cli.add::<Help>(|_, help| Ok(Effect::Help(help.words.unwrap_or_default())));
    cli.command(|_, _: Comment| Ok(()));
    cli.command(|_, echo: Echo| Ok(echo.text.unwrap_or_default() + "\n"));
    cli.add::<Exec>(|_, exec| Ok(Effect::Exec(exec.file)));
    cli.add::<Quit>(|_, _| Ok(Effect::Quit));
}
