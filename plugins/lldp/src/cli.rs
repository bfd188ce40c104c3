//! `set lldp`, `set interface lldp`.

use control::cli::{Text, is_word};
use net::prelude::*;

use super::{Config, Described, Discovery};

/// Set the global LLDP parameters.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set lldp")]
#[undo("=set lldp default")]
#[stage(Settings)]
struct SetLldp {
    /// reset to defaults, except for the other arguments
    default: bool,
    /// system name
    system_name: Option<Text>,
    /// transmit hold multiplier
    tx_hold: Option<u32>,
    /// transmit interval in seconds
    tx_interval: Option<u32>,
}

/// `set interface lldp INTERFACE [port-desc …] … [disable]`.
#[derive(Debug, PartialEq)]
struct SetInterface {
    interface: InterfaceIndex,
    described: Option<Described>,
}

impl Command for SetInterface {
    const PATHS: &'static [&'static str] = &["set interface lldp"];
    const ABOUT: &'static str = "Enable or disable LLDP on an interface";
    const USAGE: &'static str = "<interface> | sw_if_index <idx> [port-desc <string>] \
        [mgmt-ip4 <address>] [mgmt-ip6 <address>] [mgmt-oid <string>] [disable]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut interface, mut described, mut is_off) = (None, Described::default(), false);
        while !args.is_empty() {
            if args.keyword("port-desc") {
                described.port_desc = args.value::<Text>("port-desc")?.0;
            } else if args.keyword("mgmt-ip4") {
                described.mgmt_ip4 = Some(args.value::<Ipv4Addr>("mgmt-ip4")?);
            } else if args.keyword("mgmt-ip6") {
                described.mgmt_ip6 = Some(args.value::<Ipv6Addr>("mgmt-ip6")?);
            } else if args.keyword("mgmt-oid") {
                described.mgmt_oid = args.value::<String>("mgmt-oid")?.into_bytes();
            } else if args.keyword("disable") {
                is_off = true;
            } else if interface.is_none() {
                interface = Some(args.value("interface")?);
            } else {
                return Err(args.unknown());
            }
        }
        let interface = interface.ok_or_else(|| args.error("expected an interface"))?;
        Ok(Self { interface, described: (!is_off).then_some(described) })
    }
}

impl Print for SetInterface {
    const STAGE: Stage = Stage::Attachments;
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.interface);
        line.flag("disable", self.described.is_none());
        if let Some(Described { port_desc, mgmt_ip4, mgmt_ip6, mgmt_oid }) = &self.described {
            let oid = String::from_utf8_lossy(mgmt_oid);
            line.option("port-desc", Text::printed(port_desc).as_ref());
            line.option("mgmt-ip4", mgmt_ip4.as_ref());
            line.option("mgmt-ip6", mgmt_ip6.as_ref());
            line.option("mgmt-oid", Some(&oid).filter(|text| is_word(text)));
        }
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let all = router.own::<Discovery>();
    let usual = Config::default();
    if all.config != usual {
        let Config { system_name, tx_hold, tx_interval } = &all.config;
        lines.push(&SetLldp {
            default: false,
            system_name: Text::printed(system_name),
            tx_hold: Some(*tx_hold).filter(|n| *n != usual.tx_hold),
            tx_interval: Some(*tx_interval).filter(|n| *n != usual.tx_interval),
        });
    }
    for (interface, port) in &all.ports {
        // What no command can have is not in it: other programs set it.
        let mut described = port.described.clone();
        described.port_desc = Text::printed(&described.port_desc).unwrap_or_default().0;
        let is_text = std::str::from_utf8(&described.mgmt_oid).is_ok_and(is_word);
        described.mgmt_oid.truncate(if is_text { usize::MAX } else { 0 });
        lines.push(&SetInterface { interface: *interface, described: Some(described) });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetLldp| {
        let now = match c.default {
            true => Config::default(),
            false => router.own::<Discovery>().config.clone(),
        };
        let config = Config {
            system_name: c.system_name.map_or(now.system_name, |name| name.0),
            tx_hold: c.tx_hold.unwrap_or(now.tx_hold),
            tx_interval: c.tx_interval.unwrap_or(now.tx_interval),
        };
        Ok(super::configure(router, config)?)
    });
    cli.command(|router: &mut Router, c: SetInterface| {
        Ok(super::set(router, c.interface, c.described)?)
    });
}
