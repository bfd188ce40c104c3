//! Commands about GRE tunnels.

use std::net::IpAddr;

use control::cli::{Cli, Command, Error, Output};
use net::Router;
use net::tunnel::{Outer, far_end, show};

use super::{Gre, What};

/// Make or delete a GRE tunnel.
#[derive(Command)]
#[command("create gre tunnel")]
struct Create {
    /// own address
    src: IpAddr,
    /// far end; left out with multipoint
    dst: Option<IpAddr>,
    /// number in the interface's name
    instance: Option<u32>,
    /// table that leads to the far end
    outer_fib_id: Option<u32>,
    /// Ethernet frames are carried
    teb: bool,
    /// mirrored frames of a session are carried
    erspan: Option<u16>,
    /// the tunnel is deleted
    del: bool,
    /// several far ends, which the TEIB knows
    multipoint: bool,
    /// key; 0 for none
    key: Option<u32>,
}

/// Show the GRE tunnels.
#[derive(Command)]
#[command("show gre tunnel")]
struct Show;

fn create(router: &mut Router, c: &Create) -> Result<Output, Error> {
    let what = match (c.teb, c.erspan) {
        (false, None) => What::Packets,
        (true, None) => What::Frames,
        (false, Some(session)) if session <= super::SESSION => What::Mirrored(session),
        (false, Some(session)) => return Err(Error::new(format!("session {session} > 1023"))),
        (true, Some(_)) => return Err(Error::new("either teb or erspan")),
    };
    let dst = far_end(c.src, c.dst, c.multipoint)?;
    let table = router.tunnel_table(c.src, c.outer_fib_id.unwrap_or_default())?;
    let (outer, gre) =
        (Outer::new(c.src, dst, table), Gre { what, key: c.key.unwrap_or_default() });
    if c.del {
        let interface = router.find_tunnel(&outer, &gre)?;
        router.remove_tunnel::<Gre>(interface)?;
        return Ok(Output::none());
    }
    let made = router.add_tunnel(c.instance, outer, gre)?;
    Ok(Output::text(format!("{}\n", router.interfaces.name(made.0))))
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| create(router, &c));
    cli.command(|router: &mut Router, _: Show| {
        Ok(show::all::<Gre>(router, "GRE", |t| {
            let what = match t.kind.what {
                What::Packets => "payload L3".to_owned(),
                What::Frames => "payload TEB".to_owned(),
                What::Mirrored(session) => format!("payload ERSPAN session {session}"),
            };
            let key = if t.kind.key > 0 { format!(" key {}", t.kind.key) } else { String::new() };
            what + &key
        }))
    });
}
