//! `create pppoe session`, `create pppoe cp`, `show pppoe session`, `show pppoe fib`.

use control::cli::PrintValue;
use net::prelude::*;

use super::{New, Sessions};

/// Add or delete a PPPoE session.
#[derive(Command)]
#[command("create pppoe session")]
struct Create {
    /// client IP address
    client_ip: IpAddr,
    /// number of the session
    session_id: u16,
    /// Client MAC address
    client_mac: MacAddr,
    /// table to look up packets from the client in
    #[default]
    decap_vrf_id: u32,
    /// delete
    #[opposite("add")]
    del: bool,
}

/// An interface by its name or its number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Which(InterfaceIndex);

impl Value for Which {
    const IS_NAME: bool = true;
    fn take(args: &mut Args<'_>, what: &str) -> Result<Self, Error> {
        let number = args.optional().map(|number| Ok(InterfaceIndex(number)));
        number.unwrap_or_else(|| args.value(what)).map(Self)
    }
}

impl PrintValue for Which {
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.0);
    }
}

/// Set or remove the PPPoE control-plane interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create pppoe cp")]
#[stage(Attachments)]
struct Control {
    /// interface, by name or number
    cp_if_index: Which,
    /// remove it
    #[opposite("add")]
    del: bool,
}

/// Show PPPoE sessions.
#[derive(Command)]
#[command("show pppoe session")]
struct ShowSessions;

/// Show PPPoE clients and their interfaces.
#[derive(Command)]
#[command("show pppoe fib")]
struct ShowClients;

#[derive(Serialize)]
struct Session {
    instance: u32,
    sw_if_index: u32,
    client_ip: IpAddr,
    session_id: u16,
    encap_if_index: u32,
    decap_fib_index: u16,
    local_mac: String,
    client_mac: String,
}

fn write_all_sessions(rows: &[Session], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if rows.is_empty() {
        return writeln!(f, "No pppoe sessions configured...");
    }
    rows.iter().try_for_each(|s| {
        write!(f, "[{}] sw-if-index {} client-ip {}", s.instance, s.sw_if_index, s.client_ip)?;
        write!(f, " session-id {} encap-if-index {}", s.session_id, s.encap_if_index)?;
        writeln!(f, " decap-fib-index {}", s.decap_fib_index)?;
        writeln!(f, "    local-mac {}  client-mac {}", s.local_mac, s.client_mac)
    })
}

#[derive(Serialize)]
struct Client {
    mac: String,
    interface: String,
    sw_if_index: u32,
}

fn write_clients(rows: &[Client], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if rows.is_empty() {
        return writeln!(f, "no pppoe fib entries");
    }
    writeln!(f, "{:^19} {:^30} {:^12}", "Mac Address", "Interface", "sw_if_index")?;
    rows.iter().try_for_each(|Client { mac, interface, sw_if_index }| {
        writeln!(f, "{mac:^19} {interface:^30} {sw_if_index:^12}")
    })
}

/// Sessions are made by the control plane when clients ask for them, and are no configuration.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    if let Some(interface) = router.own::<Sessions>().control {
        lines.push(&Control { cp_if_index: Which(interface), del: false });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| -> Result<Output, Error> {
        let Create { client_ip: ip, session_id: id, client_mac: mac, decap_vrf_id, del } = c;
        if del {
            super::remove(router, id, mac)?;
            return Ok(Output::none());
        }
        let made = super::add(router, New { id, mac, ip, table_id: decap_vrf_id })?;
        Ok(Output::text(format!("{}\n", router.interfaces.name(made.0))))
    });
    cli.command(|router: &mut Router, c: Control| {
        Ok(super::set_control(router, c.cp_if_index.0, !c.del)?)
    });
    cli.command(|router: &mut Router, _: ShowSessions| {
        let all = router.own::<Sessions>().sessions.iter();
        let row = |(index, s): (&InterfaceIndex, &super::Session)| Session {
            instance: s.instance,
            sw_if_index: index.0,
            client_ip: s.new.ip,
            session_id: s.new.id,
            encap_if_index: s.over.0,
            decap_fib_index: s.table.0,
            local_mac: s.local_mac.to_string(),
            client_mac: s.new.mac.to_string(),
        };
        Ok(Output::rows(all.map(row), write_all_sessions))
    });
    cli.command(|router: &mut Router, _: ShowClients| {
        let row = |(mac, at): (&MacAddr, &InterfaceIndex)| Client {
            mac: mac.to_string(),
            interface: router.interfaces.name(at.0).to_owned(),
            sw_if_index: at.0,
        };
        Ok(Output::rows(router.own::<Sessions>().clients.iter().map(row), write_clients))
    });
}
