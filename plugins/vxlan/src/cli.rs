//! Commands about VXLAN tunnels.

use control::cli::Below;
use net::prelude::*;
use net::tunnel::command::{self, Far, Vni};
use net::tunnel::{Tunnel, bypass, show};

use super::{PORT, Vxlan};

/// Add or delete a VXLAN tunnel.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create vxlan tunnel")]
struct Create {
    #[flatten]
    far: Far,
    /// VXLAN network identifier
    vni: Vni,
    /// layer 3: carry IP packets instead of frames
    #[keyword("l3")]
    is_l3: bool,
    /// source port
    #[keyword("src_port")]
    #[default(PORT)]
    src_port: u16,
    /// destination port
    #[keyword("dst_port")]
    #[default(PORT)]
    dst_port: u16,
}

fn create(router: &mut Router, c: &Create) -> Result<Output, Error> {
    let (outer, next) = c.far.outer::<Vxlan>(router)?;
    let Create { vni: Below(vni), is_l3, src_port, dst_port, .. } = *c;
    c.far.carry_out(router, outer, Vxlan { vni, src_port, dst_port, next, is_l3 })
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    command::configuration(router, lines, |t: &Tunnel<Vxlan>, far| {
        let Vxlan { vni, src_port, dst_port, is_l3, .. } = t.kind;
        Create { far, vni: Below(vni), is_l3, src_port, dst_port }
    });
    bypass::configuration::<Vxlan>(router, lines);
}

/// Offload a tunnel's receive path to hardware.
#[derive(Command)]
#[command("set flow-offload vxlan")]
struct Offload {
    /// the device
    hw: InterfaceIndex,
    /// tunnel interface
    rx: InterfaceIndex,
    /// disable
    #[keyword("del")]
    is_del: bool,
}

/// Show VXLAN tunnels.
#[derive(Command)]
#[command("show vxlan tunnel")]
struct Show {
    /// include the receive lookup table
    raw: bool,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| create(router, &c));
    cli.command(|router: &mut Router, c: Offload| {
        Ok(super::offload(router, c.hw, c.rx, !c.is_del)?)
    });
    bypass::register::<Vxlan>(cli);
    cli.command(|router: &mut Router, c: Show| {
        if c.raw {
            return Ok(show::ends::<Vxlan>(router));
        }
        Ok(show::all::<Vxlan>(router, "vxlan", |t, table| {
            let Vxlan { vni, src_port, dst_port, is_l3, .. } = t.kind;
            let ends = format!("src_port {src_port} dst_port {dst_port} vni {vni} ");
            show::line(t, table, &ends) + &show::group(t) + if is_l3 { " l3" } else { "" }
        }))
    });
}
