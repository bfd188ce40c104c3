//! `create pppoe session`, `create pppoe cp`, `show pppoe session`, `show pppoe fib`.

use std::fmt;
use std::net::IpAddr;

use control::cli::{Args, Cli, Command, Error, Line, Output, Print};
use control::configuration::{Lines, Stage};
use net::{InterfaceIndex, Router};
use serde::Serialize;
use wire::MacAddr;

use super::{New, Sessions};

/// `create pppoe session client-ip … session-id … client-mac … [decap-vrf-id …] [del]`.
#[derive(Debug)]
struct Create {
    new: New,
    is_gone: bool,
}

impl Command for Create {
    const PATHS: &'static [&'static str] = &["create pppoe session"];
    const ABOUT: &'static str = "Make the session of a client, or end it";
    const USAGE: &'static str = "client-ip <client-ip> session-id <nn> client-mac <client-mac> \
        [decap-vrf-id <nn>] [del]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut ip, mut id, mut mac, mut table_id, mut is_gone) = (None, None, None, 0, false);
        while !args.is_empty() {
            if args.keyword("client-ip") {
                ip = Some(args.value::<IpAddr>("client-ip")?);
            } else if args.keyword("session-id") {
                id = Some(args.value::<u16>("session-id")?);
            } else if args.keyword("client-mac") {
                mac = Some(args.value::<MacAddr>("client-mac")?);
            } else if args.keyword("decap-vrf-id") {
                table_id = args.value("decap-vrf-id")?;
            } else if args.keyword("del") {
                is_gone = true;
            } else {
                return Err(args.unknown());
            }
        }
        let ip = ip.ok_or_else(|| args.error("expected client-ip"))?;
        let id = id.ok_or_else(|| args.error("expected session-id"))?;
        let mac = mac.ok_or_else(|| args.error("expected client-mac"))?;
        Ok(Self { new: New { id, mac, ip, table_id }, is_gone })
    }
}

/// `create pppoe cp-if-index INTERFACE [del]`.
#[derive(Debug, PartialEq)]
struct Control {
    interface: InterfaceIndex,
    is_gone: bool,
}

impl Command for Control {
    const PATHS: &'static [&'static str] = &["create pppoe cp"];
    const ABOUT: &'static str =
        "Have an interface lead to the control plane of PPPoE, or no longer";
    const USAGE: &'static str = "cp-if-index <interface> [del]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        if !args.keyword("cp-if-index") {
            return Err(args.error("expected cp-if-index"));
        }
        let interface = args.value("interface")?;
        let is_gone = args.keyword("del");
        Ok(Self { interface, is_gone })
    }
}

impl Print for Control {
    const STAGE: Stage = Stage::Attachments;
    fn print(&self, line: &mut Line<'_>) {
        line.option("cp-if-index", Some(&self.interface)).flag("del", self.is_gone);
    }
}

/// Show the sessions of clients.
#[derive(Command)]
#[command("show pppoe session")]
struct ShowSessions;

/// Show which interfaces clients are on.
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
    decap_vrf_id: u32,
    local_mac: String,
    client_mac: String,
}

#[derive(Serialize)]
#[serde(transparent)]
struct AllSessions(Vec<Session>);

impl fmt::Display for AllSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return writeln!(f, "No pppoe sessions configured...");
        }
        self.0.iter().try_for_each(|s| {
            write!(f, "[{}] sw-if-index {} client-ip {}", s.instance, s.sw_if_index, s.client_ip)?;
            write!(f, " session-id {} encap-if-index {}", s.session_id, s.encap_if_index)?;
            writeln!(f, " decap-vrf-id {}", s.decap_vrf_id)?;
            writeln!(f, "    local-mac {}  client-mac {}", s.local_mac, s.client_mac)
        })
    }
}

#[derive(Serialize)]
struct Client {
    mac: String,
    interface: String,
    sw_if_index: u32,
}

#[derive(Serialize)]
#[serde(transparent)]
struct Clients(Vec<Client>);

impl fmt::Display for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return writeln!(f, "no pppoe fib entries");
        }
        writeln!(f, "{:^19} {:^30} {:^12}", "Mac Address", "Interface", "sw_if_index")?;
        self.0.iter().try_for_each(|Client { mac, interface, sw_if_index }| {
            writeln!(f, "{mac:^19} {interface:^30} {sw_if_index:^12}")
        })
    }
}

/// Sessions are made by the control plane when clients ask for them, and are no configuration.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    if let Some(interface) = router.own::<Sessions>().control {
        lines.push(&Control { interface, is_gone: false });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| -> Result<Output, Error> {
        if c.is_gone {
            super::remove(router, c.new.id, c.new.mac)?;
            return Ok(Output::none());
        }
        let made = super::add(router, c.new)?;
        Ok(Output::text(format!("{}\n", router.interfaces.name(made.0))))
    });
    cli.command(|router: &mut Router, c: Control| {
        Ok(super::set_control(router, c.interface, !c.is_gone)?)
    });
    cli.command(|router: &mut Router, _: ShowSessions| {
        let all = router.own::<Sessions>().sessions.iter();
        let row = |(index, s): (&InterfaceIndex, &super::Session)| Session {
            instance: s.instance,
            sw_if_index: index.0,
            client_ip: s.new.ip,
            session_id: s.new.id,
            encap_if_index: s.over.0,
            decap_vrf_id: s.new.table_id,
            local_mac: s.local_mac.to_string(),
            client_mac: s.new.mac.to_string(),
        };
        Ok(Output::of(AllSessions(all.map(row).collect())))
    });
    cli.command(|router: &mut Router, _: ShowClients| {
        let row = |(mac, at): (&MacAddr, &InterfaceIndex)| Client {
            mac: mac.to_string(),
            interface: router.interfaces.name(at.0).to_owned(),
            sw_if_index: at.0,
        };
        Ok(Output::of(Clients(router.own::<Sessions>().clients.iter().map(row).collect())))
    });
}
