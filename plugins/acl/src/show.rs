//! `show acl-plugin …`.

use infra::table::rules::Size;
use net::prelude::*;

use super::list::List;
use super::trace::address;
use super::{Applied, all, words};

/// Show access lists.
#[derive(Command)]
#[command("show acl-plugin acl")]
struct ShowLists {
    /// only this one
    index: Option<u32>,
}

/// Show the access lists of interfaces.
#[derive(Command)]
#[command("show acl-plugin interface")]
struct ShowInterfaces {
    /// only this one
    #[alias("sw_if_index")]
    sw_if_index: Option<u32>,
    /// include the lists
    acl: bool,
    /// include the lookup contexts
    detail: bool,
}

/// Show the sizes of access lists in lookup tables.
#[derive(Command)]
#[command("show acl-plugin tables")]
struct ShowTables {
    /// lists only
    #[keyword("acl")]
    _acl: bool,
    /// only this one
    index: Option<u32>,
    /// rule groups and their masks
    mask: bool,
    /// lists of interfaces
    applied: bool,
    /// only this lookup context
    #[alias("lc_index")]
    lc_index: Option<u32>,
    /// accepted; the output is the same
    #[keyword("hash")]
    _hash: bool,
    /// verbosity
    #[keyword("verbose")]
    _verbose: Option<u32>,
}

/// Show the lists that interfaces and features use.
#[derive(Command)]
#[command("show acl-plugin lookup context")]
struct ShowContexts {
    /// only this one
    index: Option<u32>,
}

/// Show the features that use lists.
#[derive(Command)]
#[command("show acl-plugin lookup user")]
struct ShowUsers {
    /// only this one
    index: Option<u32>,
}

/// Show the memory used by access lists.
#[derive(Command)]
#[command("show acl-plugin memory")]
struct ShowMemory;

/// Decode a 5-tuple from a trace: six 64-bit words with addresses, interface, protocol, ports and
/// flags.
#[derive(Command)]
#[command("show acl-plugin decode 5tuple")]
struct Decode {
    /// the words, in hexadecimal
    #[positional]
    words: Vec<String>,
}

#[derive(Serialize)]
struct Shown {
    index: u32,
    tag: String,
    rules: Vec<Line>,
    inbound: Vec<u32>,
    outbound: Vec<u32>,
    contexts: Vec<u32>,
}

#[derive(Serialize)]
struct Line {
    version: u8,
    rule: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    packets: Option<u64>,
}

fn joined(numbers: &[u32]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl Shown {
    fn write_rules(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "acl-index {} count {} tag {{{}}}", self.index, self.rules.len(), self.tag)?;
        for (number, Line { version, rule, packets }) in self.rules.iter().enumerate() {
            write!(f, "{number:>11}: ipv{version} {rule}")?;
            match packets {
                Some(packets) => writeln!(f, " packets {packets}")?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_rules(f)?;
        for (direction, interfaces) in [("inbound", &self.inbound), ("outbound", &self.outbound)] {
            if !interfaces.is_empty() {
                writeln!(f, "  applied {direction} on sw_if_index: {}", joined(interfaces))?;
            }
        }
        if self.contexts.is_empty() {
            return Ok(());
        }
        writeln!(f, "  used in lookup context index: {}", joined(&self.contexts))
    }
}

fn shown(router: &Router, index: u32, list: &List) -> Shown {
    let counts = all(router).options().counts;
    let line = |(number, rule): (usize, &super::Rule)| Line {
        version: if rule.is_6() { 6 } else { 4 },
        rule: words::whole(rule),
        packets: counts.then(|| list.matches.sum(number).packets),
    };
    let on = |direction: usize| {
        let with =
            router.settings::<Applied>().filter(|(_, a)| a.lists[direction].contains(&index));
        with.map(|(interface, _)| interface.0).collect()
    };
    let contexts = contexts(router);
    let uses = contexts.iter().filter(|context| context.acls.contains(&index));
    Shown {
        index,
        tag: list.tag.clone(),
        rules: list.rules.iter().enumerate().map(line).collect(),
        inbound: on(0),
        outbound: on(1),
        contexts: uses.map(|context| context.index).collect(),
    }
}

#[derive(Serialize)]
struct Interface {
    sw_if_index: u32,
    input: Vec<u32>,
    output: Vec<u32>,
    input_types: Vec<u16>,
    output_types: Vec<u16>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    acls: Vec<Shown>,
    /// Lookup contexts of received and sent packets.
    #[serde(skip)]
    contexts: Option<[i64; 2]>,
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "sw_if_index {}:", self.sw_if_index)?;
        for (direction, lists) in [("input", &self.input), ("output", &self.output)] {
            if lists.is_empty() {
                continue;
            }
            writeln!(f, "  {direction} acl(s): {}", joined(lists))?;
            for list in self.acls.iter().filter(|list| lists.contains(&list.index)) {
                writeln!(f)?;
                list.write_rules(f)?;
            }
            if !self.acls.is_empty() {
                writeln!(f)?;
            }
        }
        for (direction, types) in [("input", &self.input_types), ("output", &self.output_types)] {
            if !types.is_empty() {
                let types: Vec<_> = types.iter().map(|kind| format!("{kind:04x}")).collect();
                writeln!(f, "  {direction} etype whitelist: {}", types.join(", "))?;
            }
        }
        let Some([input, output]) = self.contexts else { return Ok(()) };
        writeln!(f, "   input lookup context index: {input}")?;
        writeln!(f, "  output lookup context index: {output}")
    }
}

