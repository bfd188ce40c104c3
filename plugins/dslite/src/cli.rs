//! `dslite …` and `show dslite …`.

use net::prelude::*;
use sessions::slices::Gather;
use translation::words::{AddressRange, below, word};

use crate::core::{NatSession, host_of};
use crate::state::{self, DsLite};

/// Add or delete addresses of the pool
#[derive(Command, Print, Debug, PartialEq)]
#[command("dslite add pool address")]
#[stage(Attachments)]
struct SetPool {
    /// first address, or first and last with - between them
    #[positional]
    addresses: AddressRange,
    /// delete
    del: bool,
}

/// Set the AFTR address, the provider's end of tunnels; :: for none
#[derive(Command, Print, Debug, PartialEq)]
#[command("dslite set aftr-tunnel-endpoint-address")]
#[undo("=dslite set aftr-tunnel-endpoint-address ::")]
#[stage(Attachments)]
struct SetAftr {
    /// MAC address
    #[positional]
    address: Ipv6Addr,
    /// IPv4 address
    ip4: Option<Ipv4Addr>,
}

/// Set the B4 address, the customer's end of the tunnel; :: for none
#[derive(Command, Print, Debug, PartialEq)]
#[command("dslite set b4-tunnel-endpoint-address")]
#[undo("=dslite set b4-tunnel-endpoint-address ::")]
#[stage(Attachments)]
struct SetB4 {
    /// MAC address
    #[positional]
    address: Ipv6Addr,
    /// IPv4 address
    ip4: Option<Ipv4Addr>,
}

macro_rules! shows {
    ($($(#[$doc:meta])* $name:ident, $path:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Command)]
        #[command($path)]
        struct $name {}
    )*};
}

shows! {
    /// Show the AFTR address
    ShowAftr, "show dslite aftr-tunnel-endpoint-address";
    /// Show the B4 address
    ShowB4, "show dslite b4-tunnel-endpoint-address";
    /// Show the address pool
    ShowPool, "show dslite pool";
    /// Show sessions
    ShowSessions, "show dslite sessions";
    /// Delete all sessions
    ClearSessions, "clear dslite sessions";
}

fn named(addr: Ipv4Addr) -> Option<Ipv4Addr> {
    Some(addr).filter(|addr| !addr.is_unspecified())
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let lite = router.own::<DsLite>();
    if lite.b4 != (Ipv4Addr::UNSPECIFIED, Ipv6Addr::UNSPECIFIED) {
        lines.push(&SetB4 { address: lite.b4.1, ip4: named(lite.b4.0) });
    }
    if lite.aftr != (Ipv4Addr::UNSPECIFIED, Ipv6Addr::UNSPECIFIED) {
        lines.push(&SetAftr { address: lite.aftr.1, ip4: named(lite.aftr.0) });
    }
    for addr in &lite.config.current().pool {
        lines.push(&SetPool { addresses: AddressRange([*addr; 2]), del: false });
    }
}

fn sessions(all: &[NatSession]) -> Vec<String> {
    let mut by_element = BTreeMap::<Ipv6Addr, Vec<String>>::new();
    for s in all {
        let (b4, host, port) = host_of(&s.forward);
        let (outside, outside_port) = (Ipv4Addr::from(s.reverse.dst), s.reverse.dst_port);
        let protocol = word(s.reverse.protocol());
        by_element.entry(b4).or_default().push(format!(
            "  in {host}:{port} out {outside}:{outside_port} protocol {protocol}\n    \
             total pkts {}, total bytes {}",
            s.packets, s.bytes
        ));
    }
    let mut lines = Vec::new();
    for (b4, all) in by_element {
        lines.push(format!("B4 {b4} {} sessions", all.len()));
        lines.extend(all);
    }
    lines
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, set: SetPool| {
        Ok(state::set_addresses(router, set.addresses.0, !set.del)?)
    });
    cli.command(|router: &mut Router, set: SetAftr| {
        Ok(state::set_aftr(router, (set.ip4.unwrap_or(Ipv4Addr::UNSPECIFIED), set.address))?)
    });
    cli.command(|router: &mut Router, set: SetB4| {
        Ok(state::set_b4(router, (set.ip4.unwrap_or(Ipv4Addr::UNSPECIFIED), set.address))?)
    });
    cli.command(|router: &mut Router, ShowAftr {}| {
        Ok(Output::list(vec![router.own::<DsLite>().aftr.1.to_string()]))
    });
    cli.command(|router: &mut Router, ShowB4 {}| {
        Ok(Output::list(vec![router.own::<DsLite>().b4.1.to_string()]))
    });
    cli.command(|router: &mut Router, ShowPool {}| {
        let pool = &router.own::<DsLite>().config.current().pool;
        let lines = pool.iter().map(Ipv4Addr::to_string);
        Ok(Output::list(below("DS-Lite pool:", lines)))
    });
    cli.task(|router: &mut Router, ShowSessions {}| {
        Ok(Box::new(Gather::first(state::slices(router), |_, found| {
            let found = found.map_err(|_| state::Error::NoAnswer)?;
            Ok(Output::list(sessions(&found)))
        })) as _)
    });
    cli.command(|router: &mut Router, ClearSessions {}| {
        Ok(state::remove_sessions(router, |_| true)?)
    });
}
