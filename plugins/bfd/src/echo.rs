//! Echo packets (RFC 5880 section 5, RFC 5881 section 4): sent to the neighbour, for this end. The
//! neighbour forwards them back as it would anything.
//!
//! Their source must be none that the neighbour would send redirects to, so it is an address of a
//! network of its own: the one next to the address of the chosen interface.

use net::fib::{Path, Source};
use net::prelude::*;
use wire::bfd::Echo;

use super::send::{Datagram, send};
use super::{Bfd, Error, session};

/// Where echo packets come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoSource {
    /// The interface whose networks they are of.
    pub interface: InterfaceIndex,
    /// Source over IPv4, if there can be one.
    pub ip4: Option<Ipv4Addr>,
    /// Source over IPv6, if there can be one.
    pub ip6: Option<Ipv6Addr>,
}

impl EchoSource {
    /// The source for a destination.
    pub(super) fn towards(&self, addr: IpAddr) -> Option<IpAddr> {
        match addr {
            IpAddr::V4(_) => self.ip4.map(IpAddr::V4),
            IpAddr::V6(_) => self.ip6.map(IpAddr::V6),
        }
    }
}

/// Where echo packets come from, if that is set.
pub fn echo_source(router: &Router) -> Option<EchoSource> {
    let interface = router.own::<Bfd>().echo_source?;
    let on = router.addresses.of(interface);
    let ip4 = on.ip4.iter().find(|p| p.prefix_len() < 32);
    let ip6 = on.ip6.iter().find(|p| p.prefix_len() < 128);
    Some(EchoSource {
        interface,
        ip4: ip4.map(|p| Ipv4Addr::from_bits(p.addr().to_bits() ^ 1)),
        ip6: ip6.map(|p| Ipv6Addr::from_bits(p.addr().to_bits() ^ 1)),
    })
}

/// Takes the source of echo packets from the networks of an interface.
///
/// # Errors
/// [`Error::NoInterface`].
pub fn set_echo_source(router: &mut Router, interface: InterfaceIndex) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    router.own_mut::<Bfd>().echo_source = Some(interface);
    run_all(router);
    Ok(())
}

/// Sends no echo packets any more.
pub fn remove_echo_source(router: &mut Router) {
    router.own_mut::<Bfd>().echo_source = None;
    run_all(router);
}

/// Follows a change of the addresses of an interface.
pub(super) fn follow(router: &mut Router, interface: InterfaceIndex) {
    match router.own::<Bfd>().echo_source {
        Some(source) if source == interface => run_all(router),
        // Its table may be another one.
        Some(_) => exempt(router),
        None => (),
    }
}

/// The name of the source of routes that let echo packets in.
const SOURCE: &str = "bfd-echo";

/// Lets echo packets in wherever there are sessions: their source may be the address of a network,
/// which no packet may come from.
pub(super) fn exempt(router: &mut Router) {
    let no_host = echo_source(router).and_then(|source| {
        let ip4 = source.ip4?;
        let on = router.addresses.of(source.interface).ip4.iter();
        // What neither network nor broadcast address is may be a host.
        let is_edge = |p: &Ip4Prefix| {
            let hosts = u32::MAX.checked_shr(p.prefix_len().into()).unwrap_or(0);
            p.contains(ip4) && [0, hosts].contains(&(ip4.to_bits() & hosts))
        };
        on.clone().any(is_edge).then(|| Prefix::new(ip4.into(), 32).ok())?
    });
    let tables = super::sessions(router).filter_map(|s| s.key.interface);
    let tables = tables.map(|interface| router.addresses.of(interface).table4);
    let wanted: BTreeSet<_> = tables.filter_map(|table| Some((table, no_host?))).collect();
    let priority = Source::INTERFACE.priority() - 1;
    let Some(source) = router.fib.sources.add_own(SOURCE, priority) else { return };
    let before = std::mem::take(&mut router.own_mut::<Bfd>().exempt);
    for (table, prefix) in before.difference(&wanted) {
        // Its table may be gone.
        let _ = router.remove_route(*table, *prefix, source, &[]);
    }
    for (table, prefix) in wanted.difference(&before) {
        // Without memory for it, or without the table, echo packets do not come back.
        let _ = router.set_route(*table, *prefix, source, &[Path::to(Target::Exempt)]);
    }
    router.own_mut::<Bfd>().exempt = wanted;
}

fn run_all(router: &mut Router) {
    exempt(router);
    let all: Vec<_> = router.own::<Bfd>().by_key.values().copied().collect();
    all.into_iter().for_each(|index| session::run(router, index));
}

/// Sends an echo packet of a session.
pub(super) fn send_echo(router: &mut Router, index: u32) {
    let now = router.now();
    let source = echo_source(router);
    let bfd = router.own_mut::<Bfd>();
    let tos = bfd.tos;
    let counters = bfd.counters.tx_echo.clone();
    let Some(s) = bfd.at_mut(index) else { return };
    let Some(from) = source.and_then(|source| source.towards(s.key.local)) else { return };
    let Some(interval) = s.machine.echo_interval() else { return };
    let lasts = f64::from(s.machine.parameters.detect_mult) * interval;
    let expires = ((now + lasts) * 1e9) as u64;
    let discriminator = s.machine.discriminator;
    let echo = Echo {
        discriminator: discriminator.into(),
        expires: expires.into(),
        checksum: s.echo_key.checksum(discriminator, expires).into(),
    };
    let datagram = Datagram {
        addresses: [from, s.key.local],
        ports: [s.port(), wire::bfd::ECHO],
        tos,
        payload: echo.as_bytes(),
    };
    let adjacency = s.adjacency;
    send(router, adjacency, &datagram, &counters, index);
}
