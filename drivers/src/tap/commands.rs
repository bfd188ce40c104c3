//! `create tap`, `delete tap`.
#![forbid(unsafe_code)]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use control::cli::{Cli, Command, Error, Print, Task};
use control::configuration::Lines;
use net::{InterfaceIndex, Router};
use wire::{Ip4Prefix, Ip6Prefix, MacAddr, Prefix};

use super::device::Leaves;
use super::interface::{self, Host, Parameters, Tap, Taps};
use crate::host::background::{self, Pending};
use crate::host::{self, Which};

/// Create a tap interface: a host device whose other end is an interface of the router.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create tap")]
#[undo("delete tap {if-name}|delete tap {?tun} tun{id}|delete tap tap{id}")]
#[stage(Interfaces)]
struct Create {
    /// instance number in the name; by default the lowest free one
    id: Option<u32>,
    /// MAC address; by default one that is stable across restarts
    hw_addr: Option<MacAddr>,
    /// interface name; default tap<id> or tun<id>
    if_name: Option<String>,
    /// number of receive queues; default the number of transmit queues
    num_rx_queues: Option<usize>,
    /// number of transmit queues
    num_tx_queues: Option<usize>,
    /// receive ring size
    rx_ring_size: Option<u32>,
    /// transmit ring size, towards the host
    tx_ring_size: Option<u32>,
    /// network namespace of the device: a name, a path or pid:<number>
    #[values("netns")]
    host_ns: Option<String>,
    /// host bridge to attach the device to
    host_bridge: Option<String>,
    /// address of the host device
    host_ip4_addr: Option<Ip4Prefix>,
    /// address of the host device
    host_ip6_addr: Option<Ip6Prefix>,
    /// gateway of a default route through the device
    host_ip4_gw: Option<Ipv4Addr>,
    /// gateway of a default route through the device
    host_ip6_gw: Option<Ipv6Addr>,
    /// MAC address of the host device
    host_mac_addr: Option<MacAddr>,
    /// host device name; by default the interface name
    host_if_name: Option<String>,
    /// MTU of the device in bytes
    host_mtu_size: Option<u32>,
    /// complete checksums and segment large packets before the host, and require the same of it
    no_gso: bool,
    /// accept large packets unsegmented and without checksums
    gso: bool,
    /// with gso: coalesce TCP segments before the host
    gro_coalesce: bool,
    /// accept packets without checksums
    csum_offload: bool,
    /// keep the device when the interface is deleted
    persist: bool,
    /// attach to an existing device
    attach: bool,
    /// carry IP packets without an Ethernet header
    tun: bool,
    /// accepted, ignored for kernel taps
    #[keyword("packed")]
    _packed: bool,
    /// accepted, ignored for kernel taps
    #[keyword("in-order")]
    _in_order: bool,
    /// accepted: queues are used in pairs
    #[keyword("consistent-qp")]
    _consistent_qp: bool,
}

/// Delete a tap interface.
#[derive(Command)]
#[command("delete tap")]
struct Delete {
    #[flatten]
    which: Which,
}

/// The interfaces there are.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for tap in router.own::<Taps>().list.iter().filter(|tap| !tap.wanted.is_part) {
        lines.push_at(tap.index.0, &Create::of(tap));
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.values("netns", |_| host::names_in("/run/netns"));
    cli.task(create).command(delete);
}

/// Makes an interface with a tag; `answer` gets it, or an error as `E`.
pub(super) fn make<R: 'static, E: From<interface::Error> + 'static>(
    router: &mut Router,
    wanted: Parameters,
    tag: String,
    answer: fn(&Router, InterfaceIndex) -> R,
) -> Result<Pending<Result<R, E>>, E> {
    background::make::<Taps, _, _>(router, wanted, move |router, made| {
        let made = made?;
        if let Err(e) = router.set_tag(made, &tag) {
            router.with(|taps: &mut Taps, router| taps.delete(router, made));
            return Err(e.into());
        }
        Ok(answer(router, made))
    })
}

