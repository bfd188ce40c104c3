//! Commands that show local SIDs, policies and steered traffic.

use net::prelude::*;

use super::cli::{policy_words, words};
use super::policy::Kind;
use super::steer::Traffic;
use super::{Segments, sid};

/// A local SID in words, by number.
pub fn describe_sid(router: &Router, index: u32) -> String {
    let mut all = router.own::<Segments>().sids.all.iter();
    let sid = all.find(|(_, sid)| sid.index == index);
    let prefix = sid.map(|((_, prefix), _)| prefix.to_string()).unwrap_or_default();
    format!("SR: localsid_index:[{index}] {prefix}")
}

/// A policy in words, by number of its list.
pub fn describe_policy(router: &Router, index: u32) -> String {
    let mut all = router.own::<Segments>().policies.all.values();
    let policy = all.find(|p| p.shares().contains(&index));
    let bsid = policy.map(|p| p.new.bsid.to_string()).unwrap_or_default();
    format!("SR: Segment List index:[{index}] bsid {bsid}")
}

/// Show local SIDs.
#[derive(Command)]
#[command("show sr localsids")]
struct ShowSids;

/// Show local SID behaviors.
#[derive(Command)]
#[command("show sr localsids behaviors")]
struct ShowBehaviors;

/// Show SRv6 policies.
#[derive(Command)]
#[command("show sr policies")]
struct ShowPolicies;

/// Show SRv6 policy behaviors.
#[derive(Command)]
#[command("show sr policy behaviors")]
struct ShowPolicyBehaviors;

/// Show SRv6 steering.
#[derive(Command)]
#[command("show sr steering-policies")]
struct ShowSteered;

/// Show the encapsulation source address.
#[derive(Command)]
#[command("show sr encaps source addr")]
struct ShowSource;

/// Show the encapsulation hop limit.
#[derive(Command)]
#[command("show sr encaps hop-limit")]
struct ShowHopLimit;

/// Clear the counters of local SIDs.
#[derive(Command)]
#[command("clear sr localsid-counters")]
struct ClearCounters;

#[derive(Serialize)]
struct SidRow {
    address: String,
    behavior: String,
    arguments: String,
    table: u32,
    psp: bool,
    good_packets: u64,
    good_bytes: u64,
    bad_packets: u64,
    bad_bytes: u64,
}

impl fmt::Display for SidRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, behavior, arguments, table, .. } = self;
        writeln!(f, "\tAddress: \t{address}")?;
        match SIDS.iter().find(|(keyword, _)| keyword == behavior) {
            Some((keyword, text)) => {
                writeln!(f, "\tBehavior: \t{text}")?;
                let mut words = arguments.split(' ').filter(|word| !word.is_empty());
                match *keyword {
                    "un" | "un.flex" => {}
                    "end.t" | "end.dt4" | "end.dt6" => writeln!(f, "\tTable: \t{arguments}")?,
                    _ => {
                        let skipped = usize::from(*keyword == "ua");
                        let named = ["Iface:  ", "Next hop: "].into_iter();
                        for (name, word) in named.zip(words.by_ref().skip(skipped)) {
                            writeln!(f, "\t{name}\t{word}")?;
                        }
                    }
                }
            }
            None => writeln!(f, "\tBehavior: \t{behavior} {arguments}")?,
        }
        if *table != 0 {
            writeln!(f, "\tFIB table: \t{table}")?;
        }
        if self.psp {
            writeln!(f, "\tPSP: \tTrue")?;
        }
        let Self { good_packets, good_bytes, bad_packets, bad_bytes, .. } = self;
        writeln!(f, "\tGood traffic: \t[{good_packets} packets : {good_bytes} bytes]")?;
        writeln!(f, "\tBad traffic:  \t[{bad_packets} packets : {bad_bytes} bytes]")?;
        writeln!(f, "--------------------")
    }
}

/// Texts of the behaviors of this crate's local SIDs.
const SIDS: [(&str, &str); 11] = [
    ("end", "End"),
    ("end.x", "X (Endpoint with Layer-3 cross-connect)"),
    ("end.t", "T (Endpoint with specific IPv6 table lookup)"),
    ("end.dx2", "DX2 (Endpoint with decapulation and Layer-2 cross-connect)"),
    ("end.dx4", "DX4 (Endpoint with decapsulation and IPv4 cross-connect)"),
    ("end.dx6", "DX6 (Endpoint with decapsulation and IPv6 cross-connect)"),
    ("end.dt4", "DT4 (Endpoint with decapsulation and specific IPv4 table lookup)"),
    ("end.dt6", "DT6 (Endpoint with decapsulation and specific IPv6 table lookup)"),
    ("un", "uN [End with uSID]"),
    ("un.flex", "uN (flex)"),
    ("ua", "uA [End with uSID and Layer-3 cross-connect]"),
];

