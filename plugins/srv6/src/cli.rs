//! Commands about local SIDs, policies, and what is steered into them.

use control::cli::Word;
use net::prelude::*;

use super::policy::{self, Change, Kind, NewPolicy};
use super::sid::{self, What};
use super::steer::{self, Traffic};
use super::{Segments, behavior};

/// `sr localsid [del] {address ADDRESS | prefix PREFIX} [fib-table N] behavior WORDS [psp]
/// [fib-table N]`.
#[derive(Debug, PartialEq)]
struct LocalSid {
    is_del: bool,
    prefix: Ip6Prefix,
    /// The table of the SID.
    table: u32,
    is_psp: bool,
    /// The word of the behavior, and what stands behind it.
    behavior: Option<(String, String)>,
}

impl Command for LocalSid {
    const PATHS: &'static [&'static str] = &["sr localsid"];
    const ABOUT: &'static str = "Add or delete a local SID";
    const USAGE: &'static str = "[del] {address|addr <address> | prefix <prefix>} [fib-table <id>] \
        behavior {end | end.x <interface> <next-hop> | end.t <table-id> | \
        end.dx2 <interface> | end.dx6 <interface> <next-hop> | end.dx4 <interface> <next-hop> | \
        end.dt6 <table-id> | end.dt4 <table-id> | un <bits> | un.flex <bits> | \
        ua <bits> <interface> <next-hop> | <behavior of a plugin>} [psp]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut is_del, mut prefix, mut table, mut is_psp) = (false, None, 0, false);
        let mut words: Option<(String, Vec<&str>)> = None;
        while let Some(word) = args.peek() {
            args.word();
            match word {
                "psp" => is_psp = true,
                "fib-table" if words.is_none() => table = args.value("table id")?,
                "del" => is_del = true,
                "address" | "addr" => prefix = Some(policy::host(args.value("address")?)),
                word if words.is_some() => {
                    let rest = words.as_mut().map(|(_, rest)| rest);
                    rest.into_iter().for_each(|rest| rest.push(word));
                }
                "prefix" => prefix = Some(args.value::<Ip6Prefix>("prefix")?.network()),
                "behavior" => words = Some((args.value("behavior")?, Vec::new())),
                _ => return Err(args.error("expected address, prefix, behavior or fib-table")),
            }
        }
        let prefix = prefix.ok_or_else(|| Error::new("missing address"))?;
        let behavior = words.map(|(keyword, rest)| (keyword, rest.join(" ")));
        if behavior.is_none() && !is_del {
            return Err(Error::new("missing behavior"));
        }
        Ok(Self { is_del, prefix, table, is_psp, behavior })
    }
}

impl Print for LocalSid {
    const STAGE: Stage = Stage::Routes;
    const UNDO: &'static str = "sr localsid del {}";
    fn print(&self, line: &mut Line<'_>) {
        line.flag("del", self.is_del);
        if self.prefix.prefix_len() == 128 {
            line.option("address", Some(&self.prefix.addr()));
        } else {
            line.option("prefix", Some(&self.prefix));
        }
        line.option("fib-table", Some(&self.table).filter(|table| **table != 0));
        if let Some((keyword, rest)) = &self.behavior {
            line.option("behavior", Some(keyword));
            for word in rest.split(' ').filter(|word| !word.is_empty()) {
                line.flag(word, true);
            }
        }
        line.flag("psp", self.is_psp);
    }
}

/// The table of a SID or policy, and the words of its behavior: `fib-table` among these is meant
/// for the SID, unless the behavior has such a word itself.
fn own_table(has_table: bool, rest: &str, table: u32) -> Result<(u32, String), Error> {
    let (mut table, mut words, mut args) = (table, Vec::new(), Args::new(rest));
    while let Some(word) = args.word() {
        match word {
            "fib-table" if !has_table => table = args.value("table id")?,
            word => words.push(word),
        }
    }
    Ok((table, words.join(" ")))
}

fn interface(router: &Router, args: &mut Args<'_>) -> Result<InterfaceIndex, Error> {
    let name: Word = args.value("interface")?;
    let found = router.interfaces.named(&name).map(|i| i.index);
    found.ok_or_else(|| name.unknown("interface"))
}

