//! Control's state, and what it tells the nodes.

use std::sync::{Mutex, PoisonError};

use net::fib::{Object, ObjectKind, Path, Source};
use net::prelude::*;
use sessions::slices::Slices;
use sessions::{Affinity, Class, Counted, Flow6, Sessions, Walked};
use translation::session::Timeouts;

use crate::core::{All, Config, Core, NatSession, affinity_of_end, ended, hash_of, record};

/// Sessions of a thread at most.
const SESSIONS: usize = 1 << 18;
/// B4s of a thread at most.
const ELEMENTS: usize = 1 << 16;
/// Addresses of a range at most.
const MOST_ADDRESSES: u32 = 1 << 16;

/// Reasons why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// not a B4: the startup configuration lacks `ce' in stanza dslite
    #[retval(FEATURE_DISABLED)]
    NoElement,
    /// address {0} is already in the pool
    #[retval(VALUE_EXIST)]
    InPool(Ipv4Addr),
    /// address {0} is not in the pool
    #[retval(NO_SUCH_ENTRY)]
    NotInPool(Ipv4Addr),
    /// the range ends before it begins, or is too long
    #[retval(INVALID_VALUE)]
    BadRange,
    /// no room for the route
    #[retval(UNSPECIFIED)]
    NoRoom,
    /// a thread does not answer
    #[retval(UNSPECIFIED)]
    NoAnswer,
}

/// The kinds of objects that routes lead to.
#[derive(Clone, Copy)]
pub struct Kinds {
    /// The AFTR's address.
    pub in2out: ObjectKind,
    /// Addresses of the pool.
    pub out2in: ObjectKind,
    /// The affinity of a B4.
    pub encap: ObjectKind,
    /// The B4's address.
    pub decap: ObjectKind,
}

/// The addresses of an end of a tunnel; the one of IPv4 names the end, no packet has it.
pub type End = (Ipv4Addr, Ipv6Addr);

/// Control's state.
pub struct DsLite {
    /// Whether this is a customer's edge.
    pub is_ce: bool,
    /// The end at the provider, unspecified without one.
    pub aftr: End,
    /// The end at the customer, unspecified without one.
    pub b4: End,
    kinds: Kinds,
    /// For the nodes.
    pub config: Shared<Config>,
    /// For the nodes.
    pub all: Shared<All>,
    core: Core,
}

impl DsLite {
    /// Without any address.
    pub fn new(
        is_ce: bool,
        kinds: Kinds,
        config: Shared<Config>,
        all: Shared<All>,
        core: Core,
    ) -> Self {
        let none = (Ipv4Addr::UNSPECIFIED, Ipv6Addr::UNSPECIFIED);
        Self { is_ce, aftr: none, b4: none, kinds, config, all, core }
    }
}

/// Begins with no sessions.
pub fn start(router: &Router) -> io::Result<All> {
    let sessions = Sessions::new(router, SESSIONS, &Timeouts::default().classes())?;
    let forever = [Class { timeout: f64::INFINITY, may_be_evicted: false, goes_first: false }];
    Ok(All { sessions, elements: Sessions::new(router, ELEMENTS, &forever)? })
}

/// Routes a prefix to an object, or stops.
fn lead(router: &mut Router, prefix: Prefix, kind: ObjectKind, is_add: bool) -> Result<(), Error> {
    let table = TableIndex::DEFAULT;
    if is_add {
        let path = Path::to(Target::Object(Object { kind, index: 0 }));
        let done = router.set_route(table, prefix, Source::MAP, &[path]);
        return done.map(|_| ()).map_err(|_| Error::NoRoom);
    }
    // A table that was emptied has it no more.
    let _ = router.remove_route(table, prefix, Source::MAP, &[]);
    Ok(())
}

fn host6(addr: Ipv6Addr) -> Prefix {
    Prefix::Ip6(Ip6Prefix::host(addr))
}

