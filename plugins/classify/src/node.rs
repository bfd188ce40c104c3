//! The nodes that look packets up: `ip4-inacl`, `ip4-outacl`, `ip4-flow-classify`, `ip4-punt-acl`,
//! those of IPv6, `l2-input-acl` and `l2-output-acl`.
//!
//! The first table of a packet is asked in three steps for a block of packets: hash and ask for the
//! place, read the place and ask for the session, judge. What is found there and passes is done
//! with; everything else, and what is traced, is judged packet by packet.
#![forbid(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;

use graph::{
    BLOCK, Buffer, BuildError, Continue, CounterText, FRAME, Flags, Frame, Names, Node, Reason,
    Record,
};
use infra::rcu::{Epoch, Reader, SlabReader};
use net::Router;
use net::adjacency::Adjacency;
use net::ethernet::{L2_INPUT, L2_OUTPUT};
use net::ip::{V4, V6, Version};
use net::ip4::{IP4_OUTPUT, IP4_UNICAST};
use net::ip6::{IP6_OUTPUT, IP6_UNICAST};

use super::table::{Action, Found, Headers, Moment, NONE, Session, Table, walk};
use super::uses::Tables;

/// Names of the nodes, by use and kind; the last use is what is punted.
pub const NAMES: [[&str; 3]; 4] = [
    ["ip4-inacl", "ip6-inacl", "l2-input-acl"],
    ["ip4-outacl", "ip6-outacl", "l2-output-acl"],
    ["ip4-flow-classify", "ip6-flow-classify", ""],
    ["ip4-punt-acl", "ip6-punt-acl", ""],
];

/// Received packets.
pub const INPUT: u8 = 0;
/// Packets that are sent.
pub const OUTPUT: u8 = 1;
/// Flows, of which none is refused.
pub const FLOW: u8 = 2;
/// What is punted.
pub const PUNT: u8 = 3;

/// The kind that is no version of IP.
const LAYER2: usize = 2;
/// What a table says of packets that do not pass.
const DENY: u32 = 0;

/// Packets of a kind that are looked up for a use.
pub trait Classified<const USE: u8>: Copy + Send + Sync + 'static {
    /// Why they are dropped.
    type Error: Reason;
    /// Place in [`NAMES`] and in the tables of an interface.
    const KIND: usize;
    /// Not found, and refused; found, and refused.
    const REASONS: [Self::Error; 2];
    /// The node that gets those that are dropped.
    const DROP: &'static str;
    /// The node where drops are counted; empty for that which drops.
    const COUNTED_AT: &'static str;
    /// Whether the layer 2 header of their adjacency is in front.
    const IS_FRAMED: bool;
}

/// Frames that are bridged or cross-connected.
#[derive(Clone, Copy)]
pub struct Layer2;

/// Drops of `l2-input-acl`.
#[derive(Clone, Copy, graph::Reason)]
pub enum InputError {
    /// valid input ACL packets.
    #[name("valid input ACL packets")]
    #[severity("info")]
    Valid,
    /// input ACL table-miss drops.
    #[name("input ACL table-miss drops")]
    TableMiss,
    /// input ACL session deny drops.
    #[name("input ACL session deny drops")]
    SessionDeny,
}

/// Drops of `l2-output-acl`.
#[derive(Clone, Copy, graph::Reason)]
pub enum OutputError {
    /// valid output ACL packets.
    #[name("valid output ACL packets")]
    #[severity("info")]
    Valid,
    /// output ACL table-miss drops.
    #[name("output ACL table-miss drops")]
    TableMiss,
    /// output ACL session deny drops.
    #[name("output ACL session deny drops")]
    SessionDeny,
}

macro_rules! classified {
    ($version:ident, $kind:literal, $module:ident) => {
        impl<const USE: u8> Classified<USE> for $version {
            type Error = net::$module::Error;
            const KIND: usize = $kind;
            const REASONS: [Self::Error; 2] = match USE {
                OUTPUT => [Self::Error::OutaclTableMiss, Self::Error::OutaclSessionDeny],
                _ => [Self::Error::InaclTableMiss, Self::Error::InaclSessionDeny],
            };
            const DROP: &'static str = <Self as Version>::NODES.drop;
            const COUNTED_AT: &'static str = <Self as Version>::NODES.input;
            const IS_FRAMED: bool = USE == OUTPUT;
        }
    };
    (Layer2, $use:ident, $error:ident) => {
        impl Classified<$use> for Layer2 {
            type Error = $error;
            const KIND: usize = 2;
            const REASONS: [$error; 2] = [$error::TableMiss, $error::SessionDeny];
            const DROP: &'static str = "error-drop";
            const COUNTED_AT: &'static str = "";
            const IS_FRAMED: bool = false;
        }
    };
}
classified!(V4, 0, ip4);
classified!(V6, 1, ip6);
classified!(Layer2, INPUT, InputError);
classified!(Layer2, OUTPUT, OutputError);