/// Behavior from its words.
fn what(router: &Router, keyword: &str, rest: &str) -> Result<What, Error> {
    let mut args = Args::new(rest);
    let dx = |args: &mut Args<'_>, link| {
        let (interface, next_hop) = (interface(router, args)?, args.value("next hop")?);
        Ok::<_, Error>(What::Dx { link, interface, next_hop })
    };
    let what = match keyword {
        "end" => What::End,
        "end.x" => {
            let interface = interface(router, &mut args)?;
            What::X { interface, next_hop: args.value("next hop")? }
        }
        "end.t" => What::T(args.value("table id")?),
        "end.dx2" => What::Dx2 { interface: interface(router, &mut args)?, vlan: 0 },
        "end.dx6" => dx(&mut args, Link::Ip6)?,
        "end.dx4" => dx(&mut args, Link::Ip4)?,
        "end.dt6" => What::Dt { link: Link::Ip6, table: args.value("table id")? },
        "end.dt4" => What::Dt { link: Link::Ip4, table: args.value("table id")? },
        "un" | "un.flex" => {
            let is_flexible = keyword == "un.flex";
            What::Micro { len: args.value("length in bits")?, is_flexible }
        }
        "ua" => {
            let (len, interface) = (args.value("length in bits")?, interface(router, &mut args)?);
            What::MicroX { len, interface, next_hop: args.value("next hop")? }
        }
        _ => {
            let known = behavior::named(router, keyword).ok_or(super::Error::NoBehavior)?;
            return Ok(What::Other(known.keyword, rest.to_owned()));
        }
    };
    if args.is_empty() { Ok(what) } else { Err(args.unknown()) }
}

/// The words of what a local SID does.
pub(super) fn words(router: &Router, sid: &sid::Kept) -> (String, String) {
    let name = |interface: &InterfaceIndex| router.interfaces.name(interface.0).to_owned();
    let to =
        |interface: &InterfaceIndex, next_hop: &IpAddr| format!("{} {next_hop}", name(interface));
    let (keyword, rest) = match &sid.what {
        What::End => ("end", String::new()),
        What::X { interface, next_hop } => ("end.x", to(interface, next_hop)),
        What::T(table) => ("end.t", table.to_string()),
        What::Dx2 { interface, .. } => ("end.dx2", name(interface)),
        What::Dx { link: Link::Ip4, interface, next_hop } => ("end.dx4", to(interface, next_hop)),
        What::Dx { interface, next_hop, .. } => ("end.dx6", to(interface, next_hop)),
        What::Dt { link: Link::Ip4, table } => ("end.dt4", table.to_string()),
        What::Dt { table, .. } => ("end.dt6", table.to_string()),
        What::Micro { len, is_flexible: true } => ("un.flex", len.to_string()),
        What::Micro { len, .. } => ("un", len.to_string()),
        What::MicroX { len, interface, next_hop } => {
            ("ua", format!("{len} {}", to(interface, next_hop)))
        }
        What::Other(keyword, _) => {
            let known = behavior::named(router, keyword);
            let rest = known.map(|b| (b.words)(router, sid.object.index));
            (*keyword, rest.unwrap_or_default())
        }
    };
    (keyword.to_owned(), rest)
}

/// The words of what a policy of another plugin does.
pub(super) fn policy_words(router: &Router, policy: &policy::Policy) -> Option<(String, String)> {
    let ((keyword, _), (object, _)) = (policy.new.behavior.as_ref()?, policy.other?);
    let known = behavior::of_policies(router, keyword)?;
    Some(((*keyword).to_owned(), (known.common.words)(router, object.index)))
}

/// Operation on a policy.
#[derive(Clone, Debug, PartialEq)]
enum Do {
    Add {
        new: NewPolicy,
        weight: u32,
        segments: Vec<Ipv6Addr>,
    },
    /// With the word of a plugin's behavior, what stands behind that.
    Other {
        new: NewPolicy,
        keyword: String,
        rest: String,
    },
    Del,
    Change(Change),
}

