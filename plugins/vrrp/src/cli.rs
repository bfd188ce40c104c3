//! Commands about virtual routers.

use control::cli::Error as CliError;
use net::prelude::*;

use super::table::Key;
use super::virtual_router::{self, Settings, VirtualRouter};
use super::{Error, show, virtual_routers};

/// Priority and interval of a virtual router for which none is said.
const PRIORITY: u8 = 100;
const INTERVAL: u16 = 100;

/// A virtual router in words.
#[derive(Arguments, Debug, PartialEq)]
struct Words {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// index
    #[keyword("vr_id")]
    id: u8,
    /// IPv6
    ipv6: bool,
    /// priority; 255 for the owner of the addresses
    priority: Option<u8>,
    /// advertisement interval in hundredths of a second
    interval: Option<u16>,
    /// do not preempt a master of lower priority
    #[keyword("no_preempt")]
    no_preempt: bool,
    /// accept packets to the virtual addresses as a non-owner master
    #[keyword("accept_mode")]
    accept_mode: bool,
    /// send advertisements to unicast peers
    unicast: bool,
}

/// Add a virtual router.
#[derive(Command, Print, Debug, PartialEq)]
#[command("vrrp vr add")]
#[undo("vrrp vr del {1} vr_id {vr_id} ipv6 {?ipv6}|vrrp vr del {1} vr_id {vr_id}")]
#[stage(Attachments)]
struct Add {
    #[flatten]
    vr: Words,
    /// addresses
    #[positional]
    addrs: Vec<IpAddr>,
}

/// Delete a virtual router; the words it was added with are accepted.
#[derive(Command)]
#[command("vrrp vr del")]
struct Del {
    /// virtual addresses, before or after the interface
    #[positional]
    #[expect(dead_code, reason = "the original takes the words that made it, and ignores these")]
    addrs: Vec<IpAddr>,
    #[flatten]
    vr: Words,
}

/// Start or stop a virtual router.
#[derive(Command, Print, Debug, PartialEq)]
#[command("vrrp proto")]
#[undo("vrrp proto stop {2} vr_id {vr_id} [ipv6 {?ipv6}]")]
#[stage(State)]
struct Proto {
    /// start it
    start: bool,
    /// true to stop
    stop: bool,
    /// interface
    #[positional]
    interface: Option<InterfaceIndex>,
    /// instance number of the interface
    #[keyword("sw_if_index")]
    number: Option<u32>,
    /// index
    #[keyword("vr_id")]
    id: u8,
    /// IPv6
    ipv6: bool,
}

/// Set the unicast peers of a virtual router.
#[derive(Command, Print, Debug, PartialEq)]
#[command("vrrp peers")]
#[undo("=vrrp peers {1} vr_id {vr_id} [ipv6 {?ipv6}] del")]
#[stage(Attachments)]
struct Peers {
    /// interface
    #[positional]
    interface: Option<InterfaceIndex>,
    /// instance number of the interface
    #[keyword("sw_if_index")]
    number: Option<u32>,
    /// index
    #[keyword("vr_id")]
    id: u8,
    /// IPv6
    ipv6: bool,
    /// delete all peers
    del: bool,
    /// peers
    #[positional]
    peers: Vec<IpAddr>,
}

/// Add or delete a tracked interface of a virtual router: it loses priority while the interface is
/// down.
#[derive(Command, Print, Debug, PartialEq)]
#[command("vrrp vr track-if")]
#[stage(Attachments)]
struct Track {
    /// add
    add: bool,
    /// delete
    del: bool,
    /// interface
    #[positional]
    interface: Option<InterfaceIndex>,
    /// instance number of the interface
    #[keyword("sw_if_index")]
    number: Option<u32>,
    /// index
    #[keyword("vr_id")]
    id: u8,
    /// IPv6
    ipv6: bool,
    /// index of the tracked interface
    track_index: Vec<u32>,
    /// tracked interface
    track_interface: Vec<InterfaceIndex>,
    /// priority decrement, for each interface in turn
    priority: Vec<u8>,
}

/// Interface of a virtual router, by name or number.
fn interface(
    name: Option<InterfaceIndex>,
    number: Option<u32>,
) -> Result<InterfaceIndex, CliError> {
    match (name, number) {
        (Some(interface), None) => Ok(interface),
        (None, Some(number)) => Ok(InterfaceIndex(number)),
        _ => Err(CliError::new("expected either an interface or `sw_if_index'")),
    }
}

