//! The nodes that look packets up: `ip4-inacl`, `ip4-outacl`, `ip4-flow-classify`, `ip4-punt-acl`,
//! `ip4-classify`, those of IPv6, `l2-input-acl`, `l2-output-acl`, `l2-input-classify` and
//! `l2-output-classify`.
//!
//! The first table of a packet is asked in three steps for a block of packets: hash and ask for the
//! place, read the place and ask for the session, judge. What is found there and passes is done
//! with; everything else, and what is traced, is judged packet by packet.
#![forbid(unsafe_code)]

use graph::{BLOCK, CounterText, FRAME, Next, Reason};
use net::adjacency::Adjacency;
use net::ethernet::{L2_INPUT, L2_OUTPUT};
use net::ip::{Balanced, Linked};
use net::ip4::IP4_OUTPUT;
use net::ip6::IP6_OUTPUT;
use net::prelude::*;

use super::edges::{ReceivedNext, RoutedNext, SentNext};
use super::reasons::{FrameError, InputError, OutputError};
use super::table::{Action, Headers, Hit, Match, Moment, NONE, Session, Table, walk};
use super::uses::Tables;

/// Names of the nodes, by use and kind: first as [`super::Use`] has them, then what is punted, and
/// where routes lead.
pub const NAMES: [[&str; 3]; 8] = [
    ["ip4-inacl", "ip6-inacl", "l2-input-acl"],
    ["ip4-outacl", "ip6-outacl", "l2-output-acl"],
    ["ip4-flow-classify", "ip6-flow-classify", ""],
    ["ip4-policer-classify", "ip6-policer-classify", "l2-policer-classify"],
    ["", "", "l2-input-classify"],
    ["", "", "l2-output-classify"],
    ["ip4-punt-acl", "ip6-punt-acl", ""],
    ["ip4-classify", "ip6-classify", ""],
];

/// Received packets.
pub const INPUT: u8 = 0;
/// Packets that are sent.
pub const OUTPUT: u8 = 1;
/// Flows, of which none is refused.
pub const FLOW: u8 = 2;
/// Received frames that are sorted.
pub const INPUT_FRAMES: u8 = 4;
/// Sent frames that are sorted.
pub const OUTPUT_FRAMES: u8 = 5;
/// Punted packets.
pub const PUNT: u8 = 6;
/// Packets of routes that lead to a table.
pub const ROUTED: u8 = 7;

/// The kind that is no version of IP.
const LAYER2: usize = 2;
/// Number in a table for packets that do not pass.
const DENY: u32 = 0;

/// Packets of a kind that are looked up for a use.
pub trait Classified<const USE: u8>: Copy + Send + Sync + 'static {
    /// Reason of their drops.
    type Error: Reason;
    /// Edges.
    type Next: Next;
    /// Place in [`NAMES`] and in the tables of an interface.
    const KIND: usize;
    /// Not found, and refused; found, and refused.
    const REASONS: [Self::Error; 2];
    /// The node that gets those that are dropped.
    const DROP: &'static str;
    /// The node where drops are counted; empty for that which drops.
    const COUNTED_AT: &'static str;
    /// Whether the layer 2 header of their adjacency is in front.
    const IS_FRAMED: bool = false;
    /// Next node of a packet that a table has this number for; `None` where it is refused.
    fn next(number: u32) -> Option<Self::Next>;
    /// Next node of a packet that is redirected; `None` where none is.
    fn redirected() -> Option<Self::Next> {
        None
    }
}

/// As ACLs say it.
#[inline(always)]
fn permitted(number: u32) -> Option<Continue> {
    (number != DENY).then_some(Continue)
}

/// As ACLs say it whose packets a session may redirect.
#[inline(always)]
fn unless_denied<V: Linked>(number: u32) -> Option<Balanced<V>> {
    (number != DENY).then_some(Balanced::Continue)
}

