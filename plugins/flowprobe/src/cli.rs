//! `flowprobe …`.

use net::prelude::*;

use crate::change::{self, DIRECTIONS, Direction, Flowprobe, Probed, WHICH};
use crate::flow::{ACTIVE, Format, PASSIVE, Params, RECORD_L2, RECORD_L3, RECORD_L4};
use crate::show;

/// Words for groups of fields.
pub const GROUPS: [(&str, u8); 3] = [("l2", RECORD_L2), ("l3", RECORD_L3), ("l4", RECORD_L4)];

/// Whether a format is other than by default.
type IsChosen = fn(&Format) -> bool;

/// Words for how records are written, and whether they apply.
pub const FORMATS: [(&str, &str, IsChosen); 2] = [
    ("timestamps", "milliseconds", |format| format.has_milliseconds),
    ("ethertype", "network", |format| format.has_network_order),
];

/// Takes one of two words.
fn either(args: &mut Args<'_>, no: &str, yes: &str) -> Result<bool, Error> {
    let is_yes = args.keyword(yes);
    match is_yes || args.keyword(no) {
        true => Ok(is_yes),
        false => Err(args.error(format_args!("expected {no} or {yes}"))),
    }
}

/// `flowprobe params`.
#[derive(Debug, PartialEq)]
struct SetParams(Params);

impl Command for SetParams {
    const PATHS: &'static [&'static str] = &["flowprobe params"];
    const ABOUT: &'static str = "Set the recorded fields and the timers of flows; active 0 \
        exports every packet";
    const USAGE: &'static str = "record [l2] [l3] [l4] [active <timer>] [passive <timer>] \
        [timestamps {nanoseconds|milliseconds}] [ethertype {swapped|network}]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut params = Params::default();
        let mut has_record = false;
        while !args.is_empty() {
            if let Some((_, group)) = GROUPS.into_iter().find(|(word, _)| args.keyword(word)) {
                params.record |= group;
            } else if args.keyword("active") {
                params.active = args.value("active")?;
            } else if args.keyword("passive") {
                params.passive = args.value("passive")?;
            } else if args.keyword("timestamps") {
                params.format.has_milliseconds = either(args, "nanoseconds", "milliseconds")?;
            } else if args.keyword("ethertype") {
                params.format.has_network_order = either(args, "swapped", "network")?;
            } else if args.keyword("record") {
                has_record = true;
            } else {
                return Err(args.unknown());
            }
        }
        if !has_record {
            return Err(args.error("expected record, and l2, l3 or l4"));
        }
        Ok(Self(params))
    }
}

impl Print for SetParams {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "=flowprobe params record";
    fn print(&self, line: &mut Line<'_>) {
        let Params { record, active, passive, format } = &self.0;
        line.word("record");
        for (word, group) in GROUPS {
            line.flag(word, record & group != 0);
        }
        line.option("active", Some(active).filter(|active| **active != ACTIVE));
        line.option("passive", Some(passive).filter(|passive| **passive != PASSIVE));
        for (word, value, is_on) in FORMATS {
            line.option(word, Some(&value).filter(|_| is_on(format)));
        }
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
    const ABOUT: &'static str = "Enable or disable flow recording on an interface";
    const USAGE: &'static str = "<interface> [(l2|ip4|ip6)] [(rx|tx|both)] [disable]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut interface, mut which, mut to, mut disable) = (None, 0, Direction::Tx, false);
        while !args.is_empty() {
            if let Some(at) = WHICH.iter().position(|word| args.keyword(word)) {
                which = at;
            } else if let Some((_, direction)) =
                DIRECTIONS.into_iter().find(|(word, _)| args.keyword(word))
            {
                to = direction;
            } else if args.keyword("disable") {
                disable = true;
            } else if interface.is_none() {
                interface = Some(args.value("interface")?);
            } else {
                return Err(args.unknown());
            }
        }
        let interface = interface.ok_or_else(|| args.error("expected an interface"))?;
        Ok(Self { interface, which, direction: to, disable })
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
