//! Messages of the module `pvti`.

use control::api::Record;
use control::api::types::Address;
use net::InterfaceReply;
use net::prelude::*;

use super::{Error, Pvti, Tunnels, UNDERLAY_MTU};

/// A tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct PvtiTunnel {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// local address
    pub local_ip: Address,
    /// local port
    pub local_port: u16,
    /// remote address
    pub remote_ip: Address,
    /// peer address from the payload: not supported
    pub peer_address_from_payload: bool,
    /// remote port
    pub remote_port: u16,
    /// maximum datagram length; 0 for 1500
    pub underlay_mtu: u16,
    /// index of the table to route datagrams in
    pub underlay_fib_index: u32,
}

/// Add a packet vector tunnel.
#[derive(Message)]
#[option("status", "in_progress")]
#[replies(InterfaceReply)]
pub struct PvtiInterfaceCreate {
    /// tunnel interface
    pub interface: PvtiTunnel,
}

/// Delete a packet vector tunnel.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct PvtiInterfaceDelete {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// List packet vector tunnels.
#[derive(Message)]
#[option("status", "in_progress")]
#[details(PvtiInterfaceDetails)]
pub struct PvtiInterfaceDump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// A packet vector tunnel.
#[derive(Debug, Message)]
#[option("status", "in_progress")]
pub struct PvtiInterfaceDetails {
    /// tunnel interface
    pub interface: PvtiTunnel,
}

impl PvtiTunnel {
    fn native(&self, router: &Router) -> Result<Pvti, Retval> {
        let (local, remote) = (self.local_ip.native()?, self.remote_ip.native()?);
        if self.peer_address_from_payload {
            return Err(Error::FromPayload.into());
        }
        let index = self.underlay_fib_index;
        let table = u16::try_from(index).map(TableIndex).map_err(|_| Error::NoTable(index))?;
        router.table_id_of(Link::of(remote), table).ok_or(Error::NoTable(index))?;
        Ok(Pvti {
            local: (local, self.local_port),
            remote: (remote, self.remote_port),
            underlay_mtu: if self.underlay_mtu == 0 { UNDERLAY_MTU } else { self.underlay_mtu },
            table,
        })
    }
    fn of(sw_if_index: InterfaceIndex, pvti: &Pvti) -> Self {
        Self {
            sw_if_index,
            local_ip: pvti.local.0.into(),
            local_port: pvti.local.1,
            remote_ip: pvti.remote.0.into(),
            peer_address_from_payload: false,
            remote_port: pvti.remote.1,
            underlay_mtu: pvti.underlay_mtu,
            underlay_fib_index: pvti.table.0.into(),
        }
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("pvti", "0.0.1")
        .call(|router: &mut Router, m: PvtiInterfaceCreate| {
            let pvti = m.interface.native(router)?;
            Ok(InterfaceReply { sw_if_index: super::add(router, pvti)? })
        })
        .call(|router, m: PvtiInterfaceDelete| Ok(super::remove(router, m.sw_if_index)?))
        .dump(|router, m: PvtiInterfaceDump| {
            let is_wanted = |i: &InterfaceIndex| m.sw_if_index.0 == u32::MAX || m.sw_if_index == *i;
            let all = router.own::<Tunnels>().all.iter().filter(|(index, _)| is_wanted(index));
            all.map(|(index, t)| PvtiInterfaceDetails {
                interface: PvtiTunnel::of(*index, &t.pvti),
            })
            .collect()
        });
}
