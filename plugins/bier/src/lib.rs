//! Bit-indexed explicit replication (RFC 8279, RFC 8296): packets to many, whose header says in a
//! bit string where they are to go. Routers between keep no state for groups.
//!
//! A packet comes into a table by a label, by UDP, or because a multicast route leads to a header
//! that is put on here. What is for this router leaves the domain by a disposition table, as what
//! is below a label does.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod dispose;
mod impose;
mod input;
mod lookup;
mod output;
mod show;
mod table;

use graph::Claim;
use net::fib::types::FibPathType;
use net::fib::{self, NewKind, Object, ObjectKind, PathType, PathWord};
use net::prelude::*;

pub use api::*;
pub use input::Error as InputDrops;
pub use lookup::Error as LookupDrops;
pub use table::{BierPath, TableId};

use dispose::Dispositions;
use impose::{Imposition, Inner};
use table::Tables;

/// Most headers that are put on.
const MOST_IMPOSITIONS: usize = 1 << 16;

/// The packet left a domain: it does not return there.
const LEFT: Flags = Flags::inherited(2);

/// The kinds of objects.
#[derive(Clone, Copy)]
pub(crate) struct Kinds {
    /// Tables that labels lead to.
    table: ObjectKind,
    /// Headers that multicast routes lead to.
    imposition: ObjectKind,
}

/// State of the control plane.
pub(crate) struct Bier {
    tables: Tables,
    impositions: SharedSlab<Imposition>,
    /// Numbers of those there are.
    imposed: BTreeSet<u32>,
    dispositions: Dispositions,
    kinds: Kinds,
}

/// Reasons why something is refused.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such table
    #[retval(NO_SUCH_FIB)]
    NoTable,
    /// no such disposition table
    #[retval(NO_SUCH_FIB)]
    NoDisposition,
    /// no such disposition entry
    #[retval(NO_SUCH_ENTRY)]
    NoEntry,
    /// no such imposition header
    #[retval(NO_SUCH_ENTRY)]
    NoImposition,
    /// bit string lengths are 64, 128, 256, 512, 1024, 2048 or 4096
    #[retval(INVALID_VALUE)]
    Length,
    /// the bit position exceeds the table's bit strings
    #[retval(INVALID_VALUE)]
    Position,
    /// a next hop needs a label, which identifies its table
    #[retval(INVALID_VALUE)]
    NoLabel,
    /// unknown payload type
    #[retval(INVALID_VALUE)]
    Payload,
    /// in use
    #[retval(INSTANCE_IN_USE)]
    InUse,
    /// imposition header {0} exists
    #[retval(VALUE_EXIST)]
    Taken(u32),
    /// table full
    #[retval(TABLE_TOO_BIG)]
    Full,
    /// {0}
    #[retval(UNSPECIFIED)]
    Fib(fib::Error),
    /// {0}
    #[retval(UNSPECIFIED)]
    Label(mpls::Error),
}

impl From<fib::Error> for Error {
    fn from(e: fib::Error) -> Self {
        Self::Fib(e)
    }
}

impl From<mpls::Error> for Error {
    fn from(e: mpls::Error) -> Self {
        Self::Label(e)
    }
}

