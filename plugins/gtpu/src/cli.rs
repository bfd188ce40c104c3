//! Commands about GTP-U tunnels.

use control::cli::{Args, Cli, Command, Error, Output};
use net::Router;
use net::adjacency::Link;
use net::tunnel::command::{Far, bypass};
use net::tunnel::show;

use super::Gtpu;

/// `create gtpu tunnel src ADDRESS {dst ADDRESS | group ADDRESS INTERFACE} teid N ...`.
struct Create {
    far: Far,
    teid: u32,
    tteid: Option<u32>,
    /// The tunnel is there and changes to this identifier of the far end.
    update: Option<u32>,
    qfi: Option<u8>,
}

impl Command for Create {
    const PATHS: &'static [&'static str] = &["create gtpu tunnel"];
    const ABOUT: &'static str = "Make, change or delete a GTP-U tunnel";
    const USAGE: &'static str = "src <address> {dst <address> | group <address> <interface>} \
        teid <n> [tteid <n>] [encap-vrf-id <n>] [decap-next {l2 | ip4 | ip6 | node <name>}] \
        [qfi <n>] [del | upd-tteid <n>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut far, mut teid, mut tteid) = (Far::default(), None, None);
        let (mut update, mut qfi) = (None, None);
        while !args.is_empty() {
            if far.take(args, ["src", "dst"])? {
            } else if args.keyword("teid") {
                teid = Some(args.value("identifier")?);
            } else if args.keyword("tteid") {
                tteid = Some(args.value("identifier")?);
            } else if args.keyword("upd-tteid") {
                update = Some(args.value("identifier")?);
            } else if args.keyword("qfi") {
                let at = *args;
                qfi = Some(args.value("flow")?);
                if qfi > Some(super::FLOW) {
                    return Err(at.error("a flow is below 64"));
                }
            } else {
                return Err(args.unknown());
            }
        }
        let teid = teid.ok_or_else(|| args.error("expected teid"))?;
        Ok(Self { far, teid, tteid, update, qfi })
    }
}

fn create(router: &mut Router, c: &Create) -> Result<Output, Error> {
    let (outer, next) = c.far.outer::<Gtpu>(router)?;
    let is_l2 = c.far.carried.is_none_or(|carried| carried == Link::Ethernet);
    let tteid = c.tteid.unwrap_or(c.teid);
    let gtpu = Gtpu { teid: c.teid, tteid, qfi: c.qfi, is_l2, next };
    let Some(tteid) = c.update else { return c.far.carry_out(router, None, outer, gtpu) };
    let interface = router.find_tunnel(&outer, &gtpu)?;
    let found = router.tunnels::<Gtpu>().at(interface).map_or(gtpu, |t| t.kind);
    router.change_tunnel(interface, Gtpu { tteid, ..found })?;
    Ok(Output::none())
}

/// Show the GTP-U tunnels.
#[derive(Command)]
#[command("show gtpu tunnel")]
struct Show;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| create(router, &c));
    bypass!(cli, Gtpu, "set interface ip gtpu-bypass", "set interface ip6 gtpu-bypass");
    cli.command(|router: &mut Router, _: Show| {
        Ok(show::all::<Gtpu>(router, "gtpu", |t| {
            let Gtpu { teid, tteid, qfi, is_l2, .. } = t.kind;
            let flow = qfi.map(|flow| format!(" qfi {flow}")).unwrap_or_default();
            let next = if is_l2 { "l2" } else { "ip" };
            format!("teid {teid} tteid {tteid} decap-next {next}{flow}")
        }))
    });
}
