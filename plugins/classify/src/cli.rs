//! `classify table`, `classify session`, `classify filter`.

use control::cli::{PrintValue, Word, hex};
use net::prelude::*;

use super::filter::{self, FilterOwner};
use super::key::VECTOR;
use super::tables::{Classifier, Info, NewSession, NewTable, SessionAction};
use super::words::{self, Form};
use super::{Action, From, NONE, edges};

/// Number in a table for packets that it refuses.
const DENY: u32 = 0;
/// Buckets of a filter's tables.
const FILTER_BUCKETS: u32 = 8;
/// Memory of a table unless it is given.
const MEMORY: Memory = Memory(2 << 20);

/// Add, change or delete a classifier table.
#[derive(Command, Print, Debug, PartialEq)]
#[command("classify table")]
#[undo(
    "classify table {?index} table {index} del|classify table table {table} next-table 4294967295"
)]
#[stage(Objects)]
struct MakeTable {
    /// next node on a miss
    #[alias("l2-miss-next")]
    #[alias("l2-input-miss-next")]
    #[alias("l2-output-miss-next")]
    #[alias("acl-miss-next")]
    #[default(NextIndex(NONE))]
    miss_next: NextIndex,
    /// mask: `hex` and digits; `l2` with src, dst, proto, tag1, tag2, cos1, cos2, ignore-tag1,
    /// ignore-tag2, dot1q, dot1ad or none; `l3` with ip4 or ip6 and src, dst, proto and other
    /// fields; `l4` with tcp or udp and src_port, dst_port
    mask: Option<Mask>,
    /// buckets
    #[default(2)]
    buckets: u32,
    /// vectors to skip; by default derived from the mask
    skip: Option<u32>,
    /// vectors to match; by default derived from the mask
    #[keyword("match")]
    count: Option<usize>,
    /// memory in bytes, limiting the number of sessions; default 2M
    #[default(MEMORY)]
    memory_size: Memory,
    /// 1 to match from the current header
    #[default]
    current_data_flag: u8,
    /// offset in bytes from there
    #[default]
    current_data_offset: i16,
    /// next table on a miss
    #[default(NONE)]
    next_table: u32,
    /// table to change or delete
    table: Option<u32>,
    /// index of the new table; default the first free one
    index: Option<u32>,
    /// delete
    del: bool,
    /// delete the tables chained to it as well
    del_chain: bool,
}

impl MakeTable {
    fn carry_out(self, router: &mut Router) -> Result<(), Error> {
        if self.del || self.del_chain {
            let table = self.table.ok_or("expected table")?;
            return Ok(super::remove_table(router, table, self.del_chain)?);
        }
        if let Some(table) = self.table {
            return Ok(super::set_next(router, table, self.next_table)?);
        }
        let Mask(mask) = self.mask.ok_or("expected mask")?;
        let (skip, mask) = cut(&mask, self.skip, self.count)?;
        let is_current = self.current_data_flag == 1;
        let new = NewTable {
            mask,
            skip,
            buckets: self.buckets,
            memory: self.memory_size.0,
            next: self.next_table,
            miss_next: self.miss_next.0,
            from: if is_current { From::Current(self.current_data_offset) } else { From::Layer2 },
            index: self.index,
        };
        Ok(super::add_table(router, &new).map(drop)?)
    }
    /// As it has a table ask another one.
    fn with_next(table: u32, next_table: u32) -> Self {
        Self {
            miss_next: NextIndex(NONE),
            mask: None,
            buckets: 2,
            skip: None,
            count: None,
            memory_size: MEMORY,
            current_data_flag: 0,
            current_data_offset: 0,
            next_table,
            table: Some(table),
            index: None,
            del: false,
            del_chain: false,
        }
    }
    /// As it makes this table, without one that is asked next.
    fn of(index: u32, info: &Info<'_>) -> Self {
        let (skip, mask) = (info.table.skip, info.table.mask);
        let (current_data_flag, current_data_offset) = match info.table.from {
            From::Current(offset) => (1, offset),
            From::Layer2 => (0, 0),
        };
        Self {
            miss_next: NextIndex(info.table.miss_next),
            mask: Some(Mask([vec![0; skip * VECTOR], mask.bytes()].concat())),
            buckets: info.buckets,
            skip: Some(skip as u32),
            count: Some(mask.vectors()),
            memory_size: Memory(info.memory),
            current_data_flag,
            current_data_offset,
            table: None,
            index: Some(index),
            ..Self::with_next(index, NONE)
        }
    }
}