/// Bit-indexed explicit replication.
pub const FEATURE: Feature = Feature {
    name: "bier",
    about: "Bit-indexed explicit replication",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["mpls", "mfib"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn describe_table(router: &Router, index: u32) -> String {
    let mut all = router.own::<Bier>().tables.all.iter();
    let id = all.find(|(_, t)| t.index == index).map(|(id, _)| show::id(*id));
    format!("bier-table: {}", id.unwrap_or_default())
}

fn describe_imposition(router: &Router, index: u32) -> String {
    let imposition = router.own::<Bier>().impositions.at(index);
    format!("bier-imp:[{index}]: {}", imposition.map(|i| show::id(i.table)).unwrap_or_default())
}

/// The object of a header.
fn imposition(router: &Router, index: u32) -> Result<Object, Error> {
    let bier = router.own::<Bier>();
    if !bier.imposed.contains(&index) {
        return Err(Error::NoImposition);
    }
    Ok(Object { kind: bier.kinds.imposition, index })
}

/// The header that a path of a multicast route names.
fn read(router: &Router, path: &fib::types::FibPath, _: fib::RouteOf) -> Result<Target, Retval> {
    Ok(Target::Object(imposition(router, path.nh.obj_id)?))
}

fn parse(
    router: &Router,
    of: fib::RouteOf,
    args: &mut Args<'_>,
) -> Result<Object, control::cli::Error> {
    let id = args.value("id")?;
    if !matches!(of, fib::RouteOf::Link(Link::Ip4 | Link::Ip6)) {
        return Err(args.error("expected a route of IP packets before"));
    }
    Ok(imposition(router, id)?)
}

fn print(router: &Router, index: u32) -> Option<String> {
    imposition(router, index).ok().map(|object| object.index.to_string())
}

fn write(router: &Router, object: Object, path: &mut fib::types::FibPath) -> bool {
    let is_own = object.kind == router.own::<Bier>().kinds.imposition;
    if is_own {
        path.nh.obj_id = object.index;
        path.proto = fib::types::FibPathNhProto::BIER;
    }
    is_own
}

fn add_kinds(router: &mut Router) -> Result<Kinds, BuildError> {
    let nodes = vec![(Link::Mpls, "bier-input".to_owned())];
    let table = router.add_object_kind(NewKind { nodes, describe: describe_table })?;
    let nodes = vec![(Link::Ip4, V4::NAME.to_owned()), (Link::Ip6, <V6 as Inner>::NAME.to_owned())];
    let imposition = router.add_object_kind(NewKind { nodes, describe: describe_imposition })?;
    Ok(Kinds { table, imposition })
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    router.engine.claim(Claim::of("left-bier", LEFT)).map_err(refuse)?;
    let mut bier = Bier {
        tables: Tables::new().map_err(refuse)?,
        impositions: SharedSlab::new(MOST_IMPOSITIONS).map_err(refuse)?,
        imposed: BTreeSet::new(),
        dispositions: Dispositions::new().map_err(refuse)?,
        kinds: Kinds { table: ObjectKind(0), imposition: ObjectKind(0) },
    };
    let (bifts, numbers) = (bier.tables.bifts.reader(), bier.tables.numbers.reader());
    router.engine.add(input::Drop).map_err(refuse)?;
    router.engine.add(bier.dispositions.dispatch()).map_err(refuse)?;
    router.engine.add(bier.dispositions.lookup()).map_err(refuse)?;
    let (fmasks, balances) = (bier.tables.outputs.reader(), router.fib.forwarding());
    router.engine.add(output::Output { fmasks, balances }).map_err(refuse)?;
    router.engine.add(lookup::Lookup::new(bifts.clone())).map_err(refuse)?;
    let (named_bifts, named) = (bifts.clone(), numbers.clone());
    router.engine.add(input::Input::<false> { bifts, numbers }).map_err(refuse)?;
    let named = input::Input::<true> { bifts: named_bifts, numbers: named };
    router.engine.add(named).map_err(refuse)?;
    impose::add_node::<V4>(router, &bier).map_err(refuse)?;
    impose::add_node::<V6>(router, &bier).map_err(refuse)?;
    bier.kinds = add_kinds(router).map_err(refuse)?;
    router.udp4_port(wire::bier::UDP_PORT, "bier-bift-input").map_err(refuse)?;
    router.udp6_port(wire::bier::UDP_PORT, "bier-bift-input").map_err(refuse)?;
    router.insert(bier);
    router.fib.add_path_type(PathType { number: FibPathType::BIER_IMP, read, write });
    let kind = router.own::<Bier>().kinds.imposition;
    router.fib.add_path_word(PathWord { kind, word: "bier-imp", parse, print });
    cli::register(&mut parts.cli);
    show::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
