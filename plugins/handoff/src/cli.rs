//! `set interface handoff`.

use control::config::CpuList;
use net::prelude::*;

use super::Handoff;

/// Packets that may wait on the way from one thread to another.
const QUEUE: u32 = 8192;

/// `set interface handoff INTERFACE …`.
#[derive(Debug, PartialEq)]
struct Set {
    interface: InterfaceIndex,
    handoff: Handoff,
}

impl Command for Set {
    const PATHS: &'static [&'static str] = &["set interface handoff"];
    const ABOUT: &'static str = "Distribute an interface's received packets over workers by flow";
    const USAGE: &'static str = "<interface> {workers <workers> [symmetrical|asymmetrical] [l4] \
        [fq-nelts <packets>] | disable}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut interface, mut handoff, mut disable) = (None, Handoff::default(), false);
        while !args.is_empty() {
            if args.keyword("workers") {
                handoff.workers = args.value::<CpuList>("list of workers, as 0,2-3")?.0;
            } else if args.keyword("symmetrical") {
                handoff.is_symmetric = true;
            } else if args.keyword("asymmetrical") {
                handoff.is_symmetric = false;
            } else if args.keyword("l4") {
                handoff.has_ports = true;
            } else if args.keyword("fq-nelts") {
                let packets: u32 = args.value("number of packets")?;
                if !packets.is_power_of_two() || packets > QUEUE {
                    return Err(args.error(format_args!(
                        "fq-nelts must be a power of 2 up to {QUEUE}, not {packets}"
                    )));
                }
            } else if args.keyword("disable") {
                disable = true;
            } else if interface.is_none() {
                interface = Some(args.value("interface")?);
            } else {
                return Err(args.unknown());
            }
        }
        let interface = interface.ok_or_else(|| args.error("expected an interface"))?;
        match (handoff.workers.is_empty(), disable) {
            (_, true) => Ok(Self { interface, handoff: Handoff::default() }),
            (false, false) => Ok(Self { interface, handoff }),
            (true, false) => Err(args.error("expected workers or disable")),
        }
    }
}

impl Print for Set {
    const STAGE: Stage = Stage::Attachments;
    const UNDO: &'static str = "set interface handoff {1} disable";
    fn print(&self, line: &mut Line<'_>) {
        let Handoff { workers, is_symmetric, has_ports } = &self.handoff;
        line.value(&self.interface).flag("disable", workers.is_empty());
        if !workers.is_empty() {
            let list: Vec<_> = workers.iter().map(ToString::to_string).collect();
            line.keyword("workers", &list.join(","));
        }
        line.flag("symmetrical", *is_symmetric).flag("l4", *has_ports);
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (interface, handoff) in router.settings::<Handoff>() {
        lines.push(&Set { interface, handoff: handoff.clone() });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Set| Ok(super::set(router, c.interface, c.handoff)?));
}