fn add(router: &mut Router, Add { vr: c, addrs }: Add) -> Result<(), CliError> {
    let settings = Settings {
        priority: c.priority.unwrap_or(PRIORITY),
        interval: c.interval.unwrap_or(INTERVAL),
        preempt: !c.no_preempt,
        accept: c.accept_mode,
        unicast: c.unicast,
        addrs: addrs.into(),
    };
    let key = Key { on: c.interface, id: c.id, version: IpVersion::six(c.ipv6) };
    virtual_router::add(router, key, settings)?;
    Ok(())
}

fn proto(router: &mut Router, c: &Proto) -> Result<(), CliError> {
    let on = interface(c.interface, c.number)?;
    let key = Key { on, id: c.id, version: IpVersion::six(c.ipv6) };
    router.interfaces.at(on).ok_or(Error::NoInterface)?;
    match (c.start, c.stop) {
        (true, false) => Ok(virtual_router::start(router, key)?),
        (false, true) => Ok(virtual_router::stop(router, key)?),
        _ => Err(CliError::new("expected either `start' or `stop'")),
    }
}

fn peers(router: &mut Router, c: Peers) -> Result<(), CliError> {
    let on = interface(c.interface, c.number)?;
    let key = Key { on, id: c.id, version: IpVersion::six(c.ipv6) };
    match c.del {
        true => Ok(virtual_router::forget_peers(router, key)?),
        false => Ok(virtual_router::set_peers(router, key, c.peers)?),
    }
}

fn track(router: &mut Router, c: &Track) -> Result<(), CliError> {
    let on = interface(c.interface, c.number)?;
    let key = Key { on, id: c.id, version: IpVersion::six(c.ipv6) };
    let numbered = c.track_index.iter().map(|number| InterfaceIndex(*number));
    let others: Vec<_> = numbered.chain(c.track_interface.iter().copied()).collect();
    match (c.add, c.del) {
        (true, false) if others.len() != c.priority.len() || others.is_empty() => {
            Err(CliError::new("expected `priority' for each `track-index'"))
        }
        (true, false) => {
            let tracked: Vec<_> = others.into_iter().zip(c.priority.iter().copied()).collect();
            Ok(virtual_router::track(router, key, &tracked)?)
        }
        (false, true) => Ok(virtual_router::untrack(router, key, &others)?),
        _ => Err(CliError::new("expected either `add' or `del'")),
    }
}

fn added(of: &VirtualRouter) -> Add {
    let Settings { priority, interval, preempt, accept, unicast, addrs } = &of.settings;
    let vr = Words {
        interface: of.key.on,
        id: of.key.id,
        ipv6: of.key.version == IpVersion::V6,
        priority: Some(*priority).filter(|priority| *priority != PRIORITY),
        interval: Some(*interval).filter(|interval| *interval != INTERVAL),
        no_preempt: !preempt,
        accept_mode: *accept,
        unicast: *unicast,
    };
    Add { vr, addrs: addrs.to_vec() }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (_, of) in virtual_routers(router) {
        let (interface, number, id, ipv6) =
            (Some(of.key.on), None, of.key.id, of.key.version == IpVersion::V6);
        lines.push(&added(of));
        if !of.peers.is_empty() {
            let (del, peers) = (false, of.peers.clone());
            lines.push(&Peers { interface, number, id, ipv6, del, peers });
        }
        if !of.tracked.is_empty() {
            lines.push(&Track {
                add: true,
                del: false,
                interface,
                number,
                id,
                ipv6,
                track_index: Vec::new(),
                track_interface: of.tracked.keys().copied().collect(),
                priority: of.tracked.values().copied().collect(),
            });
        }
        if of.is_started() {
            lines.push(&Proto { start: true, stop: false, interface, number, id, ipv6 });
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(add);
    cli.command(|router: &mut Router, c: Del| {
        let Words { interface: on, id, ipv6, .. } = c.vr;
        let key = Key { on, id, version: IpVersion::six(ipv6) };
        Ok(virtual_router::remove(router, key)?)
    });
    cli.command(|router: &mut Router, c: Proto| proto(router, &c));
    cli.command(peers);
    cli.command(|router: &mut Router, c: Track| track(router, &c));
    show::register(cli);
}
