//! Commands about VXLAN-GPE tunnels.

use control::cli::Below;
use net::prelude::*;
use net::tunnel::command::{self, Far, Vni};
use net::tunnel::{Tunnel, bypass, show};

use super::{PORT, VxlanGpe};

/// Add or delete a VXLAN-GPE tunnel.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create vxlan-gpe tunnel")]
struct Create {
    #[flatten]
    far: Far,
    /// VXLAN network identifier
    vni: Vni,
    /// payload
    #[positional]
    #[words]
    #[default(Carried::NextEthernet)]
    carried: Carried,
    /// table to look inner packets up in
    #[values("table-id")]
    #[default]
    decap_vrf_id: u32,
    /// local port
    #[alias("local_port")]
    #[default(PORT)]
    local_port: u16,
    /// remote port
    #[alias("remote_port")]
    #[default(PORT)]
    remote_port: u16,
}

/// The payload of a tunnel.
#[derive(Words, Clone, Copy, Debug, PartialEq)]
enum Carried {
    /// Packets.
    NextIp4,
    /// Packets.
    NextIp6,
    /// Frames.
    NextEthernet,
    /// Packets with a network service header: refused, as no node takes them.
    NextNsh,
}

fn create(router: &mut Router, c: &Create) -> Result<Output, Error> {
    let (outer, _) = c.far.outer::<VxlanGpe>(router)?;
    let carried = match c.carried {
        Carried::NextIp4 => Link::Ip4,
        Carried::NextIp6 => Link::Ip6,
        Carried::NextEthernet => Link::Ethernet,
        Carried::NextNsh => return Err(Error::new("next-nsh: no node accepts these packets")),
    };
    let Create { vni: Below(vni), decap_vrf_id: decap_vrf, local_port, remote_port, .. } = *c;
    let gpe = VxlanGpe { vni, local_port, remote_port, carried, decap_vrf };
    c.far.carry_out_by(router, |router, is_add, instance| {
        super::add_del(router, is_add, instance, outer, gpe)
    })
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    command::configuration(router, lines, |t: &Tunnel<VxlanGpe>, far| {
        let VxlanGpe { vni, local_port, remote_port, carried, decap_vrf } = t.kind;
        let carried = match carried {
            Link::Ip4 | Link::Mpls => Carried::NextIp4,
            Link::Ip6 => Carried::NextIp6,
            Link::Ethernet => Carried::NextEthernet,
        };
        let (vni, decap_vrf_id) = (Below(vni), decap_vrf);
        Create { far, vni, carried, decap_vrf_id, local_port, remote_port }
    });
    bypass::configuration::<VxlanGpe>(router, lines);
}

/// Show VXLAN-GPE tunnels.
#[derive(Command)]
#[command("show vxlan-gpe")]
struct Show;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| create(router, &c));
    bypass::register::<VxlanGpe>(cli);
    cli.command(|router: &mut Router, _: Show| {
        Ok(show::all::<VxlanGpe>(router, "vxlan-gpe", |t, table| {
            let VxlanGpe { vni, local_port, remote_port, carried, decap_vrf } = t.kind;
            let (src, dst, interface, next) =
                (t.outer.src, t.outer.dst, t.interface.0, carried.word());
            let looked_up = match carried {
                Link::Ethernet => String::new(),
                _ => format!(" fib-idx {decap_vrf}"),
            };
            format!(
                "lcl {src} rmt {dst} lcl_port {local_port} rmt_port {remote_port} vni {vni} \
                 fib-idx {table} sw-if-idx {interface} decap-next-protocol {next}{looked_up}"
            )
        }))
    });
}
