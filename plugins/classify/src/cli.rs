//! `classify table`, `classify session`, `classify filter`.

use control::cli::{Args, Cli, Command, Error};
use net::{InterfaceIndex, Router};

use super::filter::{self, Of};
use super::key::VECTOR;
use super::tables::{Classifier, Doing, NewSession, NewTable};
use super::words::{self, Form};
use super::{From, NONE};

/// What a table says of packets that it refuses.
const DENY: u32 = 0;

/// `classify table [mask …] …`.
struct MakeTable {
    table: Option<u32>,
    new: NewTable,
    is_del: bool,
    is_chain: bool,
}

impl Command for MakeTable {
    const PATHS: &'static [&'static str] = &["classify table"];
    const ABOUT: &'static str = "Make a table of the classifier, change or delete it";
    const USAGE: &'static str = "[miss-next|l2-miss-next|acl-miss-next <next index>] \
        mask <mask> [buckets <n>] [skip <n>] [match <n>] [memory-size <n>[K|M|G]] \
        [current-data-flag <n>] [current-data-offset <n>] [next-table <n>] [table <n>] \
        [del] [del-chain]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut made =
            Self { table: None, new: NewTable::default(), is_del: false, is_chain: false };
        let (mut mask, mut skip, mut count) = (None, None, None);
        let (mut is_current, mut offset) = (false, 0);
        while !args.is_empty() {
            if args.keyword("miss-next")
                || args.keyword("l2-miss-next")
                || args.keyword("acl-miss-next")
            {
                made.new.miss_next = next(args)?;
            } else if args.keyword("mask") {
                mask = Some(words::take(args, Form::Mask)?);
            } else if args.keyword("buckets") {
                made.new.buckets = args.value("buckets")?;
            } else if args.keyword("skip") {
                skip = Some(args.value::<u32>("skip")?);
            } else if args.keyword("match") {
                count = Some(args.value::<usize>("match")?);
            } else if args.keyword("memory-size") {
                made.new.memory = memory(args)?;
            } else if args.keyword("current-data-flag") {
                is_current = args.value::<u8>("current-data-flag")? == 1;
            } else if args.keyword("current-data-offset") {
                offset = args.value("current-data-offset")?;
            } else if args.keyword("next-table") {
                made.new.next = args.value("next-table")?;
            } else if args.keyword("table") {
                made.table = Some(args.value("table index")?);
            } else if args.keyword("del-chain") {
                (made.is_del, made.is_chain) = (true, true);
            } else if args.keyword("del") {
                made.is_del = true;
            } else {
                return Err(args.unknown());
            }
        }
        made.new.from = if is_current { From::Current(offset) } else { From::Layer2 };
        if made.is_del && made.table.is_none() {
            return Err(args.error("expected table"));
        }
        if !made.is_del && made.table.is_none() {
            let mask = mask.ok_or_else(|| args.error("expected mask"))?;
            (made.new.skip, made.new.mask) = cut(&mask, skip, count, args)?;
        }
        Ok(made)
    }
}

/// Vectors left out and the vectors that count, where they are not as the mask says itself.
fn cut(
    mask: &[u8],
    skip: Option<u32>,
    count: Option<usize>,
    args: &Args<'_>,
) -> Result<(u32, Vec<u8>), Error> {
    let of_itself = words::split(mask).ok_or_else(|| args.error("the mask is all zero"))?;
    let skip = skip.unwrap_or(of_itself.0);
    let left_out = (skip as usize).saturating_mul(VECTOR).min(mask.len());
    let mut rest = mask[left_out..].to_vec();
    let end = rest.iter().rposition(|byte| *byte != 0).map_or(0, |last| last / VECTOR + 1);
    rest.resize(count.unwrap_or(end).min(super::key::MOST_VECTORS + 1) * VECTOR, 0);
    Ok((skip, rest))
}

/// `deny`, `permit` or a number.
fn next(args: &mut Args<'_>) -> Result<u32, Error> {
    if args.keyword("deny") {
        Ok(DENY)
    } else if args.keyword("permit") {
        Ok(NONE)
    } else {
        // All bits set are written as -1 too.
        let number: i64 = args.value("next index")?;
        Ok(u32::try_from(number).unwrap_or(NONE))
    }
}

/// `2M`.
fn memory(args: &mut Args<'_>) -> Result<u64, Error> {
    let place = *args;
    let word = args.word().unwrap_or_default();
    let units = [('K', 10), ('k', 10), ('M', 20), ('m', 20), ('G', 30), ('g', 30)];
    let unit = units.iter().find_map(|(letter, shift)| Some((word.strip_suffix(*letter)?, shift)));
    let (digits, shift) = unit.unwrap_or((word, &0));
    let bytes = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
    bytes.ok_or_else(|| place.error("invalid memory size"))
}

/// `classify session table-index N match …`.
struct MakeSession {
    table: u32,
    new: NewSession,
    is_del: bool,
}