/// What is counted besides drops.
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

/// What was counted in a frame, in the order of [`Count`].
type Tally = [u64; 3];

impl<V: Classified<USE>, const USE: u8> Node for Classify<V, USE> {
    const NAME: &'static str = NAMES[USE as usize][V::KIND];
    type Next = Continue;
    type Error = V::Error;
    type Count = Count<USE>;
    const DROP: &'static str = V::DROP;
    const COUNTED_AT: &'static str = V::COUNTED_AT;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (thread, now, epoch) = (frame.thread(), frame.now(), frame.epoch());
        let at = Moment { thread, now, epoch };
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
                    let refuses = USE != FLOW && session.hit_next == DENY;
                    if refuses || session.advance != 0 || session.action != Action::None {
                        return None;
                    }
                    table.count(number, &at);
                    tally[Count::<USE>::Hits as usize] += 1;
                    Some(Continue)
                });
                packets.others(block, |_, p| {
                    let judged = self.judge(p, &at, &mut tally);
                    p.trace(|_| judged);
                    match judged.refused {
                        Some(reason) if USE != FLOW => Err(V::REASONS[usize::from(reason)]),
                        _ => Ok(Continue),
                    }
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
        if USE == OUTPUT { p.tx() } else { p.rx() }
    }
    /// The first table that a packet is looked up in.
    #[inline(always)]
    fn first(&self, p: &Buffer<'_>, epoch: Epoch<'_>) -> u32 {
        if USE == PUNT {
            return self.punted.read(epoch).get(V::KIND).copied().unwrap_or(NONE);
        }
        let tables = self.interfaces.read(Self::interface(p), epoch);
        tables.map_or(NONE, |tables| tables.0[USE as usize][V::KIND])
    }
    /// Where a packet's headers are.
    #[inline(always)]
    fn headers(&self, p: &Buffer<'_>, epoch: Epoch<'_>) -> Headers {
        let here = p.offset();
        if V::KIND == LAYER2 {
            return Headers { l2: here, current: here };
        }
        if V::IS_FRAMED {
            // The layer 2 header of the adjacency is in front.
            let len = self.adjacencies.read(p.adjacency(), epoch).map_or(0, |a| a.header_len);
            return Headers { l2: here, current: here.saturating_add(len.into()) };
        }
        let l2 = if p.flags().has(Flags::L2) { p.l2_offset() } else { here };
        Headers { l2, current: here }
    }
    #[inline(never)]
    fn judge(&self, p: &mut Buffer<'_>, at: &Moment<'_>, tally: &mut Tally) -> Judged {
        let first = self.first(p, at.epoch);
        let headers = self.headers(p, at.epoch);
        let found = walk(&self.tables, first, at, |table| table.bytes(p, headers));
        let mut judged = Judged {
            name: if USE == OUTPUT { "OUTACL" } else { "INACL" },
            interface: Self::interface(p),
            table: NONE,
            offset: 0,
            refused: None,
            action: Action::None,
            fib: p.fib(),
        };
        let mut count = |what: Count<USE>| tally[what as usize] += 1;
        match found {
            Found::Hit(session, table, is_walked) => {
                count(Count::Hits);
                if is_walked {
                    count(Count::Walked);
                }
                let passes =
                    (session.hit_next != DENY || USE == FLOW) && apply::<V, USE>(p, session);
                let (refused, action) = ((!passes).then_some(true), session.action);
                judged = Judged { table, refused, action, fib: p.fib(), ..judged };
            }
            Found::Miss(table, next) => {
                count(Count::Misses);
                let refused = (next == DENY && USE != FLOW).then_some(false);
                judged = Judged { table, refused, ..judged };
            }
            Found::Nothing => (),
        }
        let table = self.tables.read(judged.table, at.epoch);
        judged.offset = table.map_or(0, |table| {
            headers.current.saturating_sub(match table.from {
                super::From::Layer2 => headers.l2,
                super::From::Current(offset) => headers.current.saturating_add(offset),
            })
        });
        judged
    }
}

/// Does with a packet what a session says; false when there is no room for it.
fn apply<V: Classified<USE>, const USE: u8>(p: &mut Buffer<'_>, session: &Session) -> bool {
    match session.action {
        Action::Table { fib, .. } if V::KIND != LAYER2 && USE != OUTPUT => p.set_fib(fib),
        // What goes out has its adjacency already, which later nodes need.
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

/// What a node says of a traced packet.
#[derive(Clone, Copy)]
struct Judged {
    name: &'static str,
    interface: u32,
    table: u32,
    offset: i16,
    /// Whether it is refused, and that by a session.
    refused: Option<bool>,
    action: Action,
    fib: u16,
}

impl Record for Judged {
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
    Ok(())
}

/// Whether frames are bridged here.
pub(super) fn has_layer2(router: &Router) -> bool {
    let [[.., input], ..] = NAMES;
    router.engine.index_of(input).is_some()
}
