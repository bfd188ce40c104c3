//! Commands about IP in IP tunnels.

use net::prelude::*;
use net::tunnel::command::{self, Fields, Named, copied};
use net::tunnel::{Outer, Tunnel, far_end, show};
use wire::Dscp;

use super::{Ipip, sixrd};

/// Add an IP-in-IP tunnel.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create ipip tunnel")]
#[undo("delete ipip tunnel ipip{instance}")]
struct Create {
    /// local address
    src: IpAddr,
    /// remote address; omitted with p2mp
    dst: Option<IpAddr>,
    /// instance number in the interface name
    instance: Option<u32>,
    /// table to route the outer packets in
    #[values("table-id")]
    #[default]
    outer_table_id: u32,
    /// multipoint: remote addresses come from the TEIB
    #[alias("mp")]
    p2mp: bool,
    /// point-to-point; the default
    p2p: bool,
    /// DSCP of outer headers
    #[default]
    dscp: u8,
    #[flatten]
    fields: Fields,
}

/// Delete an IP-in-IP tunnel.
#[derive(Command)]
#[command("delete ipip tunnel")]
struct Delete {
    /// interface, by name or `sw_if_index` and its number
    #[positional]
    interface: Named,
}

/// Show IP-in-IP tunnels.
#[derive(Command)]
#[command("show ipip tunnel")]
struct Show {
    /// only this instance
    #[positional]
    instance: Option<u32>,
}

/// Show the receive lookup keys of IP-in-IP tunnels.
#[derive(Command)]
#[command("show ipip tunnel-hash")]
struct ShowEnds;

/// A tunnel, its table and the fields that its headers copy.
fn line(t: &Tunnel<Ipip>, table: u32) -> String {
    let Outer { src, dst, flags, dscp, .. } = t.outer;
    let (instance, interface) = (t.instance, t.interface.0);
    let (flags, dscp) = (copied(flags), Dscp::new(dscp).unwrap_or(Dscp::CS0));
    let ends = match (t.kind.sixrd, t.outer.is_multipoint()) {
        (Some(rule), _) => format!("6rd src {src} ip6-pfx {}", rule.ip6),
        (None, true) => format!("instance {instance} p2mp src {src}"),
        (None, false) => format!("instance {instance} src {src} dst {dst}"),
    };
    format!("{ends} table-ID {table} sw-if-idx {interface} flags [{flags}] dscp {dscp}")
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for t in router.tunnels::<Ipip>().iter() {
        if let Some(rule) = t.kind.sixrd {
            sixrd::print(router, lines, t, rule);
            continue;
        }
        let Outer { src, dst, flags, dscp, .. } = t.outer;
        let p2mp = t.outer.is_multipoint();
        let create = Create {
            src,
            dst: (!p2mp).then_some(dst),
            instance: Some(t.instance),
            outer_table_id: router.tunnel_table_id(&t.outer),
            p2mp,
            p2p: false,
            dscp,
            fields: Fields::of(flags),
        };
        command::push(router, lines, t.interface, &create);
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| {
        if c.p2p && c.p2mp {
            return Err(control::cli::Error::new("expected p2p or p2mp"));
        }
        let dst = far_end(c.src, c.dst, c.p2mp)?;
        let table = router.tunnel_table(c.src, c.outer_table_id)?;
        let (flags, dscp) = (c.fields.flags(), c.dscp);
        let outer = Outer { flags, dscp, ..Outer::new(c.src, dst, table) };
        let made = router.add_tunnel(c.instance, outer, Ipip::default())?;
        Ok(Output::text(format!("{}\n", router.interfaces.name(made.0))))
    });
    cli.command(|router: &mut Router, c: Delete| Ok(sixrd::remove(router, c.interface.0, false)?));
    cli.command(|router: &mut Router, c: Show| {
        Ok(show::some::<Ipip>(router, "ipip", c.instance, line))
    });
    cli.command(|router: &mut Router, _: ShowEnds| Ok(show::ends::<Ipip>(router)));
}
