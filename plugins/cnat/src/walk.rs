//! Sessions as control sees them: listed, ended and counted.

use std::sync::{Mutex, PoisonError};

use net::prelude::*;
use sessions::slices::{self, Slices};
use sessions::{Address, Step, Walked};

use crate::log::{self, Logging, Noted};
use crate::node::affinities;
use crate::session::{Both, Counts, Of, One, began, ended};
use crate::state::Cnat;
use crate::wanted::Error;

/// A session of either version, as control sees it.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// Ends of packets, in the order of the flow: as they come and as answers come.
    pub flows: [Ends; 2],
    /// Protocol.
    pub protocol: Protocol,
    /// The table of packets.
    pub scope: u32,
    /// The translation; `None` when its source was translated by the policy.
    pub translation: Option<u32>,
    /// A number that tells sessions apart.
    pub number: u32,
    /// Time of the last packet.
    pub heard: f64,
    /// Packets that passed.
    pub packets: u64,
    /// Bytes that passed.
    pub bytes: u64,
    /// The state of TCP.
    pub tcp: sessions::tcp::State,
    /// Whether answers are translated.
    pub is_answered: bool,
}

/// Source and destination, each with its port.
pub type Ends = [(IpAddr, u16); 2];

fn shown<A: sessions::Address>(any: impl Fn(A) -> IpAddr, s: &One<A>) -> Shown {
    let ends = |f: &sessions::Flow<A>| [(any(f.src), f.src_port), (any(f.dst), f.dst_port)];
    Shown {
        flows: [ends(&s.forward), ends(&s.reverse)],
        protocol: s.forward.protocol(),
        scope: s.forward.scope,
        translation: s.data.translation.checked_sub(1),
        number: s.data.number,
        heard: s.heard(),
        packets: s.packets,
        bytes: s.bytes,
        tcp: s.data.tcp,
        is_answered: s.reverse.scope & crate::session::NOWHERE == 0,
    }
}

/// Ends sessions that `keep` does not keep, most of many in later turns of control.
fn end(
    router: &mut Router,
    keep: impl Fn(&Shown) -> bool + Clone + Send + 'static,
) -> Result<(), Error> {
    let all = router.own::<Cnat>().sessions.clone();
    end_of(router, &all.v4, &all.counts, |a| Ipv4Addr::from(a).into(), keep.clone())?;
    end_of(router, &all.v6, &all.counts, |a| Ipv6Addr::from(a).into(), keep)
}

fn end_of<A: Address>(
    router: &mut Router,
    of: &Of<A>,
    counts: &Counts,
    any: fn(A) -> IpAddr,
    keep: impl Fn(&Shown) -> bool + Clone + Send + 'static,
) -> Result<(), Error> {
    let (counts, logging) = (counts.clone(), log::logging(router));
    let judge = move |thread, one: &mut One<A>| {
        if keep(&shown(any, one)) {
            return Walked::keep(None);
        }
        counts.lend(thread).iter_mut().for_each(|counts| ended(counts, one));
        Walked::remove(noted(one, &logging))
    };
    let done = |router: &mut Router, gone: Vec<Noted>| {
        log::note_all(router, &gone);
        show_total(router);
    };
    of.sweep(router, judge, done).map(drop).map_err(|_| Error::NoAnswer)
}

/// A session that has gone, if it is logged.
fn noted<A: Address>(one: &One<A>, logging: &Logging) -> Option<Noted> {
    let is_off = logging.is_off();
    (!is_off).then(|| Noted::gone(one)).filter(|session| logging.has(session))
}

/// Sessions that are not over, each with its thread, in slices.
pub fn sessions(router: &Router) -> Slices<(usize, Shown)> {
    let cnat = router.own::<Cnat>();
    let (now, scans, startup) = (router.now(), cnat.scans, cnat.startup.clone());
    let timeout = move |s: &Shown| match s.tcp.is_established() {
        _ if !scans => f64::INFINITY,
        true => startup.tcp_max_age,
        false => startup.max_age,
    };
    let judge = move |thread: usize, s: Shown| {
        Walked::keep((now - s.heard <= timeout(&s)).then_some((thread, s)))
    };
    let Both { v4, v6, .. } = &cnat.sessions;
    slices::chain([
        v4.slices(move |thread, one| judge(thread, shown(|a| Ipv4Addr::from(a).into(), one))),
        v6.slices(move |thread, one| judge(thread, shown(|a| Ipv6Addr::from(a).into(), one))),
    ])
}

