//! `sfdp-interface-input-ip4`, `sfdp-interface-input-ip6`: packets that an interface receives are
//! those of its tenant.

use net::prelude::*;

use super::error::Error;
use super::packet::{PLACE, Passing};
use super::session::{Family, Ip4, Ip6};

/// The nodes.
const NAMES: [&str; 2] = ["sfdp-interface-input-ip4", "sfdp-interface-input-ip6"];

/// Types of neighbour discovery (RFC 4861).
const DISCOVERY: std::ops::RangeInclusive<u8> = 133..=137;
/// Their hop limit: they come from the same link.
const NOT_FORWARDED: u8 = 255;

/// The tenants of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inputs([u32; 2]);

impl Inputs {
    /// The number of the tenant of packets of IPv4 (0) or IPv6 (1).
    #[inline(always)]
    pub fn tenant(&self, version: usize) -> Option<u32> {
        self.0[version].checked_sub(1)
    }
}

/// Gives packets to the lookup of sessions.
#[derive(Clone)]
pub struct Input<F> {
    family: F,
    inputs: SlabReader<Inputs>,
}

/// Edges of [`Input`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<F: Family> {
    /// Sessions are looked up.
    #[to(F::LOOKUP)]
    Lookup(F),
    /// On along the arc.
    #[along]
    On,
}

/// Whether a packet is neighbour discovery: it is the link's own.
#[inline(always)]
fn is_discovery(packet: &[u8]) -> bool {
    const VERSION: u8 = 6 << 4;
    const ICMP6: u8 = Protocol::ICMP6.0;
    match packet {
        // Next header and hop limit are bytes 6 and 7.
        [version, _, _, _, _, _, ICMP6, NOT_FORWARDED, ..] if version & 0xf0 == VERSION => {
            packet.get(40).is_some_and(|kind| DISCOVERY.contains(kind))
        }
        _ => false,
    }
}

impl<F: Family> Node for Input<F> {
    const NAME: &'static str = NAMES[F::KIND as usize];
    const HOT: bool = true;
    type Next = Next<F>;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, Self { family, inputs }) = (frame.epoch(), self);
        frame.each(
            #[inline(always)]
            |p| {
                let inputs = inputs.read(p.rx(), epoch);
                let tenant = inputs.and_then(|inputs| inputs.tenant(F::KIND.into()));
                let Some(tenant) = tenant.filter(|_| !is_discovery(p.bytes())) else {
                    return Ok(Next::On);
                };
                p.set_metadata(&PLACE, Passing::of(tenant));
                Ok(Next::Lookup(*family))
            },
        );
    }
}

/// Sets the tenant of an interface by its number, for packets of IPv4 (0) or IPv6 (1).
pub(super) fn set(
    router: &mut Router,
    interface: InterfaceIndex,
    version: usize,
    tenant: Option<u32>,
) -> Result<(), Error> {
    let mut inputs = router.setting::<Inputs>(interface);
    let had = inputs.0[version] != 0;
    inputs.0[version] = tenant.map_or(0, |tenant| tenant + 1);
    router.put(interface, inputs)?;
    if had != tenant.is_some() {
        let is_needed = tenant.is_some();
        router
            .need_fragment_ports(interface, version, is_needed)
            .map_err(|_| Error::NoInterface)?;
    }
    Ok(())
}

/// Assigns packets of an interface to a tenant, or stops.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_tenant(
    router: &mut Router,
    interface: InterfaceIndex,
    version: usize,
    (tenant, is_on): (u32, bool),
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let (number, _) = super::tenant::tenant(router, tenant)?;
    let now = router.setting::<Inputs>(interface).tenant(version);
    match (now, is_on) {
        (Some(now), true) if now != number => {
            let id = router.own::<super::Sfdp>().tenants.at(now).map_or(now, |t| t.id);
            Err(Error::HasTenant(id))
        }
        (Some(now), false) if now != number => Err(Error::OtherTenant),
        (_, is_on) => set(router, interface, version, is_on.then_some(number)),
    }
}

/// Adds the nodes.
pub(super) fn add(router: &mut Router, inputs: &SlabReader<Inputs>) -> Result<(), BuildError> {
    let engine = &mut router.engine;
    engine.add_feature(&IP4_UNICAST, Input { family: Ip4, inputs: inputs.clone() })?;
    engine.add_feature(&IP6_UNICAST, Input { family: Ip6, inputs: inputs.clone() })?;
    router.attach_at::<Inputs, _>([
        AttachedAt { arc: &IP4_UNICAST, node: NAMES[0], is_on: |i| i.tenant(0).is_some() },
        AttachedAt { arc: &IP6_UNICAST, node: NAMES[1], is_on: |i| i.tenant(1).is_some() },
    ]);
    Ok(())
}
