//! Messages of the module `pg`.

use std::path::PathBuf;

use control::api::{Api, Message, Retval};
use net::{InterfaceIndex, InterfaceReply, Router, interface};

use super::interface::{Mode, Name, New, at, create, delete};
use super::stream::Generator;

control::numbers! {
    /// First header of the packets of an interface.
    pub enum PgInterfaceMode: u8 = "pg_interface_mode" in "" {
        ETHERNET = 0 => "PG_API_MODE_ETHERNET",
        IP4 = 1 => "PG_API_MODE_IP4",
        IP6 = 2 => "PG_API_MODE_IP6",
    }
    /// Offloads of the peer, left to the router.
    pub enum PgInterfaceFlags: u32 = "pg_interface_flags" in "" {
        NONE = 0 => "PG_API_FLAG_NONE",
        CSUM_OFFLOAD = 1 => "PG_API_FLAG_CSUM_OFFLOAD",
        GSO = 2 => "PG_API_FLAG_GSO",
        GRO_COALESCE = 4 => "PG_API_FLAG_GRO_COALESCE",
    }
}

/// Create an Ethernet packet generator interface.
#[derive(Message)]
#[option("deprecated")]
#[replies(InterfaceReply)]
pub struct PgCreateInterface {
    /// instance number in the interface name
    pub interface_id: InterfaceIndex,
    /// TCP segmentation offload
    pub gso_enabled: bool,
    /// segment payload in bytes
    pub gso_size: u32,
}

/// Create a packet generator interface.
#[derive(Message)]
#[option("deprecated")]
#[replies(InterfaceReply)]
pub struct PgCreateInterfaceV2 {
    /// instance number in the interface name
    pub interface_id: InterfaceIndex,
    /// TCP segmentation offload
    pub gso_enabled: bool,
    /// segment payload in bytes
    pub gso_size: u32,
    /// first header of packets
    pub mode: PgInterfaceMode,
}

/// Create a packet generator interface, or find it.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct PgCreateInterfaceV3 {
    /// instance number in the interface name
    pub interface_id: InterfaceIndex,
    /// offloads of the peer, left to the router
    pub pg_flags: PgInterfaceFlags,
    /// segment payload in bytes
    pub gso_size: u32,
    /// first header of packets
    pub mode: PgInterfaceMode,
}

/// Delete a packet generator interface.
#[derive(Message)]
pub struct PgDeleteInterface {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Enable or disable TCP segment coalescing on transmit.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct PgInterfaceEnableDisableCoalesce {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// true to enable, false to disable
    pub coalesce_enabled: bool,
}

/// Capture an interface's transmitted packets to a file.
#[derive(Message)]
pub struct PgCapture {
    /// instance number in the interface name
    pub interface_id: InterfaceIndex,
    /// true to enable, false to disable
    #[preset(true)]
    pub is_enabled: bool,
    /// maximum packets; 0 for no limit
    pub count: u32,
    /// path of the file; it must not exist
    pub pcap_file_name: String,
}

/// Start or stop streams.
#[derive(Message)]
pub struct PgEnableDisable {
    /// true to start, false to stop
    #[preset(true)]
    pub is_enabled: bool,
    /// name of a stream; empty for all
    pub stream_name: String,
}

fn make(
    router: &mut Router,
    id: InterfaceIndex,
    flags: PgInterfaceFlags,
    gso_size: u32,
    mode: PgInterfaceMode,
) -> Result<InterfaceIndex, Retval> {
    let mode = match mode {
        PgInterfaceMode::ETHERNET => Mode::Ethernet,
        PgInterfaceMode::IP4 => Mode::Ip4,
        PgInterfaceMode::IP6 => Mode::Ip6,
        _ => return Err(Retval::INVALID_VALUE),
    };
    let name = Name::new(id.0).ok_or(Retval::INVALID_VALUE)?;
    if let Some(i) = router.interfaces.named(&name.to_string()) {
        return Ok(i.index);
    }
    let gso = flags.contains(PgInterfaceFlags::GSO);
    let size = u16::try_from(gso_size).map_err(|_| Retval::INVALID_VALUE)?;
    let new = New {
        name,
        mac: None,
        gso_size: gso.then_some(size),
        coalesces: flags.contains(PgInterfaceFlags::GRO_COALESCE),
        checksum: flags.contains(PgInterfaceFlags::CSUM_OFFLOAD),
        mode,
    };
    Ok(create(router, new)?)
}

fn gso_flag(is_on: bool) -> PgInterfaceFlags {
    PgInterfaceFlags::default().with(PgInterfaceFlags::GSO, is_on)
}

pub(super) fn register(api: &mut Api<Router>) {
    interfaces(api);
    api.core("pg", "2.1.0")
        .call(|router: &mut Router, m: PgCapture| {
            let name = format!("pg{}", m.interface_id.0);
            let interface = router.interfaces.named(&name).cloned();
            let interface = interface.ok_or(Retval::INVALID_SW_IF_INDEX)?;
            let count = (m.count > 0).then_some(u64::from(m.count));
            let path = PathBuf::from(m.pcap_file_name.trim_end_matches('\0'));
            let done = router.with(|all: &mut Generator, router| {
                if m.is_enabled {
                    all.capture(router, &interface, path, count)
                } else {
                    all.end_capture(router, &interface)
                }
            });
            Ok(done.ok_or(Retval::UNSPECIFIED)??)
        })
        .call(|router: &mut Router, m: PgEnableDisable| {
            let name = m.stream_name.trim_end_matches('\0');
            let name = (!name.is_empty()).then_some(name);
            let done =
                router.with(|all: &mut Generator, router| all.switch(router, name, m.is_enabled));
            Ok(done.ok_or(Retval::UNSPECIFIED)??)
        });
}

fn interfaces(api: &mut Api<Router>) {
    api.core("pg", "2.1.0")
        .call(|router: &mut Router, m: PgCreateInterface| {
            let (flags, mode) = (gso_flag(m.gso_enabled), PgInterfaceMode::ETHERNET);
            let sw_if_index = make(router, m.interface_id, flags, m.gso_size, mode)?;
            Ok(InterfaceReply { sw_if_index })
        })
        .call(|router: &mut Router, m: PgCreateInterfaceV2| {
            let flags = gso_flag(m.gso_enabled);
            let sw_if_index = make(router, m.interface_id, flags, m.gso_size, m.mode)?;
            Ok(InterfaceReply { sw_if_index })
        })
        .call(|router: &mut Router, m: PgCreateInterfaceV3| {
            let sw_if_index = make(router, m.interface_id, m.pg_flags, m.gso_size, m.mode)?;
            Ok(InterfaceReply { sw_if_index })
        })
        .call(|router: &mut Router, m: PgDeleteInterface| {
            interface::api::find(router, m.sw_if_index)?;
            delete(router, m.sw_if_index).map_err(|_| Retval::INVALID_SW_IF_INDEX)
        })
        .call(|router: &mut Router, m: PgInterfaceEnableDisableCoalesce| {
            at(router, m.sw_if_index).map_err(|_| Retval::INVALID_SW_IF_INDEX)?;
            router.with(|generator: &mut Generator, router| {
                generator.coalesce(router, m.sw_if_index, m.coalesce_enabled);
            });
            Ok(())
        });
}
