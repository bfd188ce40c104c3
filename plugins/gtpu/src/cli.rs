//! Commands about GTP-U tunnels.

use control::cli::{Below, Cli, Command, Error, Output, Print};
use control::configuration::Lines;
use net::Router;
use net::tunnel::command::{self, Far, Next};
use net::tunnel::{Tunnel, bypass, show};

use super::Gtpu;

/// Make, change or delete a GTP-U tunnel.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create gtpu tunnel")]
struct Create {
    #[flatten]
    far: Far,
    /// identifier in packets that are received
    teid: u32,
    /// identifier in packets that are sent; the same unless given
    tteid: Option<u32>,
    /// flow that packets are marked with
    qfi: Option<Flow>,
    /// the tunnel is there and gets this identifier for what it sends
    #[keyword("upd-tteid")]
    update: Option<u32>,
}

/// Number of a flow.
type Flow = Below<{ super::FLOW as u32 + 1 }>;

fn create(router: &mut Router, c: &Create) -> Result<Output, Error> {
    let (outer, next) = c.far.outer::<Gtpu>(router)?;
    let is_l2 = !matches!(c.far.decap_next, Some(Next::Ip4 | Next::Ip6));
    let (tteid, qfi) = (c.tteid.unwrap_or(c.teid), c.qfi.map(|flow| flow.0 as u8));
    let gtpu = Gtpu { teid: c.teid, tteid, qfi, is_l2, next };
    let Some(tteid) = c.update else { return c.far.carry_out(router, outer, gtpu) };
    let interface = router.find_tunnel(&outer, &gtpu)?;
    let found = router.tunnels::<Gtpu>().at(interface).map_or(gtpu, |t| t.kind);
    router.change_tunnel(interface, Gtpu { tteid, ..found })?;
    Ok(Output::none())
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    command::configuration(router, lines, |t: &Tunnel<Gtpu>, mut far| {
        let Gtpu { teid, tteid, qfi, is_l2, .. } = t.kind;
        if !is_l2 {
            far.decap_next = Some(Next::Ip4);
        }
        let tteid = (tteid != teid).then_some(tteid);
        Create { far, teid, tteid, qfi: qfi.map(|flow| Below(flow.into())), update: None }
    });
    bypass::configuration::<Gtpu>(router, lines);
}

/// Show the GTP-U tunnels.
#[derive(Command)]
#[command("show gtpu tunnel")]
struct Show;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| create(router, &c));
    bypass::register::<Gtpu>(cli);
    cli.command(|router: &mut Router, _: Show| {
        Ok(show::all::<Gtpu>(router, "gtpu", |t| {
            let Gtpu { teid, tteid, qfi, is_l2, .. } = t.kind;
            let flow = qfi.map(|flow| format!(" qfi {flow}")).unwrap_or_default();
            let next = if is_l2 { "l2" } else { "ip" };
            format!("teid {teid} tteid {tteid} decap-next {next}{flow}")
        }))
    });
}
