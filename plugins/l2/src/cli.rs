//! Commands that set bridge domains and their features.

use control::cli::Text;
use net::prelude::*;

use super::arcs::input;
use super::domain::{self, DEFAULT_BITS};
use super::scan;
use super::state::Bridging;

/// Create or delete a bridge domain.
#[derive(Command, Print, Debug, Default, PartialEq)]
#[command("create bridge-domain")]
#[stage(Objects)]
pub(super) struct Create {
    /// its number; one that is free when it is left out
    #[positional]
    pub bridge_domain_id: Option<u32>,
    /// learn addresses
    pub learn: Option<u8>,
    /// forward known unicast
    pub forward: Option<u8>,
    /// flood unknown unicast
    pub uu_flood: Option<u8>,
    /// flood broadcast and multicast frames
    pub flood: Option<u8>,
    /// ARP termination
    pub arp_term: Option<u8>,
    /// send ARP requests to the unknown-unicast interface
    pub arp_ufwd: Option<u8>,
    /// MAC age in minutes; 0 for no ageing
    pub mac_age: Option<u8>,
    /// operator-defined tag
    pub bd_tag: Option<Text>,
    /// delete
    pub del: bool,
}

fn create(router: &mut Router, c: Create) -> Result<Output, Error> {
    let is_bare = c == Create::default();
    if c.del || is_bare {
        let id = c.bridge_domain_id.ok_or("missing bridge-domain-id")?;
        domain::remove(router, id)?;
        return Ok(Output::none());
    }
    let features = [
        (c.learn, input::LEARN),
        (c.forward, input::FWD),
        (c.uu_flood, input::UU_FLOOD),
        (c.flood, input::FLOOD),
        (c.arp_term, input::ARP_TERM),
        (c.arp_ufwd, input::ARP_UFWD),
    ];
    let set = |bits: u32, (on, bit): (Option<u8>, u32)| match on {
        None => bits,
        Some(0) => bits & !bit,
        Some(_) => bits | bit,
    };
    let bits = features.into_iter().fold(DEFAULT_BITS, set);
    let age = c.mac_age.unwrap_or(0);
    let id = domain::add(router, c.bridge_domain_id, bits, age)?;
    domain::change(router, id, |domain| domain.tag = c.bd_tag.unwrap_or_default().0)?;
    Ok(Output::text(format!("bridge-domain {id}\n")))
}