/// The sessions of both versions.
pub fn all(router: &Router) -> Both {
    router.own::<Cnat>().sessions.clone()
}

/// Ends all sessions.
///
/// # Errors
/// [`Error::NoAnswer`].
pub fn purge(router: &mut Router) -> Result<(), Error> {
    end(router, |_| false)
}

/// Ends the sessions of a translation whose backends it does not have.
pub fn end_strays(router: &mut Router, id: u32) -> Result<(), Error> {
    let service = router.own::<Cnat>().services.at(id);
    let vip = service.map(|s| (s.addr, s.port));
    let backends: BTreeSet<_> =
        service.iter().flat_map(|s| &s.backends).map(|b| (b.addr, b.port)).collect();
    end(router, move |s| {
        let [_, served] = s.flows[0];
        let [backend, _] = s.flows[1];
        let is_kept = || {
            let is_as_it_is = Some(backend) == vip;
            Some(served) == vip && (is_as_it_is || backends.contains(&backend))
        };
        s.translation != Some(id) || is_kept()
    })
}

/// Shows how many sessions there are.
fn show_total(router: &mut Router) {
    let cnat = router.own::<Cnat>();
    let (all, total) = (cnat.sessions.clone(), router.own::<Total>().0.clone());
    let v6 = all.v6.clone();
    let _ = all.v4.visit(router, move |thread, table| {
        let others = v6.lend(thread).map_or(0, |table| table.usage().sessions);
        if let Some(total) = total.row(thread).first() {
            total.set((table.usage().sessions + others) as u64);
        }
    });
}

/// Sessions by thread, as clients see them.
pub struct Total(pub infra::counter::Rows<infra::counter::Counter>);

/// Ends what is over; whether there may be more.
pub fn expire(router: &mut Router) -> bool {
    if !router.own::<Cnat>().scans {
        return false;
    }
    let all = router.own::<Cnat>().sessions.clone();
    let is_shown = router.own::<Total>().0.sum(0) > 0;
    if all.v4.is_empty() && all.v6.is_empty() && !is_shown {
        return false;
    }
    let more = [expire_of(router, &all.v4, &all.counts), expire_of(router, &all.v6, &all.counts)];
    show_total(router);
    more.contains(&true)
}

fn expire_of<A: Address>(router: &mut Router, of: &Of<A>, counts: &Counts) -> bool {
    let (counts, logging) = (counts.clone(), log::logging(router));
    let ends = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&ends);
    let more = of.expire(router, move |thread, _, gone| {
        counts.lend(thread).iter_mut().for_each(|counts| ended(counts, gone));
        if let Some(session) = noted(gone, &logging) {
            to.lock().unwrap_or_else(PoisonError::into_inner).push(session);
        }
    });
    log::note_all(router, &ends.lock().unwrap_or_else(PoisonError::into_inner));
    more
}

/// Other threads: sessions go over to the one that has their client from now on.
pub fn threads_changed(router: &mut Router, stay: &Range<usize>) -> Result<(), String> {
    let all = router.own::<Cnat>().sessions.clone();
    rehome(router, &all.v4, &all.counts, stay).map_err(|e| e.to_string())?;
    rehome(router, &all.v6, &all.counts, stay).map_err(|e| e.to_string())?;
    show_total(router);
    Ok(())
}

fn rehome<A: Address>(
    router: &mut Router,
    of: &Of<A>,
    counts: &Counts,
    stay: &Range<usize>,
) -> Result<(), graph::NoAnswer> {
    let (seed, counts) = (of.seed(), counts.clone());
    let step = move |step, thread, session: &One<A>| {
        let Some(mut counts) = counts.lend(thread) else { return };
        match step {
            Step::Came => began(&mut counts, session),
            Step::Left => ended(&mut counts, session),
        }
    };
    let lost = of.rehome(router, stay, move |session| affinities(session, seed), step)?;
    let logging = log::logging(router);
    let lost: Vec<_> = lost.iter().filter_map(|(_, session)| noted(session, &logging)).collect();
    log::note_all(router, &lost);
    Ok(())
}
