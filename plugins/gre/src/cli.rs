//! Commands about GRE tunnels.

use net::prelude::*;
use net::tunnel::command::{self, Fields};
use net::tunnel::{Outer, far_end, show};

use super::{Gre, What};

/// Add or delete a GRE tunnel.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create gre tunnel")]
struct Create {
    /// local address
    src: IpAddr,
    /// remote address; omitted with multipoint
    dst: Option<IpAddr>,
    /// instance number in the interface name
    instance: Option<u32>,
    /// table to route the outer packets in
    #[alias("outer-table-id")]
    #[default]
    outer_fib_id: u32,
    /// Carry Ethernet frames
    teb: bool,
    /// ERSPAN session ID: carry mirrored frames
    erspan: Option<u16>,
    /// delete the tunnel
    del: bool,
    /// multipoint: remote addresses come from the TEIB
    multipoint: bool,
    /// key; 0 for none
    #[default]
    key: u32,
    #[flatten]
    fields: Fields,
}

/// Show GRE tunnels.
#[derive(Command)]
#[command("show gre tunnel")]
struct Show {
    /// only this instance
    #[positional]
    instance: Option<u32>,
}

fn create(router: &mut Router, c: &Create) -> Result<Output, Error> {
    let what = match (c.teb, c.erspan) {
        (false, None) => What::Packets,
        (true, None) => What::Frames,
        (false, Some(session)) if session <= super::SESSION => What::Mirrored(session),
        (false, Some(session)) => return Err(Error::new(format!("session {session} > 1023"))),
        (true, Some(_)) => return Err(Error::new("expected teb or erspan")),
    };
    let dst = far_end(c.src, c.dst, c.multipoint)?;
    let table = router.tunnel_table(c.src, c.outer_fib_id)?;
    let outer = Outer { flags: c.fields.flags(), ..Outer::new(c.src, dst, table) };
    let gre = Gre { what, key: c.key };
    if c.del {
        let interface = router.find_tunnel(&outer, &gre)?;
        router.remove_tunnel::<Gre>(interface)?;
        return Ok(Output::none());
    }
    let made = router.add_tunnel(c.instance, outer, gre)?;
    Ok(Output::text(format!("{}\n", router.interfaces.name(made.0))))
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for t in router.tunnels::<Gre>().iter() {
        let Outer { src, dst, flags, .. } = t.outer;
        let multipoint = t.outer.is_multipoint();
        let erspan = if let What::Mirrored(session) = t.kind.what { Some(session) } else { None };
        let create = Create {
            src,
            dst: (!multipoint).then_some(dst),
            instance: Some(t.instance),
            outer_fib_id: router.tunnel_table_id(&t.outer),
            teb: t.kind.what == What::Frames,
            erspan,
            del: false,
            multipoint,
            key: t.kind.key,
            fields: Fields::of(flags),
        };
        command::push(router, lines, t.interface, &create);
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| create(router, &c));
    cli.command(|router: &mut Router, c: Show| {
        Ok(show::some::<Gre>(router, "GRE", c.instance, |t, table| {
            let (what, session) = match t.kind.what {
                What::Packets => ("L3", String::new()),
                What::Frames => ("TEB", String::new()),
                What::Mirrored(session) => ("ERSPAN", format!(" session {session}")),
            };
            let key = if t.kind.key > 0 { format!(" key {}", t.kind.key) } else { String::new() };
            let mode = if t.outer.is_multipoint() { "multi-point" } else { "point-to-point" };
            format!("{} payload {what} {mode}{key}{session}", show::line(t, table, ""))
        }))
    });
}
