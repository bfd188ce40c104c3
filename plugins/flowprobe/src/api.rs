//! Messages of the module `flowprobe`.

use net::prelude::*;

use crate::change::{self, Direction, Flowprobe, Probed};
use crate::flow::{ACTIVE, IP4, IP6, L2, PASSIVE, Params};

control::numbers! {
    /// Flow types to record, as bits.
    pub enum FlowprobeWhichFlags: u8 = "flowprobe_which_flags" in "" {
        IP4 = 1 => "FLOWPROBE_WHICH_FLAG_IP4",
        L2 = 2 => "FLOWPROBE_WHICH_FLAG_L2",
        IP6 = 4 => "FLOWPROBE_WHICH_FLAG_IP6",
    }
    /// Flow type.
    pub enum FlowprobeWhich: u8 = "flowprobe_which" in "" {
        IP4 = 0 => "FLOWPROBE_WHICH_IP4",
        IP6 = 1 => "FLOWPROBE_WHICH_IP6",
        L2 = 2 => "FLOWPROBE_WHICH_L2",
    }
    /// Groups of fields to record, as bits.
    pub enum FlowprobeRecordFlags: u8 = "flowprobe_record_flags" in "" {
        L2 = 1 => "FLOWPROBE_RECORD_FLAG_L2",
        L3 = 2 => "FLOWPROBE_RECORD_FLAG_L3",
        L4 = 4 => "FLOWPROBE_RECORD_FLAG_L4",
    }
    /// Direction.
    pub enum FlowprobeDirection: u8 = "flowprobe_direction" in "" {
        RX = 0 => "FLOWPROBE_DIRECTION_RX",
        TX = 1 => "FLOWPROBE_DIRECTION_TX",
        BOTH = 2 => "FLOWPROBE_DIRECTION_BOTH",
    }
}

