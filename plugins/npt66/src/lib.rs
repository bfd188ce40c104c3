//! Network prefix translation of IPv6 (NPTv6, RFC 6296): sources of what an interface sends have
//! another prefix outside, and destinations of what it receives are given the internal one back.
//!
//! The translation keeps the checksums of what packets carry: a word behind the prefix takes up the
//! difference of both prefixes. What ICMPv6 errors quote is translated along.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod node;
mod prefix;

use net::ip6::IP6_OUTPUT;
use net::prelude::*;
use wire::prefix::Ip6Prefix;

pub use api::Npt66BindingAddDel;
pub use prefix::Binding;

/// Network prefix translation.
pub const FEATURE: Feature = Feature {
    name: "npt66",
    about: "NPTv6 plugin",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip6"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// The bindings of an interface.
pub type Bindings = Vec<Binding>;

/// Reasons why a binding is not made or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// prefix {0} is longer than 64 bits
    #[retval(INVALID_VALUE)]
    TooLong(Ip6Prefix),
    /// prefix {0} belongs to another binding of the interface
    #[retval(VALUE_EXIST)]
    Exists(Ip6Prefix),
    /// the interface has no such binding of {0}
    #[retval(NO_SUCH_ENTRY)]
    Unknown(Ip6Prefix),
}

/// Translates between two prefixes on an interface, as it may already do.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(
    router: &mut Router,
    interface: InterfaceIndex,
    internal: Ip6Prefix,
    external: Ip6Prefix,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(NoInterface)?;
    let (internal, external) = (internal.network(), external.network());
    for prefix in [internal, external] {
        if prefix.prefix_len() > 64 {
            return Err(Error::TooLong(prefix));
        }
    }
    let mut all = router.setting::<Bindings>(interface);
    if all.iter().any(|b| (b.internal, b.external) == (internal, external)) {
        return Ok(());
    }
    if all.iter().any(|b| b.internal == internal) {
        return Err(Error::Exists(internal));
    }
    if all.iter().any(|b| b.external == external) {
        return Err(Error::Exists(external));
    }
    all.push(Binding::new(internal, external));
    // The longest prefix that fits is found first, in either direction the same one.
    all.order_by_key(|b| std::cmp::Reverse((b.internal.prefix_len(), b.external.prefix_len())));
    Ok(router.put(interface, all)?)
}

/// Translates between two prefixes no longer.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn remove(
    router: &mut Router,
    interface: InterfaceIndex,
    internal: Ip6Prefix,
    external: Ip6Prefix,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(NoInterface)?;
    let (internal, external) = (internal.network(), external.network());
    let mut all = router.setting::<Bindings>(interface);
    let at = all.iter().position(|b| b.internal == internal && b.external == external);
    all.remove(at.ok_or(Error::Unknown(internal))?);
    Ok(router.put(interface, all)?)
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let bindings = router.attach::<Bindings>().map_err(refuse)?;
    node::add(router, &bindings).map_err(refuse)?;
    router.attach_at::<Bindings, _>([
        AttachedAt { arc: &IP6_UNICAST, node: node::NAMES[0], is_on: |b| !b.is_empty() },
        AttachedAt { arc: &IP6_OUTPUT, node: node::NAMES[1], is_on: |b| !b.is_empty() },
    ]);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
