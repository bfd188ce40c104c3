//! Commands about VXLAN-GPE tunnels.

use control::cli::{Args, Cli, Command, Error, Output};
use net::Router;
use net::adjacency::Link;
use net::tunnel::command::{Far, bypass};
use net::tunnel::show;

use super::{NETWORKS, PORT, VxlanGpe};

/// `create vxlan-gpe tunnel local ADDRESS {remote ADDRESS | group ADDRESS INTERFACE} vni N ...`.
struct Create {
    far: Far,
    gpe: VxlanGpe,
}

impl Command for Create {
    const PATHS: &'static [&'static str] = &["create vxlan-gpe tunnel"];
    const ABOUT: &'static str = "Make or delete a VXLAN-GPE tunnel";
    const USAGE: &'static str = "local <address> {remote <address> | group <address> <interface>} \
        vni <n> {next-ip4 | next-ip6 | next-ethernet} [encap-vrf-id <n>] [decap-vrf-id <n>] [del]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut far, mut vni) = (Far::default(), None);
        let (mut carried, mut decap_vrf) = (Link::Ethernet, 0);
        while !args.is_empty() {
            if far.take(args, ["local", "remote"])? {
            } else if args.keyword("vni") {
                let at = *args;
                vni = Some(args.value("network")?);
                if vni >= Some(NETWORKS) {
                    return Err(at.error("a network is below 16777216"));
                }
            } else if args.keyword("next-ip4") {
                carried = Link::Ip4;
            } else if args.keyword("next-ip6") {
                carried = Link::Ip6;
            } else if args.keyword("next-ethernet") {
                carried = Link::Ethernet;
            } else if args.keyword("decap-vrf-id") {
                decap_vrf = args.value("table id")?;
            } else {
                return Err(args.unknown());
            }
        }
        let vni = vni.ok_or_else(|| args.error("expected vni"))?;
        let gpe = VxlanGpe { vni, local_port: PORT, remote_port: PORT, carried, decap_vrf };
        Ok(Self { far, gpe })
    }
}

fn create(router: &mut Router, c: &Create) -> Result<Output, Error> {
    let (outer, _) = c.far.outer::<VxlanGpe>(router)?;
    let interface = super::add_del(router, !c.far.is_del, outer, c.gpe)?;
    if c.far.is_del {
        return Ok(Output::none());
    }
    Ok(Output::text(format!("{}\n", router.interfaces.name(interface.0))))
}

/// Show the VXLAN-GPE tunnels.
#[derive(Command)]
#[command("show vxlan-gpe")]
struct Show;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| create(router, &c));
    bypass!(
        cli,
        VxlanGpe,
        "set interface ip vxlan-gpe-bypass",
        "set interface ip6 vxlan-gpe-bypass"
    );
    cli.command(|router: &mut Router, _: Show| {
        Ok(show::all::<VxlanGpe>(router, "vxlan-gpe", |t| {
            let VxlanGpe { vni, carried, decap_vrf, .. } = t.kind;
            format!("vni {vni} next {} decap-vrf {decap_vrf}", carried.name())
        }))
    });
}
