//! `fvctl`: commands to a running router, one, many or interactively.
//!
//! Exit status: 0 when all went well, 1 when a command failed (its text is on standard error), 2
//! when no router could be asked or it did not answer, 64 when the options are wrong.
#![forbid(unsafe_code)]

mod capture;
mod completion;
mod doctor;
mod extcap;
mod hangup;
mod link;
mod pager;
mod prompt;
mod support;
mod top;
mod wait;

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use control::cli::Joining;

use link::{Link, Outcome};

/// Exit status of a command line that is none (`EX_USAGE` of sysexits.h).
const USAGE: i32 = 64;

fn main() -> ExitCode {
    let program = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let done = if program.file_name() == Some(extcap::NAME.as_ref()) {
        let words: Vec<_> = std::env::args().skip(1).collect();
        extcap::run(None, &words.iter().map(String::as_str).collect::<Vec<_>>())
    } else {
        options().map_or_else(|error| leave(&error), |options| run(&options))
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        // The reader of our output has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(1),
        Err(error) => {
            eprintln!("fvctl: {error}");
            ExitCode::from(2)
        }
    }
}

/// Ends the program over its command line: one that is none, or one that asks for help.
fn leave(error: &clap::Error) -> ! {
    // Standard error is closed: nowhere to report this.
    let _ = error.print();
    std::process::exit(if error.use_stderr() { USAGE } else { 0 })
}

/// The options of a command of this program's own among the words behind it.
fn given(options: clap::Command, words: &[&str]) -> ArgMatches {
    let name = options.get_name().to_owned();
    let words = std::iter::once(name.as_str()).chain(words.iter().copied());
    options.try_get_matches_from(words).unwrap_or_else(|error| leave(&error))
}

