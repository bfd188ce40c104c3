//! API message of the module `tcp`.

use control::api::types::Address;
use control::api::{Api, Message};
use net::Router;

use super::super::sources::{self, Range};

/// Add source addresses for outgoing connections.
#[derive(Message)]
pub struct TcpConfigureSrcAddresses {
    /// table ID
    pub vrf_id: u32,
    /// first address
    pub first_address: Address,
    /// last address
    pub last_address: Address,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("tcp", "2.0.0").call(|router: &mut Router, m: TcpConfigureSrcAddresses| {
        let (first, last) = (m.first_address.native()?, m.last_address.native()?);
        Ok(sources::add(router, Range { vrf: m.vrf_id, first, last })?)
    });
}
