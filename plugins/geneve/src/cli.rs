//! Commands about GENEVE tunnels.

use control::cli::Below;
use net::prelude::*;
use net::tunnel::command::{self, Far, Vni};
use net::tunnel::{Tunnel, bypass, show};

use super::Geneve;

/// Add or delete a GENEVE tunnel.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create geneve tunnel")]
struct Create {
    #[flatten]
    far: Far,
    /// VXLAN network identifier
    vni: Vni,
    /// layer 3: carry IP packets instead of frames
    #[keyword("l3-mode")]
    is_l3: bool,
}

fn create(router: &mut Router, c: &Create) -> Result<Output, Error> {
    let (outer, next) = c.far.outer::<Geneve>(router)?;
    c.far.carry_out(router, outer, Geneve { vni: c.vni.0, next, is_l3: c.is_l3 })
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    command::configuration(router, lines, |t: &Tunnel<Geneve>, far| Create {
        far,
        vni: Below(t.kind.vni),
        is_l3: t.kind.is_l3,
    });
    bypass::configuration::<Geneve>(router, lines);
}

/// Show GENEVE tunnels.
#[derive(Command)]
#[command("show geneve tunnel")]
struct Show;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| create(router, &c));
    bypass::register::<Geneve>(cli);
    cli.command(|router: &mut Router, _: Show| {
        Ok(show::all::<Geneve>(router, "geneve", |t, table| {
            let (vni, l3) = (t.kind.vni, u8::from(t.kind.is_l3));
            format!(
                "lcl {} rmt {} vni {vni} fib-idx {table} sw-if-idx {} decap-next-l2 l3-mode {l3}{}",
                t.outer.src,
                t.outer.dst,
                t.interface.0,
                show::group(t)
            )
        }))
    });
}
