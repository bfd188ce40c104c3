//! Sessions of classifier tables as IPFIX records (RFC 7011): addresses, protocol and ports under
//! the table's mask, and the packets that were equal.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod record;

use std::collections::BTreeMap;

use classify::Classifier;
use control::feature::{Refusal, Refused};
use net::{Configuration, Feature, Origin, Parts, Router};
use wire::IpVersion;

pub use api::*;

/// Tables at most.
const MOST: usize = 1024;
/// Seconds between two walks through the tables.
const INTERVAL: f64 = 20.0;
/// Sessions looked at in one go, and seconds until the next ones.
const SLICE: usize = 256;
const PAUSE: f64 = 0.01;

/// Sessions of classifier tables as IPFIX records.
pub const FEATURE: Feature = Feature {
    name: "ipfix_classify",
    about: "Sessions of classifier tables as IPFIX records",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["classify", "ipfix"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// The observation domain of the records, and the port that they come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Observation domain.
    pub domain: u32,
    /// Source port.
    pub src_port: u16,
}

impl Default for Stream {
    fn default() -> Self {
        Self { domain: 1, src_port: ipfix::PORT }
    }
}

/// A table that is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// IP version of its packets.
    pub version: IpVersion,
    /// Protocol of its packets, if all have one: 6 or 17 for records with ports.
    pub protocol: u8,
    /// Number of its stream of records.
    stream: u32,
}

/// The state.
#[derive(Default)]
struct Exports {
    stream: Stream,
    tables: BTreeMap<u32, Table>,
    /// Table and session that are next in a walk.
    next: Option<(u32, u32)>,
}

/// Reasons for refusing a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no classifier table {0}
    #[retval(NO_SUCH_TABLE)]
    NoTable(u32),
    /// table {0} is exported already
    #[retval(VALUE_EXIST)]
    Exists(u32),
    /// table {0} is not exported
    #[retval(NO_SUCH_ENTRY)]
    Unknown(u32),
    /// at most {MOST} tables
    #[retval(LIMIT_EXCEEDED)]
    Full,
}

/// Sets domain and port of the records.
pub fn set_stream(router: &mut Router, stream: Stream) {
    let exports = router.own_mut::<Exports>();
    exports.stream = stream;
    let tables: Vec<_> = exports.tables.iter().map(|(number, table)| (*number, *table)).collect();
    for (number, table) in tables {
        ipfix::remove_stream(router, table.stream);
        put(router, number, table.version, table.protocol);
    }
}

fn put(router: &mut Router, number: u32, version: IpVersion, protocol: u8) {
    let Stream { domain, src_port } = router.own::<Exports>().stream;
    let fields = record::fields(version, protocol);
    let stream = ipfix::add_stream(router, domain, src_port, fields);
    let table = Table { version, protocol, stream };
    router.own_mut::<Exports>().tables.insert(number, table);
}

/// Exports the sessions of a table.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(
    router: &mut Router,
    number: u32,
    version: IpVersion,
    protocol: u8,
) -> Result<(), Error> {
    let tables = &router.own::<Exports>().tables;
    if tables.contains_key(&number) {
        return Err(Error::Exists(number));
    }
    if tables.len() == MOST {
        return Err(Error::Full);
    }
    let is_there = router.own::<Classifier>().table(number).is_some();
    is_there.then_some(()).ok_or(Error::NoTable(number))?;
    put(router, number, version, protocol);
    Ok(())
}

/// Ends the export of a table.
///
/// # Errors
/// [`Error::Unknown`].
pub fn remove(router: &mut Router, number: u32) -> Result<(), Error> {
    let gone = router.own_mut::<Exports>().tables.remove(&number);
    ipfix::remove_stream(router, gone.ok_or(Error::Unknown(number))?.stream);
    Ok(())
}

/// Tables that are exported, by number.
pub fn all(router: &Router) -> impl Iterator<Item = (u32, &Table)> {
    router.own::<Exports>().tables.iter().map(|(number, table)| (*number, table))
}

/// Exports some sessions; the next ones a little later, or all again in the interval.
fn walk(router: &mut Router, _: u64) {
    let next = router.own::<Exports>().next.unwrap_or_default();
    let mut left = SLICE;
    let mut records = Vec::new();
    let mut pause = None;
    let tables = router.own::<Exports>().tables.range(next.0..);
    'tables: for (number, table) in tables {
        let Some(info) = router.own::<Classifier>().table(*number) else { continue };
        let mut at = if *number == next.0 { next.1 } else { 0 };
        while let Some((session, found)) = info.sessions.from(at) {
            if left == 0 {
                pause = Some((*number, session));
                break 'tables;
            }
            left -= 1;
            at = session + 1;
            let (hits, _) = info.sessions.seen(session, found);
            if hits > 0 {
                let bytes = record::of(table, info.table, &found.bytes(&info.table.mask), hits);
                records.push((table.stream, bytes));
            }
        }
    }
    records.iter().for_each(|(stream, record)| ipfix::export(router, *stream, record));
    router.own_mut::<Exports>().next = pause;
    router.after(if pause.is_some() { PAUSE } else { INTERVAL }, walk, 0);
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    parts.router.insert(Exports::default());
    let uses = |router: &Router, number| router.own::<Exports>().tables.contains_key(&number);
    classify::add_user(parts.router, uses);
    parts.router.after(INTERVAL, walk, 0);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
