//! `show lldp`.

use std::fmt::Write;

use net::prelude::*;

use super::{Discovery, Id, Port};

/// Show LLDP interfaces and neighbors.
#[derive(Command)]
#[command("show lldp")]
struct Show {
    /// in detail
    detail: bool,
}

/// The identifier of a station, as its subtype says (section 8.5.2).
pub(super) fn chassis(id: &Id) -> String {
    text(id, [1, 2, 3, 6, 7].contains(&id.subtype), id.subtype == 4, id.subtype == 5)
}

/// The identifier of a port, as its subtype says (section 8.5.3).
pub(super) fn port(id: &Id) -> String {
    text(id, [1, 2, 5, 6, 7].contains(&id.subtype), id.subtype == 3, id.subtype == 4)
}

fn text(id: &Id, is_text: bool, is_mac: bool, is_address: bool) -> String {
    let bytes = id.get();
    match bytes {
        [1, rest @ ..] if is_address && let Ok(octets) = <[u8; 4]>::try_from(rest) => {
            Ipv4Addr::from(octets).to_string()
        }
        [2, rest @ ..] if is_address && let Ok(octets) = <[u8; 16]>::try_from(rest) => {
            Ipv6Addr::from(octets).to_string()
        }
        _ if is_text => {
            String::from_utf8_lossy(bytes).chars().filter(|c| !c.is_control()).collect()
        }
        _ => {
            let colon = if is_mac { ":" } else { "" };
            let mut hex = String::new();
            for (n, byte) in bytes.iter().enumerate() {
                let _ = write!(hex, "{}{byte:02x}", if n == 0 { "" } else { colon });
            }
            hex
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, show: Show| {
        let now = router.now();
        let all = router.own::<Discovery>();
        let row = |(interface, port): (&InterfaceIndex, &Port)| {
            Some(Row::of(router.interfaces.at(*interface)?, port, now))
        };
        let rows = all.ports.iter().filter_map(row).collect();
        let config = &all.config;
        Ok(Output::of(Shown {
            system_name: config.system_name.clone(),
            tx_hold: config.tx_hold,
            tx_interval: config.tx_interval,
            rows,
            is_detailed: show.detail,
        }))
    });
}

#[derive(Serialize)]
struct Row {
    interface: String,
    mac: String,
    link_up: bool,
    chassis: Option<String>,
    chassis_subtype: u8,
    port: Option<String>,
    port_subtype: u8,
    ttl: u16,
    /// Seconds ago.
    heard: Option<f64>,
    /// Seconds ago.
    sent: Option<f64>,
    is_active: bool,
    port_desc: String,
    mgmt_ip4: Option<Ipv4Addr>,
    mgmt_ip6: Option<Ipv6Addr>,
    mgmt_oid: String,
}

impl Row {
    fn of(interface: &net::Interface, known: &Port, now: f64) -> Self {
        let heard = known.heard.as_ref().map(|(heard, _)| heard);
        Self {
            interface: interface.name.clone(),
            mac: interface.mac.to_string(),
            link_up: interface.link_up,
            chassis: heard.map(|h| chassis(&h.chassis)),
            chassis_subtype: heard.map_or(0, |h| h.chassis.subtype),
            port: heard.map(|h| port(&h.port)),
            port_subtype: heard.map_or(0, |h| h.port.subtype),
            ttl: heard.map_or(0, |h| h.ttl),
            heard: known.heard.as_ref().map(|(_, at)| now - at),
            sent: known.sent.map(|at| now - at),
            is_active: known.is_active(now),
            port_desc: known.described.port_desc.clone(),
            mgmt_ip4: known.described.mgmt_ip4,
            mgmt_ip6: known.described.mgmt_ip6,
            mgmt_oid: String::from_utf8_lossy(&known.described.mgmt_oid).into_owned(),
        }
    }
    fn status(&self) -> &'static str {
        if self.is_active { "active" } else { "inactive" }
    }
}

fn ago(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "never".to_owned(), |s| format!("{s:.1}s ago"))
}

#[derive(Serialize)]
struct Shown {
    system_name: String,
    tx_hold: u32,
    tx_interval: u32,
    rows: Vec<Row>,
    #[serde(skip)]
    is_detailed: bool,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { system_name, tx_hold, tx_interval, rows, is_detailed } = self;
        if *is_detailed {
            writeln!(f, "LLDP configuration:")?;
            if !system_name.is_empty() {
                writeln!(f, "Configured system name: {system_name}")?;
            }
            writeln!(f, "Configured tx-hold: {tx_hold}")?;
            writeln!(f, "Configured tx-interval: {tx_interval}\n")?;
            writeln!(f, "LLDP-enabled interface table:\n")?;
            return rows.iter().try_for_each(|row| detail(f, row));
        }
        let row = |f: &mut fmt::Formatter<'_>, cells: [&str; 6]| {
            let [interface, chassis, port, heard, sent, status] = cells;
            let (heard, sent, status) =
                (centred(heard, 15), centred(sent, 15), centred(status, 10));
            writeln!(f, "{interface:<25} {chassis:<25} {port:<25} {heard} {sent} {status}")
        };
        let head = [
            "Local interface",
            "Peer chassis ID",
            "Remote port ID",
            "Last heard",
            "Last sent",
            "Status",
        ];
        row(f, head)?;
        rows.iter().try_for_each(|r| {
            let [chassis, port] = [&r.chassis, &r.port].map(|id| id.as_deref().unwrap_or_default());
            row(f, [&r.interface, chassis, port, &ago(r.heard), &ago(r.sent), r.status()])
        })
    }
}

fn detail(f: &mut fmt::Formatter<'_>, row: &Row) -> fmt::Result {
    writeln!(f, "Local Interface name: {}", row.interface)?;
    let description = Some(row.port_desc.as_str()).filter(|text| !text.is_empty());
    writeln!(f, "Local Port Description: {}", description.unwrap_or("(nil)"))?;
    if let Some(addr) = row.mgmt_ip4 {
        writeln!(f, "Local Management address: {addr}")?;
    }
    if let Some(addr) = row.mgmt_ip6 {
        writeln!(f, "Local Management address IPV6: {addr}")?;
    }
    if row.mgmt_ip4.is_none() && row.mgmt_ip6.is_none() {
        writeln!(f, "Local Management MAC address: {}", row.mac)?;
    }
    if !row.mgmt_oid.is_empty() {
        writeln!(f, "Local Management address OID: {}", row.mgmt_oid)?;
    }
    if !row.link_up {
        writeln!(f, "Interface/peer state: interface down")?;
        return writeln!(f, "Last packet sent: {}\n", ago(row.sent));
    }
    let state = if row.is_active { "active" } else { "inactive(timeout)" };
    writeln!(f, "Interface/peer state: {state}")?;
    let [chassis, port] = [&row.chassis, &row.port].map(|id| id.as_deref().unwrap_or_default());
    writeln!(f, "Last known peer chassis ID: {chassis}\nLast known peer port ID: {port}")?;
    writeln!(f, "Last packet sent: {}", ago(row.sent))?;
    writeln!(f, "Last packet received: {}\n", ago(row.heard))
}
