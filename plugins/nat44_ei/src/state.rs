//! Control's state, and what it tells the nodes.

use nat_log::Translator;
use net::prelude::*;
use translation::mapping::{Mapping, Mappings};
use translation::outside::Outside;
use translation::pool::offers;
use translation::ports::PortSet;
use translation::session::{self, BYPASS, NatSession, NatTable};
use translation::state::Kind;

use crate::core::{Config, Core};
use crate::slow::{affinity_of_destination, affinity_of_source};
use crate::{ha, log};

pub use translation::error::Error;

/// Hosts of a thread, unless the operator says otherwise.
pub const USERS: u32 = 1024;

/// NAT by sessions without far ends.
#[derive(Debug)]
pub enum EndpointIndependent {}

/// Control's state.
pub type Nat = translation::state::Nat<EndpointIndependent>;
/// Its settings.
pub type Settings = translation::state::Settings<EndpointIndependent>;
/// NAT on an interface.
pub type Role = translation::role::Role<Nat>;

/// Settings that other kinds do not have.
#[derive(Clone, Debug, Default)]
pub struct More {
    /// Port allocation algorithm.
    pub ports: PortSet,
    /// Maximum hosts per thread; 0 for the default.
    pub users: u32,
    /// Maximum sessions per host; 0 for as many as a thread has.
    pub user_sessions: u32,
    /// Whether only mappings that stay are used.
    pub is_static_only: bool,
    /// Whether their sessions are asked for as well.
    pub tracks: bool,
    /// The tables inside and outside.
    pub tables: Vec<TableIndex>,
}

impl Kind for EndpointIndependent {
    type More = More;
    type Config = Config;
    type Core = Core;
    const SESSIONS: u32 = 10 * 1024;
    const FRAME_QUEUE: u32 = 4096;
    const NAME: &'static str = "nat44-ei";
    const HAS_FAR_END: bool = false;
    const DISABLED: Error = Error::NotEnabled;

    fn begin(router: &mut Router, settings: &mut Settings) -> Result<(), Error> {
        let more = &mut settings.more;
        let usual = [(&mut more.users, USERS), (&mut more.user_sessions, settings.sessions)];
        for (number, usual) in usual {
            if *number == 0 {
                *number = usual;
            }
        }
        for vrf in [settings.inside_vrf, settings.outside_vrf] {
            match router.hold_table::<Ip4>(vrf) {
                Ok(table) => settings.more.tables.push(table),
                Err(_) => {
                    Self::end(router, settings);
                    return Err(Error::NoTable(vrf));
                }
            }
        }
        router.own::<Nat>().core.users.clear();
        Ok(())
    }
    fn disabling(router: &mut Router) {
        ha::disable(router);
    }
    fn end(router: &mut Router, settings: &Settings) {
        nat_log::flush(router);
        settings.more.tables.iter().for_each(|table| router.release_table::<Ip4>(*table));
    }
    fn configure(router: &Router, settings: &Settings) -> Config {
        let fib = |vrf: u32| router.fib.table::<Ip4>(vrf).map_or(u16::MAX, |table| table.0);
        let more = &settings.more;
        let inside = router.settings::<Role>().filter(|(_, role)| role.is_only_inside());
        let (outside, outside_fibs) = Nat::outsides(router, fib);
        let all = settings.pool.all(router);
        let all = all.iter().map(|address| (address.addr, address.vrf.map(fib)));
        let pool = offers(router, all, &outside);
        Config {
            is_forwarding: settings.is_forwarding,
            is_static_only: more.is_static_only,
            mss: settings.mss,
            pooled: pool.iter().map(|offer| offer.addr.octets()).collect(),
            pool,
            ports: more.ports,
            mappings: Mappings::of(router, &settings.mappings),
            most_users: more.users,
            most_per_user: more.user_sessions,
            inside: inside.map(|(interface, _)| interface.0).collect(),
            outside,
            outside_fibs,
            workers: router.own::<Nat>().workers.clone(),
        }
    }
    /// The port of a mapping outside is one of the pool's, unless there are only mappings.
    fn check_mapping(router: &Router, mapping: &Mapping) -> Result<(), Error> {
        let settings = Nat::settings(router)?;
        let is_bound = !mapping.is_of_address() && mapping.interface.is_none();
        let pool = || settings.pool.all(router).into_iter();
        let is_missing = is_bound && !pool().any(|address| address.addr == mapping.external);
        if is_missing && !settings.more.is_static_only {
            return Err(Error::NotOfPool);
        }
        Ok(())
    }
    fn outside(config: &Config) -> Outside {
        Outside::of(config.pool.iter().map(|offer| offer.addr), &[], &config.mappings)
    }
    fn reset(core: &Core, interfaces: usize) {
        let counters = core.counters.iter().flatten().flatten();
        session::zero(counters.chain(&core.totals).chain([&core.hairpinning]), interfaces);
    }
    fn ended(core: &Core, thread: usize, gone: &NatSession) {
        core.ended_on(thread, gone);
    }
    fn came(core: &Core, thread: usize, session: &NatSession) {
        core.came(thread, session);
    }
    fn show_totals(core: &Core, thread: usize, table: &NatTable) {
        if let Some(users) = core.users.lend(thread) {
            core.show_totals(thread, table, &users);
        }
    }
    fn is_told(router: &Router) -> bool {
        Translator::Nat44Ei.is_heard(router) || ha::is_wanted(router)
    }
    fn tell(router: &mut Router, gone: &[NatSession]) {
        ha::ended(router, gone);
        for session in gone.iter().filter(|s| !s.data.is(BYPASS)) {
            Translator::Nat44Ei.log(router, log::of_session(false, session));
        }
    }
    fn go_over(router: &mut Router, stay: &Range<usize>) -> Result<(), String> {
        Nat::move_over(router, stay, |config, s, seed| {
            let (forward, reverse) = (&s.forward, &s.reverse);
            [affinity_of_source(forward, seed), affinity_of_destination(config, reverse, seed)]
        })
    }
}