fn options() -> Result<ArgMatches, clap::Error> {
    clap::Command::new("fvctl")
        .about("Gives commands to a running router")
        .version(env!("CARGO_PKG_VERSION"))
        .arg(
            Arg::new("socket")
                .short('s')
                .long("socket")
                .value_name("SOCKET")
                .help("path or host:port of the router's CLI"),
        )
        .arg(
            Arg::new("timeout")
                .short('t')
                .long("timeout")
                .value_name("SECONDS")
                .value_parser(value_parser!(u32).range(1..=86_400))
                .default_value("5")
                .help("time that the router has to greet"),
        )
        .arg(Arg::new("json").short('j').long("json").action(ArgAction::SetTrue).help("print JSON"))
        .arg(
            Arg::new("complete")
                .long("complete")
                .value_name("LINE")
                .allow_hyphen_values(true)
                .hide(true)
                .help("print what may stand where a line of the shell ends"),
        )
        .arg(
            Arg::new("command")
                .value_name("COMMAND")
                .value_parser(value_parser!(String))
                .num_args(0..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .help("words of one command; without any, commands come from standard input"),
        )
        .try_get_matches()
}

/// False when a command failed.
fn run(options: &ArgMatches) -> io::Result<bool> {
    if let Some(line) = options.get_one::<String>("complete") {
        return completion::print(line).map(|()| true);
    }
    let json = options.get_flag("json");
    let patience = options.get_one::<u32>("timeout").copied().unwrap_or(5);
    link::be_patient(Duration::from_secs(patience.into()));
    hangup::watch()?;
    let socket = options.get_one::<String>("socket").map(String::as_str);
    let words = options.get_many::<String>("command").into_iter().flatten();
    let words: Vec<_> = words.map(String::as_str).collect();
    if let Some(option) = words.first().filter(|word| word.starts_with('-')) {
        // No command begins so.
        eprintln!("fvctl: unknown option '{option}'; see `fvctl --help'");
        std::process::exit(USAGE);
    }
    if let Some(done) = own(socket, &words, json) {
        return done;
    }
    let mut link = Link::open(socket)?;
    if !words.is_empty() {
        let text = with_input(&words, io::stdin().lock())?;
        return Ok(report(&command(&mut link, &text, json)?));
    }
    if io::stdin().is_terminal() {
        return prompt::talk(link, socket, json).map(|()| true);
    }
    script(&mut link, io::stdin().lock(), json)
}

/// Runs a command of this program itself; `None` if it is one of the router's.
fn own(socket: Option<&str>, words: &[&str], json: bool) -> Option<io::Result<bool>> {
    let (first, rest) = words.split_first()?;
    match (*first, rest) {
        ("capture", ["start" | "stop" | "?", ..]) => None,
        ("capture", rest) => Some(capture::run(socket, rest)),
        ("doctor", rest) => Some(doctor::run(socket, rest, json)),
        ("support", rest) => Some(support::run(socket, rest)),
        ("top", rest) => Some(top::run(socket, rest, json)),
        ("extcap", rest) => Some(extcap::run(socket, rest)),
        _ => None,
    }
}

/// The command of these words; one about a configuration has that of `input` in place of `-`.
fn with_input(words: &[&str], mut input: impl BufRead) -> io::Result<String> {
    let is = |word: &str, whole: &str| !word.is_empty() && whole.starts_with(word);
    let place = match words {
        [a, b, "-", ..]
            if is(a, "configure") && ["check", "replace", "patch"].iter().any(|w| is(b, w)) =>
        {
            2
        }
        [a, b, c, "-"] if is(a, "show") && is(b, "configuration") && is(c, "diff") => 3,
        _ => return Ok(words.join(" ")),
    };
    let mut text = String::new();
    input.read_to_string(&mut text)?;
    // Comments may have braces of their own; each line keeps its number.
    let is_comment = |line: &&str| line.trim_start().starts_with('#');
    let lines = text.lines().map(|line| if is_comment(&line) { "" } else { line });
    let text = lines.collect::<Vec<_>>().join("\n");
    let depth = text.chars().try_fold(0_usize, |depth, c| match c {
        '{' => Some(depth + 1),
        '}' => depth.checked_sub(1),
        _ => Some(depth),
    });
    if depth != Some(0) {
        return Err(io::Error::other("standard input: the braces do not match"));
    }
    let (before, behind) = (words[..place].join(" "), words[place + 1..].join(" "));
    Ok(format!("{before} {{ {text}\n}} {behind}"))
}

/// Runs the commands of `input` up to the first error.
fn script(link: &mut Link, input: impl BufRead, json: bool) -> io::Result<bool> {
    let (mut text, mut number, mut first) = (String::new(), 0, 1);
    let mut joining = Joining::default();
    let mut lines = input.lines();
    while !link.has_ended() {
        let line = lines.next().transpose()?;
        let at_end = line.is_none();
        number += 1;
        if text.is_empty() {
            first = number;
        }
        if let Some(line) = line {
            if line.trim_start().starts_with('#') {
                continue;
            }
            text.push_str(&line);
            text.push('\n');
            if joining.take(&line) {
                continue;
            }
        }
        joining = Joining::default();
        let one = std::mem::take(&mut text);
        if !one.trim().is_empty() {
            let outcome = command(link, &one, json)?;
            if outcome != Outcome::Done {
                eprint!("line {first}: ");
                return Ok(report(&outcome));
            }
        }
        if at_end {
            break;
        }
    }
    Ok(true)
}

/// Runs one command.
fn command(link: &mut Link, text: &str, json: bool) -> io::Result<Outcome> {
    let mut printer = Printer { out: io::stdout().lock(), ends_line: true };
    let outcome = link.run(text, json, &mut |text| printer.print(text))?;
    printer.finish()?;
    Ok(outcome)
}

/// Prints what a failed command says; false when it failed.
fn report(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Done => true,
        Outcome::Failed(error) => {
            eprintln!("{error}");
            false
        }
        Outcome::SessionRequest(_) => {
            eprintln!("there is no terminal");
            false
        }
    }
}

/// Standard output that ends with a newline unless nothing was printed.
struct Printer<W> {
    out: W,
    ends_line: bool,
}

impl<W: Write> Printer<W> {
    fn print(&mut self, text: &str) -> io::Result<()> {
        if !text.is_empty() {
            self.ends_line = text.ends_with('\n');
        }
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        if !self.ends_line {
            self.out.write_all(b"\n")?;
        }
        self.out.flush()
    }
}