/// `sr policy [add|del|mod] {bsid ADDRESS | index N} …`.
#[derive(Debug, PartialEq)]
struct SetPolicy {
    bsid: Option<Ipv6Addr>,
    index: Option<u32>,
    what: Do,
}

impl Command for SetPolicy {
    const PATHS: &'static [&'static str] = &["sr policy"];
    const ABOUT: &'static str = "Add, change or delete an SRv6 policy";
    const USAGE: &'static str = "{add bsid <address> next <address>... [weight <n>] \
        [fib-table <id>] [encap|insert] [spray] [v6src <address>] | \
        add bsid <address> [fib-table <id>] [v6src <address>] behavior <behavior of a plugin> | \
        del {bsid <address> | index <n>} | mod {bsid <address> | index <n>} \
        {add sl next <address>... [weight <n>] | del sl index <n> | mod sl index <n> weight <n>}}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut verb, mut part, mut bsid, mut index, mut list) = ("add", "", None, None, None);
        let (mut weight, mut segments, mut table) = (1, Vec::new(), 0);
        let (mut is_encap, mut kind, mut source, mut is_list) = (true, Kind::Default, None, false);
        let mut words: Option<(String, Vec<&str>)> = None;
        while let Some(word) = args.peek() {
            args.word();
            match word {
                word if words.is_some() => {
                    let rest = words.as_mut().map(|(_, rest)| rest);
                    rest.into_iter().for_each(|rest| rest.push(word));
                }
                "behavior" => words = Some((args.value("behavior")?, Vec::new())),
                "add" | "del" | "mod" if verb == "mod" => part = word,
                "add" | "del" | "mod" => verb = word,
                "sl" => is_list = true,
                "bsid" => bsid = Some(args.value("address")?),
                "index" if is_list => list = Some(args.value("index")?),
                "index" => index = Some(args.value("index")?),
                "next" => segments.push(args.value("address")?),
                "weight" => weight = args.value("weight")?,
                "fib-table" => table = args.value("table id")?,
                "encap" => is_encap = true,
                "insert" => is_encap = false,
                "spray" => kind = Kind::Spray,
                "v6src" => source = Some(args.value("address")?),
                _ => return Err(args.error("expected bsid, index, next, weight or sl")),
            }
        }
        if bsid.is_none() && index.is_none() {
            return Err(Error::new("missing bsid"));
        }
        let list = list.ok_or_else(|| Error::new("missing index"));
        let what = match (verb, part) {
            ("add", _) => {
                let bsid = bsid.ok_or_else(|| Error::new("missing bsid"))?;
                let new = NewPolicy { bsid, kind, is_encap, table, source, behavior: None };
                match words {
                    None => Do::Add { new, weight, segments },
                    Some(_) if !segments.is_empty() => {
                        return Err(Error::new("a behavior of a plugin has no segments"));
                    }
                    Some((keyword, rest)) => Do::Other { new, keyword, rest: rest.join(" ") },
                }
            }
            ("del", _) => Do::Del,
            (_, "add") => Do::Change(Change::Add(weight, segments)),
            (_, "del") => Do::Change(Change::Remove(list?)),
            (_, "mod") => Do::Change(Change::Weigh(list?, weight)),
            _ => return Err(Error::new("missing add sl, del sl or mod sl")),
        };
        Ok(Self { bsid, index, what })
    }
}

fn say_list(line: &mut Line<'_>, weight: u32, segments: &[Ipv6Addr]) {
    for segment in segments {
        line.option("next", Some(segment));
    }
    line.option("weight", Some(&weight).filter(|weight| **weight != 1));
}

