//! Control's state, and what it tells the nodes.

use nat_log::Translator;
use net::prelude::*;
use translation::mapping::Mappings;
use translation::outside::Outside;
use translation::pool::offers;
use translation::session::{self, NatSession, NatTable};
use translation::state::Kind;

use crate::config::Config;
use crate::core::Core;
use crate::{handoff, log};

pub use translation::error::Error;

/// NAT by sessions with both ends.
#[derive(Debug)]
pub enum EndpointDependent {}

/// Control's state.
pub type Nat = translation::state::Nat<EndpointDependent>;
/// Its settings.
pub type Settings = translation::state::Settings<EndpointDependent>;
/// NAT on an interface.
pub type Role = translation::role::Role<Nat>;

/// Settings that other kinds do not have.
#[derive(Clone, Debug, Default)]
pub struct More {
    /// Most sessions by table.
    pub limits: BTreeMap<u32, u32>,
    /// Tables that a table leads to.
    pub vrfs: BTreeMap<u32, BTreeSet<u32>>,
}

impl Kind for EndpointDependent {
    type More = More;
    type Config = Config;
    type Core = Core;
    const SESSIONS: u32 = 63 * 1024;
    const FRAME_QUEUE: u32 = 8192;
    const NAME: &'static str = "nat44-ed";
    const HAS_FAR_END: bool = true;

    fn end(router: &mut Router, _: &Settings) {
        nat_log::flush(router);
    }
    fn configure(router: &Router, settings: &Settings) -> Config {
        let fib = |vrf: u32| router.fib.table::<Ip4>(vrf).map_or(u16::MAX, |table| table.0);
        let More { limits, vrfs } = &settings.more;
        let route = |(table, far): (&u32, &BTreeSet<u32>)| {
            (fib(*table), far.iter().map(|vrf| fib(*vrf)).collect())
        };
        let (outside, outside_fibs) = Nat::outsides(router, fib);
        let (twice, pool): (Vec<_>, Vec<_>) =
            settings.pool.all(router).into_iter().partition(|address| address.is_twice);
        let pool = pool.iter().map(|address| (address.addr, address.vrf.map(fib)));
        Config {
            is_forwarding: settings.is_forwarding,
            mss: settings.mss,
            limits: limits.iter().map(|(vrf, most)| (fib(*vrf), u64::from(*most))).collect(),
            routes: vrfs.iter().map(route).collect(),
            mappings: Mappings::of(router, &settings.mappings),
            pool: offers(router, pool, &outside),
            twice: twice.iter().map(|address| address.addr).collect(),
            outside,
            outside_fibs,
            workers: router.own::<Nat>().workers.clone(),
        }
    }
    fn outside(config: &Config) -> Outside {
        let pool = config.pool.iter().map(|offer| offer.addr);
        Outside::of(pool, &config.twice, &config.mappings)
    }
    fn reset(core: &Core, interfaces: usize) {
        let counters = core.counters.iter().flatten().flatten();
        session::zero(counters.chain([&core.total, &core.hairpinning]), interfaces);
    }
    fn ended(core: &Core, _: usize, gone: &NatSession) {
        core.ended(gone);
    }
    fn came(core: &Core, _: usize, session: &NatSession) {
        core.by_fib.add(session.data.in_fib, 1);
    }
    fn show_totals(core: &Core, thread: usize, table: &NatTable) {
        core.show_total(thread, table);
    }
    fn is_told(router: &Router) -> bool {
        Translator::Nat44Ed.is_heard(router)
    }
    fn tell(router: &mut Router, gone: &[NatSession]) {
        log::ended(router, gone);
    }
    fn go_over(router: &mut Router, stay: &Range<usize>) -> Result<(), String> {
        Nat::move_over(router, stay, handoff::paths)
    }
}