/// Vectors left out and the vectors that count, where they are not as the mask says itself.
fn cut(mask: &[u8], skip: Option<u32>, count: Option<usize>) -> Result<(u32, Vec<u8>), Error> {
    let of_itself = || words::split(mask).ok_or_else(|| Error::new("the mask is zero"));
    let skip = skip.map_or_else(|| of_itself().map(|(skip, _)| skip), Ok)?;
    let left_out = (skip as usize).saturating_mul(VECTOR).min(mask.len());
    let mut rest = mask[left_out..].to_vec();
    let end = rest.iter().rposition(|byte| *byte != 0).map_or(0, |last| last / VECTOR + 1);
    rest.resize(count.unwrap_or(end).min(super::key::MOST_VECTORS + 1) * VECTOR, 0);
    Ok((skip, rest))
}

/// Bits that count, as words or in hexadecimal.
#[derive(Debug, PartialEq)]
struct Mask(Vec<u8>);

impl Value for Mask {
    fn take(args: &mut Args<'_>, _: &str) -> Result<Self, Error> {
        words::take(args, Form::Mask).map(Self)
    }
}

impl PrintValue for Mask {
    fn print(&self, line: &mut Line<'_>) {
        line.word("hex").word(hex(&self.0));
    }
}

/// Value that they are compared with.
#[derive(Debug, PartialEq)]
pub struct Match(pub Vec<u8>);

impl Value for Match {
    fn take(args: &mut Args<'_>, _: &str) -> Result<Self, Error> {
        words::take(args, Form::Match).map(Self)
    }
}

impl PrintValue for Match {
    fn print(&self, line: &mut Line<'_>) {
        line.word("hex").word(hex(&self.0));
    }
}

/// `deny`, `permit`, a word for a next node, or a number.
#[derive(Debug, PartialEq)]
struct NextIndex(u32);

impl Value for NextIndex {
    fn take(args: &mut Args<'_>, what: &str) -> Result<Self, Error> {
        if args.keyword("deny") {
            return Ok(Self(DENY));
        }
        if args.keyword("permit") {
            return Ok(Self(NONE));
        }
        let words = edges::ROUTED_WORDS.into_iter().chain(edges::FRAME_WORDS);
        if let Some((_, number)) = words.into_iter().find(|(word, _)| args.keyword(word)) {
            return Ok(Self(number));
        }
        // All bits set are written as -1 too.
        let number: i64 = args.value(what)?;
        Ok(Self(u32::try_from(number).unwrap_or(NONE)))
    }
}

impl PrintValue for NextIndex {
    fn print(&self, line: &mut Line<'_>) {
        line.word(self.0);
    }
}

/// Bytes: `2M`.
#[derive(Debug, PartialEq)]
struct Memory(u64);

impl Value for Memory {
    fn take(args: &mut Args<'_>, _: &str) -> Result<Self, Error> {
        let place = *args;
        let word = args.word().unwrap_or_default();
        let units = [('K', 10), ('k', 10), ('M', 20), ('m', 20), ('G', 30), ('g', 30)];
        let unit = |(letter, shift)| Some((word.strip_suffix(letter)?, shift));
        let (digits, shift) = units.into_iter().find_map(unit).unwrap_or((word, 0));
        let bytes = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
        bytes.map(Self).ok_or_else(|| place.error("invalid memory size"))
    }
}

