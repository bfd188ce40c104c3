//! IPv6 rapid deployment (6RD, RFC 5969): tunnels that carry IPv6 in IPv4 to far ends whose
//! addresses stand in those of the packets.
//!
//! All IPv6 addresses of a domain begin with one prefix; the bits behind it are those of an IPv4
//! address that are not the same in the whole domain. A route to the domain leads over the tunnel;
//! other routes do by way of an address of the domain, that of a border relay.

use net::adjacency::chain::Fixup;
use net::fib::{self, Path, Source};
use net::ip::{Chain, Underlay};
use net::prelude::*;
use net::tunnel::command::{self, Named};
use net::tunnel::{EncapDecapFlags, Guard, Outer, Tunnel};

use super::Ipip;

/// Bits of an IPv6 address that a domain has at most for prefix and far end: those of a network.
const NETWORK: u8 = 64;

/// The prefixes from which far ends follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SixRd {
    /// IPv6 prefix of the domain.
    pub ip6: Ip6Prefix,
    /// IPv4 prefix of the domain.
    pub ip4: Ip4Prefix,
    /// The table that carried packets are looked up in at first, with the route to the domain.
    pub ip6_table: u32,
    /// Whether sources of packets must be those of the far end they come from.
    pub has_check: bool,
    /// Type of service of outer headers; that of what is carried when `None`.
    pub tos: Option<u8>,
}

/// Reasons why a tunnel is not made or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// prefix and address lengths exceed 64 bits
    #[retval(INVALID_VALUE)]
    TooLong,
    /// no table {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
    /// the interface is not such a tunnel
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// {0}
    #[retval(TUNNEL_EXISTS)]
    Tunnel(net::tunnel::Error),
    /// {0}
    #[retval(TABLE_TOO_BIG)]
    Route(fib::Error),
}

/// First part of the names of interfaces.
pub(super) const PREFIX: &str = "ip6ip-6rd";
/// Longest packets that are carried, unless the interface says: as much as Ethernet has room for
/// behind the outer header.
pub(super) const MTU: u32 = 1480;
/// The type of service that stands for that of what is carried.
const COPIED: u8 = u8::MAX;

/// The type of service of outer headers; `None` for that of what is carried.
pub(super) fn tos_of(number: u8) -> Option<u8> {
    Some(number).filter(|tos| *tos != COPIED)
}

/// The rule of a domain as a number: what functions on packets get.
#[derive(Clone, Copy)]
struct Rule {
    ip4: u32,
    lens: [u8; 2],
    has_check: bool,
    copies_class: bool,
}

impl Rule {
    fn of(number: u64) -> Self {
        let [a, b, c, d, ip6_len, ip4_len, has_check, copies_class] = number.to_be_bytes();
        Self {
            ip4: u32::from_be_bytes([a, b, c, d]),
            lens: [ip6_len, ip4_len],
            has_check: has_check > 0,
            copies_class: copies_class > 0,
        }
    }
    fn number(self) -> u64 {
        let [a, b, c, d] = self.ip4.to_be_bytes();
        let [ip6_len, ip4_len] = self.lens;
        let flags = [self.has_check, self.copies_class].map(u8::from);
        u64::from_be_bytes([a, b, c, d, ip6_len, ip4_len, flags[0], flags[1]])
    }
    /// The far end that stands in an address of the domain.
    fn far_end(self, addr: u128) -> u32 {
        let [ip6_len, ip4_len] = self.lens.map(u32::from);
        let behind = addr.checked_shl(ip6_len).unwrap_or(0);
        let bits = (behind >> 96) as u32;
        self.ip4 | bits.checked_shr(ip4_len).unwrap_or(0)
    }
}

impl SixRd {
    fn rule(self) -> Rule {
        Rule {
            ip4: self.ip4.network().addr().to_bits(),
            lens: [self.ip6.prefix_len(), self.ip4.prefix_len()],
            has_check: self.has_check,
            copies_class: self.tos.is_none(),
        }
    }
    /// Headers in front of packets to a next hop: an address of the domain, or, unspecified, each
    /// packet's own destination.
    pub(super) fn chain(self, outer: &Outer, link: Link, next_hop: IpAddr) -> Option<Chain> {
        let IpAddr::V6(hop) = next_hop else { return None };
        if link != Link::Ip6 {
            return None;
        }
        if !hop.is_unspecified() {
            let far = Ipv4Addr::from_bits(self.rule().far_end(hop.to_bits()));
            return Some(outer.plain(far.into(), Protocol::IP6, link));
        }
        let header = outer.plain(self.ip4.network().addr().into(), Protocol::IP6, link).header;
        let table = Target::Lookup { link: Link::Ip4, table: outer.table };
        let to = Underlay::Paths(Link::Ip4, [Path::to(table)].into());
        let fixup = Fixup::Own(write, self.rule().number());
        Some(Chain { header, fixup, carries_offloads: true, to })
    }
    pub(super) fn guard(self) -> Guard {
        Guard { check: is_right, number: self.rule().number() }
    }
}

/// Writes the far end that a packet's destination says into the header in front of it.
fn write(p: &mut Buffer<'_>, number: u64) {
    let (rule, len) = (Rule::of(number), p.total_len());
    let Ok((outer, rest)) = ip4::Header::mut_from_prefix(p.bytes_mut()) else { return };
    let Ok((inner, _)) = ip6::Header::ref_from_prefix(rest) else { return };
    outer.dst = rule.far_end(u128::from_be_bytes(inner.dst)).to_be_bytes();
    if rule.copies_class {
        outer.tos = inner.traffic_class();
    }
    outer.total_len = (len as u16).into();
    outer.update_checksum();
}

