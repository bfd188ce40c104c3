//! Sessions: what passes because of a packet that a policy permitted.
//!
//! A session is of a pair of zones: answers come from the zone that the first packet went to.

use std::sync::{Mutex, PoisonError};

use acl::Matched;
use acl::packet::Tuple;
use acl::rule::{upper_word, words};
use infra::counter::{Counter, Rows};
use net::prelude::*;
use sessions::tcp::State;
use sessions::{
    Address, Affinity, Class, Counted, Flow, Kind, Look, New, Seen, SessionIndex, Sessions, Step,
    Table, Walked,
};
use zerocopy::FromZeros;

use super::Error;
use super::zone::{Pair, REPLIES};

/// Sessions of a version on a thread at most.
pub const MOST_SESSIONS: usize = 1 << 20;

/// Seconds of silence after which sessions are over: RFC 5382 for TCP, RFC 4787 for UDP, RFC 5508
/// for ICMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// By class.
    pub seconds: [u32; CLASSES.len()],
}

/// Names of the classes of sessions, in the words of commands.
pub const CLASSES: [&str; 5] = ["other", "udp", "icmp", "tcp-transitory", "tcp-established"];
const OTHER: u8 = 0;
const UDP: u8 = 1;
const ICMP: u8 = 2;
const TRANSITORY: u8 = 3;
const ESTABLISHED: u8 = 4;

impl Default for Timeouts {
    fn default() -> Self {
        Self { seconds: [600, 300, 60, 240, 7440] }
    }
}

impl Timeouts {
    /// As classes of sessions. Connections that are established make no room for others.
    pub(super) fn classes(&self) -> [Class; CLASSES.len()] {
        std::array::from_fn(|class| Class {
            timeout: self.seconds[class].into(),
            may_be_evicted: class != usize::from(ESTABLISHED),
            goes_first: false,
        })
    }
}

/// Data of a session besides its flow.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C)]
pub struct Data {
    /// State of TCP.
    pub tcp: State,
    /// Not 0 when it is logged.
    pub log: u8,
    /// The number of its policy.
    pub policy: u16,
    /// The counter of its rule.
    pub counter: u32,
    /// The place of its rule; `u32::MAX` for none.
    pub rule: u32,
    /// The state of the rules that it was judged by last.
    pub generation: u32,
    /// Receive interface of its first packet.
    pub rx: u32,
    /// The interface that its first packet left by.
    pub tx: u32,
}

/// Sessions of a version.
pub type Of<A> = Sessions<Flow<A>, Flow<A>, Data>;
/// Those on one thread.
pub type Here<A> = Table<Flow<A>, Flow<A>, Data>;
/// Those on one thread, for a frame.
pub type Lent<'t, A> = sessions::Lent<'t, Flow<A>, Flow<A>, Data>;
/// A session.
pub type One<A> = Counted<Flow<A>, Flow<A>, Data>;

/// A version of IP whose packets the firewall knows.
pub trait Guarded: Matched {
    /// Addresses.
    type Address: Look + std::fmt::Debug + Sync + Into<std::net::IpAddr>;
    /// Its sessions among those of both.
    fn of(all: &Both) -> &Of<Self::Address>;
    /// Fields of a flow that rules compare; types and codes of ICMP are not in it.
    fn tuple(flow: &Flow<Self::Address>, upper: (u16, u16)) -> Self::Tuple;
    /// The type of its echo requests.
    const ECHO: u16;
}

impl Guarded for V4 {
    type Address = [u8; 4];
    fn of(all: &Both) -> &Of<[u8; 4]> {
        &all.v4
    }
    #[inline(always)]
    fn tuple(flow: &Flow<[u8; 4]>, upper: (u16, u16)) -> Tuple<2> {
        let ends = [flow.src, flow.dst].map(|end| u64::from(u32::from_be_bytes(end)));
        let key = [ends[0] << 32 | ends[1], upper_word(flow.protocol().0, upper.0, upper.1)];
        Tuple { key, flags: 0, is_blunt: false, is_later_fragment: false }
    }
    const ECHO: u16 = wire::icmp4::Type::ECHO_REQUEST.0 as u16;
}

impl Guarded for V6 {
    type Address = [u8; 16];
    fn of(all: &Both) -> &Of<[u8; 16]> {
        &all.v6
    }
    #[inline(always)]
    fn tuple(flow: &Flow<[u8; 16]>, upper: (u16, u16)) -> Tuple<5> {
        let ([a, b], [c, d]) = (words(&flow.src), words(&flow.dst));
        let key = [a, b, c, d, upper_word(flow.protocol().0, upper.0, upper.1)];
        Tuple { key, flags: 0, is_blunt: false, is_later_fragment: false }
    }
    const ECHO: u16 = wire::icmp6::Type::ECHO_REQUEST.0 as u16;
}

/// Fields of a session's first packet that rules compare.
#[inline(always)]
pub(super) fn first_of<V: Guarded>(flow: &Flow<V::Address>) -> V::Tuple {
    let upper = match flow.protocol() {
        Protocol::ICMP | Protocol::ICMP6 => (V::ECHO, 0),
        _ => (flow.src_port, flow.dst_port),
    };
    V::tuple(flow, upper)
}

/// The sessions of both versions.
#[derive(Clone)]
pub struct Both {
    /// IPv4.
    pub v4: Of<[u8; 4]>,
    /// True for IPv6.
    pub v6: Of<[u8; 16]>,
    /// Sessions by policy.
    pub counts: Rows<Counter>,
}

