//! MPLS: label tables, labels put on and taken off (RFC 3031, RFC 3032, RFC 3443).
//!
//! Routing asks this plugin for what a path with labels goes through
//! ([`LabelSwitching`](net::fib::LabelSwitching)); all else is as for IP: labels lead to load
//! balances, these over the link MPLS to neighbours.
#![forbid(unsafe_code)]

mod api;
mod bind;
mod cli;
mod dispose;
mod error;
mod fast_path;
mod frag;
mod impose;
mod input;
mod lookup;
mod objects;
mod output;
mod replicate;
mod show;
mod table;
mod tunnel;

use std::rc::Rc;

use net::fib::{self, LabelSwitching, NewKind, Object, ObjectKind, Path, Pop, Source, Via};
use net::prelude::*;
use wire::mpls::{IP4_EXPLICIT_NULL, IP6_EXPLICIT_NULL, ROUTER_ALERT};

pub use api::*;
pub use error::Error as Drops;
pub use input::MPLS_INPUT;
pub use output::MPLS_OUTPUT;

use fast_path::{FastPath, SwapPath};
use objects::{AfterPop, Disposition, Imposition, Interned, Kinds, Objects};
use table::LabelTables;
pub use table::{Key, Route};
use tunnel::Tunnels;

/// Most objects that copy packets.
const MOST_COPIES: usize = 1 << 16;

/// The table of an interface that takes labelled packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Enabled(pub Option<u16>);

/// The state of control.
pub(crate) struct Mpls {
    pub tables: LabelTables,
    pub objects: Objects,
    pub copies: SharedSlab<Box<[u32]>>,
    pub tunnels: Tunnels,
    /// Objects of explicit nulls.
    nulls: [Object; 2],
}

/// Reasons why something cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// no MPLS table {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
    /// no such label
    #[retval(NO_SUCH_ENTRY)]
    NoLabel,
    /// instance {0} is in use
    #[retval(INSTANCE_IN_USE)]
    InUse(u32),
    /// no such tunnel
    #[retval(INVALID_SW_IF_INDEX)]
    NoTunnel,
    /// {0}
    #[retval(UNSPECIFIED)]
    #[from]
    Fib(fib::Error),
}

impl Mpls {
    /// Labels that the table of this number has, what packets are without them, and where they
    /// go. Explicit nulls may be above other labels (RFC 4182).
    pub fn reserved(&self, table: TableIndex) -> Vec<(Key, Link, Path)> {
        let null = |i: usize| Path::to(Target::Object(self.nulls[i]));
        let link = Link::Mpls;
        let pop = Some(Pop { link, is_uniform: false, has_control_word: false, rpf_id: 0 });
        let next = || Path { pop, ..Path::to(Target::Lookup { link, table }) };
        let alert = || Path::to(Target::Punt);
        vec![
            ((IP4_EXPLICIT_NULL, true), Link::Ip4, null(0)),
            ((IP4_EXPLICIT_NULL, false), Link::Mpls, next()),
            ((IP6_EXPLICIT_NULL, true), Link::Ip6, null(1)),
            ((IP6_EXPLICIT_NULL, false), Link::Mpls, next()),
            ((ROUTER_ALERT, true), Link::Ip4, alert()),
            ((ROUTER_ALERT, false), Link::Mpls, alert()),
        ]
    }
}

/// Routing's way to this plugin.
struct Switching;

impl LabelSwitching for Switching {
    fn wrap(&self, router: &mut Router, path: &Path, next: Via) -> Option<Via> {
        if let Some(pop) = path.pop
            && pop.link == Link::Ethernet
        {
            return tunnel::receive(router, path, pop);
        }
        let wrap = router.own_mut::<Mpls>().objects.wrap(path, next)?;
        if let Via::Object(object) = wrap
            && ObjectKind::LABELS.contains(&object.kind)
        {
            let imposition = router.own::<Mpls>().objects.impositions.at(object.index);
            let brief = imposition.and_then(Imposition::brief);
            router.fib.set_brief(object.index, brief);
        }
        Some(wrap)
    }
    fn release(&self, router: &mut Router, wrap: Via) {
        if !tunnel::release(router, wrap) {
            router.own_mut::<Mpls>().objects.release(wrap);
        }
    }
    fn hold_label(&self, router: &mut Router, table: u32, label: u32) -> Result<u32, fib::Error> {
        table::hold(router, table, label)
    }
    fn release_label(&self, router: &mut Router, table: u32, label: u32) {
        table::release(router, table, label);
    }
    fn table(&self, router: &Router, id: u32) -> Option<TableIndex> {
        router.own::<Mpls>().tables.named(id)
    }
    fn table_id(&self, router: &Router, table: TableIndex) -> Option<u32> {
        router.own::<Mpls>().tables.at(table).map(|t| t.id)
    }
}

/// Enables MPLS on an interface, with table 0, or disables it.
///
/// # Errors
/// A missing interface or table.
pub fn enable(router: &mut Router, interface: InterfaceIndex, is_on: bool) -> Result<(), Error> {
    let table = router.own::<Mpls>().tables.named(0).ok_or(Error::NoTable(0))?;
    let was = router.setting::<Enabled>(interface).0.is_some();
    router.put(interface, Enabled(is_on.then_some(table.0)))?;
    if was != is_on
        && let Some(t) = router.own_mut::<Mpls>().tables.at_mut(table)
    {
        t.interfaces = if is_on { t.interfaces + 1 } else { t.interfaces - 1 };
    }
    Ok(())
}

