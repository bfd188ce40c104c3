//! Messages of the module `memif`.
#![forbid(unsafe_code)]

use control::Secret;
use control::api::{Api, Message, Retval, Text};
use net::interface::api::types::IfStatusFlags;
use net::{InterfaceIndex, InterfaceReply, Router};
use wire::MacAddr;

use super::commands::with;
use super::interface::{Memif, Memifs, Wanted};

/// Stands for no number.
const ANY: u32 = u32::MAX;

control::numbers! {
    /// Role: the master listens, the slave owns the memory.
    pub enum MemifRole: u32 = "memif_role" in "" {
        MASTER = 0 => "MEMIF_ROLE_API_MASTER",
        SLAVE = 1 => "MEMIF_ROLE_API_SLAVE",
    }
    /// Packet type: first header.
    pub enum MemifMode: u32 = "memif_mode" in "" {
        ETHERNET = 0 => "MEMIF_MODE_API_ETHERNET",
        IP = 1 => "MEMIF_MODE_API_IP",
        PUNT_INJECT = 2 => "MEMIF_MODE_API_PUNT_INJECT",
    }
}

/// Add or delete a memif socket.
#[derive(Message)]
#[option("deprecated")]
pub struct MemifSocketFilenameAddDel {
    /// true to add, false to delete
    pub is_add: bool,
    /// index
    pub socket_id: u32,
    /// path of the socket
    pub socket_filename: Text<108>,
}

/// Add or delete a memif socket.
#[derive(Message)]
#[reply(MemifSocketFilenameAddDelV2Reply)]
pub struct MemifSocketFilenameAddDelV2 {
    /// true to add, false to delete
    pub is_add: bool,
    /// socket ID; 4294967295 for the lowest free one
    #[preset(4294967295)]
    pub socket_id: u32,
    /// path of the socket
    pub socket_filename: String,
}

/// Reply: ID of the socket.
#[derive(Message)]
pub struct MemifSocketFilenameAddDelV2Reply {
    /// index
    pub socket_id: u32,
}

/// Create a memif interface.
#[derive(Message)]
#[option("deprecated")]
#[replies(InterfaceReply)]
pub struct MemifCreate {
    /// role
    pub role: MemifRole,
    /// first header of packets
    pub mode: MemifMode,
    /// number of receive rings; 0 for one
    pub rx_queues: u8,
    /// number of transmit rings; 0 for one
    pub tx_queues: u8,
    /// interface ID on the socket
    pub id: u32,
    /// the socket
    pub socket_id: u32,
    /// ring size in packets; 0 for the default
    pub ring_size: u32,
    /// slot size in bytes; 0 for the default
    pub buffer_size: u16,
    /// ignored: packets are always copied
    pub no_zero_copy: bool,
    /// MAC address; zero for one that is stable across restarts
    pub hw_addr: MacAddr,
    /// shared secret
    pub secret: Secret<Text<24>>,
}

/// Create a memif interface.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct MemifCreateV2 {
    /// role
    pub role: MemifRole,
    /// first header of packets
    pub mode: MemifMode,
    /// number of receive rings; 0 for one
    pub rx_queues: u8,
    /// number of transmit rings; 0 for one
    pub tx_queues: u8,
    /// interface ID on the socket
    pub id: u32,
    /// the socket
    pub socket_id: u32,
    /// ring size in packets; 0 for the default
    pub ring_size: u32,
    /// slot size in bytes; 0 for the default
    pub buffer_size: u16,
    /// ignored: packets are always copied
    pub no_zero_copy: bool,
    /// ignored: the CPU copies packets
    pub use_dma: bool,
    /// MAC address; zero for one that is stable across restarts
    pub hw_addr: MacAddr,
    /// shared secret
    pub secret: Secret<Text<24>>,
}

/// Delete a memif interface.
#[derive(Message)]
pub struct MemifDelete {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// List memif sockets.
#[derive(Message)]
#[details(MemifSocketFilenameDetails)]
pub struct MemifSocketFilenameDump {}

/// A socket.
#[derive(Message)]
pub struct MemifSocketFilenameDetails {
    /// index
    pub socket_id: u32,
    /// path of the socket
    pub socket_filename: Text<108>,
}

/// List memif interfaces.
#[derive(Message)]
#[details(MemifDetails)]
pub struct MemifDump {}

/// One item of the list.
#[derive(Message)]
pub struct MemifDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// MAC address
    pub hw_addr: MacAddr,
    /// interface ID on the socket
    pub id: u32,
    /// role
    pub role: MemifRole,
    /// first header of packets
    pub mode: MemifMode,
    /// always false: packets are copied
    pub zero_copy: bool,
    /// the socket
    pub socket_id: u32,
    /// ring size in packets; 1 if set by the other end
    pub ring_size: u32,
    /// slot size in bytes; 0 if set by the other end
    pub buffer_size: u16,
    /// administrative and link state
    pub flags: IfStatusFlags,
    /// name
    pub if_name: Text<64>,
}

