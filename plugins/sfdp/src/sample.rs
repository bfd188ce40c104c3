//! A plugin that is off unless it is asked for: a service with a timeout of its own, and a parser
//! whose sessions are apart from others.

use net::prelude::*;

use super::error::Error;
use super::lifecycle::{Error as Drop, Next};
use super::lookup::{self, go_on};
use super::packet::{PLACE, Passing, leave};
use super::session::{Core, ESTABLISHED, Family, Timer};
use super::user::User;
use super::{Sfdp, service, tenant};

/// The sample.
pub const FEATURE: Feature = Feature {
    name: "sfdp_services_sample",
    about: "SFDP sample services",
    origin: Origin::Plugin,
    default_enabled: false,
    requires: &["sfdp_services", "ip4"],
    register,
    configuration: Configuration::Commands(configuration),
};

/// The node of the service.
const SERVICE: &str = "sample-non-terminal";
/// The node that gives packets to the parser.
const INPUT: &str = "sample-parser-input";
/// The timeout, with its seconds.
const TIMEOUT: (&str, u32) = ("sample-timeout", 120);

/// The tenant of an interface's packets for the parser: one more than its number, 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Parsed(u32);

/// Gives sessions a timeout of its own.
#[derive(Clone)]
struct Sample {
    core: Core,
    from: usize,
    timeout: usize,
}

impl Node for Sample {
    const NAME: &'static str = SERVICE;
    type Next = Next;
    type Error = Drop;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (now, epoch, thread) = (frame.now(), frame.epoch(), frame.thread());
        let Self { core, from, timeout } = self;
        let edges = core.edges.read(epoch);
        let mut tables = core.tables(thread);
        frame.each(|p| {
            let mut passing = p.metadata(&PLACE).ok_or(Drop::Drop)?;
            let tenant = core.tenants.read(passing.tenant, epoch);
            let tenant = tenant.ok_or(Drop::Drop).inspect_err(|_| leave(p))?;
            let done = tables.update(&passing.found(), now, |data, _| {
                data.state = ESTABLISHED;
                (Timer::Renew(tenant.classes[*timeout]), ())
            });
            done.ok_or(Drop::Drop).inspect_err(|_| leave(p))?;
            Ok(Next::To(go_on(p, core, (edges, *from, thread), &mut passing)))
        });
    }
}

/// Gives packets of an interface to the parser.
#[derive(Clone)]
struct Input(SlabReader<Parsed>);

/// Edges of [`Input`].
#[derive(Clone, Copy, graph::Next)]
enum NextInput {
    /// The parser.
    #[to("sample-ip4-parser")]
    Parse,
    /// On along the arc.
    #[along]
    On,
}

impl Node for Input {
    const NAME: &'static str = INPUT;
    type Next = NextInput;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        frame.each(|p| {
            let tenant = self.0.read(p.rx(), epoch).and_then(|parsed| parsed.0.checked_sub(1));
            let Some(tenant) = tenant else { return Ok(NextInput::On) };
            p.set_metadata(&PLACE, Passing::of(tenant));
            Ok(NextInput::Parse)
        });
    }
}

/// Enable or disable the sample parser on an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set sfdp sample-parser")]
#[stage(Attachments)]
struct Set {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// tenant
    tenant: u32,
    /// no longer
    disable: bool,
}

fn set(router: &mut Router, c: &Set) -> Result<(), Error> {
    let (number, _) = tenant::tenant(router, c.tenant)?;
    let new = Parsed(if c.disable { 0 } else { number + 1 });
    let old = router.setting::<Parsed>(c.interface);
    router.put(c.interface, new)?;
    if (old.0 == 0) != (new.0 == 0) {
        let needed = router.need_fragment_ports(c.interface, 0, new.0 != 0);
        needed.map_err(|_| Error::NoInterface)?;
    }
    Ok(())
}

fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (interface, parsed) in router.settings::<Parsed>() {
        let number = parsed.0.saturating_sub(1);
        if let Some(tenant) = router.own::<Sfdp>().tenants.at(number) {
            lines.push(&Set { interface, tenant: tenant.id, disable: false });
        }
    }
}

fn add(router: &mut Router) -> Result<(), BuildError> {
    let sfdp = router.own::<Sfdp>();
    let (core, translator) = (sfdp.core.clone(), sfdp.translator.clone());
    // Its number is known once it is in the graph: the next that is free.
    let from = service::next_sender(router);
    lookup::add_of::<User>(router, &core, &translator, from)?;
    service::add_sender(router, User::LOOKUP)?;
    let timeout = tenant::add_timeout(router, TIMEOUT.0, TIMEOUT.1)
        .map_err(|why| BuildError::UnknownNode(why.to_string()))?;
    let from = service::next_sender(router);
    router.engine.add(Sample { core, from, timeout })?;
    service::add_sender(router, SERVICE)?;
    service::add(router, SERVICE)?;
    super::connect_handoff(router, User::KIND.into(), User::LOOKUP)
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let parsed = router.attach::<Parsed>().map_err(refuse)?;
    add(router).map_err(refuse)?;
    router.engine.add(Input(parsed)).map_err(refuse)?;
    let beside = graph::arc::Beside::Before("sfdp-interface-input-ip4");
    router.engine.place_beside(&IP4_UNICAST, INPUT, beside).map_err(refuse)?;
    router.attach_at::<Parsed, _>([AttachedAt {
        arc: &IP4_UNICAST,
        node: INPUT,
        is_on: |parsed| parsed.0 != 0,
    }]);
    let cli: &mut Cli<Router> = &mut parts.cli;
    cli.command(|router: &mut Router, c: Set| Ok(set(router, &c)?));
    Ok(())
}
