//! `session enable`, `session disable`.

use control::cli::{Args, Cli, Command, Error, Line, Print};
use control::configuration::{Lines, Stage};
use net::Router;

use super::super::published::Backend;
use super::super::{Control, backend, disable, enable};

/// `session enable [rt-backend sdl|rule-table] | disable`.
#[derive(Debug, PartialEq)]
struct Session(Option<Backend>);

impl Command for Session {
    const PATHS: &'static [&'static str] = &["session"];
    const ABOUT: &'static str = "Enable or disable the session layer of the host stack";
    const USAGE: &'static str = "enable [rt-backend sdl|rule-table|none]|disable";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        if args.keyword("disable") {
            return Ok(Self(None));
        }
        if !args.keyword("enable") {
            return Err(args.unknown());
        }
        if !args.keyword("rt-backend") {
            return Ok(Self(Some(Backend::RuleTable)));
        }
        let all = [Backend::RuleTable, Backend::Sdl, Backend::None];
        let found = all.into_iter().find(|backend| args.keyword(backend.word()));
        found.map(|backend| Self(Some(backend))).ok_or_else(|| args.unknown())
    }
}

impl Print for Session {
    const STAGE: Stage = Stage::Objects;
    const UNDO: &'static str = "session disable";
    fn print(&self, line: &mut Line<'_>) {
        match self.0 {
            Some(backend) => line.word("enable").keyword("rt-backend", &backend.word()),
            None => line.word("disable"),
        };
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let now = backend(router);
    if now.is_some() || router.own::<Control>().at_start.is_some() {
        lines.push(&Session(now));
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Session| match c.0 {
        Some(backend) => Ok(enable(router, backend)?),
        None => {
            disable(router);
            Ok(())
        }
    });
}
