//! Proxies for services that know no segment routing (draft-ietf-spring-sr-service-programming):
//! local SIDs that give packets to a service without their segments, and put those back on what the
//! service returns.
//!
//! * *End.AD* (dynamic): headers come off; the last ones that came are put on what returns.
//! * *End.AD.Flow* (dynamic, by flow): headers come off; those that came last with packets of the
//!   same flow are put on what returns.
//! * *End.AS* (static): headers come off; what returns gets headers that the operator wrote down.
//! * *End.AM* (masquerading): headers stay, the destination is the last segment meanwhile.
//!
//! What the dynamic proxy puts on is learned by control: a node says it when it changes. Flows are
//! learned by the nodes themselves, on the thread that has the flow.
#![forbid(unsafe_code)]

mod flow;
mod masquerade;
mod node;
mod proxy;

use net::ethernet::L2_INPUT;
use net::interface::DEVICE_INPUT;
use net::prelude::*;
use srv6::{Behavior, add_behavior};

pub use masquerade::Error as MasqueradeDrops;
pub use node::Error as Drops;

use proxy::{Back, Proxies, Style};

/// Dynamic proxies.
pub const DYNAMIC: Feature = Feature {
    name: "srv6ad",
    about: "Dynamic SRv6 proxy",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["srv6", "l2"],
    register: |parts| register::<{ Style::DYNAMIC }>(parts, "end.ad", 20),
    configuration: Configuration::None("its local SIDs are printed with all others"),
};

/// Dynamic proxies that tell flows apart.
pub const FLOW: Feature = Feature {
    name: "srv6adflow",
    about: "Dynamic SRv6 proxy that tells flows apart",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["srv6", "sessions", "translation"],
    register: register_flow,
    configuration: Configuration::None("its local SIDs are printed with all others"),
};

/// Static proxies.
pub const STATIC: Feature = Feature {
    name: "srv6as",
    about: "Static SRv6 proxy",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["srv6", "l2"],
    register: |parts| register::<{ Style::STATIC }>(parts, "end.as", 21),
    configuration: Configuration::None("its local SIDs are printed with all others"),
};

/// Masquerading proxies.
pub const MASQUERADING: Feature = Feature {
    name: "srv6am",
    about: "Masquerading SRv6 proxy",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["srv6", "l2"],
    register: |parts| register::<{ Style::MASQUERADING }>(parts, "end.am", 22),
    configuration: Configuration::None("its local SIDs are printed with all others"),
};

fn usage(style: u8) -> (&'static str, &'static str) {
    match style {
        Style::DYNAMIC => (
            "[nh <next-hop>] oif <interface> iif <interface>",
            "give what is inside to a service, and put the headers on that came last",
        ),
        Style::FLOW => (
            "nh <next-hop> oif <interface> iif <interface>",
            "give what is inside to a service, and put the headers on that its flow came with last",
        ),
        Style::STATIC => (
            "[nh <next-hop>] oif <interface> iif <interface> src <address> next <segment>...",
            "give what is inside to a service, and put these headers on",
        ),
        _ => (
            "nh <next-hop> oif <interface> iif <interface>",
            "give packets to a service under their last segment",
        ),
    }
}

fn register<const STYLE: u8>(
    parts: &mut Parts,
    keyword: &'static str,
    number: u8,
) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let backs = router.attach::<Back<STYLE>>().map_err(refuse)?;
    let no_memory = |e: io::Error| refuse(e);
    let proxies = Proxies::<STYLE>::new().map_err(no_memory)?;
    if STYLE == Style::MASQUERADING {
        masquerade::add(router, proxies.reader()).map_err(refuse)?;
        let on: fn(&Back<STYLE>) -> bool = |back| back.0.is_some();
        let node = masquerade::BACK;
        router.attach_at::<Back<STYLE>, _>([AttachedAt { arc: &IP6_UNICAST, node, is_on: on }]);
    } else {
        node::add::<STYLE>(router, &proxies, &backs).map_err(refuse)?;
        let [frames, ip4, ip6] = node::backs(STYLE);
        router.attach_at::<Back<STYLE>, _>([
            AttachedAt { arc: &DEVICE_INPUT, node: frames, is_on: |back| back.is_of(0) },
            AttachedAt { arc: &L2_INPUT, node: frames, is_on: |back| back.is_of(0) },
            AttachedAt { arc: &IP4_UNICAST, node: ip4, is_on: |back| back.is_of(4) },
            AttachedAt { arc: &IP6_UNICAST, node: ip6, is_on: |back| back.is_of(6) },
        ]);
    }
    router.events.handle(proxy::learn::<STYLE>);
    finish(router, proxies, keyword, number, proxy::end::<STYLE>)
}

fn register_flow(parts: &mut Parts) -> Result<(), Refused> {
    const STYLE: u8 = Style::FLOW;
    let router = &mut *parts.router;
    let backs = router.attach::<Back<STYLE>>().map_err(refuse)?;
    let proxies = Proxies::<STYLE>::new().map_err(refuse)?;
    flow::add(router, proxies.reader(), &backs)?;
    let [ip4, ip6] = flow::BACKS;
    router.attach_at::<Back<STYLE>, _>([
        AttachedAt { arc: &IP4_UNICAST, node: ip4, is_on: |back| back.is_of(4) },
        AttachedAt { arc: &IP6_UNICAST, node: ip6, is_on: |back| back.is_of(6) },
    ]);
    finish(router, proxies, "end.ad.flow", 23, flow::end)
}

/// Adds the behavior of a style, whose nodes are in the graph.
fn finish<const STYLE: u8>(
    router: &mut Router,
    mut proxies: Proxies<STYLE>,
    keyword: &'static str,
    number: u8,
    end: fn(&mut Router, u32),
) -> Result<(), Refused> {
    proxies.add_kind(router).map_err(refuse)?;
    router.insert(proxies);
    let (usage, about) = usage(STYLE);
    add_behavior(
        router,
        Behavior {
            keyword,
            usage,
            about,
            number,
            has_table: false,
            make: proxy::make::<STYLE>,
            words: proxy::words::<STYLE>,
            end,
        },
    );
    router.interfaces.observe(forget::<STYLE>);
    Ok(())
}

/// Stops sending to a deleted interface.
fn forget<const STYLE: u8>(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change == Change::Deleting {
        proxy::forget::<STYLE>(router, interface);
    }
}
