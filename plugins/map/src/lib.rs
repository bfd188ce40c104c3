//! Addresses and ports of IPv4 mapped into addresses of IPv6: packets are put into IPv6 (MAP-E, RFC
//! 7597, and Lightweight 4over6, RFC 7596) or translated (MAP-T, RFC 7599), without state by flow,
//! at the border relay or at the customer's edge.
//!
//! A domain maps the addresses of a prefix, each shared by port sets. On interfaces of MAP packets
//! to these addresses become IPv6 packets to customers, and what comes from customers to the relay
//! becomes IPv4 packets again, if it comes from where address and port belong.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod domain;
mod encapsulate;
mod params;
mod params_cli;
mod prefixes;
mod state;
mod table;
mod translate;

use net::prelude::*;

pub use api::*;
pub use domain::Domain;
pub use params::Params;
pub use state::*;
pub use table::Error as Drops;

/// MAP.
pub const FEATURE: Feature = Feature {
    name: "map",
    about: "Mapping of Address and Port (MAP)",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6", "reassembly", "fragment"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Domains at most.
pub const MOST: usize = 1 << 20;

/// The setting of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnInterface {
    /// Packets are put into IPv6 and taken out.
    pub encapsulates: bool,
    /// Packets are translated.
    pub translates: bool,
}

/// Reasons why something cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// no domain {0}
    #[retval(NO_SUCH_ENTRY)]
    NoDomain(u32),
    /// the domain has no rule for PSID {0}
    #[retval(NO_SUCH_ENTRY)]
    NoRule(u16),
    /// {0}
    #[retval(INVALID_VALUE)]
    Unfit(&'static str),
    /// rules require a domain without EA bits; ip6 prefix {0} is not of a single customer
    #[retval(INVALID_VALUE)]
    NotForRules(Ip6Prefix),
    /// at most {MOST} domains
    #[retval(LIMIT_EXCEEDED)]
    Full,
    /// MAP is not enabled there
    #[retval(NO_SUCH_ENTRY)]
    NotOn,
    /// no room for the route to the next hop
    #[retval(LIMIT_EXCEEDED)]
    NoRoom,
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    // Before the setting forgets it.
    router.interfaces.observe(state::follow);
    router.attach::<OnInterface>().map_err(refuse)?;
    let readers = state::insert(router).map_err(refuse)?;
    encapsulate::add(router, &readers).map_err(refuse)?;
    router.attach_at::<OnInterface, _>([
        AttachedAt { arc: &IP4_UNICAST, node: "ip4-map", is_on: |on| on.encapsulates },
        AttachedAt { arc: &IP6_UNICAST, node: "ip6-map", is_on: |on| on.encapsulates },
        AttachedAt { arc: &IP4_UNICAST, node: "ip4-map-t", is_on: |on| on.translates },
        AttachedAt { arc: &IP6_UNICAST, node: "ip6-map-t", is_on: |on| on.translates },
    ]);
    cli::register(&mut parts.cli);
    params_cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
