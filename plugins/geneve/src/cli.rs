//! Commands about GENEVE tunnels.

use control::cli::{Args, Cli, Command, Error, Output};
use net::Router;
use net::tunnel::command::{Far, bypass};
use net::tunnel::show;

use super::{Geneve, NETWORKS};

/// `create geneve tunnel local ADDRESS {remote ADDRESS | group ADDRESS INTERFACE} vni N ...`.
struct Create {
    far: Far,
    vni: u32,
    is_l3: bool,
}

impl Command for Create {
    const PATHS: &'static [&'static str] = &["create geneve tunnel"];
    const ABOUT: &'static str = "Make or delete a GENEVE tunnel";
    const USAGE: &'static str = "local <address> {remote <address> | group <address> <interface>} \
        vni <n> [encap-vrf-id <n>] [decap-next {l2 | node <name>}] [l3-mode] [del]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut far, mut vni, mut is_l3) = (Far::default(), None, false);
        while !args.is_empty() {
            if far.take(args, ["local", "remote"])? {
            } else if args.keyword("vni") {
                let at = *args;
                vni = Some(args.value("network")?);
                if vni >= Some(NETWORKS) {
                    return Err(at.error("a network is below 16777216"));
                }
            } else if args.keyword("l3-mode") {
                is_l3 = true;
            } else {
                return Err(args.unknown());
            }
        }
        let vni = vni.ok_or_else(|| args.error("expected vni"))?;
        Ok(Self { far, vni, is_l3 })
    }
}

fn create(router: &mut Router, c: &Create) -> Result<Output, Error> {
    let (outer, next) = c.far.outer::<Geneve>(router)?;
    c.far.carry_out(router, None, outer, Geneve { vni: c.vni, next, is_l3: c.is_l3 })
}

/// Show the GENEVE tunnels.
#[derive(Command)]
#[command("show geneve tunnel")]
struct Show;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| create(router, &c));
    bypass!(cli, Geneve, "set interface ip geneve-bypass", "set interface ip6 geneve-bypass");
    cli.command(|router: &mut Router, _: Show| {
        Ok(show::all::<Geneve>(router, "geneve", |t| {
            let l3 = if t.kind.is_l3 { " l3" } else { "" };
            format!("vni {}{l3}", t.kind.vni)
        }))
    });
}
