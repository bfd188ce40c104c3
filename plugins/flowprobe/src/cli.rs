//! `flowprobe …`.

use control::cli::{Args, Cli, Command, Error, Line, Print};
use control::configuration::{Lines, Stage};
use net::{InterfaceIndex, Router};

use crate::change::{self, DIRECTIONS, Direction, Flowprobe, Probed, WHICH};
use crate::flow::{ACTIVE, PASSIVE, Params, RECORD_L2, RECORD_L3, RECORD_L4};
use crate::show;

/// Words for groups of fields.
pub const GROUPS: [(&str, u8); 3] = [("l2", RECORD_L2), ("l3", RECORD_L3), ("l4", RECORD_L4)];

/// `flowprobe params`.
#[derive(Debug, PartialEq)]
struct SetParams(Params);

impl Command for SetParams {
    const PATHS: &'static [&'static str] = &["flowprobe params"];
    const ABOUT: &'static str = "Set what is recorded of flows, and when: active 0 has a record of \
        each packet";
    const USAGE: &'static str = "record [l2] [l3] [l4] [active <timer>] [passive <timer>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut params = Params::default();
        if !args.keyword("record") {
            return Err(args.error("expected record, and l2, l3 or l4"));
        }
        while !args.is_empty() {
            if let Some((_, group)) = GROUPS.into_iter().find(|(word, _)| args.keyword(word)) {
                params.record |= group;
            } else if args.keyword("active") {
                params.active = args.value("active")?;
            } else if args.keyword("passive") {
                params.passive = args.value("passive")?;
            } else {
                return Err(args.unknown());
            }
        }
        Ok(Self(params))
    }
}

impl Print for SetParams {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "=flowprobe params record";
    fn print(&self, line: &mut Line<'_>) {
        let Params { record, active, passive } = &self.0;
        line.word("record");
        for (word, group) in GROUPS {
            line.flag(word, record & group != 0);
        }
        line.option("active", Some(active).filter(|active| **active != ACTIVE));
        line.option("passive", Some(passive).filter(|passive| **passive != PASSIVE));
    }
}

/// `flowprobe feature add-del`.
#[derive(Debug, PartialEq)]
struct SetProbed {
    interface: InterfaceIndex,
    which: usize,
    direction: Direction,
    disable: bool,
}

impl Command for SetProbed {
    const PATHS: &'static [&'static str] = &["flowprobe feature add-del"];
    const ABOUT: &'static str = "Record the flows of an interface, or no longer";
    const USAGE: &'static str = "<interface> [(l2|ip4|ip6)] [(rx|tx|both)] [disable]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let interface = args.value("interface")?;
        let mut new = Self { interface, which: 0, direction: Direction::Tx, disable: false };
        while !args.is_empty() {
            if let Some(which) = WHICH.iter().position(|word| args.keyword(word)) {
                new.which = which;
            } else if let Some((_, direction)) =
                DIRECTIONS.into_iter().find(|(word, _)| args.keyword(word))
            {
                new.direction = direction;
            } else if args.keyword("disable") {
                new.disable = true;
            } else {
                return Err(args.unknown());
            }
        }
        Ok(new)
    }
}

impl Print for SetProbed {
    const STAGE: Stage = Stage::Attachments;
    const UNDO: &'static str = "flowprobe feature add-del {} disable";
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.interface).word(WHICH[self.which]).word(show::word(self.direction));
        line.flag("disable", self.disable);
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let params = *router.own::<Flowprobe>().params.current();
    if params != Params::default() {
        lines.push(&SetParams(params));
    }
    for (interface, Probed(probed)) in router.settings::<Probed>() {
        for (which, direction) in probed.iter().enumerate() {
            if let Some(direction) = *direction {
                lines.push(&SetProbed { interface, which, direction, disable: false });
            }
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetParams| Ok(change::set_params(router, c.0)?));
    cli.command(|router: &mut Router, c: SetProbed| {
        let SetProbed { interface, which, direction, disable } = c;
        Ok(change::set_probed(router, interface, which, direction, !disable)?)
    });
    show::register(cli);
}