/// Changes the number of sessions of a policy on a thread.
#[inline(always)]
pub(super) fn count(counts: &Rows<Counter>, thread: usize, policy: u16, is_new: bool) {
    if let Some(counter) = counts.row(thread).get(usize::from(policy)) {
        let now = counter.value();
        counter.set(if is_new { now.wrapping_add(1) } else { now.saturating_sub(1) });
    }
}

/// Whether a packet can begin a session: whether answers to it are known by its flow.
#[inline(always)]
pub(super) fn has_answers(kind: Kind) -> bool {
    matches!(kind, Kind::Tcp(_) | Kind::Udp | Kind::Echo(false) | Kind::Other)
}

/// A new session that a packet begins.
#[inline(always)]
pub(super) fn begun<A: Address>(flow: Flow<A>, data: Data) -> New<Flow<A>, Flow<A>, Data> {
    let class = match flow.protocol() {
        Protocol::TCP => TRANSITORY,
        Protocol::UDP => UDP,
        Protocol::ICMP | Protocol::ICMP6 => ICMP,
        _ => OTHER,
    };
    let replies = if class == ICMP { REPLIES } else { 0 };
    let scope = Pair::of_scope(flow.scope).reversed().scope() | replies;
    let reverse = flow.reversed().in_scope(scope);
    New { forward: flow, reverse, data, class }
}

/// Notes a packet of a session. An error does not keep alive what it is about.
#[inline(always)]
pub(super) fn pass<A: Address>(
    table: &mut Here<A>,
    (at, direction): (SessionIndex, sessions::Direction),
    seen: &Seen<A>,
    (bytes, now): (usize, f64),
) {
    if let Kind::Tcp(flags) = seen.kind
        && let Some(data) = table.data_mut(at)
    {
        data.tcp = data.tcp.after(flags, direction);
        let class = if data.tcp.is_established() { ESTABLISHED } else { TRANSITORY };
        table.set_class(at, class);
    }
    if !matches!(seen.kind, Kind::Error(_)) {
        table.passed(at, bytes, now);
    }
}

/// Sessions that ended and are logged.
pub(super) type Ended<A> = Arc<Mutex<Vec<One<A>>>>;

impl Both {
    pub(super) fn new(
        router: &Router,
        timeouts: &Timeouts,
        counts: Rows<Counter>,
    ) -> io::Result<Self> {
        let classes = timeouts.classes();
        Ok(Self {
            v4: Sessions::new(router, MOST_SESSIONS, &classes)?,
            v6: Sessions::new(router, MOST_SESSIONS, &classes)?,
            counts,
        })
    }
    pub(super) fn set_timeouts(
        &self,
        router: &mut Router,
        timeouts: &Timeouts,
    ) -> Result<(), Error> {
        let classes = || timeouts.classes().to_vec();
        self.v4.set_classes(router, classes()).map_err(|_| Error::NoAnswer)?;
        self.v6.set_classes(router, classes()).map_err(|_| Error::NoAnswer)
    }
    /// Ends what is over on each thread, a slice; whether there may be more, and what is logged of
    /// what ended.
    pub(super) fn expire<A: Address>(
        &self,
        router: &mut Router,
        of: &Of<A>,
    ) -> (bool, Vec<One<A>>) {
        let (ended, counts) = (Ended::<A>::default(), self.counts.clone());
        let to = Arc::clone(&ended);
        let more = of.expire(router, move |thread, _, session| {
            count(&counts, thread, session.data.policy, false);
            if session.data.log != 0 {
                to.lock().unwrap_or_else(PoisonError::into_inner).push(*session);
            }
        });
        let ended = std::mem::take(&mut *ended.lock().unwrap_or_else(PoisonError::into_inner));
        (more, ended)
    }
    /// Ends sessions that `is_meant`, most of many in later turns of control.
    pub(super) fn end<A: Address>(
        &self,
        router: &mut Router,
        of: &Of<A>,
        is_meant: impl Fn(&One<A>) -> bool + Clone + Send + 'static,
    ) -> Result<(), Error> {
        let counts = self.counts.clone();
        let judge = move |thread: usize, session: &mut One<A>| {
            if !is_meant(session) {
                return Walked::keep(None);
            }
            count(&counts, thread, session.data.policy, false);
            Walked::<()>::remove(None)
        };
        of.sweep(router, judge, |_, _| ()).map(drop).map_err(|_| Error::NoAnswer)
    }
}

/// Other threads: sessions go over to the one that has their packets from now on.
pub(super) fn threads_changed(router: &mut Router, threads: &Range<usize>) -> Result<(), String> {
    let all = router.own::<super::Firewall>().sessions.clone();
    move_over(router, &all, &all.v4, threads)?;
    move_over(router, &all, &all.v6, threads)
}

fn move_over<A: Address>(
    router: &mut Router,
    all: &Both,
    of: &Of<A>,
    threads: &Range<usize>,
) -> Result<(), String> {
    let (seed, counts) = (of.seed(), all.counts.clone());
    let way = move |session: &One<A>| [Affinity::of(session.forward.meeting(seed))];
    let step = move |step, thread, session: &One<A>| {
        count(&counts, thread, session.data.policy, step == Step::Came);
    };
    of.rehome(router, threads, way, step).map_err(|why| why.to_string())?;
    Ok(())
}