impl Command for MakeSession {
    const PATHS: &'static [&'static str] = &["classify session"];
    const ABOUT: &'static str = "Add a session to a table of the classifier, or take it out";
    const USAGE: &'static str = "[hit-next|l2-input-hit-next|l2-output-hit-next|acl-hit-next \
        <next index>] table-index <n> match <match> [opaque-index <n>] [advance <n>] \
        [action set-ip4-fib-id|set-ip6-fib-id|set-metadata|mark-flow <n>] [del]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut table, mut matched, mut is_del) = (None, None, false);
        let action = Doing::None;
        let mut new =
            NewSession { matched: Vec::new(), hit_next: NONE, opaque: NONE, advance: 0, action };
        while !args.is_empty() {
            if ["hit-next", "l2-input-hit-next", "l2-output-hit-next", "acl-hit-next"]
                .iter()
                .any(|word| args.keyword(word))
            {
                new.hit_next = next(args)?;
            } else if args.keyword("table-index") {
                table = Some(args.value("table-index")?);
            } else if args.keyword("match") {
                matched = Some(words::take(args, Form::Match)?);
            } else if args.keyword("opaque-index") {
                new.opaque = args.value("opaque-index")?;
            } else if args.keyword("advance") {
                new.advance = args.value("advance")?;
            } else if args.keyword("action") {
                new.action = action_of(args)?;
            } else if args.keyword("del") {
                is_del = true;
            } else {
                return Err(args.unknown());
            }
        }
        new.matched = matched.ok_or_else(|| args.error("expected match"))?;
        Ok(Self { table: table.ok_or_else(|| args.error("expected table-index"))?, new, is_del })
    }
}

fn action_of(args: &mut Args<'_>) -> Result<Doing, Error> {
    type Making = fn(u32) -> Doing;
    let known: [(&str, Making); 4] = [
        ("set-ip4-fib-id", Doing::Table4),
        ("set-ip6-fib-id", Doing::Table6),
        ("set-metadata", Doing::Metadata),
        ("mark-flow", Doing::Mark),
    ];
    let found = known.iter().find(|(word, _)| args.keyword(word));
    let (word, action) = found.ok_or_else(|| args.unknown())?;
    Ok(action(args.value(word)?))
}

/// `classify filter trace|pcap|INTERFACE mask … match …`.
struct SetFilter {
    of: Of,
    new: NewTable,
    mask: Option<Vec<u8>>,
    matched: Option<Vec<u8>>,
    is_del: bool,
}

impl Command for SetFilter {
    const PATHS: &'static [&'static str] = &["classify filter"];
    const ABOUT: &'static str = "Have traces or captures take packets that match, or all again";
    const USAGE: &'static str = "trace | pcap | <interface> [mask <mask> match <match>] \
        [buckets <n>] [memory-size <n>[K|M|G]] [del]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut of, mut mask, mut matched, mut is_del) = (None, None, None, false);
        let mut new = NewTable { buckets: 8, ..NewTable::default() };
        while !args.is_empty() {
            if args.keyword("mask") {
                mask = Some(words::take(args, Form::Mask)?);
            } else if args.keyword("match") {
                matched = Some(words::take(args, Form::Match)?);
            } else if args.keyword("buckets") {
                new.buckets = args.value("buckets")?;
            } else if args.keyword("memory-size") {
                new.memory = memory(args)?;
            } else if args.keyword("del") {
                is_del = true;
            } else if args.keyword("trace") {
                of = Some(Of::Trace);
            } else if args.keyword("pcap") {
                of = Some(Of::Captures);
            } else if of.is_none() {
                of = Some(Of::Interface(args.value::<InterfaceIndex>("interface")?));
            } else {
                return Err(args.unknown());
            }
        }
        let of = of.ok_or_else(|| args.error("expected trace, pcap or an interface"))?;
        if !is_del && (mask.is_none() || matched.is_none()) {
            return Err(args.error("expected mask and match"));
        }
        if let Some(mask) = &mask {
            (new.skip, new.mask) = cut(mask, None, None, args)?;
        }
        Ok(Self { of, new, mask, matched, is_del })
    }
}

impl SetFilter {
    fn carry_out(self, router: &mut Router) -> Result<(), super::Error> {
        let Self { of, new, mask, matched, is_del } = self;
        if is_del {
            return filter::remove(router, of, mask.map(|_| (new.skip, new.mask)));
        }
        let mut matched = matched.unwrap_or_default();
        matched.resize(matched.len().max(new.skip as usize * VECTOR + new.mask.len()), 0);
        filter::add(router, of, &new, matched)
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: MakeTable| {
        match c.table {
            Some(table) if c.is_del => super::remove_table(router, table, c.is_chain)?,
            Some(table) => super::set_next(router, table, c.new.next)?,
            None => {
                super::add_table(router, &c.new)?;
            }
        }
        Ok(())
    });
    cli.command(|router: &mut Router, mut c: MakeSession| {
        // What is not named behind the match is zero.
        if let Some(info) = router.own::<Classifier>().table(c.table) {
            let len = (info.table.skip + info.table.mask.vectors()) * VECTOR;
            c.new.matched.resize(c.new.matched.len().max(len), 0);
        }
        if c.is_del {
            super::remove_session(router, c.table, &c.new.matched)?;
        } else {
            super::add_session(router, c.table, &c.new)?;
        }
        Ok(())
    });
    cli.command(|router: &mut Router, c: SetFilter| Ok(c.carry_out(router)?));
}