/// Enable or disable flow recording of packets transmitted by an interface.
#[derive(Message)]
#[option("replaced_by", "flowprobe_interface_add_del")]
pub struct FlowprobeTxInterfaceAddDel {
    /// true to add, false to delete
    pub is_add: bool,
    /// IPv4, IPv6 or frames
    pub which: FlowprobeWhichFlags,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Enable or disable flow recording on an interface.
#[derive(Message)]
#[option("in_progress")]
pub struct FlowprobeInterfaceAddDel {
    /// true to add, false to delete
    pub is_add: bool,
    /// IPv4, IPv6 or frames
    pub which: FlowprobeWhich,
    /// received packets, transmitted packets or both
    pub direction: FlowprobeDirection,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// List interfaces with flow recording.
#[derive(Message)]
#[details(FlowprobeInterfaceDetails)]
#[option("in_progress")]
pub struct FlowprobeInterfaceDump {
    /// only this one; 4294967295 for all
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
}

/// An interface with flow recording.
#[derive(Message)]
#[option("in_progress")]
pub struct FlowprobeInterfaceDetails {
    /// IPv4, IPv6 or frames
    pub which: FlowprobeWhich,
    /// received packets, transmitted packets or both
    pub direction: FlowprobeDirection,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Set the recorded fields and the timers.
#[derive(Message)]
#[option("replaced_by", "flowprobe_set_params")]
pub struct FlowprobeParams {
    /// groups of fields
    pub record_flags: FlowprobeRecordFlags,
    /// active timeout in seconds; 0 to export every packet
    pub active_timer: u32,
    /// inactive timeout in seconds; 0 for the active timeout
    pub passive_timer: u32,
}

/// Set the recorded fields and the timers.
#[derive(Message)]
#[option("in_progress")]
pub struct FlowprobeSetParams {
    /// groups of fields
    pub record_flags: FlowprobeRecordFlags,
    /// active timeout in seconds; 0 to export every packet, 4294967295 for 15
    #[preset(4294967295)]
    pub active_timer: u32,
    /// inactive timeout in seconds; 4294967295 for 120
    #[preset(4294967295)]
    pub passive_timer: u32,
}

/// Get the recorded fields and the timers.
#[derive(Message)]
#[reply(FlowprobeGetParamsReply)]
#[option("in_progress")]
pub struct FlowprobeGetParams {}

/// Recorded fields and timers.
#[derive(Message)]
#[option("in_progress")]
pub struct FlowprobeGetParamsReply {
    /// groups of fields
    pub record_flags: FlowprobeRecordFlags,
    /// active timeout in seconds; 0 to export every packet
    pub active_timer: u32,
    /// inactive timeout in seconds
    pub passive_timer: u32,
}

/// All groups of fields.
const ALL: u8 = 7;

fn which(number: FlowprobeWhich) -> Result<usize, Retval> {
    match number {
        FlowprobeWhich::IP4 => Ok(IP4),
        FlowprobeWhich::IP6 => Ok(IP6),
        FlowprobeWhich::L2 => Ok(L2),
        _ => Err(Retval::INVALID_VALUE),
    }
}

fn which_flag(number: FlowprobeWhichFlags) -> Result<usize, Retval> {
    match number {
        FlowprobeWhichFlags::IP4 => Ok(IP4),
        FlowprobeWhichFlags::IP6 => Ok(IP6),
        FlowprobeWhichFlags::L2 => Ok(L2),
        _ => Err(Retval::INVALID_VALUE),
    }
}

fn direction(number: FlowprobeDirection) -> Result<Direction, Retval> {
    match number {
        FlowprobeDirection::RX => Ok(Direction::Rx),
        FlowprobeDirection::TX => Ok(Direction::Tx),
        FlowprobeDirection::BOTH => Ok(Direction::Both),
        _ => Err(Retval::INVALID_VALUE),
    }
}

fn set_params(router: &mut Router, m: &FlowprobeSetParams) -> Result<(), Retval> {
    let FlowprobeSetParams { record_flags, active_timer, passive_timer } = m;
    if record_flags.0 & !ALL != 0 {
        return Err(Retval::INVALID_VALUE);
    }
    let or = |timer: u32, usual| if timer == u32::MAX { usual } else { timer };
    let (active, passive) = (or(*active_timer, ACTIVE), or(*passive_timer, PASSIVE));
    let format = router.own::<Flowprobe>().params.current().format;
    Ok(change::set_params(router, Params { record: record_flags.0, active, passive, format })?)
}

fn list(router: &Router, only: InterfaceIndex) -> Vec<FlowprobeInterfaceDetails> {
    let mut rows = Vec::new();
    let is_meant = |interface: InterfaceIndex| only.0 == u32::MAX || interface == only;
    for (sw_if_index, Probed(probed)) in router.settings::<Probed>() {
        for (which, direction) in probed.iter().enumerate().filter(|_| is_meant(sw_if_index)) {
            let Some(direction) = *direction else { continue };
            rows.push(FlowprobeInterfaceDetails {
                which: FlowprobeWhich(which as u8),
                direction: FlowprobeDirection(direction as u8),
                sw_if_index,
            });
        }
    }
    rows
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("flowprobe", "2.1.0")
        .call(|router: &mut Router, m: FlowprobeTxInterfaceAddDel| {
            let which = which_flag(m.which)?;
            let done = change::set_probed(router, m.sw_if_index, which, Direction::Tx, m.is_add);
            Ok(done?)
        })
        .call(|router, m: FlowprobeInterfaceAddDel| {
            let (which, direction) = (which(m.which)?, direction(m.direction)?);
            Ok(change::set_probed(router, m.sw_if_index, which, direction, m.is_add)?)
        })
        .dump(|router: &mut Router, m: FlowprobeInterfaceDump| list(router, m.sw_if_index))
        .call(|router, m: FlowprobeParams| {
            let FlowprobeParams { record_flags, active_timer, passive_timer } = m;
            set_params(router, &FlowprobeSetParams { record_flags, active_timer, passive_timer })
        })
        .call(|router, m: FlowprobeSetParams| set_params(router, &m))
        .call(|router, _: FlowprobeGetParams| {
            let params = router.own::<Flowprobe>().params.current();
            Ok(FlowprobeGetParamsReply {
                record_flags: FlowprobeRecordFlags(params.record),
                active_timer: params.active,
                passive_timer: params.passive,
            })
        });
}