/// A command that switches one feature of a domain, or of an interface.
macro_rules! switches {
    ($(
        $(#[$doc:meta])*
        $name:ident($path:literal) { $(#[$what:meta])* $id:ident: $ty:ty }
        |$router:ident, $on:ident, $at:ident| $work:expr;
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Command, Print, Debug, PartialEq)]
            #[command($path)]
            #[stage(Attachments)]
            pub(super) struct $name {
                $(#[$what])*
                #[positional]
                pub $id: $ty,
                /// disable
                pub disable: bool,
            }
        )*
        fn switches(cli: &mut Cli<Router>) {
            $(cli.command(|$router: &mut Router, c: $name| {
                let ($at, $on) = (c.$id, !c.disable);
                $work
            });)*
        }
    };
}

fn set_domain(router: &mut Router, id: u32, bit: u32, on: bool) -> Result<(), Error> {
    let set = |bits: u32| if on { bits | bit } else { bits & !bit };
    Ok(domain::change(router, id, |domain| domain.bits = set(domain.bits))?)
}

fn set_port(router: &mut Router, i: InterfaceIndex, bits: [u32; 2], on: bool) -> Result<(), Error> {
    domain::set_bits(router, i, bits, on)?;
    Ok(())
}

switches! {
    /// Enable or disable MAC learning in a bridge domain.
    DomainLearn("set bridge-domain learn") {
        /// bridge domain
        bridge_domain_id: u32
    } |router, on, at| set_domain(router, at, input::LEARN, on);
    /// Enable or disable unicast forwarding in a bridge domain.
    DomainForward("set bridge-domain forward") {
        /// bridge domain
        bridge_domain_id: u32
    } |router, on, at| set_domain(router, at, input::FWD, on);
    /// Enable or disable broadcast and multicast flooding in a bridge domain.
    DomainFlood("set bridge-domain flood") {
        /// bridge domain
        bridge_domain_id: u32
    } |router, on, at| set_domain(router, at, input::FLOOD, on);
    /// Enable or disable unknown-unicast flooding in a bridge domain.
    DomainUuFlood("set bridge-domain uu-flood") {
        /// bridge domain
        bridge_domain_id: u32
    } |router, on, at| set_domain(router, at, input::UU_FLOOD, on);
    /// Enable or disable ARP termination in a bridge domain.
    DomainArpTerm("set bridge-domain arp term") {
        /// bridge domain
        bridge_domain_id: u32
    } |router, on, at| set_domain(router, at, input::ARP_TERM, on);
    /// Enable or disable sending ARP requests to the unknown-unicast interface.
    DomainArpUfwd("set bridge-domain arp-ufwd") {
        /// bridge domain
        bridge_domain_id: u32
    } |router, on, at| set_domain(router, at, input::ARP_UFWD, on);
    /// Enable or disable frame rewrite in a bridge domain.
    DomainRewrite("set bridge-domain rewrite") {
        /// bridge domain
        bridge_domain_id: u32
    } |router, on, at| Ok(domain::change(router, at, |domain| domain.rewrites = on)?);
    /// Enable or disable MAC learning on an interface.
    PortLearn("set interface l2 learn") {
        /// interface
        interface: InterfaceIndex
    } |router, on, at| set_port(router, at, [input::LEARN, 0], on);
    /// Enable or disable unicast forwarding on an interface.
    PortForward("set interface l2 forward") {
        /// interface
        interface: InterfaceIndex
    } |router, on, at| set_port(router, at, [input::FWD, 0], on);
    /// Enable or disable broadcast and multicast flooding on an interface.
    PortFlood("set interface l2 flood") {
        /// interface
        interface: InterfaceIndex
    } |router, on, at| set_port(router, at, [input::FLOOD, 0], on);
    /// Enable or disable the egress filter: transmit only frames the interface would accept.
    PortFilter("set interface l2 efp-filter") {
        /// interface
        interface: InterfaceIndex
    } |router, on, at| set_port(router, at, [0, 1 << 6], on);
}

/// Set the MAC age of a bridge domain.
#[derive(Command)]
#[command("set bridge-domain mac-age")]
struct SetAge {
    /// bridge domain
    #[positional]
    bridge_domain_id: u32,
    /// minutes; 0 for no ageing
    #[positional]
    mins: u8,
}

/// Set the MAC learn limit of a bridge domain.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set bridge-domain learn-limit")]
#[undo("=set bridge-domain learn-limit {1} default")]
#[stage(Objects)]
pub(super) struct SetLimit {
    /// bridge domain
    #[positional]
    pub bridge_domain_id: u32,
    /// the limit of new bridge domains
    pub default: bool,
    /// addresses
    #[positional]
    pub learn_limit: Option<u32>,
}

/// Set the MAC learn limit of new bridge domains.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set bridge-domain default-learn-limit")]
#[undo("=set bridge-domain default-learn-limit 16777216")]
#[stage(Objects)]
pub(super) struct SetDefaultLimit {
    /// addresses
    #[positional]
    pub maxentries: u32,
}

/// `set bridge-domain arp entry ID {ADDRESS MAC [del] | del-all}`.
#[derive(Debug, PartialEq)]
pub(super) struct SetOwner {
    pub id: u32,
    /// Address, its owner, and whether that is no longer so; all of them if `None`.
    pub entry: Option<(IpAddr, MacAddr, bool)>,
}

impl Print for SetOwner {
    const STAGE: Stage = Stage::Objects;
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.id);
        match &self.entry {
            None => line.word("del-all"),
            Some((ip, mac, del)) => line.value(ip).value(mac).flag("del", *del),
        };
    }
}

impl Command for SetOwner {
    const PATHS: &'static [&'static str] = &["set bridge-domain arp entry"];
    const ABOUT: &'static str = "Add or delete an ARP termination entry of a bridge domain";
    const USAGE: &'static str = "<bridge-domain-id> {<ip-addr> <mac-addr> [del] | del-all}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let id = args.value("bridge domain")?;
        if args.keyword("del-all") {
            return Ok(Self { id, entry: None });
        }
        let (ip, mac) = (args.value("address")?, args.value("MAC address")?);
        Ok(Self { id, entry: Some((ip, mac, args.keyword("del"))) })
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    switches(cli);
    cli.command(create);
    cli.command(|router: &mut Router, c: SetAge| {
        domain::change(router, c.bridge_domain_id, |domain| domain.mac_age = c.mins)?;
        scan::wake(router);
        Ok(())
    });
    cli.command(|router: &mut Router, c: SetLimit| {
        let usual = Some(router.own::<Bridging>().default_limit).filter(|_| c.default);
        let limit = usual.or(c.learn_limit).ok_or("missing learn-limit")?;
        Ok::<_, Error>(domain::change(router, c.bridge_domain_id, |domain| domain.limit = limit)?)
    });
    cli.command(|router: &mut Router, c: SetDefaultLimit| {
        router.own_mut::<Bridging>().default_limit = c.maxentries;
        Ok(())
    });
    cli.command(|router: &mut Router, c: SetOwner| match c.entry {
        Some((ip, mac, del)) => Ok(domain::set_owner(router, c.id, ip, (!del).then_some(mac))?),
        None => Ok(domain::change(router, c.id, |domain| domain.owners = Default::default())?),
    });
}
