//! Addresses as `show interface address` and `show ip6 interface` print them.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv6Addr;

use control::cli::Output;
use serde::Serialize;
use wire::Prefix;

use super::OnInterface;
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Interfaces and their addresses.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct OnInterfaces(Vec<Row>);

#[derive(Serialize)]
struct Row {
    interface: String,
    up: bool,
    /// The interface whose addresses it uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    unnumbered: Option<String>,
    addresses: Vec<String>,
    ip4_table: u32,
    ip6_table: u32,
}

impl OnInterface {
    /// Its addresses, or those it uses.
    fn shown(&self) -> impl Iterator<Item = Prefix> {
        let borrowed4 = self.borrowed.iter().flat_map(|b| &b.ip4).map(|p| Prefix::Ip4(*p));
        let borrowed6 = self.borrowed.iter().flat_map(|b| &b.ip6).map(|p| Prefix::Ip6(*p));
        self.iter().chain(borrowed4).chain(borrowed6)
    }
}

impl OnInterfaces {
    pub fn of(router: &Router, chosen: &[InterfaceIndex]) -> Self {
        let row = |index: &InterfaceIndex| {
            let i = router.interfaces.at(*index)?;
            let on = router.addresses.of(*index);
            Some(Row {
                interface: i.name.clone(),
                up: i.admin_up,
                unnumbered: on
                    .borrowed
                    .as_ref()
                    .map(|b| router.interfaces.name(b.from.0).to_owned()),
                addresses: on.shown().map(|p| p.to_string()).collect(),
                ip4_table: router.fib.table_id::<crate::fib::Ip4>(on.table4).unwrap_or_default(),
                ip6_table: router.fib.table_id::<crate::fib::Ip6>(on.table6).unwrap_or_default(),
            })
        };
        Self(chosen.iter().filter_map(row).collect())
    }
}

impl fmt::Display for OnInterfaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for r in &self.0 {
            writeln!(f, "{} ({}):", r.interface, if r.up { "up" } else { "dn" })?;
            if let Some(lender) = &r.unnumbered {
                writeln!(f, "  unnumbered, use {lender}")?;
            }
            for a in &r.addresses {
                let table = if a.contains(':') { r.ip6_table } else { r.ip4_table };
                match table {
                    0 => writeln!(f, "  L3 {a}")?,
                    table if a.contains(':') => writeln!(f, "  L3 {a} ip6 table-id {table}")?,
                    table => writeln!(f, "  L3 {a} ip4 table-id {table}")?,
                }
            }
        }
        Ok(())
    }
}

/// The state of IPv6 on one interface.
#[derive(Serialize)]
pub(super) struct Ip6Interface {
    interface: String,
    up: bool,
    addresses: Vec<String>,
    link_local: Ipv6Addr,
    groups: Vec<Ipv6Addr>,
    /// Sections of features.
    #[serde(flatten)]
    sections: BTreeMap<&'static str, serde_json::Value>,
    #[serde(skip)]
    texts: String,
}

impl Ip6Interface {
    pub fn of(router: &Router, index: InterfaceIndex) -> Option<Self> {
        let i = router.interfaces.at(index)?;
        let on = router.addresses.of(index);
        let sections = router.addresses.sections.iter();
        let shown = sections.filter_map(|(name, of)| Some((*name, of(router, index)?)));
        let shown: Vec<(_, Output)> = shown.collect();
        Some(Self {
            interface: i.name.clone(),
            up: i.admin_up,
            addresses: on.ip6.iter().map(|p| p.to_string()).collect(),
            link_local: on.link_local?,
            groups: on.groups6(),
            sections: shown.iter().map(|(name, part)| (*name, part.to_json())).collect(),
            texts: shown.iter().map(|(_, part)| part.to_text()).collect(),
        })
    }
}

impl fmt::Display for Ip6Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} is admin {}", self.interface, if self.up { "up" } else { "down" })?;
        if !self.addresses.is_empty() {
            writeln!(f, "  Global unicast address(es):")?;
            self.addresses.iter().try_for_each(|a| writeln!(f, "    {a}"))?;
        }
        writeln!(f, "  Link-local address(es):\n    {}", self.link_local)?;
        writeln!(f, "  Joined group address(es):")?;
        self.groups.iter().try_for_each(|g| writeln!(f, "    {g}"))?;
        writeln!(f, "  Neighbor Discovery: enabled")?;
        writeln!(f, "    ICMP redirects are disabled")?;
        f.write_str(&self.texts)
    }
}
