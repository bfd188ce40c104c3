//! Messages of the module `sr_mobile`.

use control::api::types::Ip6Prefix;
use net::prelude::*;
use srv6::{Error, Kind as Use, NewPolicy, What};

use super::words::{Inside, Kind, Words, named};

control::numbers! {
    /// Inner packet type of GTP-U.
    pub enum SrMobileNhtype: u8 = "sr_mobile_nhtype" in "plugins/srv6-mobile/sr_mobile_types.api" {
        NONE = 0 => "SRV6_NHTYPE_API_NONE",
        IPV4 = 1 => "SRV6_NHTYPE_API_IPV4",
        IPV6 = 2 => "SRV6_NHTYPE_API_IPV6",
        NON_IP = 3 => "SRV6_NHTYPE_API_NON_IP",
    }
}

/// Add or delete a GTP-U local SID.
#[derive(Debug, Message)]
pub struct SrMobileLocalsidAddDel {
    /// true to delete, false to add
    #[preset(false)]
    pub is_del: bool,
    /// SID prefix; length 0 or 128 for an address
    pub localsid_prefix: Ip6Prefix,
    /// behavior name
    pub behavior: Text<64>,
    /// table of the SID, or of inner packets for behaviors that look them up
    pub fib_table: u32,
    /// table of inner link-local packets
    pub local_fib_table: u32,
    /// drop-in mode: keep the destination as the last segment
    pub drop_in: bool,
    /// inner packet type
    pub nhtype: SrMobileNhtype,
    /// SID prefix for tunnels
    pub sr_prefix: Ip6Prefix,
    /// IPv4 source address; 0.0.0.0 to take it from the IPv6 source address
    pub v4src_addr: Ipv4Addr,
    /// bit position of the IPv4 address in it
    pub v4src_position: u32,
}

/// Add a GTP-U policy.
#[derive(Debug, Message)]
pub struct SrMobilePolicyAdd {
    /// binding SID
    pub bsid_addr: Ipv6Addr,
    /// SID prefix for tunnels
    pub sr_prefix: Ip6Prefix,
    /// source address prefix; length 0 for none
    pub v6src_prefix: Ip6Prefix,
    /// behavior name
    pub behavior: Text<64>,
    /// table of the policy, or of inner packets for behaviors that look them up
    pub fib_table: u32,
    /// table of inner link-local packets
    pub local_fib_table: u32,
    /// encapsulation source; :: for the router's default
    pub encap_src: Ipv6Addr,
    /// drop-in mode: keep the destination, as always
    pub drop_in: bool,
    /// inner packet type
    pub nhtype: SrMobileNhtype,
}

fn native(prefix: Ip6Prefix) -> Result<wire::Ip6Prefix, Retval> {
    let prefix = wire::Ip6Prefix::new(prefix.address, prefix.len);
    Ok(prefix.map_err(|_| Retval::INVALID_VALUE)?.network())
}

fn inside(kind: SrMobileNhtype) -> Result<Inside, Retval> {
    Ok(match kind {
        SrMobileNhtype::NONE => Inside::Any,
        SrMobileNhtype::IPV4 => Inside::Ip4,
        SrMobileNhtype::IPV6 => Inside::Ip6,
        SrMobileNhtype::NON_IP => Inside::NonIp,
        _ => return Err(Retval::INVALID_VALUE),
    })
}

/// The table of the SID or policy, and those in its words.
fn tables(kind: Kind, table: u32, local: u32) -> (u32, Option<u32>, Option<u32>) {
    if kind.is_table() { (0, Some(table), Some(local)) } else { (table, None, None) }
}

impl SrMobileLocalsidAddDel {
    fn carry_out(&self, router: &mut Router) -> Result<(), Retval> {
        let (keyword, kind) = named(&self.behavior).ok_or(Error::NoBehavior)?;
        if kind.is_policy() {
            return Err(Error::NoBehavior.into());
        }
        let prefix = match self.localsid_prefix {
            Ip6Prefix { address, len: 0 } => wire::Ip6Prefix::host(address),
            prefix => native(prefix)?,
        };
        let (own, table, local) = tables(kind, self.fib_table, self.local_fib_table);
        if self.is_del {
            return Ok(srv6::remove_sid(router, own, prefix)?);
        }
        let mut words = Words { table, local, ..Words::default() };
        if kind.is_to_segments() {
            words.prefix = Some(native(self.sr_prefix)?);
            words.inside = inside(self.nhtype)?;
            words.is_drop_in = self.drop_in && kind == Kind::Gtp6D;
        }
        if kind == Kind::Gtp4E {
            words.addr = Some(self.v4src_addr).filter(|addr| !addr.is_unspecified());
            if words.addr.is_none() {
                let bit = u8::try_from(self.v4src_position);
                words.position = Some(bit.map_err(|_| Retval::INVALID_VALUE)?);
            }
        }
        Ok(srv6::add_sid(router, own, prefix, false, What::Other(keyword, words.text()))?)
    }
}

impl SrMobilePolicyAdd {
    fn carry_out(&self, router: &mut Router) -> Result<(), Retval> {
        let (keyword, kind) = named(&self.behavior).ok_or(Error::NoBehavior)?;
        if !kind.is_policy() {
            return Err(Error::NoBehavior.into());
        }
        let (own, table, local) = tables(kind, self.fib_table, self.local_fib_table);
        let mut words = Words { table, local, ..Words::default() };
        if kind.is_to_segments() {
            words.prefix = Some(native(self.sr_prefix)?);
            words.source = Some(native(self.v6src_prefix)?).filter(|p| p.prefix_len() > 0);
            words.inside = inside(self.nhtype)?;
            words.is_drop_in = self.drop_in;
        }
        let new = NewPolicy {
            bsid: self.bsid_addr,
            kind: Use::Default,
            is_encap: true,
            table: own,
            source: Some(self.encap_src).filter(|source| !source.is_unspecified()),
            behavior: Some((keyword, words.text())),
        };
        srv6::add_policy(router, new, 0, Vec::new())?;
        Ok(())
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("sr_mobile", "0.1.0")
        .call(|router: &mut Router, m: SrMobileLocalsidAddDel| m.carry_out(router))
        .call(|router, m: SrMobilePolicyAdd| m.carry_out(router));
}