fn interface(router: &Router, index: InterfaceIndex, show: &ShowInterfaces) -> Interface {
    let Applied { lists: [input, output], types } = router.setting(index);
    let [input_types, output_types] = types;
    let numbers = if show.acl { [input.as_slice(), &output].concat() } else { Vec::new() };
    let list = |n: &u32| Some(shown(router, *n, all(router).at(*n)?));
    let acls = numbers.iter().filter_map(list).collect();
    let contexts = show.detail.then(|| {
        let all = contexts(router);
        let of = |is_input| {
            let is_it = |c: &&Context| c.is_interface && c.values == [index.0, is_input];
            all.iter().find(is_it).map_or(-1, |context| context.index.into())
        };
        [of(1), of(0)]
    });
    Interface { sw_if_index: index.0, input, output, input_types, output_types, acls, contexts }
}

#[derive(Serialize)]
struct Table {
    index: u32,
    rules: usize,
    halves: Vec<HalfTable>,
}

#[derive(Serialize)]
struct HalfTable {
    version: u8,
    groups: usize,
    entries: usize,
    cuts: usize,
    bytes: usize,
    masks: Vec<String>,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "acl-index {} rules {}", self.index, self.rules)?;
        for half in &self.halves {
            let HalfTable { version, groups, entries, cuts, bytes, masks } = half;
            write!(f, "  ipv{version}: groups {groups} entries {entries} cuts {cuts}")?;
            writeln!(f, " bytes {bytes}")?;
            masks.iter().try_for_each(|mask| writeln!(f, "    {mask}"))?;
        }
        Ok(())
    }
}

fn mask<const W: usize>((mask, first, places): (&[u64; W], u32, u32)) -> String {
    let words: Vec<_> = mask.iter().map(|word| format!("{word:016x}")).collect();
    format!("mask {} first rule {first} places {places}", words.join(" "))
}

fn table(index: u32, list: &List, with_masks: bool) -> Table {
    let masks4 = list.v4.groups().filter(|_| with_masks).map(mask).collect();
    let masks6 = list.v6.groups().filter(|_| with_masks).map(mask).collect();
    let half = |(version, [sharp, blunt], masks): (u8, [Size; 2], Vec<String>)| HalfTable {
        version,
        groups: sharp.groups,
        entries: sharp.entries,
        cuts: sharp.cuts,
        bytes: sharp.bytes + blunt.bytes,
        masks,
    };
    let [v4, v6] = list.sizes();
    let halves = [(4, v4, masks4), (6, v6, masks6)].map(half).into();
    Table { index, rules: list.rules.len(), halves }
}

/// Lists that something uses, in the order in which they are asked.
#[derive(Serialize)]
struct Context {
    index: u32,
    #[serde(skip)]
    is_interface: bool,
    user: &'static str,
    labels: [&'static str; 2],
    values: [u32; 2],
    acls: Vec<u32>,
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, user, labels: [a, b], values: [x, y], acls, .. } = self;
        let acls = joined(acls);
        writeln!(f, "index {index}:{user} {a}: {x} {b}: {y}, acl_indices: {acls}")
    }
}

/// Name of the interfaces' use of lists.
const INTERFACES: &str = "interface ACL";
/// Names of the numbers that tell its contexts apart.
const LABELS: [&str; 2] = ["sw_if_index", "is_input"];

