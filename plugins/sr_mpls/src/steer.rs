//! Prefixes that are steered into policies (RFC 9256 section 8).

use net::fib::{Gateway, Path, RouteOf, Source};
use net::prelude::*;

use super::{Error, Policies, TABLE, is_label, labels};

/// How a prefix finds its policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Through {
    /// By the label of the policy.
    Policy(u32),
    /// By next hop and colour.
    Color {
        /// Next hop.
        next_hop: IpAddr,
        /// Color.
        color: u32,
        /// Color-only bits: 0 exact endpoint, 1 null endpoint too, 2 any endpoint.
        co: u8,
    },
}

/// Steering of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steering {
    /// How it finds its policy.
    pub through: Through,
    /// A label that its packets get first.
    pub vpn_label: Option<u32>,
}

/// All prefixes that are steered, by number of table.
pub type Steered = BTreeMap<(u32, Prefix), Steering>;

/// The label of the policy that a colour leads to (RFC 9256 section 8.8.1).
fn policy_of(router: &Router, next_hop: IpAddr, color: u32, co: u8) -> Option<u32> {
    let all = &router.own::<Policies>().all;
    let find = |is_fit: &dyn Fn(IpAddr) -> bool| {
        let found =
            all.iter().find(|(_, p)| p.endpoint.is_some_and(|(e, c)| c == color && is_fit(e)));
        found.map(|(bsid, _)| *bsid)
    };
    let is_own = |addr: IpAddr| addr.is_ipv4() == next_hop.is_ipv4();
    let mut found = find(&|e| e == next_hop);
    if co >= 1 {
        found = found.or_else(|| find(&|e| e.is_unspecified() && is_own(e)));
        found = found.or_else(|| find(&|e| e.is_unspecified()));
    }
    if co >= 2 {
        found = found.or_else(|| find(&is_own)).or_else(|| find(&|_| true));
    }
    found
}

fn path_of(
    router: &Router,
    prefix: Prefix,
    table: TableIndex,
    steering: &Steering,
) -> Option<Path> {
    let bsid = match steering.through {
        Through::Policy(bsid) => {
            Some(bsid).filter(|b| router.own::<Policies>().all.contains_key(b))
        }
        Through::Color { next_hop, color, co } => policy_of(router, next_hop, color, co),
    };
    let vpn: Vec<u32> = steering.vpn_label.into_iter().collect();
    let of = Link::of(prefix.addr());
    RouteOf::Link(of).path(&labels(&vpn), false, 0, |link| {
        Some(match (bsid, steering.through) {
            (Some(label), _) => Target::Label { table: TABLE, label },
            (None, Through::Policy(_)) => Target::Drop,
            (None, Through::Color { next_hop: addr, .. }) => {
                let is_own = Link::of(addr) == of;
                let table = if is_own { table } else { TableIndex::DEFAULT };
                let through = net::fib::Through::Any;
                Target::Recursive { to: Gateway { link, table, addr }, through }
            }
        })
    })
}

fn install(router: &mut Router, (id, prefix): (u32, Prefix), s: &Steering) -> Result<(), Error> {
    let table = router.table_of(Link::of(prefix.addr()), id).ok_or(Error::NoTable)?;
    let path = path_of(router, prefix, table, s).ok_or(Error::Label)?;
    router.set_route(table, prefix, Source::SR, &[path])?;
    Ok(())
}

/// Steers a prefix, or steers it otherwise.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set(router: &mut Router, id: u32, prefix: Prefix, steering: Steering) -> Result<(), Error> {
    if steering.vpn_label.is_some_and(|label| !is_label(label)) {
        return Err(Error::Label);
    }
    match steering.through {
        Through::Policy(bsid) if !router.own::<Policies>().all.contains_key(&bsid) => {
            return Err(Error::NoPolicy);
        }
        Through::Color { co: 3.., .. } => return Err(Error::ColorOnly),
        _ => (),
    }
    install(router, (id, prefix), &steering)?;
    router.own_mut::<Policies>().steered.insert((id, prefix), steering);
    Ok(())
}

/// Steers a prefix no longer.
///
/// # Errors
/// [`Error::NotSteered`].
pub fn unset(router: &mut Router, id: u32, prefix: Prefix) -> Result<(), Error> {
    router.own_mut::<Policies>().steered.remove(&(id, prefix)).ok_or(Error::NotSteered)?;
    let table = router.table_of(Link::of(prefix.addr()), id).ok_or(Error::NoTable)?;
    Ok(router.remove_route(table, prefix, Source::SR, &[])?)
}

/// Resolves the policies of steered traffic again.
pub fn again(router: &mut Router) {
    for (key, steering) in router.own::<Policies>().steered.clone() {
        if let Err(why) = install(router, key, &steering) {
            let log = router.log.class("srmpls", "steer");
            log.error(format_args!("{} keeps its steering: {why}", key.1));
        }
    }
}
