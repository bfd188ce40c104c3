//! `show firewall …` about zones, objects and policies.

use net::prelude::*;

use super::error::no_answer;
use super::list::Resolved;
use super::object::{Name, Objects, Plain};
use super::policy::{Action, Entry, Policy, Rule};
use super::shadow::{Reach, blocks, reach};
use super::zone::{Pair, Zone};
use super::{Firewall, Member, state};

/// Show firewall zones, policies and session usage
#[derive(Command)]
#[command("show firewall")]
struct Show;

/// Show firewall zones and their interfaces
#[derive(Command)]
#[command("show firewall zones")]
struct ShowZones;

/// Show address and service objects
#[derive(Command)]
#[command("show firewall objects")]
struct ShowObjects;

/// Show policies with rules and counters
#[derive(Command)]
#[command("show firewall policy")]
struct ShowPolicy {
    /// only policies from this zone
    from: Option<String>,
    /// only policies to this zone
    to: Option<String>,
}

/// Show rules that no packet has matched
#[derive(Command)]
#[command("show firewall unused")]
struct ShowUnused;

/// Show rules that no packet can match, and the earlier rules that cover them
#[derive(Command)]
#[command("show firewall shadowed")]
struct ShowShadowed;

/// Clear the counters of rules and policies
#[derive(Command)]
#[command("clear firewall counters")]
struct ClearCounters;

#[derive(Serialize)]
struct ZoneRow {
    zone: String,
    intra_zone: &'static str,
    interfaces: Vec<String>,
}

fn write_zone_rows(rows: &[ZoneRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "{:<20} {:<10} interfaces", "zone", "intra-zone")?;
    rows.iter().try_for_each(|ZoneRow { zone, intra_zone, interfaces }| {
        writeln!(f, "{zone:<20} {intra_zone:<10} {}", interfaces.join(" "))
    })
}

fn zones(router: &Router) -> Vec<ZoneRow> {
    let interfaces = |zone: Zone| {
        let members = router.settings::<Member>().filter(|(_, member)| member.zone == zone);
        members.map(|(interface, _)| router.interfaces.name(interface.0).to_string()).collect()
    };
    let rows = state(router).zones.iter().map(|(name, zone, settings)| ZoneRow {
        zone: name.to_string(),
        intra_zone: if settings.permits_within { "permit" } else { "deny" },
        interfaces: interfaces(zone),
    });
    let zone = super::zone::LOCAL.to_owned();
    let own = ZoneRow { zone, intra_zone: "permit", interfaces: Vec::new() };
    [own].into_iter().chain(rows).collect()
}

#[derive(Serialize)]
struct ObjectRow {
    kind: &'static str,
    name: String,
    members: Vec<String>,
}

fn write_object_rows(rows: &[ObjectRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|ObjectRow { kind, name, members }| {
        writeln!(f, "{kind:<8} {name:<20} {}", members.join(" "))
    })
}

fn objects<T: Plain>(kind: &'static str, all: &Objects<T>) -> impl Iterator<Item = ObjectRow> {
    all.iter().map(move |(name, members)| ObjectRow {
        kind,
        name: name.to_string(),
        members: members.iter().map(ToString::to_string).collect(),
    })
}

/// A rule as it is shown.
#[derive(Serialize)]
pub(super) struct RuleRow {
    from: String,
    to: String,
    /// Its place; `null` of what no rule is about.
    rule: Option<u32>,
    text: String,
    description: String,
    /// Column in `/firewall/rules`.
    counter: u32,
    packets: u64,
    bytes: u64,
}

/// A rule in the words of commands.
pub(super) struct Words<'r>(pub &'r Rule);

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rule { action, from, to, services, log, .. } = self.0;
        write!(f, "{action}")?;
        part(f, "from", from)?;
        part(f, "to", to)?;
        part(f, "service", services)?;
        f.write_str(if *log { " log" } else { "" })
    }
}

fn part<T: fmt::Display>(f: &mut fmt::Formatter<'_>, word: &str, members: &[T]) -> fmt::Result {
    if members.is_empty() {
        return Ok(());
    }
    write!(f, " {word}")?;
    members.iter().try_for_each(|member| write!(f, " {member}"))
}