/// Uses of lists: those of interfaces, then those of features.
fn contexts(router: &Router) -> Vec<Context> {
    let mut found = Vec::new();
    let mut push = |user, labels, values, acls: Vec<u32>| {
        let index = found.len() as u32;
        let is_interface = user == INTERFACES;
        found.push(Context { index, is_interface, user, labels, values, acls });
    };
    for (interface, applied) in router.settings::<Applied>() {
        for (is_input, lists) in [1, 0].into_iter().zip(&applied.lists) {
            if !lists.is_empty() {
                push(INTERFACES, LABELS, [interface.0, is_input], lists.clone());
            }
        }
    }
    for features in all(router).users() {
        for (values, lists) in (features.uses)(router) {
            push(features.name, features.labels, values, lists);
        }
    }
    found
}

#[derive(Serialize)]
struct UserRow {
    index: usize,
    name: &'static str,
    labels: [&'static str; 2],
}

impl fmt::Display for UserRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, name, labels: [a, b] } = self;
        writeln!(f, "index {index}:{name}:{a}:{b}")
    }
}

#[derive(Serialize)]
struct Memory {
    lists: usize,
    rules: usize,
    bytes: usize,
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lists, rules, bytes } = self;
        writeln!(f, "ACL memory: lists {lists} rules {rules} bytes {bytes}")
    }
}

fn memory(router: &Router) -> Memory {
    let mut found = Memory { lists: 0, rules: 0, bytes: 0 };
    for (_, list) in all(router).iter() {
        found.lists += 1;
        found.rules += list.rules.len();
        found.bytes += size_of_val(&*list.rules);
        found.bytes += list.sizes().as_flattened().iter().map(|size| size.bytes).sum::<usize>();
    }
    found
}

fn decode(words: &[String]) -> Result<String, Error> {
    let wrong = |word: &str| Error::new(format!("invalid word `{word}'"));
    let number = |word: &String| u64::from_str_radix(word, 16).map_err(|_| wrong(word));
    let words: Vec<u64> = words.iter().map(number).collect::<Result<_, _>>()?;
    let [a, b, c, d, e, g] = words[..] else { return Err(Error::new("expected six words")) };
    let bytes = |high: u64, low: u64| (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
    let (src, dst) = (bytes(a, b), bytes(c, d));
    // An address of IPv4 stands in the first four bytes.
    let is_4 = a & 0xffff_ffff == 0 && b == 0 && c & 0xffff_ffff == 0 && d == 0;
    let version = if is_4 { 4 } else { 6 };
    let (src, dst) = (address(version, &src), address(version, &dst));
    let (protocol, from, to) = (e >> 32 & 0xff, e >> 16 & 0xffff, e & 0xffff);
    let (interface, flags) = (g as u32, g >> 32 & 0xff);
    Ok(format!(
        "l3 ip{version} {src} -> {dst} sw_if_index {interface} l4 proto {protocol} \
         port {from} -> {to} tcp flags {flags:02x}"
    ))
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: ShowLists| {
        let meant = all(router).iter().filter(|(i, _)| c.index.is_none_or(|only| only == *i));
        Ok(Output::list(meant.map(|(i, list)| shown(router, i, list))))
    });
    cli.command(|router: &mut Router, c: ShowInterfaces| {
        // Those behind the last one with lists are left out.
        let last = router.settings::<Applied>().map(|(interface, _)| interface.0).max();
        let meant = router.interfaces.iter().map(|i| i.index);
        let meant = meant.filter(|i| match c.sw_if_index {
            Some(only) => only == i.0,
            None => Some(i.0) <= last,
        });
        Ok(Output::list(meant.map(|i| interface(router, i, &c))))
    });
    cli.command(|router: &mut Router, c: ShowTables| {
        if c.applied {
            let mut found = contexts(router);
            found.retain(|context| c.lc_index.is_none_or(|only| only == context.index));
            return Ok(Output::list(found));
        }
        let meant = all(router).iter().filter(|(i, _)| c.index.is_none_or(|only| only == *i));
        Ok(Output::list(meant.map(|(i, list)| table(i, list, c.mask))))
    });
    cli.command(|router: &mut Router, c: ShowContexts| {
        let mut found = contexts(router);
        found.retain(|context| c.index.is_none_or(|only| only == context.index));
        Ok(Output::list(found))
    });
    cli.command(|router: &mut Router, c: ShowUsers| {
        let interfaces = (INTERFACES, LABELS);
        let features = all(router).users().map(|user| (user.name, user.labels));
        let rows = [interfaces].into_iter().chain(features).enumerate();
        let rows = rows.map(|(index, (name, labels))| UserRow { index, name, labels });
        let meant = rows.filter(|row| c.index.is_none_or(|only| only as usize == row.index));
        Ok(Output::list(meant))
    });
    cli.command(|router: &mut Router, _: ShowMemory| Ok(Output::of(memory(router))));
    cli.command(|_: &mut Router, c: Decode| Ok(Output::text(decode(&c.words)?)));
}