/// Frames that are bridged or cross-connected.
#[derive(Clone, Copy)]
pub struct Layer2;

macro_rules! classified {
    ($($version:ident, $use:ident, $miss:ident, $deny:ident, $next:ty, $numbered:expr
        $(, $redirected:expr)?;)*) => {$(
        impl Classified<$use> for $version {
            type Error = <$version as Version>::Error;
            type Next = $next;
            const KIND: usize = <$version as Version>::INDEX;
            const REASONS: [Self::Error; 2] = [Self::Error::$miss, Self::Error::$deny];
            const DROP: &'static str = <$version as Version>::NODES.drop;
            const COUNTED_AT: &'static str = <$version as Version>::NODES.input;
            const IS_FRAMED: bool = $use == OUTPUT;
            #[inline(always)]
            fn next(number: u32) -> Option<$next> {
                $numbered(number)
            }
            $(fn redirected() -> Option<$next> {
                Some($redirected)
            })?
        }
    )*};
}
classified! {
    V4, INPUT, InaclTableMiss, InaclSessionDeny, Balanced<V4>, unless_denied, Balanced::Onward(V4);
    V6, INPUT, InaclTableMiss, InaclSessionDeny, Balanced<V6>, unless_denied, Balanced::Onward(V6);
    V4, OUTPUT, OutaclTableMiss, OutaclSessionDeny, Continue, permitted;
    V6, OUTPUT, OutaclTableMiss, OutaclSessionDeny, Continue, permitted;
    V4, PUNT, InaclTableMiss, InaclSessionDeny, Balanced<V4>, unless_denied, Balanced::Onward(V4);
    V6, PUNT, InaclTableMiss, InaclSessionDeny, Balanced<V6>, unless_denied, Balanced::Onward(V6);
    V4, FLOW, Drop, Drop, Continue, |_| Some(Continue);
    V6, FLOW, Drop, Drop, Continue, |_| Some(Continue);
    V4, ROUTED, Drop, Drop, RoutedNext<V4>, RoutedNext::numbered;
    V6, ROUTED, Drop, Drop, RoutedNext<V6>, RoutedNext::numbered;
}

macro_rules! classified_frames {
    ($($use:ident, $error:ident, $miss:ident, $deny:ident, $next:ty, $numbered:expr;)*) => {$(
        impl Classified<$use> for Layer2 {
            type Error = $error;
            type Next = $next;
            const KIND: usize = LAYER2;
            const REASONS: [$error; 2] = [$error::$miss, $error::$deny];
            const DROP: &'static str = "error-drop";
            const COUNTED_AT: &'static str = "";
            #[inline(always)]
            fn next(number: u32) -> Option<$next> {
                $numbered(number)
            }
        }
    )*};
}
classified_frames! {
    INPUT, InputError, TableMiss, SessionDeny, Continue, permitted;
    OUTPUT, OutputError, TableMiss, SessionDeny, Continue, permitted;
    INPUT_FRAMES, FrameError, Drop, Drop, ReceivedNext, ReceivedNext::numbered;
    OUTPUT_FRAMES, FrameError, Drop, Drop, SentNext, SentNext::numbered;
}

/// Counters besides drops.
#[derive(Clone, Copy)]
pub enum Count<const USE: u8> {
    /// Not found.
    Misses,
    /// Found.
    Hits,
    /// Found, but not in the first table.
    Walked,
}

const fn info(name: &'static str) -> CounterText {
    CounterText { name, text: name, severity: "info" }
}

