//! Commands that set bridge domains and their features.

use std::net::IpAddr;

use control::cli::{Args, Cli, Command, Error, Line, Output, Print, Text};
use control::configuration::Stage;
use net::{InterfaceIndex, Router};
use wire::MacAddr;

use super::arcs::input;
use super::domain::{self, DEFAULT_BITS};
use super::scan;
use super::state::Bridging;

/// Make a bridge domain, or delete it.
#[derive(Command, Print, Debug, Default, PartialEq)]
#[command("create bridge-domain")]
#[stage(Objects)]
pub(super) struct Create {
    /// its number
    #[positional]
    pub bridge_domain_id: u32,
    /// learn addresses
    pub learn: Option<u8>,
    /// forward what is for known addresses
    pub forward: Option<u8>,
    /// flood what is for unknown addresses
    pub uu_flood: Option<u8>,
    /// flood broadcasts and multicasts
    pub flood: Option<u8>,
    /// answer ARP requests for known owners
    pub arp_term: Option<u8>,
    /// ARP requests go to the interface for unknown addresses
    pub arp_ufwd: Option<u8>,
    /// minutes after which addresses are forgotten; 0 for never
    pub mac_age: Option<u8>,
    /// tag of the operator
    pub bd_tag: Option<Text>,
    /// delete it
    pub del: bool,
}

fn create(router: &mut Router, c: Create) -> Result<Output, Error> {
    if c.del {
        domain::remove(router, c.bridge_domain_id)?;
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
    let id = domain::add(router, Some(c.bridge_domain_id), bits, age)?;
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
                /// no longer
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
    /// Learn addresses in a bridge domain.
    DomainLearn("set bridge-domain learn") {
        /// the domain
        bridge_domain_id: u32
    } |router, on, at| set_domain(router, at, input::LEARN, on);
    /// Forward what is for known addresses in a bridge domain.
    DomainForward("set bridge-domain forward") {
        /// the domain
        bridge_domain_id: u32
    } |router, on, at| set_domain(router, at, input::FWD, on);
    /// Flood broadcasts and multicasts in a bridge domain.
    DomainFlood("set bridge-domain flood") {
        /// the domain
        bridge_domain_id: u32
    } |router, on, at| set_domain(router, at, input::FLOOD, on);
    /// Flood what is for unknown addresses in a bridge domain.
    DomainUuFlood("set bridge-domain uu-flood") {
        /// the domain
        bridge_domain_id: u32
    } |router, on, at| set_domain(router, at, input::UU_FLOOD, on);
    /// Answer ARP requests in a bridge domain for addresses with known owners.
    DomainArpTerm("set bridge-domain arp term") {
        /// the domain
        bridge_domain_id: u32
    } |router, on, at| set_domain(router, at, input::ARP_TERM, on);
    /// Send ARP requests of a bridge domain to its interface for unknown addresses.
    DomainArpUfwd("set bridge-domain arp-ufwd") {
        /// the domain
        bridge_domain_id: u32
    } |router, on, at| set_domain(router, at, input::ARP_UFWD, on);
    /// Rewrite frames of a bridge domain, where their interface says how.
    DomainRewrite("set bridge-domain rewrite") {
        /// the domain
        bridge_domain_id: u32
    } |router, on, at| Ok(domain::change(router, at, |domain| domain.rewrites = on)?);
    /// Learn addresses of an interface's frames.
    PortLearn("set interface l2 learn") {
        /// the interface
        interface: InterfaceIndex
    } |router, on, at| set_port(router, at, [input::LEARN, 0], on);
    /// Forward an interface's frames for known addresses.
    PortForward("set interface l2 forward") {
        /// the interface
        interface: InterfaceIndex
    } |router, on, at| set_port(router, at, [input::FWD, 0], on);
    /// Flood an interface's broadcasts and multicasts.
    PortFlood("set interface l2 flood") {
        /// the interface
        interface: InterfaceIndex
    } |router, on, at| set_port(router, at, [input::FLOOD, 0], on);
    /// Let out of an interface only frames that it would take in.
    PortFilter("set interface l2 efp-filter") {
        /// the interface
        interface: InterfaceIndex
    } |router, on, at| set_port(router, at, [0, 1 << 6], on);
}

/// Set after how many minutes a bridge domain forgets addresses.
#[derive(Command)]
#[command("set bridge-domain mac-age")]
struct SetAge {
    /// the domain
    #[positional]
    bridge_domain_id: u32,
    /// minutes; 0 for never
    #[positional]
    mins: u8,
}

/// Set how many addresses a bridge domain learns at most.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set bridge-domain learn-limit")]
#[undo("=set bridge-domain learn-limit {1} default")]
#[stage(Objects)]
pub(super) struct SetLimit {
    /// the domain
    #[positional]
    pub bridge_domain_id: u32,
    /// as many as new bridge domains
    pub default: bool,
    /// addresses
    #[positional]
    pub learn_limit: Option<u32>,
}

/// Set how many addresses new bridge domains learn at most.
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
    const ABOUT: &'static str = "Say who has an address, for requests in a bridge domain";
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