impl fmt::Display for RuleRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, text, description, packets, bytes, .. } = self;
        match rule {
            Some(rule) => write!(f, "  {rule:>8}  ")?,
            None => write!(f, "  {:>8}  ", "default")?,
        }
        write!(f, "{text}  packets {packets} bytes {bytes}")?;
        if description.is_empty() { Ok(()) } else { write!(f, "  # {description}") }
    }
}

#[derive(Serialize)]
struct PolicyRow {
    from: String,
    to: String,
    /// Column in `/firewall/policies` and `/firewall/sessions`.
    number: u16,
    sessions: u64,
    limit: u32,
    packets: u64,
    bytes: u64,
    rules: Vec<RuleRow>,
}

#[derive(Serialize)]
struct PolicyRows {
    policies: Vec<PolicyRow>,
    /// Changes are being made ready that packets do not meet yet.
    is_pending: bool,
}

impl fmt::Display for PolicyRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_pending {
            writeln!(f, "changes are being made ready, packets meet the rules before them")?;
        }
        for row in &self.policies {
            let PolicyRow { from, to, sessions, limit, packets, bytes, rules, .. } = row;
            write!(f, "{from} -> {to}: packets {packets} bytes {bytes} sessions {sessions}")?;
            if *limit > 0 {
                write!(f, " of {limit}")?;
            }
            writeln!(f)?;
            rules.iter().try_for_each(|rule| writeln!(f, "{rule}"))?;
        }
        Ok(())
    }
}

fn rule_rows(firewall: &Firewall, pair: Pair, policy: &Policy) -> Vec<RuleRow> {
    let row = |rule: Option<u32>, text: String, description: &str, counter: u32| {
        let volume = firewall.counters.rules.sum(counter as usize);
        let [from, to] = [pair.from, pair.to].map(|zone| firewall.zones.name(zone));
        let (packets, bytes) = (volume.packets, volume.bytes);
        let description = description.to_owned();
        RuleRow { from, to, rule, text, description, counter, packets, bytes }
    };
    let rules = policy.rules.iter().map(|(place, Entry { rule, counter, .. })| {
        row(Some(*place), Words(rule).to_string(), &rule.description, *counter)
    });
    let log = if policy.terms.log { " log" } else { "" };
    let default = row(None, format!("{}{log}", policy.terms.default), "", policy.counter);
    rules.chain([default]).collect()
}

fn policies(firewall: &Firewall, is_meant: impl Fn(Pair) -> bool) -> PolicyRows {
    let all = firewall.policies.iter().filter(|(pair, _)| is_meant(**pair));
    let rows = all.map(|(pair, policy)| {
        let volume = firewall.counters.policies.sum(policy.number.into());
        PolicyRow {
            from: firewall.zones.name(pair.from),
            to: firewall.zones.name(pair.to),
            number: policy.number,
            sessions: firewall.counters.sessions.sum(policy.number.into()),
            limit: policy.terms.limit,
            packets: volume.packets,
            bytes: volume.bytes,
            rules: rule_rows(firewall, *pair, policy),
        }
    });
    PolicyRows { policies: rows.collect(), is_pending: firewall.work.is_pending() }
}

/// Rules that no packet has met.
fn unused(firewall: &Firewall) -> PolicyRows {
    let mut rows = policies(firewall, |_| true);
    for policy in &mut rows.policies {
        policy.rules.retain(|rule| rule.rule.is_some() && rule.packets == 0);
    }
    rows.policies.retain(|policy| !policy.rules.is_empty());
    rows
}

#[derive(Serialize)]
struct ShadowRow {
    from: String,
    to: String,
    rule: u32,
    text: String,
    /// Rules in front that are about all of its packets; `null` where that takes too long to say.
    by: Option<Vec<u32>>,
    /// Whether one of them says something else.
    differs: bool,
}

