//! The part of `ip route` that says where a route leads.

use std::net::IpAddr;

use control::cli::{Args, Error};

use crate::adjacency::Link;
use crate::fib::family::{Family, Ip4, Ip6};
use crate::fib::path::{Path, TableIndex, Target};
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Paths of a route in a table, from text such as `via 10.0.1.2 pg1 weight 3 via 10.0.1.3 pg1`.
pub fn parse<F: Family>(
    router: &Router,
    table: TableIndex,
    text: &str,
) -> Result<Vec<Path>, Error> {
    let all = Args::new(text);
    let mut args = all;
    let mut paths = Vec::new();
    while !args.is_empty() {
        let is_via = args.keyword("via");
        let path = one::<F>(router, table, &mut args)?;
        let path = path.filter(|p| is_via || stands_alone(&p.target));
        paths.push(path.ok_or_else(|| all.error("parse error"))?);
    }
    Ok(paths)
}

/// Whether a path may come without `via`.
fn stands_alone(target: &Target) -> bool {
    !matches!(target, Target::Neighbor { .. } | Target::Attached { .. } | Target::Recursive { .. })
}

/// One path, up to the next `via`; `None` when it is not one.
fn one<F: Family>(
    router: &Router,
    table: TableIndex,
    args: &mut Args<'_>,
) -> Result<Option<Path>, Error> {
    let (mut target, mut addr, mut interface) = (None, None, None);
    let (mut weight, mut preference, mut via_table) = (1u8, 0u8, table);
    while let Some(word) = args.peek().filter(|w| *w != "via") {
        args.word();
        match word {
            "weight" => weight = number(args)?,
            "preference" => preference = number(args)?,
            "next-hop-table" => via_table = named::<F>(router, number(args)?)?,
            _ if target.is_some() => return Ok(None),
            "drop" | "blackhole" => target = Some(Target::Drop),
            "punt" => target = Some(Target::Punt),
            "unreachable" | "null-send-unreach" => target = Some(Target::Unreachable),
            "prohibit" | "null-send-prohibit" => target = Some(Target::Prohibit),
            "local" => target = Some(local(router, args)),
            "ip4-lookup-in-table" => target = Some(lookup::<Ip4>(router, number(args)?)?),
            "ip6-lookup-in-table" => target = Some(lookup::<Ip6>(router, number(args)?)?),
            "lookup" => {
                if !args.keyword("in table") {
                    return Ok(None);
                }
                target = Some(lookup::<F>(router, number(args)?)?);
            }
            _ => {
                let parsed = word.parse::<IpAddr>().ok().filter(|_| addr.is_none());
                let named = || router.interfaces.named(word).filter(|_| interface.is_none());
                match (parsed, named()) {
                    (Some(a), _) => addr = Some(a),
                    (None, Some(i)) => interface = Some(i.index),
                    (None, None) => return Ok(None),
                }
            }
        }
    }
    let target = match target {
        Some(_) if addr.is_some() || interface.is_some() => None,
        Some(Target::Lookup { link, .. }) if link != F::LINK => None,
        Some(target) => Some(target),
        None => hop::<F>(addr, interface, via_table),
    };
    let weight = u16::from(weight);
    Ok(target.filter(|_| weight > 0).map(|target| Path { target, weight, preference }))
}

/// A neighbour, an interface, or an address to resolve through.
fn hop<F: Family>(
    addr: Option<IpAddr>,
    interface: Option<InterfaceIndex>,
    table: TableIndex,
) -> Option<Target> {
    match (addr, interface) {
        (Some(addr), _) if Link::of(addr) != F::LINK => None,
        (Some(addr), Some(interface)) => Some(Target::Neighbor { interface, addr }),
        (Some(addr), None) => Some(Target::Recursive { table, addr }),
        (None, Some(interface)) => Some(Target::Attached { interface, own: F::LINK.unspecified() }),
        (None, None) => None,
    }
}

fn local(router: &Router, args: &mut Args<'_>) -> Target {
    let found = args.peek().and_then(|name| router.interfaces.named(name));
    let interface = found.map(|i| i.index);
    if interface.is_some() {
        args.word();
    }
    Target::Receive { interface, addr: None }
}

fn lookup<F: Family>(router: &Router, id: u32) -> Result<Target, Error> {
    Ok(Target::Lookup { link: F::LINK, table: named::<F>(router, id)? })
}

/// The table with this number, or the original's words for there being none.
pub fn named<F: Family>(router: &Router, id: u32) -> Result<TableIndex, Error> {
    let none = || Error::new(format!("Nonexistent table id {id}"));
    router.fib.table::<F>(id).ok_or_else(none)
}

fn number<T: std::str::FromStr>(args: &mut Args<'_>) -> Result<T, Error> {
    args.value("number")
}
