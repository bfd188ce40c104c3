//! Commands about GTP-U tunnels.

use control::cli::Below;
use net::prelude::*;
use net::tunnel::command::{self, Far, Next};
use net::tunnel::{Tunnel, bypass, show};

use super::{Forward, Gtpu};

/// Add, change or delete a GTP-U tunnel.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create gtpu tunnel")]
struct Create {
    #[flatten]
    far: Far,
    /// TEID of received packets
    teid: u32,
    /// TEID of transmitted packets; default the same
    tteid: Option<u32>,
    /// QoS flow identifier of transmitted packets
    qfi: Option<Flow>,
    /// change the transmit TEID of an existing tunnel
    #[keyword("upd-tteid")]
    update: Option<u32>,
}

/// Number of a flow.
type Flow = Below<{ super::FLOW as u32 + 1 }>;

fn create(router: &mut Router, c: &Create) -> Result<Output, Error> {
    let (outer, next) = c.far.outer::<Gtpu>(router)?;
    let is_l2 = !matches!(c.far.decap_next, Some(Next::Ip4 | Next::Ip6));
    let (tteid, qfi) = (c.tteid.unwrap_or(c.teid), c.qfi.map(|flow| flow.0 as u8));
    let gtpu = Gtpu { teid: c.teid, tteid, qfi, is_l2, next, forward: None };
    let Some(tteid) = c.update else { return c.far.carry_out(router, outer, gtpu) };
    let interface = router.find_tunnel(&outer, &gtpu)?;
    let found = router.tunnels::<Gtpu>().at(interface).map_or(gtpu, |t| t.kind);
    router.change_tunnel(interface, Gtpu { tteid, ..found })?;
    Ok(Output::none())
}

/// Add an interface for packets without a tunnel.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create gtpu forward")]
struct CreateForward {
    /// local address
    dst: IpAddr,
    /// packets with an unknown TEID
    unknown_teid: bool,
    /// packets of another message type
    unknown_type: bool,
    /// packets with a bad GTP-U header
    bad_header: bool,
    /// next node of decapsulated packets
    #[words]
    decap_next: Option<Next>,
    /// table of the local address
    #[values("table-id")]
    #[default]
    encap_vrf_id: u32,
    /// instance number in the interface name
    instance: Option<u32>,
    /// disable
    #[keyword("del")]
    is_del: bool,
}

fn forward(router: &mut Router, c: &CreateForward) -> Result<Output, Error> {
    let forward = match (c.bad_header, c.unknown_teid, c.unknown_type) {
        (true, false, false) => Forward::BadHeader,
        (false, true, false) => Forward::UnknownTeid,
        (false, false, true) => Forward::UnknownType,
        _ => return Err(Error::new("expected one of unknown-teid, unknown-type, bad-header")),
    };
    let next = command::edge::<Gtpu>(router, c.dst, c.decap_next.as_ref())?;
    let is_l2 = !matches!(c.decap_next, Some(Next::Ip4 | Next::Ip6));
    let (id, is_add) = (c.encap_vrf_id, !c.is_del);
    let interface = super::set_forward(router, is_add, c.instance, (c.dst, id), forward, |g| {
        Gtpu { is_l2, next, ..g }
    })?;
    if c.is_del {
        return Ok(Output::none());
    }
    Ok(Output::text(format!("{}\n", router.interfaces.name(interface.0))))
}

/// Offload a tunnel's receive path to hardware.
#[derive(Command)]
#[command("set flow-offload gtpu")]
struct Offload {
    /// the device
    hw: InterfaceIndex,
    /// tunnel interface
    rx: InterfaceIndex,
    /// disable
    #[keyword("del")]
    is_del: bool,
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for t in router.tunnels::<Gtpu>().iter() {
        let Some(forward) = t.kind.forward else { continue };
        let next = if t.kind.is_l2 { None } else { Some(Next::Ip4) };
        let create = CreateForward {
            dst: t.outer.src,
            unknown_teid: forward == Forward::UnknownTeid,
            unknown_type: forward == Forward::UnknownType,
            bad_header: forward == Forward::BadHeader,
            decap_next: command::node(router, t).or(next),
            encap_vrf_id: router.tunnel_table_id(&t.outer),
            instance: Some(t.instance),
            is_del: false,
        };
        command::push(router, lines, t.interface, &create);
    }
    let is_tunnel = |t: &Tunnel<Gtpu>| t.kind.forward.is_none();
    command::configuration_of(router, lines, is_tunnel, |t: &Tunnel<Gtpu>, mut far| {
        let Gtpu { teid, tteid, qfi, is_l2, .. } = t.kind;
        if !is_l2 {
            far.decap_next = Some(Next::Ip4);
        }
        let tteid = (tteid != teid).then_some(tteid);
        Create { far, teid, tteid, qfi: qfi.map(|flow| Below(flow.into())), update: None }
    });
    bypass::configuration::<Gtpu>(router, lines);
}

/// Show GTP-U tunnels.
#[derive(Command)]
#[command("show gtpu tunnel")]
struct Show;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| create(router, &c));
    cli.command(|router: &mut Router, c: CreateForward| forward(router, &c));
    cli.command(|router: &mut Router, c: Offload| {
        Ok(super::offload(router, c.hw, c.rx, !c.is_del)?)
    });
    bypass::register::<Gtpu>(cli);
    cli.command(|router: &mut Router, _: Show| {
        Ok(show::all::<Gtpu>(router, "gtpu", |t, table| {
            let Gtpu { teid, tteid, qfi, is_l2, forward, .. } = t.kind;
            if let Some(forward) = forward {
                let next = if is_l2 { "l2" } else { "ip" };
                return format!(
                    "{} forwards {forward} decap-next-{next}",
                    show::line(t, table, "")
                );
            }
            let flow = qfi.map(|flow| format!("pdu-enabled qfi {flow}"));
            let flow = flow.unwrap_or_else(|| "pdu-disabled".to_owned());
            let next = if is_l2 { "l2" } else { "ip" };
            format!(
                "src {} dst {} teid {teid} tteid {tteid} encap-vrf-id {table} sw-if-idx {} \
                 decap-next-{next} {flow}",
                t.outer.src, t.outer.dst, t.interface.0
            )
        }))
    });
}