impl<const USE: u8> graph::Count for Count<USE> {
    const TEXTS: &'static [CounterText] = match USE {
        OUTPUT => &[
            info("output ACL misses"),
            info("output ACL hits"),
            info("output ACL hits after chain walk"),
        ],
        FLOW => &[
            info("Flow classify misses"),
            info("Flow classify hits"),
            info("Flow classify hits after chain walk"),
            info("Flow classify action drop"),
        ],
        ROUTED | INPUT_FRAMES | OUTPUT_FRAMES => &[
            info("Classify misses"),
            info("Classify hits"),
            info("Classify hits after chain walk"),
        ],
        _ => &[
            info("input ACL misses"),
            info("input ACL hits"),
            info("input ACL hits after chain walk"),
        ],
    };
    fn index(self) -> usize {
        self as usize
    }
}

/// Looks packets up.
#[derive(Clone)]
pub struct Classify<V, const USE: u8> {
    kind: PhantomData<V>,
    tables: SlabReader<Table>,
    interfaces: SlabReader<Tables>,
    punted: Reader<[u32; 2]>,
    adjacencies: SlabReader<Adjacency>,
}

/// Counters of a frame, in the order of [`Count`].
type Tally = [u64; 3];

impl<V: Classified<USE>, const USE: u8> Node for Classify<V, USE> {
    const NAME: &'static str = NAMES[USE as usize][V::KIND];
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = V::Next;
    type Error = V::Error;
    type Count = Count<USE>;
    const DROP: &'static str = V::DROP;
    const COUNTED_AT: &'static str = V::COUNTED_AT;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (at, epoch) = (Moment::of(frame), frame.epoch());
        let mut tally = Tally::default();
        let mut begun = [(None, 0); FRAME];
        frame.passes(|packets| {
            let end = packets.all().end;
            for first in (0..end).step_by(BLOCK) {
                let block = first..(first + BLOCK).min(end);
                packets.look(block.clone(), |place, p| {
                    let table = self.tables.read(self.first(p, epoch), epoch);
                    let hash = table.map_or(0, |table| {
                        let hash = table.mask.key(table.bytes(p, self.headers(p, epoch)));
                        let hash = hash.hash(&table.mask);
                        table.fetch_place(hash);
                        hash
                    });
                    begun[place] = (table, hash);
                });
                for (table, hash) in &begun[block.clone()] {
                    table.iter().for_each(|table: &&Table| table.fetch_session(*hash, epoch));
                }
                packets.usual(block.clone(), |place, p| {
                    let (table, hash) = begun[place];
                    let table = table?;
                    let key = table.mask.key(table.bytes(p, self.headers(p, epoch)));
                    let (number, session) = table.find(&key, hash, epoch)?;
                    let next = V::next(session.hit_next)?;
                    if session.advance != 0 || session.action != Action::None {
                        return None;
                    }
                    table.count(number, &at);
                    tally[Count::<USE>::Hits as usize] += 1;
                    Some(next)
                });
                packets.others(block, |_, p| {
                    let (judged, next) = self.judge(p, &at, &mut tally);
                    p.trace(|_| judged);
                    let reason = usize::from(judged.refused.unwrap_or(false));
                    next.ok_or(V::REASONS[reason])
                });
            }
        });
        for what in [Count::Misses, Count::Hits, Count::Walked] {
            frame.count(what, tally[what as usize]);
        }
    }
}