/// Whether a packet is of IPv6 and, where that is checked, of a source behind its far end.
fn is_right(packet: &[u8], remote: u128, number: u64) -> bool {
    let rule = Rule::of(number);
    let header = ip6::Header::ref_from_prefix(packet).ok().filter(|(h, _)| h.version() == 6);
    header.is_some_and(|(header, _)| {
        let far = rule.far_end(u128::from_be_bytes(header.src));
        !rule.has_check || u128::from(far) == remote
    })
}

/// Makes a tunnel, up, with a route to its domain; `ip4_table` leads to far ends.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub(super) fn add(
    router: &mut Router,
    own: Ipv4Addr,
    rule: SixRd,
    instance: Option<u32>,
    ip4_table: u32,
) -> Result<InterfaceIndex, Error> {
    if rule.ip6.prefix_len() + (32 - rule.ip4.prefix_len()) > NETWORK {
        return Err(Error::TooLong);
    }
    let outside = router.fib.table::<Ip4>(ip4_table).ok_or(Error::NoTable(ip4_table))?;
    let inside = router.fib.table::<Ip6>(rule.ip6_table);
    let inside = inside.ok_or(Error::NoTable(rule.ip6_table))?;
    let flags = match rule.tos {
        Some(_) => EncapDecapFlags::NONE,
        None => EncapDecapFlags::NONE
            .with(EncapDecapFlags::ENCAP_COPY_DSCP, true)
            .with(EncapDecapFlags::ENCAP_COPY_ECN, true),
    };
    let plain = Outer::new(own.into(), Ipv4Addr::UNSPECIFIED.into(), outside);
    let outer = Outer { flags, dscp: rule.tos.unwrap_or_default() >> 2, ..plain };
    let kind = Ipip { sixrd: Some(rule) };
    let interface = router.add_tunnel(instance, outer, kind).map_err(Error::Tunnel)?;
    // The interface is new: nothing holds it in another table.
    let _ = router.set_interface_table6(interface, inside);
    let _ = router.enable_ip6(interface, true);
    router.start_with_ip(interface);
    let target = Target::Attached { interface, own: Link::Ip6.unspecified() };
    let domain = rule.ip6.network().into();
    let routed = router.set_route(inside, domain, Source::SPECIAL, &[Path::to(target)]);
    match routed {
        Ok(_) => Ok(interface),
        Err(why) => {
            router.remove_tunnel::<Ipip>(interface).map_err(Error::Tunnel)?;
            Err(Error::Route(why))
        }
    }
}

/// Deletes a tunnel that is one for 6RD, or is none.
///
/// # Errors
/// [`Error::NoInterface`].
pub(super) fn remove(
    router: &mut Router,
    interface: InterfaceIndex,
    is_sixrd: bool,
) -> Result<(), Error> {
    let found = router.tunnels::<Ipip>().at(interface);
    found.filter(|t| t.kind.sixrd.is_some() == is_sixrd).ok_or(Error::NoInterface)?;
    router.remove_tunnel::<Ipip>(interface).map_err(Error::Tunnel)
}

/// Add a 6RD tunnel.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create 6rd tunnel")]
#[undo("delete 6rd tunnel ip6ip-6rd{instance}")]
struct Create {
    /// IPv6 prefix of the domain
    #[keyword("ip6-pfx")]
    ip6: Ip6Prefix,
    /// IPv4 prefix of the domain
    #[keyword("ip4-pfx")]
    ip4: Ip4Prefix,
    /// local address
    #[keyword("ip4-src")]
    own: Ipv4Addr,
    /// table to route outer packets in; default 0
    #[values("table-id")]
    #[default]
    ip4_table_id: u32,
    /// table to look inner packets up in; default 0
    #[values("table-id")]
    #[keyword("ip6-table-id")]
    #[default]
    ip6_table: u32,
    /// check that inner sources match the outer source
    security_check: bool,
    /// type of service of outer headers, 255 for that of what is carried; 0 unless given
    #[default]
    tos: u8,
    /// number in the interface's name
    instance: Option<u32>,
}

/// Delete a 6RD tunnel.
#[derive(Command)]
#[command("delete 6rd tunnel")]
struct Delete {
    /// interface, by name or `sw_if_index` and its number
    #[positional]
    interface: Named,
}

pub(super) fn print(router: &Router, lines: &mut Lines<'_>, t: &Tunnel<Ipip>, rule: SixRd) {
    let IpAddr::V4(own) = t.outer.src else { return };
    let create = Create {
        ip6: rule.ip6,
        ip4: rule.ip4,
        own,
        ip4_table_id: router.tunnel_table_id(&t.outer),
        ip6_table: rule.ip6_table,
        security_check: rule.has_check,
        tos: rule.tos.unwrap_or(COPIED),
        instance: Some(t.instance),
    };
    command::push(router, lines, t.interface, &create);
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| {
        let Create { ip6, ip4, own, ip4_table_id, ip6_table, .. } = c;
        let rule = SixRd { ip6, ip4, ip6_table, has_check: c.security_check, tos: tos_of(c.tos) };
        let made = add(router, own, rule, c.instance, ip4_table_id)?;
        Ok(Output::text(format!("{}\n", router.interfaces.name(made.0))))
    });
    cli.command(|router: &mut Router, c: Delete| Ok(remove(router, c.interface.0, true)?));
}
