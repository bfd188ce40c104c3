//! Messages of the module `urpf`.

use control::api::types::AddressFamily;
use net::prelude::*;

use super::{Direction, Mode};

/// All interfaces, or the table of the interface.
const ANY: u32 = u32::MAX;

control::numbers! {
    /// Source check mode.
    pub enum UrpfMode: u8 = "urpf_mode" in "" {
        OFF = 0 => "URPF_API_MODE_OFF",
        LOOSE = 1 => "URPF_API_MODE_LOOSE",
        STRICT = 2 => "URPF_API_MODE_STRICT",
    }
}

/// Set the source check (uRPF) of an interface.
#[derive(Message)]
pub struct UrpfUpdate {
    /// true for received packets, false for transmitted ones
    #[preset(true)]
    pub is_input: bool,
    /// mode
    pub mode: UrpfMode,
    /// Address family
    pub af: AddressFamily,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Set the source check (uRPF) of an interface.
#[derive(Message)]
pub struct UrpfUpdateV2 {
    /// true for received packets, false for transmitted ones
    #[preset(true)]
    pub is_input: bool,
    /// mode
    pub mode: UrpfMode,
    /// Address family
    pub af: AddressFamily,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// table to look up sources in; 4294967295 for that of the packet
    #[preset(4294967295)]
    pub table_id: u32,
}

/// List the source checks of an interface.
#[derive(Message)]
#[details(UrpfInterfaceDetails)]
pub struct UrpfInterfaceDump {
    /// interface; 4294967295 for all
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
}

/// A check.
#[derive(Message)]
pub struct UrpfInterfaceDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// true for received packets, false for transmitted ones
    pub is_input: bool,
    /// mode
    pub mode: UrpfMode,
    /// Address family
    pub af: AddressFamily,
    /// table to look up sources in
    pub table_id: u32,
}

fn update(router: &mut Router, m: &UrpfUpdateV2) -> Result<(), Retval> {
    let direction = if m.is_input { Direction::Rx } else { Direction::Tx };
    let mode = match m.mode {
        UrpfMode::OFF => None,
        UrpfMode::LOOSE => Some(Mode::Loose),
        UrpfMode::STRICT => Some(Mode::Strict),
        _ => return Err(Retval::INVALID_VALUE),
    };
    let version = IpVersion::try_from(m.af)?;
    let table = Some(m.table_id).filter(|id| *id != ANY);
    Ok(super::set(router, m.sw_if_index, (direction, version), mode, table)?)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("urpf", "1.0.0")
        .call(|router, m: UrpfUpdate| {
            let UrpfUpdate { is_input, mode, af, sw_if_index } = m;
            update(router, &UrpfUpdateV2 { is_input, mode, af, sw_if_index, table_id: ANY })
        })
        .call(|router, m: UrpfUpdateV2| update(router, &m))
        .dump(|router: &mut Router, m: UrpfInterfaceDump| {
            let checks = super::all(router)
                .filter(|(interface, ..)| [ANY, interface.0].contains(&m.sw_if_index.0));
            let details = |(sw_if_index, direction, version, check): (_, _, _, super::Check)| {
                let own = router.addresses.of(sw_if_index).table_for(version);
                let table = router.fib.table_id_for(version, check.table.unwrap_or(own));
                UrpfInterfaceDetails {
                    sw_if_index,
                    is_input: direction == Direction::Rx,
                    mode: match check.mode {
                        Mode::Strict => UrpfMode::STRICT,
                        Mode::Loose => UrpfMode::LOOSE,
                    },
                    af: AddressFamily::from(version),
                    table_id: table.unwrap_or(ANY),
                }
            };
            checks.map(details).collect()
        });
}