impl Print for SetPolicy {
    const STAGE: Stage = Stage::Objects;
    fn print(&self, line: &mut Line<'_>) {
        let verb = match self.what {
            Do::Add { .. } | Do::Other { .. } => "add",
            Do::Del => "del",
            Do::Change(_) => "mod",
        };
        line.flag(verb, true);
        line.option("bsid", self.bsid.as_ref());
        line.option("index", self.index.as_ref());
        match &self.what {
            Do::Add { new, weight, segments } => {
                say_list(line, *weight, segments);
                line.option("fib-table", Some(&new.table).filter(|table| **table != 0));
                line.flag("insert", !new.is_encap);
                line.flag("spray", new.kind == Kind::Spray);
                line.option("v6src", new.source.as_ref());
            }
            Do::Other { new, keyword, rest } => {
                line.option("fib-table", Some(&new.table).filter(|table| **table != 0));
                line.option("v6src", new.source.as_ref());
                line.option("behavior", Some(keyword));
                for word in rest.split(' ').filter(|word| !word.is_empty()) {
                    line.flag(word, true);
                }
            }
            Do::Del => (),
            Do::Change(Change::Add(weight, segments)) => {
                line.flag("add sl", true);
                say_list(line, *weight, segments);
            }
            Do::Change(Change::Remove(index)) => {
                line.option("del sl index", Some(index));
            }
            Do::Change(Change::Weigh(index, weight)) => {
                line.option("mod sl index", Some(index));
                line.option("weight", Some(weight));
            }
        }
    }
}

/// Steered traffic, as it is written.
#[derive(Clone, Debug, PartialEq)]
enum Steered {
    Packets(Prefix),
    Frames(InterfaceIndex),
}

/// `sr steer [del] {l3 PREFIX | l2 INTERFACE} via {index N | bsid ADDRESS} [fib-table N]`.
#[derive(Debug, PartialEq)]
struct Steer {
    is_del: bool,
    what: Steered,
    bsid: Option<Ipv6Addr>,
    index: Option<u32>,
    table: u32,
}

impl Command for Steer {
    const PATHS: &'static [&'static str] = &["sr steer"];
    const ABOUT: &'static str = "Add or delete steering of traffic into an SRv6 policy";
    const USAGE: &'static str = "[del] {l3 <prefix> | l2 <interface>} \
        via {index <n> | bsid <address>} [fib-table <id>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut is_del, mut what, mut bsid, mut index, mut table) = (false, None, None, None, 0);
        while let Some(word) = args.peek() {
            args.word();
            match word {
                "del" => is_del = true,
                "l3" => what = Some(Steered::Packets(args.value("prefix")?)),
                "l2" => what = Some(Steered::Frames(args.value("interface")?)),
                "via" | "sr" | "policy" => (),
                "index" => index = Some(args.value("index")?),
                "bsid" => bsid = Some(args.value("address")?),
                "fib-table" => table = args.value("table id")?,
                _ => return Err(args.error("expected l3, l2, via, index, bsid or fib-table")),
            }
        }
        let what = what.ok_or_else(|| Error::new("missing l3 or l2"))?;
        if !is_del && bsid.is_none() && index.is_none() {
            return Err(Error::new("missing bsid or index"));
        }
        Ok(Self { is_del, what, bsid, index, table })
    }
}

impl Print for Steer {
    const STAGE: Stage = Stage::Routes;
    fn print(&self, line: &mut Line<'_>) {
        line.flag("del", self.is_del);
        match &self.what {
            Steered::Packets(prefix) => line.option("l3", Some(prefix)),
            Steered::Frames(interface) => line.option("l2", Some(interface)),
        };
        line.flag("via", !self.is_del);
        line.option("index", self.index.as_ref());
        line.option("bsid", self.bsid.as_ref());
        line.option("fib-table", Some(&self.table).filter(|table| **table != 0));
    }
}

/// Set the source address of encapsulated packets.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set sr encaps source")]
#[undo("=set sr encaps source addr ::")]
#[stage(Settings)]
struct SetSource {
    /// the address
    addr: Ipv6Addr,
}

