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

#[derive(Serialize)]
struct Row {
    interface: String,
    up: bool,
    /// The interface whose addresses it uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    unnumbered: Option<String>,
    /// Its place in layer 2.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    layer2: Vec<String>,
    addresses: Vec<String>,
    ip4_table: u32,
    ip6_table: u32,
    #[serde(skip)]
    indexes: [u16; 2],
}

impl OnInterface {
    /// Its addresses, or those it uses.
    fn shown(&self) -> impl Iterator<Item = Prefix> {
        let borrowed4 = self.borrowed.iter().flat_map(|b| &b.ip4).map(|p| Prefix::Ip4(*p));
        let borrowed6 = self.borrowed.iter().flat_map(|b| &b.ip6).map(|p| Prefix::Ip6(*p));
        self.iter().chain(borrowed4).chain(borrowed6)
    }
}

/// Addresses of interfaces.
pub(super) fn on_interfaces(router: &Router, chosen: &[InterfaceIndex]) -> Output {
    let row = |index: &InterfaceIndex| {
        let i = router.interfaces.at(*index)?;
        let on = router.addresses.of(*index);
        Some(Row {
            interface: i.name.clone(),
            up: i.admin_up,
            unnumbered: on.borrowed.as_ref().map(|b| router.interfaces.name(b.from.0).to_owned()),
            layer2: router.addresses.layer2.iter().filter_map(|of| of(router, *index)).collect(),
            addresses: on.shown().map(|p| p.to_string()).collect(),
            ip4_table: router.fib.table_id::<crate::fib::Ip4>(on.table4).unwrap_or_default(),
            ip6_table: router.fib.table_id::<crate::fib::Ip6>(on.table6).unwrap_or_default(),
            indexes: [on.table4.0, on.table6.0],
        })
    };
    Output::rows(chosen.iter().filter_map(row), write_on_interfaces)
}

fn write_on_interfaces(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for r in rows {
        writeln!(f, "{} ({}):", r.interface, if r.up { "up" } else { "dn" })?;
        if let Some(lender) = &r.unnumbered {
            writeln!(f, "  unnumbered, use {lender}")?;
        }
        r.layer2.iter().try_for_each(|place| writeln!(f, "  L2 {place}"))?;
        let [four, six] = [("ip4", r.ip4_table), ("ip6", r.ip6_table)];
        for a in &r.addresses {
            let is_six = a.contains(':');
            match if is_six { six } else { four } {
                (_, 0) => writeln!(f, "  L3 {a}")?,
                (name, table) => {
                    let index = r.indexes[usize::from(is_six)];
                    writeln!(f, "  L3 {a} {name} table-id {table} fib-idx {index}")?;
                }
            }
        }
    }
    Ok(())
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
