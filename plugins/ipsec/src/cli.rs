//! CLI commands for associations, policies and protected tunnels.

mod policy;
mod sa;

use net::prelude::*;

use super::{Ipsec, protect, show, spd};

/// `ipsec spd [add|del] <id>`.
#[derive(Debug, PartialEq)]
struct SetSpd {
    is_del: bool,
    id: u32,
}

impl Command for SetSpd {
    const PATHS: &'static [&'static str] = &["ipsec spd"];
    const ABOUT: &'static str = "Add or delete a security policy database";
    const USAGE: &'static str = "[add|del] <id>";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut is_del, mut id) = (false, None);
        while !args.is_empty() {
            if args.keyword("add") {
                is_del = false;
            } else if args.keyword("del") {
                is_del = true;
            } else if id.is_none() {
                id = Some(args.value("id")?);
            } else {
                return Err(args.unknown());
            }
        }
        Ok(Self { is_del, id: id.ok_or_else(|| args.error("expected an id"))? })
    }
}

impl Print for SetSpd {
    const STAGE: Stage = Stage::Objects;
    fn print(&self, line: &mut Line<'_>) {
        line.word(if self.is_del { "del" } else { "add" }).value(&self.id);
    }
}

/// Apply a security policy database to an interface, or remove it.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface ipsec spd")]
#[stage(Attachments)]
struct Apply {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// security policy database
    #[positional]
    id: u32,
    /// delete
    del: bool,
}

/// Create an IPsec interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("ipsec itf create")]
#[stage(Interfaces)]
struct Create {
    /// instance number in the name
    instance: Option<u32>,
    /// point-to-multipoint
    p2mp: bool,
}

/// Delete an IPsec interface.
#[derive(Command)]
#[command("ipsec itf delete")]
struct Delete {
    /// interface
    #[positional]
    interface: InterfaceIndex,
}

/// Protect a tunnel: `ipsec tunnel protect <interface> input-sa <SA> … output-sa <SA> [add|del]`.
#[derive(Debug, PartialEq)]
struct Protect {
    interface: InterfaceIndex,
    next_hop: Option<IpAddr>,
    sa_in: Vec<u32>,
    sa_out: Option<u32>,
    is_del: bool,
}

impl Command for Protect {
    const PATHS: &'static [&'static str] = &["ipsec tunnel protect"];
    const ABOUT: &'static str = "Protect a tunnel with security associations, or remove the \
        protection";
    const USAGE: &'static str =
        "<interface> [input-sa|sa-in <id>]... output-sa|sa-out <id> [[nh] <address>] [add|del]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut interface = None;
        let mut new = Self {
            interface: InterfaceIndex(0),
            next_hop: None,
            sa_in: Vec::new(),
            sa_out: None,
            is_del: false,
        };
        while !args.is_empty() {
            if args.keyword("input-sa") || args.keyword("sa-in") {
                new.sa_in.push(args.value("input-sa")?);
            } else if args.keyword("output-sa") || args.keyword("sa-out") {
                new.sa_out = Some(args.value("output-sa")?);
            } else if args.keyword("nh") {
                new.next_hop = Some(args.value("nh")?);
            } else if args.keyword("del") {
                new.is_del = true;
            } else if args.keyword("add") {
                new.is_del = false;
            } else if interface.is_none() {
                interface = Some(args.value("interface")?);
            } else if let Some(addr) = args.peek().and_then(|word| word.parse().ok()) {
                new.next_hop = Some(addr);
                args.word();
            } else {
                return Err(args.unknown());
            }
        }
        new.interface = interface.ok_or_else(|| args.error("expected an interface"))?;
        if !new.is_del && (new.sa_out.is_none() || new.sa_in.is_empty()) {
            return Err(args.error("expected input-sa and output-sa"));
        }
        Ok(new)
    }
}

impl Print for Protect {
    const STAGE: Stage = Stage::Routes;
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.interface);
        for sa in &self.sa_in {
            line.keyword("input-sa", sa);
        }
        line.option("output-sa", self.sa_out.as_ref()).option("nh", self.next_hop.as_ref());
        line.word(if self.is_del { "del" } else { "add" });
    }
}

/// Enable or disable asynchronous crypto.
#[derive(Command)]
#[command("set ipsec async mode")]
struct SetAsync {
    /// on or off
    #[positional]
    #[values("on|off")]
    mode: String,
}

fn set_spd(router: &mut Router, c: &SetSpd) -> Result<(), Error> {
    Ok(if c.is_del { spd::remove(router, c.id) } else { spd::add(router, c.id) }?)
}

fn set_protect(router: &mut Router, c: &Protect) -> Result<(), Error> {
    let next_hop = c.next_hop.unwrap_or(Ipv4Addr::UNSPECIFIED.into());
    match c.sa_out {
        Some(sa_out) if !c.is_del => {
            Ok(protect::update(router, c.interface, next_hop, sa_out, &c.sa_in)?)
        }
        _ => Ok(protect::remove(router, c.interface, next_hop)?),
    }
}

fn set_async(router: &mut Router, mode: &str) -> Result<(), Error> {
    router.own_mut::<Ipsec>().is_async = match mode {
        "on" => true,
        "off" => false,
        other => return Err(Error::new(format!("expected on or off, not {other}"))),
    };
    Ok(())
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    sa::configuration(router, lines);
    for (_, spd) in spd::all(router) {
        lines.push(&SetSpd { is_del: false, id: spd.id() });
        policy::configuration(spd, lines);
    }
    for (interface, itf) in protect::itf::all(router) {
        let create = Create { instance: Some(itf.instance), p2mp: itf.is_multipoint };
        net::tunnel::command::push(router, lines, interface, &create);
    }
    for (interface, id) in spd::applied(router) {
        lines.push(&Apply { interface, id, del: false });
    }
    for t in protect::all(router).filter(|t| !protect::is_derived(router, t)) {
        let id = |index: &u32| protect::id_of(router, *index);
        lines.push(&Protect {
            interface: t.interface,
            next_hop: Some(t.next_hop).filter(|nh| !nh.is_unspecified()),
            sa_in: t.sa_in.iter().map(id).collect(),
            sa_out: Some(id(&t.sa_out)),
            is_del: false,
        });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    sa::register(cli);
    policy::register(cli);
    cli.command(|router: &mut Router, c: SetSpd| set_spd(router, &c));
    cli.command(|router: &mut Router, c: Apply| {
        let id = (!c.del).then_some(c.id);
        Ok::<_, Error>(spd::apply(router, c.interface, id)?)
    });
    cli.command(|router: &mut Router, c: Create| {
        let made = protect::itf::add(router, c.instance, c.p2mp)?;
        Ok(Output::text(format!("{}\n", router.interfaces.name(made.0))))
    });
    cli.command(|router: &mut Router, c: Delete| {
        Ok::<_, Error>(protect::itf::remove(router, c.interface)?)
    });
    cli.command(|router: &mut Router, c: Protect| set_protect(router, &c));
    cli.command(|router: &mut Router, c: SetAsync| set_async(router, &c.mode));
    show::register(cli);
}