fn write_shadow_rows(rows: &[ShadowRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|ShadowRow { from, to, rule, text, by, differs }| {
        write!(f, "{from} -> {to} rule {rule}: {text}: ")?;
        let Some(by) = by else { return writeln!(f, "too large to say") };
        let by: Vec<_> = by.iter().map(u32::to_string).collect();
        let what = if *differs { "shadowed" } else { "not needed" };
        let word = if by.len() == 1 { "rule" } else { "rules" };
        writeln!(f, "{what}, {word} {} in front", by.join(", "))
    })
}

fn shadowed(firewall: &Firewall) -> Vec<ShadowRow> {
    let mut rows = Vec::new();
    for (pair, policy) in &firewall.policies {
        let boxes = |entry: &Entry| blocks(&Resolved::of(&entry.rule, &firewall.known).ok()?);
        let found = reach(&policy.rules.values().map(boxes).collect::<Vec<_>>());
        let rules: Vec<(&u32, &Rule)> =
            policy.rules.iter().map(|(place, entry)| (place, &entry.rule)).collect();
        for ((place, rule), reach) in rules.iter().zip(found) {
            let by = match reach {
                Reach::Met => continue,
                Reach::Shadowed(by) => Some(by),
                Reach::Unknown => None,
            };
            let actions = || by.iter().flatten().map(|at| rules[*at].1.action);
            let differs = actions().any(|action: Action| action != rule.action);
            rows.push(ShadowRow {
                from: firewall.zones.name(pair.from),
                to: firewall.zones.name(pair.to),
                rule: **place,
                text: Words(rule).to_string(),
                by: by.map(|by| by.iter().map(|at| *rules[*at].0).collect()),
                differs,
            });
        }
    }
    rows
}

fn show_policy(router: &Router, c: &ShowPolicy) -> Result<PolicyRows, Error> {
    let firewall = state(router);
    let zone = |word: &Option<String>| -> Result<Option<Zone>, Error> {
        let Some(word) = word else { return Ok(None) };
        let name: Name = word.parse().map_err(|why: super::Error| Error::from(why))?;
        Ok(Some(firewall.zones.at(&name)?))
    };
    let (from, to) = (zone(&c.from)?, zone(&c.to)?);
    let is = |wanted: Option<Zone>, zone| wanted.is_none_or(|wanted| wanted == zone);
    Ok(policies(firewall, |pair| is(from, pair.from) && is(to, pair.to)))
}

fn clear(router: &mut Router) -> Result<(), Error> {
    let counters = state(router).counters.clone();
    let columns = state(router).numbers_used();
    let done = router.engine.on_threads(move |thread| {
        if thread < counters.rules.threads() {
            counters.rules.zero(thread, 0..columns);
            counters.policies.zero(thread, 0..super::policy::MOST_POLICIES);
        }
    });
    done.map_err(no_answer)
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.values("zone", |router: &Router| {
        let zones = state(router).zones.iter().map(|(name, ..)| name.to_string());
        zones.chain([super::zone::LOCAL.to_owned()]).collect()
    });
    cli.command(|router: &mut Router, _: Show| {
        let mut out = Output::rows(zones(router), write_zone_rows);
        let mut brief = policies(state(router), |_| true);
        brief.policies.iter_mut().for_each(|policy| policy.rules.clear());
        out.append(Output::of(brief));
        Ok(out)
    });
    cli.command(|router: &mut Router, _: ShowZones| {
        Ok(Output::rows(zones(router), write_zone_rows))
    });
    cli.command(|router: &mut Router, _: ShowObjects| {
        let known = &state(router).known;
        let addresses = objects("address", &known.addresses);
        let rows = addresses.chain(objects("service", &known.services));
        Ok(Output::rows(rows, write_object_rows))
    });
    cli.command(|router: &mut Router, c: ShowPolicy| Ok(Output::of(show_policy(router, &c)?)));
    cli.command(|router: &mut Router, _: ShowUnused| Ok(Output::of(unused(state(router)))));
    cli.command(|router: &mut Router, _: ShowShadowed| {
        Ok(Output::rows(shadowed(state(router)), write_shadow_rows))
    });
    cli.command(|router: &mut Router, _: ClearCounters| clear(router));
}