/// Replaces the route of an end's address.
fn lead_to_end(
    router: &mut Router,
    old: Ipv6Addr,
    new: Ipv6Addr,
    kind: ObjectKind,
) -> Result<(), Error> {
    if old == new {
        return Ok(());
    }
    if !new.is_unspecified() {
        lead(router, host6(new), kind, true)?;
    }
    let answered = (!new.is_unspecified()).then_some((None, [IpAddr::V6(new); 2]));
    router.answer_for("dslite end", answered.into_iter().collect());
    if old.is_unspecified() { Ok(()) } else { lead(router, host6(old), kind, false) }
}

/// Sets the end at the provider; an unspecified IPv6 address for none.
pub fn set_aftr(router: &mut Router, new: End) -> Result<(), Error> {
    let DsLite { is_ce, aftr: old, kinds, .. } = *router.own::<DsLite>();
    if is_ce {
        let all = Ip4Prefix::new(Ipv4Addr::UNSPECIFIED, 0).expect("0 is a length");
        lead(router, Prefix::Ip4(all), kinds.encap, !new.1.is_unspecified())?;
    } else {
        lead_to_end(router, old.1, new.1, kinds.in2out)?;
    }
    router.own_mut::<DsLite>().aftr = new;
    publish(router, |_| ());
    Ok(())
}

/// Sets the end at the customer; an unspecified IPv6 address for none.
pub fn set_b4(router: &mut Router, new: End) -> Result<(), Error> {
    let DsLite { is_ce, b4: old, kinds, .. } = *router.own::<DsLite>();
    if !is_ce {
        return Err(Error::NoElement);
    }
    lead_to_end(router, old.1, new.1, kinds.decap)?;
    router.own_mut::<DsLite>().b4 = new;
    publish(router, |_| ());
    Ok(())
}

/// Adds addresses to the pool, or takes them out: sessions that have them end.
pub fn set_addresses(
    router: &mut Router,
    [first, last]: [Ipv4Addr; 2],
    is_add: bool,
) -> Result<(), Error> {
    let (from, to) = (u32::from(first), u32::from(last));
    if to.checked_sub(from).is_none_or(|more| more >= MOST_ADDRESSES) {
        return Err(Error::BadRange);
    }
    let lite = router.own::<DsLite>();
    let (pool, kind) = (lite.config.current().pool.clone(), lite.kinds.out2in);
    let range: Vec<Ipv4Addr> = (from..=to).map(Ipv4Addr::from).collect();
    for addr in &range {
        match (pool.contains(addr), is_add) {
            (true, true) => return Err(Error::InPool(*addr)),
            (false, false) => return Err(Error::NotInPool(*addr)),
            _ => (),
        }
    }
    let prefix = |addr: &Ipv4Addr| Prefix::Ip4(Ip4Prefix::host(*addr));
    for (n, addr) in range.iter().enumerate() {
        if let Err(error) = lead(router, prefix(addr), kind, is_add) {
            for done in &range[..n] {
                let _ = lead(router, prefix(done), kind, false);
            }
            return Err(error);
        }
    }
    publish(router, |config| match is_add {
        true => config.pool.extend(&range),
        false => config.pool.retain(|addr| !range.contains(addr)),
    });
    let pool = router.own::<DsLite>().config.current().pool.iter();
    let answered = pool.map(|addr| (None, [IpAddr::V4(*addr); 2])).collect();
    router.answer_for("dslite pool", answered);
    if is_add {
        return Ok(());
    }
    remove_sessions(router, move |s| range.contains(&s.reverse.dst.into()))
}

/// Publishes the current state to the nodes.
fn publish(router: &mut Router, change: impl FnOnce(&mut Config)) {
    let lite = router.own_mut::<DsLite>();
    let some = |end: End| Some(end.1).filter(|addr| !addr.is_unspecified());
    let mut config = lite.config.current().clone();
    (config.aftr, config.b4) = (some(lite.aftr), some(lite.b4));
    change(&mut config);
    lite.config.publish(config);
}

