//! `set bpf trace filter`, `show bpf trace filter`.
#![forbid(unsafe_code)]

use net::prelude::*;

use super::State;

/// `set bpf trace filter [del] [no-optimize] {FILTER}`.
#[derive(Debug, PartialEq)]
struct Set {
    optimizes: bool,
    /// `None` takes the filter away.
    text: Option<String>,
}

impl Command for Set {
    const PATHS: &'static [&'static str] = &["set bpf trace filter"];
    const ABOUT: &'static str = "Set the BPF filter of packet traces and captures";
    const USAGE: &'static str = "[del] [no-optimize] {<pcap string>}";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut deletes, mut optimizes) = (false, true);
        loop {
            if args.keyword("del") {
                deletes = true;
            } else if args.keyword("no-optimize") {
                optimizes = false;
            } else {
                break;
            }
        }
        let mut text = None;
        if let Some(block) = args.block()? {
            // Scripts put it in one pair of braces or more.
            let inside = block.remaining().trim_matches(['{', '}', ' ']);
            text = Some(inside.to_owned());
        }
        match text {
            _ if deletes => Ok(Self { optimizes: true, text: None }),
            Some(text) => Ok(Self { optimizes, text: Some(text) }),
            None => Err(args.error("expected {FILTER}, got")),
        }
    }
}

impl Print for Set {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "set bpf trace filter del";

    fn print(&self, line: &mut Line<'_>) {
        line.flag("del", self.text.is_none()).flag("no-optimize", !self.optimizes);
        if let Some(text) = &self.text {
            line.word("{").word(text).word("}");
        }
    }
}

/// Show the compiled filter, as `tcpdump -d` does.
#[derive(Command)]
#[command("show bpf trace filter")]
struct Show;

#[derive(Serialize)]
struct Shown {
    filter: Option<String>,
    program: Vec<String>,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.filter.is_none() {
            return writeln!(f, "bpf trace filter is not set");
        }
        self.program.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    if let Some(filter) = &router.own::<State>().filter {
        lines.push(&Set { optimizes: filter.optimizes, text: Some(filter.text.clone()) });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Set| {
        match c.text {
            Some(text) => super::set(router, &text, c.optimizes)?,
            None => super::remove(router)?,
        }
        Ok(())
    });
    cli.command(|router: &mut Router, _: Show| {
        let State { libpcap, filter } = router.own::<State>();
        let lines = libpcap.zip(filter.as_ref());
        let lines = lines.map(|(libpcap, filter)| libpcap.lines(filter.program.instructions()));
        let filter = filter.as_ref().map(|filter| filter.text.clone());
        Ok(Output::of(Shown { filter, program: lines.unwrap_or_default() }))
    });
}