impl<V: Classified<USE>, const USE: u8> Classify<V, USE> {
    /// The interface whose tables a packet meets.
    #[inline(always)]
    fn interface(p: &Buffer<'_>) -> u32 {
        if matches!(USE, OUTPUT | OUTPUT_FRAMES) { p.tx() } else { p.rx() }
    }
    /// The first table that a packet is looked up in.
    #[inline(always)]
    fn first(&self, p: &Buffer<'_>, epoch: Epoch<'_>) -> u32 {
        let kind = match USE {
            PUNT => return self.punted.read(epoch).get(V::KIND).copied().unwrap_or(NONE),
            ROUTED => return p.adjacency(),
            INPUT_FRAMES | OUTPUT_FRAMES => kind_of(p),
            _ => V::KIND,
        };
        let tables = self.interfaces.read(Self::interface(p), epoch);
        tables.map_or(NONE, |tables| tables.0[USE as usize][kind])
    }
    /// Positions of a packet's headers.
    #[inline(always)]
    fn headers(&self, p: &Buffer<'_>, epoch: Epoch<'_>) -> Headers {
        let here = p.offset();
        if V::KIND == LAYER2 {
            return Headers { l2: here, current: here };
        }
        if V::IS_FRAMED {
            // No table sees the headers of the adjacency, as in the original.
            let len = self.adjacencies.read(p.adjacency(), epoch).map_or(0, Adjacency::front);
            let current = here.saturating_add(len as i16);
            return Headers { l2: current, current };
        }
        let l2 = if p.flags().has(Flags::L2) { p.l2_offset() } else { here };
        Headers { l2, current: here }
    }
    #[inline(never)]
    fn judge(
        &self,
        p: &mut Buffer<'_>,
        at: &Moment<'_>,
        tally: &mut Tally,
    ) -> (ClassifyTrace, Option<V::Next>) {
        let first = self.first(p, at.epoch);
        let headers = self.headers(p, at.epoch);
        let found = walk(&self.tables, first, at, |table| table.bytes(p, headers));
        let mut judged = ClassifyTrace {
            name: match USE {
                OUTPUT => "OUTACL",
                ROUTED => "IP_CLASSIFY",
                INPUT_FRAMES | OUTPUT_FRAMES => "l2-classify",
                _ => "INACL",
            },
            interface: Self::interface(p),
            table: NONE,
            offset: 0,
            refused: None,
            action: Action::None,
            fib: p.fib(),
        };
        let mut count = |what: Count<USE>| tally[what as usize] += 1;
        let next = match found {
            Match::Hit(Hit { session, table, is_walked, .. }) => {
                count(Count::Hits);
                if is_walked {
                    count(Count::Walked);
                }
                let next = match (session.action, V::redirected()) {
                    (Action::Redirect(balance), Some(next)) => {
                        p.set_adjacency(balance);
                        Some(next)
                    }
                    _ => V::next(session.hit_next).filter(|_| apply::<V, USE>(p, session)),
                };
                let (refused, action) = (next.is_none().then_some(true), session.action);
                judged = ClassifyTrace { table, refused, action, fib: p.fib(), ..judged };
                next
            }
            Match::Miss(table, number) => {
                count(Count::Misses);
                let next = V::next(number);
                judged =
                    ClassifyTrace { table, refused: next.is_none().then_some(false), ..judged };
                next
            }
            // Its table has just been removed.
            Match::Nothing => V::next(NONE),
        };
        let table = self.tables.read(judged.table, at.epoch);
        judged.offset = table.map_or(0, |table| {
            headers.current.saturating_sub(match table.from {
                super::From::Layer2 => headers.l2,
                super::From::Current(offset) => headers.current.saturating_add(offset),
            })
        });
        (judged, next)
    }
}

/// The kind of what a frame carries, by its first type; tags are another one.
#[inline(always)]
fn kind_of(p: &Buffer<'_>) -> usize {
    match p.bytes().get(12..14) {
        Some([0x08, 0x00]) => 0,
        Some([0x86, 0xdd]) => 1,
        _ => LAYER2,
    }
}

/// Does with a packet what a session says; false when there is no room for it.
fn apply<V: Classified<USE>, const USE: u8>(p: &mut Buffer<'_>, session: &Session) -> bool {
    match session.action {
        Action::Table { fib, .. } if V::KIND != LAYER2 && USE != OUTPUT => p.set_fib(fib),
        // Packets on output already have their adjacency, which later nodes need.
        Action::Metadata(number) if V::KIND != LAYER2 && USE != OUTPUT => p.set_adjacency(number),
        _ => (),
    }
    let n = session.advance.unsigned_abs() as usize;
    match session.advance {
        0 => true,
        1.. => p.advance(n).is_some(),
        _ => p.prepend(n).is_some(),
    }
}

