//! Commands about VXLAN tunnels.

use control::cli::{Args, Cli, Command, Error, Output};
use net::Router;
use net::tunnel::command::{Far, bypass};
use net::tunnel::show;

use super::{NETWORKS, PORT, Vxlan};

/// `create vxlan tunnel src ADDRESS {dst ADDRESS | group ADDRESS INTERFACE} vni N ...`.
struct Create {
    far: Far,
    instance: Option<u32>,
    vni: u32,
    ports: [u16; 2],
    is_l3: bool,
}

impl Command for Create {
    const PATHS: &'static [&'static str] = &["create vxlan tunnel"];
    const ABOUT: &'static str = "Make or delete a VXLAN tunnel";
    const USAGE: &'static str = "src <address> {dst <address> | group <address> <interface>} \
        vni <n> [instance <n>] [encap-vrf-id <n>] [decap-next {l2 | node <name>}] [l3] \
        [src_port <port>] [dst_port <port>] [del]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut far, mut instance, mut vni) = (Far::default(), None, None);
        let (mut ports, mut is_l3) = ([PORT; 2], false);
        while !args.is_empty() {
            if far.take(args, ["src", "dst"])? {
            } else if args.keyword("vni") {
                let at = *args;
                vni = Some(args.value("network")?);
                if vni >= Some(NETWORKS) {
                    return Err(at.error("a network is below 16777216"));
                }
            } else if args.keyword("instance") {
                instance = Some(args.value("instance")?);
            } else if args.keyword("src_port") {
                ports[0] = args.value("port")?;
            } else if args.keyword("dst_port") {
                ports[1] = args.value("port")?;
            } else if args.keyword("l3") {
                is_l3 = true;
            } else {
                return Err(args.unknown());
            }
        }
        let vni = vni.ok_or_else(|| args.error("expected vni"))?;
        Ok(Self { far, instance, vni, ports, is_l3 })
    }
}

fn create(router: &mut Router, c: &Create) -> Result<Output, Error> {
    let (outer, next) = c.far.outer::<Vxlan>(router)?;
    let [src_port, dst_port] = c.ports;
    let vxlan = Vxlan { vni: c.vni, src_port, dst_port, next, is_l3: c.is_l3 };
    c.far.carry_out(router, c.instance, outer, vxlan)
}

/// Show the VXLAN tunnels.
#[derive(Command)]
#[command("show vxlan tunnel")]
struct Show {
    /// where packets from far ends belong
    raw: bool,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| create(router, &c));
    bypass!(cli, Vxlan, "set interface ip vxlan-bypass", "set interface ip6 vxlan-bypass");
    cli.command(|router: &mut Router, c: Show| {
        if c.raw {
            return Ok(show::ends::<Vxlan>(router));
        }
        Ok(show::all::<Vxlan>(router, "vxlan", |t| {
            let Vxlan { vni, src_port, dst_port, is_l3, .. } = t.kind;
            let group = t.outer.group_over;
            let group = group.map(|i| format!(" mcast-sw-if-idx {}", i.0)).unwrap_or_default();
            let l3 = if is_l3 { " l3" } else { "" };
            format!("src_port {src_port} dst_port {dst_port} vni {vni}{group}{l3}")
        }))
    });
}
