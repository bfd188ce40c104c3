//! `fvctl top`: where packets and time go, as it changes.

mod sample;
mod screen;
mod tables;
mod view;

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use clap::{Arg, ArgAction, value_parser};
use serde_json::{Map, Value};

use crate::link::Link;
use sample::Sampler;
use tables::Tables;

fn options() -> clap::Command {
    clap::Command::new("fvctl top")
        .about("Shows nodes, interfaces, threads and drops with their rates")
        .arg(
            Arg::new("once")
                .long("once")
                .action(ArgAction::SetTrue)
                .help("print the rates of one interval, and end"),
        )
        .arg(Arg::new("json").short('j').long("json").action(ArgAction::SetTrue).help("as JSON"))
        .arg(
            Arg::new("delay")
                .short('d')
                .long("delay")
                .value_name("SECONDS")
                .default_value("1")
                .value_parser(value_parser!(f64))
                .help("interval of looks"),
        )
}

/// Runs `fvctl top` with these arguments; false if it failed.
pub fn run(socket: Option<&str>, words: &[&str], json: bool) -> io::Result<bool> {
    let given = crate::given(options(), words);
    let json = json || given.get_flag("json");
    let seconds = given.get_one::<f64>("delay").copied().unwrap_or(1.0);
    let delay =
        Duration::try_from_secs_f64(seconds.clamp(0.1, 3600.0)).map_err(io::Error::other)?;
    let is_once = json || given.get_flag("once");
    let has_terminal = io::stdout().is_terminal() && io::stdin().is_terminal();
    if !is_once && !has_terminal {
        eprintln!("fvctl: top needs a terminal, or --once");
        return Ok(false);
    }
    let mut sampler = Sampler::new(Link::open(socket)?);
    if !is_once {
        view::run(&mut sampler, delay).map(|()| true)
    } else {
        once(&mut sampler, delay, json).map(|()| true)
    }
}

fn once(sampler: &mut Sampler, delay: Duration, json: bool) -> io::Result<()> {
    let first = sampler.take()?;
    std::thread::sleep(delay);
    let tables = Tables::between(&first, &sampler.take()?);
    let mut out = io::stdout().lock();
    if json {
        let all = tables.all().map(|(name, table)| (name.to_owned(), table.to_json()));
        let mut all: Map<_, _> = all.collect();
        all.insert("seconds".to_owned(), tables.seconds.into());
        return writeln!(out, "{}", Value::Object(all));
    }
    for (_, table) in tables.all() {
        writeln!(out, "{}", table.title)?;
        for line in table.lines(&table.order()) {
            writeln!(out, "  {}", line.trim_end())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn options_are_usable() {
        super::options().debug_assert();
    }
}
