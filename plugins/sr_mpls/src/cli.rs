//! Commands about policies and what is steered into them.

use net::prelude::*;

use super::steer::{self, Steering, Through};
use super::{Change, Policies, add, assign, modify, remove};

/// Operation on a policy.
#[derive(Clone, Debug, PartialEq)]
enum Do {
    Add { is_spray: bool, weight: u32, segments: Vec<u32> },
    Del,
    Change(Change),
}

/// `sr mpls policy [add|del|mod] bsid LABEL …`.
#[derive(Debug, PartialEq)]
struct SetPolicy {
    bsid: u32,
    what: Do,
}

impl Command for SetPolicy {
    const PATHS: &'static [&'static str] = &["sr mpls policy"];
    const ABOUT: &'static str = "Add, change or delete an SR-MPLS policy";
    const USAGE: &'static str = "{add bsid <label> next <label>... [weight <n>] [spray] | \
        del bsid <label> | mod bsid <label> {add sl next <label>... [weight <n>] | \
        del sl index <n> | mod sl index <n> weight <n>}}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut verb, mut part, mut bsid, mut index) = ("add", "", None, None);
        let (mut weight, mut is_spray, mut segments) = (1, false, Vec::new());
        while let Some(word) = args.peek() {
            args.word();
            match word {
                "add" | "del" | "mod" if verb == "mod" => part = word,
                "add" | "del" | "mod" => verb = word,
                "sl" => (),
                "bsid" => bsid = Some(args.value("label")?),
                "next" => segments.push(args.value("label")?),
                "weight" => weight = args.value("weight")?,
                "index" => index = Some(args.value("index")?),
                "spray" => is_spray = true,
                _ => return Err(args.error("expected bsid, next, weight, spray, sl or index")),
            }
        }
        let bsid = bsid.ok_or_else(|| Error::new("missing bsid"))?;
        let index = index.ok_or_else(|| Error::new("missing index"));
        let what = match (verb, part) {
            ("add", _) => Do::Add { is_spray, weight, segments },
            ("del", _) => Do::Del,
            (_, "add") => Do::Change(Change::Add(weight, segments)),
            (_, "del") => Do::Change(Change::Remove(index?)),
            (_, "mod") => Do::Change(Change::Weigh(index?, weight)),
            _ => return Err(Error::new("missing add sl, del sl or mod sl")),
        };
        Ok(Self { bsid, what })
    }
}

fn say_list(line: &mut Line<'_>, weight: u32, segments: &[u32]) {
    for label in segments {
        line.option("next", Some(label));
    }
    line.option("weight", Some(&weight).filter(|weight| **weight != 1));
}