#[derive(Serialize)]
struct PolicyRow {
    index: u32,
    bsid: Ipv6Addr,
    encap: bool,
    /// Of another plugin, with its words.
    behavior: Option<String>,
    source: Ipv6Addr,
    kind: &'static str,
    table: u32,
    /// Number, weight, segments.
    lists: Vec<(u32, u32, Vec<Ipv6Addr>)>,
}

impl fmt::Display for PolicyRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[{}].-\tBSID: {}", self.index, self.bsid)?;
        let usual = if self.encap { "Encapsulation" } else { "SRH insertion" };
        let behavior = self.behavior.as_deref().unwrap_or(usual);
        writeln!(f, "\tBehavior: {behavior}")?;
        if self.encap {
            writeln!(f, "\tEncapSrcIP: {}", self.source)?;
        }
        writeln!(f, "\tType: {}\n\tFIB table: {}\n\tSegment Lists:", self.kind, self.table)?;
        for (index, weight, segments) in &self.lists {
            let segments: String = segments.iter().map(|one| format!("{one}, ")).collect();
            writeln!(f, "  \t[{index}].- < {segments} > weight: {weight}")?;
        }
        writeln!(f, "-----------")
    }
}

#[derive(Serialize)]
struct SteeredRow {
    traffic: String,
    bsid: Option<Ipv6Addr>,
}

impl fmt::Display for SteeredRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bsid = self.bsid.map_or_else(|| "none".to_owned(), |bsid| bsid.to_string());
        writeln!(f, "{}\t{bsid}", self.traffic)
    }
}

#[derive(Serialize)]
struct SourceRow {
    source: Ipv6Addr,
}

impl fmt::Display for SourceRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "SR encaps source addr = {}", self.source)
    }
}

#[derive(Serialize)]
struct HopLimitRow {
    hop_limit: u8,
}

impl fmt::Display for HopLimitRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "SR encaps hop-limit = {}", self.hop_limit)
    }
}

#[derive(Serialize)]
struct BehaviorRow {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
}

impl fmt::Display for BehaviorRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, arguments, about } = self;
        writeln!(f, "\t{name}\t-> {about}.")?;
        match arguments.is_empty() {
            true => Ok(()),
            false => writeln!(f, "\t\tParameters: '{arguments}'"),
        }
    }
}

/// Behaviors of this crate's local SIDs.
const BEHAVIORS: &[[&str; 3]] = &[
    ["end", "", "on to the next segment"],
    ["end.x", "<interface> <next-hop>", "on to the next segment, by way of a neighbour"],
    ["end.t", "<table-id>", "on to the next segment, looked up in a table"],
    ["end.dx2", "<interface>", "decapsulate a frame, which leaves by an interface"],
    ["end.dx6", "<interface> <next-hop>", "decapsulate an IPv6 packet for a neighbour"],
    ["end.dx4", "<interface> <next-hop>", "decapsulate an IPv4 packet for a neighbour"],
    ["end.dt6", "<table-id>", "decapsulate an IPv6 packet, looked up in a table"],
    ["end.dt4", "<table-id>", "decapsulate an IPv4 packet, looked up in a table"],
    ["un", "<bits>", "on to the next micro-SID"],
    ["un.flex", "<bits>", "on to the next micro-SID, or segment"],
    ["ua", "<bits> <interface> <next-hop>", "on to the next micro-SID, by way of a neighbour"],
];

/// Behaviors of this crate's policies.
const POLICIES: &[[&str; 3]] = &[
    ["encap", "", "put an IPv6 header and a routing header in front"],
    ["insert", "", "put a routing header into an IPv6 packet"],
    ["spray", "", "send a copy over each segment list"],
];

fn rows<T: Serialize + fmt::Display>(head: &str, all: Vec<T>) -> Result<Output, Error> {
    let text = all.iter().fold(head.to_owned(), |text, row| text + &row.to_string());
    Ok(Output::both(text, all))
}

