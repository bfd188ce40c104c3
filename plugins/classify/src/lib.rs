//! Classifier: tables of sessions in which packets are looked up by bytes under a mask.
//!
//! A table has a mask of one to five vectors of 16 bytes, some vectors left out before them, and
//! sessions: what a packet's bytes are equal to under the mask. What is not found is sought in the
//! next table of a chain. What follows from it is said by whom the table is for: ACLs on what an
//! interface receives or sends, flows, what is punted, routes, where frames go, policers, and
//! filters of traces and captures.
#![forbid(unsafe_code)]

mod api;
mod cli;
pub mod edges;
pub mod filter;
mod filter_api;
mod key;
mod node;
mod reasons;
mod session_api;
mod set_cli;
mod show;
mod steer;
mod table;
mod tables;
mod uses;
mod words;

use net::ethernet::L2_INPUT;
use net::prelude::*;

pub use api::*;
pub use cli::Match as MatchWords;
pub use filter_api::*;
pub use key::{Key, Mask, VECTOR};
pub use node::{Classified, Classify, Layer2, NAMES};
pub use session_api::*;
pub use steer::{own_tables, set_own};
pub use table::{
    Action, From, Headers, Hit, Match, Moment, NONE, Session, Sessions, Table, seek, walk,
};
pub use tables::{
    Classifier, Info, NewSession, NewTable, SessionAction, add_session, add_table, add_user,
    end_redirect, interfaces, name_policers, reader, redirect, remove_session, remove_table,
    set_next,
};
pub use uses::{Kind, Tables, Use, punted, set, set_frames, set_punted};

/// Reasons why something about tables is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// no such table
    #[retval(NO_SUCH_TABLE)]
    NoTable,
    /// no such table for IPv6
    #[retval(NO_SUCH_TABLE_2)]
    NoIp6Table,
    /// no such table for other frames
    #[retval(NO_SUCH_TABLE_3)]
    NoOtherTable,
    /// no such classifier table
    #[retval(NO_SUCH_ENTRY)]
    NoTableThere,
    /// no such policer
    #[retval(NO_SUCH_ENTRY)]
    NoPolicer,
    /// no policers
    #[retval(UNSUPPORTED)]
    NoPolicers,
    /// no bridging
    #[retval(UNSUPPORTED)]
    NoLayer2,
    /// table {0} exists
    #[retval(VALUE_EXIST)]
    Exists(u32),
    /// the session redirects packets: ip session redirect
    #[retval(IN_USE)]
    Redirects,
    /// a session that does not redirect packets has this match
    #[retval(VALUE_EXIST)]
    HasSession,
    /// no such session
    #[retval(NO_SUCH_ENTRY)]
    NoSession,
    /// no such table
    #[retval(NO_SUCH_ENTRY)]
    NotThere,
    /// no such filter
    #[retval(NO_SUCH_ENTRY)]
    NoFilter,
    /// a mask has 1 to 5 vectors of 16 bytes
    #[retval(INVALID_VALUE)]
    Mask,
    /// at most 127 vectors can be skipped
    #[retval(INVALID_VALUE)]
    Skip,
    /// the match is shorter than the skipped vectors and the mask
    #[retval(INVALID_VALUE)]
    Match,
    /// a table needs at least one bucket
    #[retval(INVALID_VALUE)]
    NoBuckets,
    /// a table needs memory
    #[retval(INVALID_MEMORY_SIZE)]
    NoMemory,
    /// chained tables must not form a loop, nor exceed 64
    #[retval(INVALID_VALUE_2)]
    Chain,
    /// the table is in use
    #[retval(IN_USE)]
    InUse,
    /// at most 65536 tables
    #[retval(LIMIT_EXCEEDED)]
    Tables,
    /// the table's memory is full
    #[retval(TABLE_TOO_BIG)]
    Sessions,
    /// out of memory
    #[retval(TABLE_TOO_BIG)]
    Room,
    /// no room for table {0}
    #[retval(NO_SUCH_FIB)]
    NoFib(u32),
}

/// The classifier.
pub const FEATURE: Feature = Feature {
    name: "classify",
    about: "Classifier: tables, ACLs, filters of traces and captures",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ip4", "ip6", "trace"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let all = Classifier::new().map_err(refuse)?;
    let (punted, reader) = uses::Punted::new();
    let interfaces = router.attach::<Tables>().map_err(refuse)?;
    node::add(router, &all.reader(), &interfaces, &reader).map_err(refuse)?;
    router.attach_at(uses::places());
    // Frames are bridged only where layer 2 is.
    if router.engine.index_of(L2_INPUT.starts[0]).is_some() {
        node::add_layer2(router, &all.reader(), &interfaces, &reader).map_err(refuse)?;
        router.attach_at(uses::places2());
    }
    router.insert(all);
    router.insert(tables::OfInterfaces(interfaces));
    router.insert(punted);
    steer::register(router)?;
    router.interfaces.observe(filter::follow);
    set_cli::register(&mut parts.cli);
    cli::register(&mut parts.cli);
    show::register(&mut parts.cli);
    api::register(&mut parts.api);
    session_api::register(&mut parts.api);
    filter_api::register(&mut parts.api);
    Ok(())
}