impl Print for SetPolicy {
    const STAGE: Stage = Stage::Objects;
    fn print(&self, line: &mut Line<'_>) {
        let verb = match self.what {
            Do::Add { .. } => "add",
            Do::Del => "del",
            Do::Change(_) => "mod",
        };
        line.flag(verb, true);
        line.option("bsid", Some(&self.bsid));
        match &self.what {
            Do::Add { is_spray, weight, segments } => {
                say_list(line, *weight, segments);
                line.flag("spray", *is_spray);
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

/// Set the endpoint and color of an SR-MPLS policy.
#[derive(Command, Print, Debug, PartialEq)]
#[command("sr mpls policy te")]
#[stage(Objects)]
struct SetEndpoint {
    /// binding label
    bsid: u32,
    /// endpoint
    endpoint: Option<IpAddr>,
    /// color
    color: Option<u32>,
    /// delete
    #[alias("clear")]
    del: bool,
}

/// `sr mpls steer [del] l3 PREFIX via …`.
#[derive(Debug, PartialEq)]
struct Steer {
    table: u32,
    prefix: Prefix,
    /// `None` for no longer.
    steering: Option<Steering>,
}

impl Command for Steer {
    const PATHS: &'static [&'static str] = &["sr mpls steer"];
    const ABOUT: &'static str = "Add or delete steering of a prefix into an SR-MPLS policy";
    const USAGE: &'static str = "[del] l3 <prefix> via {sr policy bsid <label> | \
        next-hop <address> color <n> co <0|1|2>} [fib-table <table-id>] [vpn-label <label>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut is_del, mut prefix, mut bsid, mut table) = (false, None, None, 0);
        let (mut next_hop, mut color, mut co, mut vpn_label) = (None, None, 0, None);
        while let Some(word) = args.peek() {
            args.word();
            match word {
                "del" => is_del = true,
                "l3" => prefix = Some(args.value("prefix")?),
                "via" | "sr" | "policy" | "sr_policy" => (),
                "bsid" => bsid = Some(args.value("label")?),
                "next-hop" => next_hop = Some(args.value("address")?),
                "color" => color = Some(args.value("color")?),
                "co" => co = args.value("co")?,
                "fib-table" => table = args.value("table id")?,
                "vpn-label" => vpn_label = Some(args.value("label")?),
                _ => return Err(args.error("expected l3, via, fib-table or vpn-label")),
            }
        }
        let prefix = prefix.ok_or_else(|| Error::new("missing l3"))?;
        let through = match (bsid, next_hop, color) {
            (Some(bsid), None, None) => Some(Through::Policy(bsid)),
            (None, Some(next_hop), Some(color)) => Some(Through::Color { next_hop, color, co }),
            _ if is_del => None,
            _ => return Err(Error::new("missing bsid, or next-hop and color")),
        };
        let steering = through.filter(|_| !is_del).map(|through| Steering { through, vpn_label });
        Ok(Self { table, prefix, steering })
    }
}

impl Print for Steer {
    const STAGE: Stage = Stage::Routes;
    fn print(&self, line: &mut Line<'_>) {
        line.flag("del", self.steering.is_none());
        line.option("l3", Some(&self.prefix));
        match self.steering.map(|s| s.through) {
            Some(Through::Policy(bsid)) => {
                line.option("via sr policy bsid", Some(&bsid));
            }
            Some(Through::Color { next_hop, color, co }) => {
                line.option("via next-hop", Some(&next_hop));
                line.option("color", Some(&color));
                line.option("co", Some(&co));
            }
            None => (),
        }
        line.option("fib-table", Some(&self.table).filter(|table| **table != 0));
        line.option("vpn-label", self.steering.and_then(|s| s.vpn_label).as_ref());
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let all = router.own::<Policies>();
    for (bsid, policy) in &all.all {
        let mut is_first = true;
        for list in policy.lists.values() {
            let (weight, segments, is_spray) =
                (list.weight, list.segments.clone(), policy.is_spray);
            let what = match is_first {
                true => Do::Add { is_spray, weight, segments },
                false => Do::Change(Change::Add(weight, segments)),
            };
            lines.push(&SetPolicy { bsid: *bsid, what });
            is_first = false;
        }
        if let Some((endpoint, color)) = policy.endpoint {
            let (endpoint, color) = (Some(endpoint), Some(color));
            lines.push(&SetEndpoint { bsid: *bsid, endpoint, color, del: false });
        }
    }
    for ((table, prefix), steering) in &all.steered {
        lines.push(&Steer { table: *table, prefix: *prefix, steering: Some(*steering) });
    }
}

/// Show SR-MPLS policies.
#[derive(Command)]
#[command("show sr mpls policies")]
struct ShowPolicies;

/// Show SR-MPLS steering.
#[derive(Command)]
#[command("show sr mpls steering policies")]
struct ShowSteered;

#[derive(Serialize)]
struct PolicyRow {
    bsid: u32,
    kind: &'static str,
    endpoint: Option<IpAddr>,
    color: Option<u32>,
    /// Number, weight, labels.
    lists: Vec<(u32, u32, Vec<u32>)>,
}

impl fmt::Display for PolicyRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "BSID: {}\n\tType: {}", self.bsid, self.kind)?;
        if let (Some(endpoint), Some(color)) = (self.endpoint, self.color) {
            writeln!(f, "\tTE: endpoint {endpoint} color {color}")?;
        }
        writeln!(f, "\tSegment Lists:")?;
        for (index, weight, labels) in &self.lists {
            let labels: Vec<String> = labels.iter().map(ToString::to_string).collect();
            writeln!(f, "\t\t[{index}].- < {} > weight: {weight}", labels.join(", "))?;
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct SteeredRow {
    prefix: String,
    table: u32,
    bsid: Option<u32>,
    next_hop: Option<IpAddr>,
    color: Option<u32>,
    co: Option<u8>,
    vpn_label: Option<u32>,
}

impl fmt::Display for SteeredRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} table {}", self.prefix, self.table)?;
        if let Some(bsid) = self.bsid {
            write!(f, " bsid {bsid}")?;
        }
        if let (Some(next_hop), Some(color), Some(co)) = (self.next_hop, self.color, self.co) {
            write!(f, " next-hop {next_hop} color {color} co {co}")?;
        }
        if let Some(label) = self.vpn_label {
            write!(f, " vpn-label {label}")?;
        }
        writeln!(f)
    }
}