/// The trace record of a node.
#[derive(Clone, Copy)]
struct ClassifyTrace {
    name: &'static str,
    interface: u32,
    table: u32,
    offset: i16,
    /// Whether it is refused, and that by a session.
    refused: Option<bool>,
    action: Action,
    fib: u16,
}

impl Record for ClassifyTrace {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, interface, table, offset, refused, action, fib } = self;
        let next = if refused.is_some() { "deny" } else { "permit" };
        write!(f, "  {name}: sw_if_index {interface}, next {next}, table ")?;
        if *table == NONE {
            f.write_str("none")?
        } else {
            write!(f, "{table}")?
        }
        write!(f, ", offset {offset}")?;
        match action {
            Action::Table { id, .. } => write!(f, ", action set-fib, table {id}, fib_index {fib}"),
            Action::Metadata(number) => {
                write!(f, ", action set-metadata, metadata {number}, fib_index {fib}")
            }
            Action::Mark(number) => write!(f, ", action mark-flow, flow {number}"),
            Action::Redirect(balance) => write!(f, ", action redirect, dpo-idx {balance}"),
            Action::None => Ok(()),
        }
    }
}

macro_rules! node {
    ($kind:ty, $use:ident, $tables:ident, $interfaces:ident, $punted:ident, $router:ident) => {
        Classify::<$kind, $use> {
            kind: PhantomData,
            tables: $tables.clone(),
            interfaces: $interfaces.clone(),
            punted: $punted.clone(),
            adjacencies: $router.adjacencies.reader(),
        }
    };
}

/// Adds the nodes of IPv4 and IPv6.
pub(super) fn add(
    router: &mut Router,
    tables: &SlabReader<Table>,
    interfaces: &SlabReader<Tables>,
    punted: &Reader<[u32; 2]>,
) -> Result<(), BuildError> {
    macro_rules! add {
        ($($kind:ident, $use:ident, $arc:expr;)*) => {$(
            let node = node!($kind, $use, tables, interfaces, punted, router);
            router.engine.add_feature($arc, node)?;
        )*};
    }
    add! {
        V4, INPUT, &IP4_UNICAST;
        V6, INPUT, &IP6_UNICAST;
        V4, OUTPUT, &IP4_OUTPUT;
        V6, OUTPUT, &IP6_OUTPUT;
        V4, FLOW, &IP4_UNICAST;
        V6, FLOW, &IP6_UNICAST;
        V4, PUNT, V4::PUNT_ARC;
        V6, PUNT, V6::PUNT_ARC;
    }
    router.engine.add(node!(V4, ROUTED, tables, interfaces, punted, router))?;
    router.engine.add(node!(V6, ROUTED, tables, interfaces, punted, router))?;
    Ok(())
}

/// Adds those of bridged frames.
pub(super) fn add_layer2(
    router: &mut Router,
    tables: &SlabReader<Table>,
    interfaces: &SlabReader<Tables>,
    punted: &Reader<[u32; 2]>,
) -> Result<(), BuildError> {
    let input = node!(Layer2, INPUT, tables, interfaces, punted, router);
    let output = node!(Layer2, OUTPUT, tables, interfaces, punted, router);
    router.engine.add_feature(&L2_INPUT, input)?;
    router.engine.add_feature(&L2_OUTPUT, output)?;
    let received = node!(Layer2, INPUT_FRAMES, tables, interfaces, punted, router);
    let sent = node!(Layer2, OUTPUT_FRAMES, tables, interfaces, punted, router);
    router.engine.add_feature(&L2_INPUT, received)?;
    router.engine.add_feature(&L2_OUTPUT, sent)?;
    Ok(())
}

/// Whether frames are bridged here.
pub(super) fn has_layer2(router: &Router) -> bool {
    let [[.., input], ..] = NAMES;
    router.engine.index_of(input).is_some()
}