impl PrintValue for Memory {
    fn print(&self, line: &mut Line<'_>) {
        line.word(self.0);
    }
}

/// A number, or the colour that a policer finds a packet to have.
#[derive(Debug, PartialEq)]
struct Opaque(u32);

impl Value for Opaque {
    fn take(args: &mut Args<'_>, what: &str) -> Result<Self, Error> {
        let colors = ["conform-color", "exceed-color"];
        match (0..).zip(colors).find(|(_, word)| args.keyword(word)) {
            Some((color, _)) => Ok(Self(color)),
            // Below zero, such as the -1 that stands for none: the same bits.
            None => match args.optional::<i32>() {
                Some(number) => Ok(Self(number.cast_unsigned())),
                None => args.value(what).map(Self),
            },
        }
    }
}

impl PrintValue for Opaque {
    fn print(&self, line: &mut Line<'_>) {
        line.word(self.0);
    }
}

/// Add or delete a classifier session.
#[derive(Command, Print, Debug, PartialEq)]
#[command("classify session")]
#[stage(Objects)]
struct MakeSession {
    /// next node on a match
    #[alias("l2-input-hit-next")]
    #[alias("l2-output-hit-next")]
    #[alias("acl-hit-next")]
    #[default(NextIndex(NONE))]
    hit_next: NextIndex,
    /// table ID
    table_index: u32,
    /// match: `hex` and digits, or the fields of the mask, each with a value: `l2`, `l3` or `l4`,
    /// then `src`, `dst`, `proto`, `tag1`, `tag2`, `ignore-tag1`, `ignore-tag2`, `cos1`, `cos2`,
    /// `ip4`, `ip6`, `src_port`, `dst_port`; `l2 none` for none
    #[keyword("match")]
    matched: Match,
    /// policer for matching packets
    policer_hit_next: Option<Word>,
    /// opaque value for the user of the table, or a color for its policer
    #[default(Opaque(NONE))]
    opaque_index: Opaque,
    /// for its policer packets conform
    conform_color: bool,
    /// for its policer packets exceed
    exceed_color: bool,
    /// bytes to advance the packet, may be negative
    #[default]
    advance: i32,
    /// action
    #[words]
    #[default]
    action: SessionAction,
    /// delete
    del: bool,
}

impl MakeSession {
    fn carry_out(self, router: &mut Router) -> Result<(), Error> {
        let Match(mut matched) = self.matched;
        // What is not named behind the match is zero.
        if let Some(info) = router.own::<Classifier>().table(self.table_index) {
            let len = (info.table.skip + info.table.mask.vectors()) * VECTOR;
            matched.resize(matched.len().max(len), 0);
        }
        if self.del {
            return Ok(super::remove_session(router, self.table_index, &matched)?);
        }
        let hit_next = match &self.policer_hit_next {
            None => self.hit_next.0,
            Some(name) => {
                let find = router.own::<Classifier>().policer.ok_or(super::Error::NoPolicers)?;
                find(router, name).ok_or(super::Error::NoPolicer)?
            }
        };
        let Self { opaque_index: Opaque(mut opaque), advance, action, .. } = self;
        if self.conform_color || self.exceed_color {
            opaque = self.exceed_color.into();
        }
        let new = NewSession { matched, hit_next, opaque, advance, action };
        Ok(super::add_session(router, self.table_index, &new)?)
    }
}

impl Value for FilterOwner {
    const IS_NAME: bool = true;
    fn take(args: &mut Args<'_>, _: &str) -> Result<Self, Error> {
        if args.keyword("trace") {
            return Ok(Self::Trace);
        }
        match args.keyword("pcap") {
            true => Ok(Self::Captures),
            false => args.value::<InterfaceIndex>("interface").map(Self::Interface),
        }
    }
}

impl PrintValue for FilterOwner {
    fn print(&self, line: &mut Line<'_>) {
        match self {
            Self::Trace => line.word("trace"),
            Self::Captures => line.word("pcap"),
            Self::Interface(interface) => line.value(interface),
        };
    }
}