fn show(router: &mut Router) -> Output {
    let all = router.own::<Policies>().all.iter();
    let rows: Vec<PolicyRow> = all
        .map(|(bsid, p)| PolicyRow {
            bsid: *bsid,
            kind: if p.is_spray { "Spray" } else { "Default" },
            endpoint: p.endpoint.map(|e| e.0),
            color: p.endpoint.map(|e| e.1),
            lists: p.lists.iter().map(|(i, l)| (*i, l.weight, l.segments.clone())).collect(),
        })
        .collect();
    Output::both(rows.iter().map(ToString::to_string).collect::<String>(), rows)
}

fn show_steered(router: &mut Router) -> Output {
    let row = |((table, prefix), s): (&(u32, Prefix), &Steering)| {
        let (mut bsid, mut by_color) = (None, None);
        match s.through {
            Through::Policy(label) => bsid = Some(label),
            Through::Color { next_hop, color, co } => by_color = Some((next_hop, color, co)),
        }
        SteeredRow {
            prefix: prefix.to_string(),
            table: *table,
            bsid,
            next_hop: by_color.map(|c| c.0),
            color: by_color.map(|c| c.1),
            co: by_color.map(|c| c.2),
            vpn_label: s.vpn_label,
        }
    };
    let rows: Vec<SteeredRow> = router.own::<Policies>().steered.iter().map(row).collect();
    Output::both(rows.iter().map(ToString::to_string).collect::<String>(), rows)
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetPolicy| {
        let done = match c.what {
            Do::Add { is_spray, weight, segments } => {
                add(router, c.bsid, is_spray, (weight, segments))
            }
            Do::Del => remove(router, c.bsid),
            Do::Change(change) => modify(router, c.bsid, change),
        };
        Ok(done?)
    });
    cli.command(|router: &mut Router, c: SetEndpoint| {
        let endpoint = match (c.del, c.endpoint, c.color) {
            (true, _, _) => None,
            (false, Some(endpoint), Some(color)) => Some((endpoint, color)),
            _ => return Err(Error::new("missing endpoint or color")),
        };
        Ok(assign(router, c.bsid, endpoint)?)
    });
    cli.command(|router: &mut Router, c: Steer| {
        let done = match c.steering {
            Some(steering) => steer::set(router, c.table, c.prefix, steering),
            None => steer::unset(router, c.table, c.prefix),
        };
        Ok(done?)
    });
    cli.command(|router: &mut Router, _: ShowPolicies| Ok::<_, Error>(show(router)));
    cli.command(|router: &mut Router, _: ShowSteered| Ok::<_, Error>(show_steered(router)));
}
