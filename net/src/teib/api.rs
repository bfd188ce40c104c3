//! Messages of the module `teib`.

use std::net::IpAddr;

use control::api::types::Address;
use control::api::{Api, Message, Record};

use super::Peer;
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// A tunnel peer and its underlay address.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct TeibEntry {
    /// tunnel interface
    pub sw_if_index: InterfaceIndex,
    /// peer address inside the tunnel
    pub peer: Address,
    /// underlay address
    pub nh: Address,
    /// table of the underlay address
    pub nh_table_id: u32,
}

/// Add or delete a tunnel peer.
#[derive(Message)]
pub struct TeibEntryAddDel {
    /// true to add, false to delete
    pub is_add: u8,
    /// peer
    pub entry: TeibEntry,
}

/// List tunnel peers.
#[derive(Message)]
#[details(TeibDetails)]
pub struct TeibDump {}

/// A peer.
#[derive(Debug, Message)]
pub struct TeibDetails {
    /// peer
    pub entry: TeibEntry,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("teib", "1.0.0")
        .call(|router: &mut Router, m: TeibEntryAddDel| {
            let TeibEntry { sw_if_index, peer, nh, nh_table_id } = m.entry;
            let peer = (sw_if_index, peer.native()?);
            match m.is_add {
                0 => router.remove_peer(peer)?,
                _ => router.add_peer(peer, nh.native()?, nh_table_id)?,
            }
            Ok(())
        })
        .dump(|router, _: TeibDump| {
            let row = |((sw_if_index, peer), nh, nh_table_id): (Peer, IpAddr, u32)| {
                let (peer, nh) = (peer.into(), nh.into());
                TeibDetails { entry: TeibEntry { sw_if_index, peer, nh, nh_table_id } }
            };
            router.peers().into_iter().map(row).collect()
        });
}