fn behavior([name, arguments, about]: &[&'static str; 3]) -> BehaviorRow {
    BehaviorRow { name, arguments, about }
}

fn sid_row(router: &Router, table: u32, prefix: String, sid: &sid::Kept) -> SidRow {
    let [good, bad] = router.own::<Segments>().sids.counted(sid.index);
    let (behavior, arguments) = words(router, sid);
    SidRow {
        address: prefix,
        behavior,
        arguments,
        table,
        psp: sid.is_psp,
        good_packets: good.packets,
        good_bytes: good.bytes,
        bad_packets: bad.packets,
        bad_bytes: bad.bytes,
    }
}

fn show_policies(router: &Router) -> Vec<PolicyRow> {
    let all = router.own::<Segments>().policies.all.iter();
    let row = all.map(|(index, p)| PolicyRow {
        index: *index,
        bsid: p.new.bsid,
        encap: p.new.is_encap,
        behavior: policy_words(router, p).map(|(keyword, rest)| format!("{keyword} {rest}")),
        source: p.source,
        kind: if p.new.kind == Kind::Spray { "Spray" } else { "Default" },
        table: p.new.table,
        lists: p.lists.iter().map(|l| (l.index, l.weight, l.segments.clone())).collect(),
    });
    row.collect()
}

fn show_steered(router: &Router) -> Vec<SteeredRow> {
    let own = router.own::<Segments>();
    let row = own.steered.iter().map(|(traffic, index)| SteeredRow {
        traffic: match traffic {
            Traffic::Packets(_, prefix) => format!("L3 {prefix}"),
            Traffic::Frames(interface) => format!("L2 {}", router.interfaces.name(interface.0)),
        },
        bsid: own.policies.all.get(index).map(|p| p.new.bsid),
    });
    row.collect()
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, _: ShowSids| {
        let router = &*router;
        let all = router.own::<Segments>().sids.all.iter();
        let row =
            all.map(|((table, prefix), sid)| sid_row(router, *table, prefix.to_string(), sid));
        let head = "SRv6 - My LocalSID Table:\n=========================\n";
        rows(head, row.collect())
    });
    cli.command(|router: &mut Router, _: ShowBehaviors| {
        let own = BEHAVIORS.iter().map(behavior);
        let others = router.own::<Segments>().behaviors.iter();
        let others = others.map(|b| behavior(&[b.keyword, b.usage, b.about]));
        let head = "SR LocalSIDs behaviors:\n-----------------------\n\nDefault behaviors:\n";
        let mut shown = rows(head, own.collect())?;
        shown.append(rows("Plugin behaviors:\n", others.collect())?);
        Ok(shown)
    });
    cli.command(|router: &mut Router, _: ShowPolicies| {
        rows("SR policies:\n", show_policies(router))
    });
    cli.command(|router: &mut Router, _: ShowPolicyBehaviors| {
        let own = POLICIES.iter().map(behavior);
        let others = router.own::<Segments>().policy_behaviors.iter().map(|b| b.common);
        let others = others.map(|b| behavior(&[b.keyword, b.usage, b.about]));
        let head = "SR Policy behaviors:\n-----------------------\n\nDefault behaviors:\n";
        let mut shown = rows(head, own.collect())?;
        shown.append(rows("Plugin behaviors:\n", others.collect())?);
        Ok(shown)
    });
    cli.command(|router: &mut Router, _: ShowSteered| {
        rows("SR steering policies:\nTraffic\t\tSR policy BSID\n", show_steered(router))
    });
    cli.command(|router: &mut Router, _: ShowSource| {
        let source = super::source(router);
        Ok::<_, Error>(Output::of(SourceRow { source }))
    });
    cli.command(|router: &mut Router, _: ShowHopLimit| {
        let hop_limit = super::hop_limit(router);
        Ok::<_, Error>(Output::of(HopLimitRow { hop_limit }))
    });
    cli.command(|router: &mut Router, _: ClearCounters| {
        let sids = &router.own::<Segments>().sids;
        let counters = sids.counters();
        let places = sids.all.values().map(|sid| 2 * sid.index as usize).collect::<Vec<_>>();
        let zero = move |thread| {
            places.iter().for_each(|at| counters.zero(thread, *at..*at + 2));
        };
        router.engine.on_threads(zero).map_err(|_| Error::new("the threads do not answer"))
    });
}