/// Set the filter of packet traces or captures, or clear it.
#[derive(Command, Print, Debug, PartialEq)]
#[command("classify filter")]
#[stage(Attachments)]
struct SetFilter {
    /// trace, pcap, or an interface name for captures on that interface
    #[positional]
    of: FilterOwner,
    /// mask: `hex` and digits; `l2` with src, dst, proto, tag1, tag2, cos1, cos2, ignore-tag1,
    /// ignore-tag2, dot1q, dot1ad or none; `l3` with ip4 or ip6 and src, dst, proto and other
    /// fields; `l4` with tcp or udp and src_port, dst_port
    mask: Option<Mask>,
    /// values to match
    #[keyword("match")]
    matched: Option<Match>,
    /// buckets
    #[default(FILTER_BUCKETS)]
    buckets: u32,
    /// memory in bytes, limiting the number of sessions; default 2M
    #[default(MEMORY)]
    memory_size: Memory,
    /// first table of the filter, instead of mask and match
    table: Option<u32>,
    /// delete
    del: bool,
}

impl SetFilter {
    fn carry_out(self, router: &mut Router) -> Result<(), Error> {
        let cut = self.mask.map(|Mask(mask)| cut(&mask, None, None)).transpose()?;
        if self.del {
            return Ok(filter::remove(router, self.of, cut)?);
        }
        if self.table.is_some() {
            return Ok(filter::set_first(router, self.of, self.table)?);
        }
        let (Some((skip, mask)), Some(Match(mut matched))) = (cut, self.matched) else {
            return Err(Error::new("expected mask and match"));
        };
        matched.resize(matched.len().max(skip as usize * VECTOR + mask.len()), 0);
        let (buckets, memory) = (self.buckets, self.memory_size.0);
        let new = NewTable { skip, mask, buckets, memory, ..NewTable::default() };
        Ok(filter::add(router, self.of, &new, matched)?)
    }
}

/// The session of a table that was looked at last.
struct Cursor(u32, u32);

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let all = router.own::<Classifier>();
    let Cursor(table, session) = lines.resumed().unwrap_or_else(|| {
        let tables = || all.numbers().filter_map(|n| Some((n, all.table(n)?)));
        tables().for_each(|(n, info)| lines.push(&MakeTable::of(n, &info)));
        // All are there by now.
        for (n, info) in tables().filter(|(_, info)| info.table.next != NONE) {
            lines.push(&MakeTable::with_next(n, info.table.next));
        }
        for (of, first) in all.filters.iter() {
            lines.push(&SetFilter {
                of,
                mask: None,
                matched: None,
                buckets: FILTER_BUCKETS,
                memory_size: MEMORY,
                table: Some(first),
                del: false,
            });
        }
        super::set_cli::configuration(router, lines);
        Cursor(0, 0)
    });
    for n in all.numbers().filter(|n| *n >= table) {
        let Some(info) = all.table(n) else { continue };
        let mut next = if n == table { session } else { 0 };
        while let Some((number, s)) = info.sessions.from(next) {
            if lines.is_full() {
                return lines.pause(Cursor(n, number));
            }
            next = number + 1;
            if matches!(s.action, Action::Redirect(_)) {
                continue;
            }
            let skipped = vec![0; info.table.skip * VECTOR];
            lines.push(&MakeSession {
                hit_next: NextIndex(s.hit_next),
                table_index: n,
                matched: Match([skipped, s.key.bytes(&info.table.mask)].concat()),
                policer_hit_next: None,
                opaque_index: Opaque(s.opaque),
                conform_color: false,
                exceed_color: false,
                advance: s.advance,
                action: s.action.wanted(),
                del: false,
            });
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: MakeTable| c.carry_out(router));
    cli.command(|router: &mut Router, c: MakeSession| c.carry_out(router));
    cli.command(|router: &mut Router, c: SetFilter| c.carry_out(router));
}