/// Set the hop limit of encapsulated packets.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set sr encaps hop-limit")]
#[undo("=set sr encaps hop-limit 64")]
#[stage(Settings)]
struct SetHopLimit {
    /// hop limit
    #[positional]
    limit: u8,
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let own = router.own::<Segments>();
    if !own.source.is_unspecified() {
        lines.push(&SetSource { addr: own.source });
    }
    if own.hop_limit != wire::ip6::DEFAULT_HOP_LIMIT {
        lines.push(&SetHopLimit { limit: own.hop_limit });
    }
    for ((table, prefix), sid) in &own.sids.all {
        lines.push(&LocalSid {
            is_del: false,
            prefix: *prefix,
            table: *table,
            is_psp: sid.is_psp,
            behavior: Some(words(router, sid)),
        });
    }
    for policy in own.policies.all.values() {
        let bsid = Some(policy.new.bsid);
        if let Some((keyword, rest)) = policy_words(router, policy) {
            let new = NewPolicy { behavior: None, ..policy.new.clone() };
            let what = Do::Other { new, keyword, rest };
            lines.push(&SetPolicy { bsid, index: None, what });
        }
        let mut is_first = true;
        for list in &policy.lists {
            let (weight, segments, new) = (list.weight, list.segments.clone(), policy.new.clone());
            let what = match is_first {
                true => Do::Add { new, weight, segments },
                false => Do::Change(Change::Add(weight, segments)),
            };
            lines.push(&SetPolicy { bsid, index: None, what });
            is_first = false;
        }
    }
    for (traffic, index) in &own.steered {
        let Some(policy) = own.policies.all.get(index) else { continue };
        let (what, table) = match *traffic {
            Traffic::Packets(table, prefix) => (Steered::Packets(prefix), table),
            Traffic::Frames(interface) => (Steered::Frames(interface), 0),
        };
        let bsid = Some(policy.new.bsid);
        lines.push(&Steer { is_del: false, what, bsid, index: None, table });
    }
}

fn policy_of(router: &Router, bsid: Option<Ipv6Addr>, index: Option<u32>) -> Result<u32, Error> {
    let policies = &router.own::<Segments>().policies;
    let found = match bsid {
        Some(bsid) => policies.of_bsid(bsid),
        None => index.filter(|index| policies.all.contains_key(index)),
    };
    Ok(found.ok_or(super::Error::NoPolicy)?)
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: LocalSid| {
        let (keyword, rest) = c.behavior.unwrap_or_default();
        let has_table = behavior::named(router, &keyword).is_some_and(|b| b.has_table);
        let (table, rest) = own_table(has_table, &rest, c.table)?;
        if c.is_del {
            return Ok(sid::remove(router, table, c.prefix)?);
        }
        let what = what(router, &keyword, &rest)?;
        Ok::<_, Error>(sid::add(router, table, c.prefix, c.is_psp, what)?)
    });
    cli.command(|router: &mut Router, c: SetPolicy| {
        match c.what {
            Do::Add { new, weight, segments } => drop(policy::add(router, new, weight, segments)?),
            Do::Other { mut new, keyword, rest } => {
                let known = behavior::of_policies(router, &keyword);
                let known = known.ok_or(super::Error::NoBehavior)?.common;
                let (table, rest) = own_table(known.has_table, &rest, new.table)?;
                (new.table, new.behavior) = (table, Some((known.keyword, rest)));
                policy::add(router, new, 0, Vec::new())?;
            }
            Do::Del => policy::remove(router, policy_of(router, c.bsid, c.index)?)?,
            Do::Change(change) => {
                policy::modify(router, policy_of(router, c.bsid, c.index)?, change)?;
            }
        }
        Ok::<_, Error>(())
    });
    cli.command(|router: &mut Router, c: Steer| {
        let traffic = match c.what {
            Steered::Packets(prefix) => Traffic::Packets(c.table, prefix),
            Steered::Frames(interface) => Traffic::Frames(interface),
        };
        if c.is_del {
            return Ok(steer::unset(router, traffic)?);
        }
        let policy = policy_of(router, c.bsid, c.index)?;
        Ok::<_, Error>(steer::set(router, traffic, policy)?)
    });
    cli.command(|router: &mut Router, c: SetSource| {
        super::set_source(router, c.addr);
        Ok::<_, Error>(())
    });
    cli.command(|router: &mut Router, c: SetHopLimit| {
        if c.limit == 0 {
            return Err(Error::new("the limit must be 1 to 255"));
        }
        super::set_hop_limit(router, c.limit);
        Ok(())
    });
}