impl MemifDetails {
    fn of(router: &Router, memif: &Memif) -> Option<Self> {
        let (i, wanted) = (router.interfaces.at(memif.index)?, &memif.wanted);
        let is_slave = !wanted.is_master;
        Some(Self {
            sw_if_index: i.index,
            hw_addr: i.mac,
            id: wanted.id,
            role: if is_slave { MemifRole::SLAVE } else { MemifRole::MASTER },
            mode: if wanted.is_ip { MemifMode::IP } else { MemifMode::ETHERNET },
            zero_copy: false,
            socket_id: wanted.socket,
            ring_size: if is_slave { 1 << wanted.log2_ring_size() } else { 1 },
            buffer_size: if is_slave { wanted.slot_size() as u16 } else { 0 },
            flags: IfStatusFlags::default()
                .with(IfStatusFlags::ADMIN_UP, i.admin_up)
                .with(IfStatusFlags::LINK_UP, i.link_up),
            if_name: i.name.as_str().into(),
        })
    }
}

fn create(router: &mut Router, m: &MemifCreateV2) -> Result<InterfaceIndex, Retval> {
    let is_master = match m.role {
        MemifRole::MASTER => true,
        MemifRole::SLAVE => false,
        _ => return Err(Retval::INVALID_ARGUMENT),
    };
    let is_ip = match m.mode {
        MemifMode::ETHERNET => false,
        MemifMode::IP => true,
        _ => return Err(Retval::INVALID_ARGUMENT),
    };
    let wanted = Wanted {
        id: m.id,
        socket: m.socket_id,
        is_master,
        is_ip,
        secret: m.secret.to_string(),
        queues: (m.rx_queues, m.tx_queues),
        ring_size: m.ring_size,
        buffer_size: m.buffer_size,
        mac: Some(m.hw_addr).filter(|mac| *mac != MacAddr::ZERO && !is_ip),
        no_zero_copy: m.no_zero_copy,
    };
    Ok(with(router, |all, router| all.create(router, wanted))?)
}

fn name_socket(router: &mut Router, is_add: bool, id: u32, name: &str) -> Result<u32, Retval> {
    Ok(with(router, |all, _| match is_add {
        true => all.add_socket(Some(id).filter(|id| *id != ANY), name),
        false => all.delete_socket(id).map(|()| id),
    })?)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("memif", "3.1.0")
        .call(|router: &mut Router, m: MemifSocketFilenameAddDel| {
            if m.socket_id == ANY {
                return Err(Retval::INVALID_ARGUMENT);
            }
            name_socket(router, m.is_add, m.socket_id, &m.socket_filename).map(drop)
        })
        .call(|router: &mut Router, m: MemifSocketFilenameAddDelV2| {
            let name = m.socket_filename.trim_end_matches('\0');
            let socket_id = name_socket(router, m.is_add, m.socket_id, name)?;
            Ok(MemifSocketFilenameAddDelV2Reply { socket_id })
        })
        .call(|router: &mut Router, m: MemifCreate| {
            let m = MemifCreateV2 {
                role: m.role,
                mode: m.mode,
                rx_queues: m.rx_queues,
                tx_queues: m.tx_queues,
                id: m.id,
                socket_id: m.socket_id,
                ring_size: m.ring_size,
                buffer_size: m.buffer_size,
                no_zero_copy: m.no_zero_copy,
                use_dma: false,
                hw_addr: m.hw_addr,
                secret: m.secret,
            };
            create(router, &m).map(|sw_if_index| InterfaceReply { sw_if_index })
        })
        .call(|router: &mut Router, m: MemifCreateV2| {
            create(router, &m).map(|sw_if_index| InterfaceReply { sw_if_index })
        })
        .call(|router: &mut Router, m: MemifDelete| {
            Ok(with(router, |all, router| all.delete(router, m.sw_if_index))?)
        })
        .dump(|router: &mut Router, _: MemifSocketFilenameDump| {
            let row = |(id, socket): (&u32, &super::interface::Socket)| {
                let socket_filename = socket.address.0.as_str().into();
                MemifSocketFilenameDetails { socket_id: *id, socket_filename }
            };
            router.own::<Memifs>().sockets.iter().map(row).collect()
        })
        .dump(|router: &mut Router, _: MemifDump| {
            let list = &router.own::<Memifs>().list;
            list.iter().filter_map(|memif| MemifDetails::of(router, memif)).collect()
        });
}
