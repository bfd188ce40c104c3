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
    /// Roles: the master listens, the slave has the memory.
    pub enum MemifRole: u32 = "memif_role" in "" {
        MASTER = 0 => "MEMIF_ROLE_API_MASTER",
        SLAVE = 1 => "MEMIF_ROLE_API_SLAVE",
    }
    /// Kinds of packets: their first header.
    pub enum MemifMode: u32 = "memif_mode" in "" {
        ETHERNET = 0 => "MEMIF_MODE_API_ETHERNET",
        IP = 1 => "MEMIF_MODE_API_IP",
        PUNT_INJECT = 2 => "MEMIF_MODE_API_PUNT_INJECT",
    }
}

/// Name a socket, or forget it.
#[derive(Message)]
#[option("deprecated")]
pub struct MemifSocketFilenameAddDel {
    /// name it
    pub is_add: bool,
    /// its number
    pub socket_id: u32,
    /// its file
    pub socket_filename: Text<108>,
}

/// Name a socket, or forget it.
#[derive(Message)]
#[reply(MemifSocketFilenameAddDelV2Reply)]
pub struct MemifSocketFilenameAddDelV2 {
    /// name it
    pub is_add: bool,
    /// its number; the lowest free one if 4294967295
    #[preset(4294967295)]
    pub socket_id: u32,
    /// its file
    pub socket_filename: String,
}

/// It is named.
#[derive(Message)]
pub struct MemifSocketFilenameAddDelV2Reply {
    /// its number
    pub socket_id: u32,
}

/// Make an interface to another program.
#[derive(Message)]
#[option("deprecated")]
#[replies(InterfaceReply)]
pub struct MemifCreate {
    /// who listens
    pub role: MemifRole,
    /// what packets start with
    pub mode: MemifMode,
    /// rings that receive; 0 for one
    pub rx_queues: u8,
    /// rings that send; 0 for one
    pub tx_queues: u8,
    /// its number on the socket
    pub id: u32,
    /// the socket
    pub socket_id: u32,
    /// packets that a ring has room for; 0 for as many as is usual
    pub ring_size: u32,
    /// bytes of a slot; 0 for as many as is usual
    pub buffer_size: u16,
    /// has no meaning here: packets are copied
    pub no_zero_copy: bool,
    /// its address; if zero, one that stays the same over restarts
    pub hw_addr: MacAddr,
    /// what both ends must know
    pub secret: Secret<Text<24>>,
}

/// Make an interface to another program.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct MemifCreateV2 {
    /// who listens
    pub role: MemifRole,
    /// what packets start with
    pub mode: MemifMode,
    /// rings that receive; 0 for one
    pub rx_queues: u8,
    /// rings that send; 0 for one
    pub tx_queues: u8,
    /// its number on the socket
    pub id: u32,
    /// the socket
    pub socket_id: u32,
    /// packets that a ring has room for; 0 for as many as is usual
    pub ring_size: u32,
    /// bytes of a slot; 0 for as many as is usual
    pub buffer_size: u16,
    /// has no meaning here: packets are copied
    pub no_zero_copy: bool,
    /// has no meaning here: they are copied by the processor
    pub use_dma: bool,
    /// its address; if zero, one that stays the same over restarts
    pub hw_addr: MacAddr,
    /// what both ends must know
    pub secret: Secret<Text<24>>,
}

/// Delete an interface to another program.
#[derive(Message)]
pub struct MemifDelete {
    /// its number
    pub sw_if_index: InterfaceIndex,
}

/// Ask for sockets.
#[derive(Message)]
#[details(MemifSocketFilenameDetails)]
pub struct MemifSocketFilenameDump {}

/// A socket.
#[derive(Message)]
pub struct MemifSocketFilenameDetails {
    /// its number
    pub socket_id: u32,
    /// its file
    pub socket_filename: Text<108>,
}

/// Ask for interfaces to other programs.
#[derive(Message)]
#[details(MemifDetails)]
pub struct MemifDump {}

/// One of them.
#[derive(Message)]
pub struct MemifDetails {
    /// its number
    pub sw_if_index: InterfaceIndex,
    /// its address
    pub hw_addr: MacAddr,
    /// its number on the socket
    pub id: u32,
    /// who listens
    pub role: MemifRole,
    /// what packets start with
    pub mode: MemifMode,
    /// no: packets are copied
    pub zero_copy: bool,
    /// the socket
    pub socket_id: u32,
    /// packets that a ring has room for; 1 where the other end says it
    pub ring_size: u32,
    /// bytes of a slot; 0 where the other end says it
    pub buffer_size: u16,
    /// whether it is up and connected
    pub flags: IfStatusFlags,
    /// its name
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