/// Makes packets with a label of a table follow another feature's paths.
///
/// # Errors
/// A missing table, no room, impossible paths.
pub fn lead_label(router: &mut Router, id: u32, key: Key, route: Route) -> Result<(), Error> {
    let table = router.own::<Mpls>().tables.named(id).ok_or(Error::NoTable(id))?;
    table::set(router, table, key, route)?;
    Ok(())
}

/// Undoes this.
pub fn leave_label(router: &mut Router, id: u32, key: Key, source: Source) {
    let Some(table) = router.own::<Mpls>().tables.named(id) else { return };
    // A missing one is deleted already.
    let _ = table::take(router, table, key, source);
}

/// MPLS.
pub const FEATURE: Feature = Feature {
    name: "mpls",
    about: "Label switching",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ip4", "ip6", "mfib", "fragment"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let enabled = router.attach::<Enabled>().map_err(refuse)?;
    let tables = LabelTables::new().map_err(refuse)?;
    let impositions = Interned::new().map_err(refuse)?;
    let mut dispositions = Interned::new().map_err(refuse)?;
    let copies = SharedSlab::new(MOST_COPIES).map_err(refuse)?;

    let fast = FastPath::new(router);
    let puts = (&impositions.reader(), &fast);
    router.engine.add(input::NotEnabled).map_err(refuse)?;
    router.engine.add(input::End::<false>).map_err(refuse)?;
    router.engine.add(input::End::<true>).map_err(refuse)?;
    lookup::add(router, &tables.reader()).map_err(refuse)?;
    output::add(router).map_err(refuse)?;
    frag::add(router).map_err(refuse)?;
    impose::add::<V4>(router, puts).map_err(refuse)?;
    impose::add::<V6>(router, puts).map_err(refuse)?;
    impose::add::<impose::Labelled>(router, puts).map_err(refuse)?;
    impose::add::<impose::Framed>(router, puts).map_err(refuse)?;
    dispose::add(router, &dispositions.reader()).map_err(refuse)?;
    replicate::add(router, V4, copies.reader()).map_err(refuse)?;
    replicate::add(router, V6, copies.reader()).map_err(refuse)?;
    replicate::add(router, impose::Labelled, copies.reader()).map_err(refuse)?;

    let kinds = add_kinds(router).map_err(refuse)?;
    let swap = SwapPath {
        fast,
        tables: tables.reader(),
        balances: router.fib.forwarding(),
        objects: router.fib.edges_to_objects(lookup::Lookup::<false>::NAME),
    };
    let counters = router.interfaces.counters();
    router.engine.add(input::Input { enabled, counters, swap }).map_err(refuse)?;
    let null = |kind: [ObjectKind; 2], index: Option<u32>| {
        let index = index.ok_or_else(|| refuse("no room for objects"))?;
        Ok(Object { kind: kind[0], index })
    };
    let own = Disposition { then: AfterPop::OwnTable, has_control_word: false, rpf_id: 0 };
    let nulls = [
        null(kinds.dispose[0], dispositions.hold(own))?,
        null(kinds.dispose[1], dispositions.hold(own))?,
    ];
    let objects = Objects { impositions, dispositions, kinds };
    router.insert(Mpls { tables, objects, copies, tunnels: Tunnels::default(), nulls });
    router.switch_labels(Rc::new(Switching));
    router.register_ethertype(EtherType::MPLS, "mpls-input").map_err(refuse)?;
    tunnel::register(router).map_err(refuse)?;
    cli::register(&mut parts.cli);
    show::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}

/// The node of a link for each model.
fn imposer<C: impose::Carried>(uniform: usize) -> (Link, String) {
    (C::LINK, C::IMPOSE[uniform].to_owned())
}

/// The node of a link that copies.
fn copier<C: replicate::Copied>() -> (Link, String) {
    (C::LINK, C::REPLICATE.to_owned())
}

fn add_kinds(router: &mut Router) -> Result<Kinds, graph::BuildError> {
    let mut impose = |uniform: usize| {
        let nodes = vec![
            imposer::<V4>(uniform),
            imposer::<V6>(uniform),
            imposer::<impose::Labelled>(uniform),
            imposer::<impose::Framed>(uniform),
        ];
        router.add_label_kind(uniform == 1, NewKind { nodes, describe: show::imposition })
    };
    let impose = [impose(0)?, impose(1)?];
    let mut dispose = |name: &str| {
        let nodes = vec![(Link::Mpls, name.to_owned())];
        router.add_object_kind(NewKind { nodes, describe: show::disposition })
    };
    let mut both = |names: [&str; 2]| Ok([dispose(names[0])?, dispose(names[1])?]);
    let dispose = [
        both(<net::ip::V4 as dispose::Below>::NAMES)?,
        both(<net::ip::V6 as dispose::Below>::NAMES)?,
    ];
    let nodes = vec![copier::<V4>(), copier::<V6>(), copier::<impose::Labelled>()];
    let replicate = router.add_object_kind(NewKind { nodes, describe: show::copies })?;
    Ok(Kinds { impose, dispose, replicate })
}