impl Create {
    fn of(tap: &Tap) -> Self {
        let (wanted, host) = (&tap.wanted, &tap.wanted.host);
        let usual = format!("{}{}", if wanted.is_tun { "tun" } else { "tap" }, tap.id);
        let queues = |n: usize| Some(n).filter(|n| *n > 1);
        let ring = |n: u32| Some(n).filter(|n| *n > 0);
        let gateway4 = |g: &IpAddr| if let IpAddr::V4(a) = g { Some(*a) } else { None };
        let gateway6 = |g: &IpAddr| if let IpAddr::V6(a) = g { Some(*a) } else { None };
        Self {
            id: Some(tap.id),
            hw_addr: wanted.mac,
            if_name: wanted.name.clone().filter(|name| *name != usual),
            num_rx_queues: queues(wanted.queues.0),
            num_tx_queues: queues(wanted.queues.1),
            rx_ring_size: ring(wanted.rings.0),
            tx_ring_size: ring(wanted.rings.1),
            host_ns: host.namespace.clone(),
            host_bridge: host.bridge.clone(),
            host_ip4_addr: host
                .ip4
                .and_then(|p| if let Prefix::Ip4(p) = p { Some(p) } else { None }),
            host_ip6_addr: host
                .ip6
                .and_then(|p| if let Prefix::Ip6(p) = p { Some(p) } else { None }),
            host_ip4_gw: host.gateways.iter().find_map(gateway4),
            host_ip6_gw: host.gateways.iter().find_map(gateway6),
            host_mac_addr: host.mac,
            host_if_name: host.name.clone().filter(|name| *name != usual),
            host_mtu_size: host.mtu,
            no_gso: wanted.completes,
            gso: wanted.leaves.gso,
            gro_coalesce: wanted.coalesces,
            csum_offload: wanted.leaves.checksum && !wanted.leaves.gso,
            persist: wanted.persists,
            attach: wanted.attaches,
            tun: wanted.is_tun,
            _packed: false,
            _in_order: false,
            _consistent_qp: false,
        }
    }
}

fn create(router: &mut Router, c: Create) -> Result<Box<dyn Task<Router>>, Error> {
    if c.no_gso && (c.gso || c.csum_offload) {
        return Err("expected gso or no-gso, not both".into());
    }
    let gateways = c.host_ip4_gw.map(IpAddr::from).into_iter();
    let wanted = Parameters {
        id: c.id,
        name: c.if_name,
        mac: c.hw_addr,
        queues: (c.num_rx_queues.unwrap_or(1), c.num_tx_queues.unwrap_or(1)),
        rings: (c.rx_ring_size.unwrap_or(0), c.tx_ring_size.unwrap_or(0)),
        is_tun: c.tun,
        leaves: Leaves { checksum: c.gso || c.csum_offload, gso: c.gso },
        completes: c.no_gso,
        coalesces: c.gso && c.gro_coalesce,
        persists: c.persist,
        attaches: c.attach,
        is_part: false,
        host: Host {
            name: c.host_if_name,
            namespace: c.host_ns,
            bridge: c.host_bridge,
            mac: c.host_mac_addr,
            mtu: c.host_mtu_size,
            ip4: c.host_ip4_addr.map(Prefix::Ip4),
            ip6: c.host_ip6_addr.map(Prefix::Ip6),
            gateways: gateways.chain(c.host_ip6_gw.map(IpAddr::from)).collect(),
            is_off: false,
        },
    };
    let name = |router: &Router, made: InterfaceIndex| router.interfaces.name(made.0).to_owned();
    Ok(Box::new(make::<_, Error>(router, wanted, String::new(), name)?))
}

fn delete(router: &mut Router, c: Delete) -> Result<(), Error> {
    let index = c.which.index()?;
    let gone = router.with(|taps: &mut Taps, router| taps.delete(router, index));
    Ok(gone.ok_or("not available")??)
}
