//! Messages of the module `urpf`.

use control::api::types::AddressFamily;
use control::api::{Api, Message, Retval};

use super::{Check, Direction, Error, Mode};
use crate::adjacency::Link;
use crate::fib::{Ip4, Ip6};
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// All interfaces, or the table of the interface.
const ANY: u32 = u32::MAX;

control::numbers! {
    /// How sources are checked.
    pub enum UrpfMode: u8 = "urpf_mode" in "" {
        OFF = 0 => "URPF_API_MODE_OFF",
        LOOSE = 1 => "URPF_API_MODE_LOOSE",
        STRICT = 2 => "URPF_API_MODE_STRICT",
    }
}

/// Have the sources of packets of an interface checked, or no longer.
#[derive(Message)]
pub(super) struct UrpfUpdate {
    /// what comes in, otherwise what goes out
    #[preset(true)]
    pub is_input: bool,
    pub mode: UrpfMode,
    pub af: AddressFamily,
    pub sw_if_index: InterfaceIndex,
}

/// Have the sources of packets of an interface checked, or no longer.
#[derive(Message)]
pub(super) struct UrpfUpdateV2 {
    /// what comes in, otherwise what goes out
    #[preset(true)]
    pub is_input: bool,
    pub mode: UrpfMode,
    pub af: AddressFamily,
    pub sw_if_index: InterfaceIndex,
    /// where sources are looked up; 4294967295 for where packets are
    #[preset(4294967295)]
    pub table_id: u32,
}

/// List the checks of an interface.
#[derive(Message)]
#[details(UrpfInterfaceDetails)]
pub(super) struct UrpfInterfaceDump {
    /// interface; 4294967295 for all
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
}

/// A check.
#[derive(Message)]
pub(super) struct UrpfInterfaceDetails {
    pub sw_if_index: InterfaceIndex,
    /// what comes in, otherwise what goes out
    pub is_input: bool,
    pub mode: UrpfMode,
    pub af: AddressFamily,
    /// where sources are looked up
    pub table_id: u32,
}

impl From<Error> for Retval {
    fn from(e: Error) -> Self {
        match e {
            Error::NoInterface => Self::INVALID_SW_IF_INDEX,
            Error::NoTable => Self::NO_SUCH_FIB,
        }
    }
}

fn update(router: &mut Router, m: &UrpfUpdateV2) -> Result<(), Retval> {
    let direction = if m.is_input { Direction::Rx } else { Direction::Tx };
    let mode = match m.mode {
        UrpfMode::OFF => None,
        UrpfMode::LOOSE => Some(Mode::Loose),
        UrpfMode::STRICT => Some(Mode::Strict),
        _ => return Err(Retval::INVALID_VALUE),
    };
    let (link, table) = match m.af {
        AddressFamily::IP4 => (Link::Ip4, router.fib.table::<Ip4>(m.table_id)),
        AddressFamily::IP6 => (Link::Ip6, router.fib.table::<Ip6>(m.table_id)),
        _ => return Err(Retval::INVALID_ADDRESS_FAMILY),
    };
    if m.table_id != ANY && table.is_none() {
        return Err(Retval::NO_SUCH_FIB);
    }
    Ok(router.check_sources(m.sw_if_index, direction, link, mode, table)?)
}

fn details(router: &Router, c: &Check) -> UrpfInterfaceDetails {
    let on = router.addresses.of(c.interface);
    let (af, table) = match c.link {
        Link::Ip4 => (AddressFamily::IP4, router.fib.table_id::<Ip4>(c.table.unwrap_or(on.table4))),
        _ => (AddressFamily::IP6, router.fib.table_id::<Ip6>(c.table.unwrap_or(on.table6))),
    };
    let mode = if c.mode == Mode::Strict { UrpfMode::STRICT } else { UrpfMode::LOOSE };
    let (sw_if_index, is_input) = (c.interface, c.direction == Direction::Rx);
    UrpfInterfaceDetails { sw_if_index, is_input, mode, af, table_id: table.unwrap_or(ANY) }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("urpf", "1.0.0")
        .call(|router, m: UrpfUpdate| {
            let UrpfUpdate { is_input, mode, af, sw_if_index } = m;
            update(router, &UrpfUpdateV2 { is_input, mode, af, sw_if_index, table_id: ANY })
        })
        .call(|router, m: UrpfUpdateV2| update(router, &m))
        .dump(|router: &mut Router, m: UrpfInterfaceDump| {
            let is_it = |c: &&Check| m.sw_if_index.0 == ANY || m.sw_if_index == c.interface;
            let checks = router.source_checks().iter().filter(is_it);
            checks.map(|c| details(router, c)).collect()
        });
}
