//! The user plane of mobile networks over segment routing (RFC 9433): local SIDs and policies that
//! translate GTP-U to segments and back.
//!
//! * *T.M.GTP4.D* (policy) and *End.M.GTP6.D*, *End.M.GTP6.D.Di*: GTP-U becomes segments. The
//!   tunnel travels in the last SID, behind the prefix that the operator names.
//! * *End.M.GTP4.E*, *End.M.GTP6.E*: segments become GTP-U, whose tunnel is read from the SID.
//! * *T.M.GTP4.DT*, *End.M.GTP6.DT*: what is inside GTP-U is looked up in a table.
//!
//! The outer traffic class and what is left of the hop limit go over to the new headers, so packets
//! that travel in circles come to an end.
#![forbid(unsafe_code)]

mod api;
mod gtp;
mod node;
mod session;
mod words;

use net::fib::NewKind;
use net::prelude::*;
use srv6::{Behavior, PolicyBehavior, add_behavior, add_policy_behavior};

pub use api::*;

use session::Sessions;
use words::{BEHAVIORS, Kind};

/// The user plane of mobile networks.
pub const FEATURE: Feature = Feature {
    name: "srv6mobile",
    about: "SRv6 mobile user plane: GTP-U translated to segments and back",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["srv6"],
    register,
    configuration: Configuration::None("its local SIDs and policies are printed with all others"),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let mut sessions = Sessions::new().map_err(refuse)?;
    node::add(router, &sessions).map_err(refuse)?;
    for kind in Kind::ALL {
        let link = if kind.is_policy() { Link::Ip4 } else { Link::Ip6 };
        let nodes = vec![(link, node::name(kind as u8).to_owned())];
        let made = router.add_object_kind(NewKind { nodes, describe: session::describe });
        sessions.kinds.push(made.map_err(refuse)?);
    }
    router.insert(sessions);
    for (keyword, kind, number) in BEHAVIORS {
        let (usage, about) = kind.usage();
        let has_table = kind.is_table();
        let (make, words, end) = (session::make, session::words, session::end);
        let number = *number;
        let common = Behavior { keyword, usage, about, number, has_table, make, words, end };
        match kind.is_policy() {
            true => add_policy_behavior(router, PolicyBehavior { carries: Link::Ip4, common }),
            false => add_behavior(router, common),
        }
    }
    srv6::on_policy_change(router, session::follow);
    api::register(&mut parts.api);
    Ok(())
}