/// All sessions that are not over, in slices.
pub fn slices(router: &Router) -> Slices<NatSession> {
    let (now, classes) = (router.now(), Timeouts::default().classes());
    router.own::<DsLite>().all.current().sessions.slices(move |_, session: &mut NatSession| {
        let class = classes.get(usize::from(session.class()));
        let is_over = class.is_some_and(|class| now - session.heard() > class.timeout);
        Walked::keep((!is_over).then_some(*session))
    })
}

/// Ends all sessions for which `is_meant`, most of many in later turns of control.
pub fn remove_sessions(
    router: &mut Router,
    is_meant: impl Fn(&NatSession) -> bool + Clone + Send + 'static,
) -> Result<(), Error> {
    let all = router.own::<DsLite>().all.current().clone();
    let elements = all.elements.clone();
    let look = move |thread, session: &mut NatSession| {
        if !is_meant(session) {
            return Walked::keep(None);
        }
        if let Some(mut elements) = elements.lend(thread) {
            ended(&mut elements, session);
        }
        Walked::remove(Some(*session))
    };
    let done = |router: &mut Router, gone: Vec<_>| log_ended(router, &gone);
    all.sessions.sweep(router, look, done).map(drop).map_err(|_| Error::NoAnswer)
}

/// Ends what is over; whether there may be more.
pub fn expire(router: &mut Router) -> bool {
    let all = router.own::<DsLite>().all.current().clone();
    if all.sessions.is_empty() {
        return false;
    }
    let elements = all.elements.clone();
    let is_logged = nat_log::is_wanted(router);
    let ends = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&ends);
    let more = all.sessions.expire(router, move |thread, _, gone| {
        if let Some(mut elements) = elements.lend(thread) {
            ended(&mut elements, gone);
        }
        if is_logged {
            to.lock().unwrap_or_else(PoisonError::into_inner).push(*gone);
        }
    });
    let ends = std::mem::take(&mut *ends.lock().unwrap_or_else(PoisonError::into_inner));
    log_ended(router, &ends);
    more
}

/// Logs sessions that have ended, and shows how many there are.
fn log_ended(router: &mut Router, gone: &[NatSession]) {
    if nat_log::is_wanted(router) {
        gone.iter().for_each(|session| nat_log::log(router, record(false, session)));
    }
    let lite = router.own::<DsLite>();
    let (all, core) = (lite.all.current().clone(), lite.core.clone());
    let elements = all.elements.clone();
    let _ = all.sessions.visit(router, move |thread, table| {
        if let Some(elements) = elements.lend(thread) {
            core.show_totals(thread, table, &elements);
        }
    });
}

/// Other threads: sessions go over to the one that has their B4 from now on.
pub fn threads_changed(router: &mut Router, stay: &Range<usize>) -> Result<(), String> {
    let all = router.own::<DsLite>().all.current().clone();
    let (seed, text) = (all.sessions.seed(), |e: graph::NoAnswer| e.to_string());
    let of_b4 = move |b4: [u8; 16]| Affinity::of(hash_of(b4.into(), seed));
    let affinity = move |b4: &Counted<Flow6, Flow6, u32>| [of_b4(b4.forward.src)];
    all.elements.rehome(router, stay, affinity, |_, _, _| ()).map_err(text)?;
    let affinities = move |s: &NatSession| {
        let end = (s.reverse.dst, s.reverse.dst_port);
        [of_b4(s.forward.src), affinity_of_end(end, s.reverse.protocol(), seed)]
    };
    let lost = all.sessions.rehome(router, stay, affinities, |_, _, _| ()).map_err(text)?;
    let gone = lost.clone();
    let end = move |thread, elements: &mut _| {
        let here = gone.iter().filter(|(at, _)| *at == thread);
        here.for_each(|(_, session)| ended(elements, session));
    };
    all.elements.visit(router, end).map_err(text)?;
    let lost: Vec<_> = lost.into_iter().map(|(_, session)| session).collect();
    log_ended(router, &lost);
    Ok(())
}
