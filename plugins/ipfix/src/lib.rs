//! Exporters of flow information (IPFIX, RFC 7011) over UDP. The first exporter always exists and
//! sends nothing until it has a collector; others are identified by theirs.
//!
//! A feature makes a [`Stream`] with the fields of its records and hands records over by
//! [`export`]; they are gathered into messages that fit the path, sent to all collectors within
//! five seconds. Templates go with the first record, to a collector that comes later at once, and
//! again in each collector's interval.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod message;
mod stream;

use net::prelude::*;

pub use api::*;
pub use message::Field;
pub use stream::{Stream, add_stream, export, flush, remove_stream, send_records};

/// The port of collectors.
pub const PORT: u16 = 4739;
/// Seconds between templates.
pub const INTERVAL: u32 = 20;
/// Bytes of a packet to a collector.
pub const PATH_MTU: u32 = 512;
/// Valid values.
const PATH_MTUS: std::ops::RangeInclusive<u32> = 68..=1450;
/// Exporters at most.
const MOST: usize = 256;

/// Exporters of flow information.
pub const FEATURE: Feature = Feature {
    name: "ipfix",
    about: "Exporters of flow information (IPFIX)",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ip4"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// An exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exporter {
    /// The collector's address; unspecified for none.
    pub collector: Ipv4Addr,
    /// Port.
    pub port: u16,
    /// The source address.
    pub src: Ipv4Addr,
    /// The routing table, if it is not the default one: its number.
    pub vrf: Option<u32>,
    /// Maximum packet length.
    pub path_mtu: u32,
    /// Seconds between templates.
    pub template_interval: u32,
    /// Whether datagrams have a checksum.
    pub udp_checksum: bool,
}

impl Default for Exporter {
    fn default() -> Self {
        Self {
            collector: Ipv4Addr::UNSPECIFIED,
            port: PORT,
            src: Ipv4Addr::UNSPECIFIED,
            vrf: None,
            path_mtu: PATH_MTU,
            template_interval: INTERVAL,
            udp_checksum: false,
        }
    }
}

/// The state.
struct Ipfix {
    /// By number, with the index of their tables; the first is always there.
    exporters: BTreeMap<u32, (Exporter, TableIndex)>,
    streams: BTreeMap<u32, Stream>,
}

/// Reasons why something cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no table {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
    /// an exporter needs a source address
    #[retval(INVALID_SRC_ADDRESS)]
    NoSource,
    /// an exporter needs a collector
    #[retval(INVALID_DST_ADDRESS)]
    NoCollector,
    /// path-mtu must be 68 to 1450, not {0}
    #[retval(INVALID_VALUE)]
    PathMtu(u32),
    /// no exporter for collector {0}
    #[retval(NO_SUCH_ENTRY)]
    Unknown(Ipv4Addr),
    /// the exporter for collector {0} is the first one, which cannot be deleted
    #[retval(INVALID_VALUE)]
    First(Ipv4Addr),
    /// at most {MOST} exporters
    #[retval(LIMIT_EXCEEDED)]
    Full,
}

/// Sets the first exporter; one without a collector sends nothing. It takes the place of another
/// one for this collector.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_first(router: &mut Router, exporter: Exporter) -> Result<(), Error> {
    put(router, 0, exporter)?;
    let all = all(router).skip(1);
    let same =
        all.filter(|(_, other)| other.collector == exporter.collector).map(|(n, _)| n).next();
    same.into_iter().for_each(|number| forget(router, number));
    Ok(())
}

/// Makes an exporter, or changes the one for this collector; returns its number.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(router: &mut Router, exporter: Exporter) -> Result<u32, Error> {
    if exporter.collector.is_unspecified() {
        return Err(Error::NoCollector);
    }
    let all = &router.own::<Ipfix>().exporters;
    let known = all.iter().find(|(_, (e, _))| e.collector == exporter.collector);
    let free = || (1..MOST as u32).find(|number| !all.contains_key(number));
    let number = known.map(|(number, _)| *number).or_else(free).ok_or(Error::Full)?;
    put(router, number, exporter)?;
    Ok(number)
}

/// Deletes the exporter for a collector, unless it is the first.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn remove(router: &mut Router, collector: Ipv4Addr) -> Result<(), Error> {
    let all = &router.own::<Ipfix>().exporters;
    let found = all.iter().find(|(_, (e, _))| e.collector == collector);
    let number = found.map(|(number, _)| *number).ok_or(Error::Unknown(collector))?;
    if number == 0 {
        return Err(Error::First(collector));
    }
    forget(router, number);
    Ok(())
}

fn forget(router: &mut Router, number: u32) {
    let gone = router.own_mut::<Ipfix>().exporters.remove(&number);
    stream::forget(router, number);
    gone.into_iter().for_each(|(_, table)| router.use_table_of(Link::Ip4, table, false));
}

fn put(router: &mut Router, number: u32, exporter: Exporter) -> Result<(), Error> {
    if !PATH_MTUS.contains(&exporter.path_mtu) {
        return Err(Error::PathMtu(exporter.path_mtu));
    }
    if exporter.src.is_unspecified() && !exporter.collector.is_unspecified() {
        return Err(Error::NoSource);
    }
    let id = exporter.vrf.unwrap_or(0);
    // The default table is there, whether anybody has named it yet or not.
    let default = (id == 0).then_some(TableIndex::DEFAULT);
    let table = router.fib.table::<Ip4>(id).or(default).ok_or(Error::NoTable(id))?;
    router.use_table_of(Link::Ip4, table, true);
    let old = router.own_mut::<Ipfix>().exporters.insert(number, (exporter, table));
    old.into_iter().for_each(|(_, table)| router.use_table_of(Link::Ip4, table, false));
    stream::forget(router, number);
    // A later collector gets the templates.
    flush(router);
    Ok(())
}

/// All exporters, by number.
pub fn all(router: &Router) -> impl Iterator<Item = (u32, &Exporter)> {
    router.own::<Ipfix>().exporters.iter().map(|(number, (exporter, _))| (*number, exporter))
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let first = (Exporter::default(), TableIndex::DEFAULT);
    let (exporters, streams) = (BTreeMap::from([(0, first)]), BTreeMap::new());
    parts.router.insert(Ipfix { exporters, streams });
    stream::spawn(parts.router);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
