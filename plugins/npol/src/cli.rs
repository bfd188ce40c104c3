//! `npol …`.

use net::prelude::*;

use super::rule::{KINDS, Member, Packet, Rule, Set};
use super::words::{member, member_words, packet, print_rule, rule};
use super::{Applied, Item, Npol, VERDICTS, Verdict};

/// Members in a command of the configuration.
const CHUNK: usize = 32;

/// A number behind `id` or `update`, if it comes.
fn number(args: &mut Args<'_>) -> Result<Option<u32>, Error> {
    let has_id = args.keyword("id") || args.keyword("update");
    has_id.then(|| args.value("number")).transpose()
}

/// `npol ipset add`: its number, its kind and its first members.
#[derive(Debug, PartialEq)]
struct AddSet {
    id: Option<u32>,
    set: Set,
}

impl Command for AddSet {
    const PATHS: &'static [&'static str] = &["npol ipset add"];
    const ABOUT: &'static str = "Create an IP set of addresses, prefixes, or addresses with a port";
    const USAGE: &'static str =
        "[id <id>] [ip|net|ipport] [<address>|<prefix>|<protocol> <address> <port>] ...";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let id = number(args)?;
        let kind = KINDS.into_iter().find(|(word, _)| args.keyword(word));
        let mut set = kind.map(|(_, make)| make());
        while !args.is_empty() {
            let place = *args;
            let member = member(args)?;
            let set = set.get_or_insert_with(|| match member {
                Member::Address(_) => KINDS[0].1(),
                Member::Port(_) => KINDS[1].1(),
                Member::Prefix(_) => KINDS[2].1(),
            });
            if !set.takes(&member) {
                return Err(place.error("the members of a set must be of one type"));
            }
            set.change(&member, true);
        }
        let set = set.ok_or_else(|| args.error("expected ip, net, ipport or members"))?;
        Ok(Self { id, set })
    }
}

impl Print for AddSet {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "=npol ipset del {id}";
    fn print(&self, line: &mut Line<'_>) {
        line.option("id", self.id.as_ref()).word(self.set.word());
        self.set.members().iter().for_each(|member| {
            line.word(member_words(member));
        });
    }
}

/// `npol ipset add member`, `npol ipset del member`.
#[derive(Debug, PartialEq)]
struct Members {
    id: u32,
    members: Vec<Member>,
}

impl Members {
    fn of(args: &mut Args<'_>) -> Result<Self, Error> {
        let id = args.value("number of a set")?;
        let mut members = vec![member(args)?];
        while !args.is_empty() {
            members.push(member(args)?);
        }
        Ok(Self { id, members })
    }
}

/// Members that a set has from now on.
#[derive(Debug, PartialEq)]
struct AddMembers(Members);

impl Command for AddMembers {
    const PATHS: &'static [&'static str] = &["npol ipset add member"];
    const ABOUT: &'static str = "Add members to an IP set";
    const USAGE: &'static str = "<id> <address>|<prefix>|<protocol> <address> <port> ...";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        Members::of(args).map(Self)
    }
}

impl Print for AddMembers {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "npol ipset del member {}";
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.0.id);
        self.0.members.iter().for_each(|member| {
            line.word(member_words(member));
        });
    }
}

/// Members that a set no longer has.
struct RemoveMembers(Members);

impl Command for RemoveMembers {
    const PATHS: &'static [&'static str] = &["npol ipset del member"];
    const ABOUT: &'static str = "Delete members of an IP set";
    const USAGE: &'static str = AddMembers::USAGE;
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        Members::of(args).map(Self)
    }
}

/// Delete an IP set
#[derive(Command)]
#[command("npol ipset del")]
struct RemoveSet {
    /// index
    #[positional]
    id: u32,
}

/// `npol rule add`.
#[derive(Debug, PartialEq)]
struct AddRule {
    id: Option<u32>,
    rule: Rule,
}

impl Command for AddRule {
    const PATHS: &'static [&'static str] = &["npol rule add"];
    const ABOUT: &'static str = "Create a rule: filters, matches and an action";
    const USAGE: &'static str = "[id|update <id>] [allow|deny|log|pass] \
        [icmp-type|icmp-code|proto ==|!= <value>] ... \
        [src|dst ==|!= <prefix>|set <id>|port-set <id>|<[first-last]>] ...";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let id = number(args)?;
        // Operators may stand without blanks around them.
        let text = args.rest().replace("==", " == ").replace("!=", " != ");
        let mut words = Args::new(&text);
        Ok(Self { id, rule: rule(&mut words)? })
    }
}

impl Print for AddRule {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "=npol rule del {id}";
    fn print(&self, line: &mut Line<'_>) {
        line.option("id", self.id.as_ref());
        print_rule(line, &self.rule);
    }
}

/// Delete a rule
#[derive(Command)]
#[command("npol rule del")]
struct RemoveRule {
    /// index
    #[positional]
    id: u32,
}

/// `npol policy add`.
#[derive(Debug, PartialEq)]
struct AddPolicy {
    id: Option<u32>,
    items: Vec<Item>,
}

impl Command for AddPolicy {
    const PATHS: &'static [&'static str] = &["npol policy add"];
    const ABOUT: &'static str =
        "Create a policy: rules for packets to the workload (rx) and from it (tx)";
    const USAGE: &'static str = "[id <id>] [rx <rule> ...] [tx <rule> ...] [update <id>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut id, mut items, mut is_inbound) = (None, Vec::new(), None);
        while !args.is_empty() {
            if let Some(found) = number(args)? {
                id = Some(found);
            } else if args.keyword("rx") {
                is_inbound = Some(true);
            } else if args.keyword("tx") {
                is_inbound = Some(false);
            } else if let Some(is_inbound) = is_inbound {
                items.push(Item { is_inbound, rule: args.value("number of a rule")? });
            } else {
                return Err(args.unknown());
            }
        }
        Ok(Self { id, items })
    }
}

impl Print for AddPolicy {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "=npol policy del {id}";
    fn print(&self, line: &mut Line<'_>) {
        line.option("id", self.id.as_ref());
        let mut before = None;
        for item in &self.items {
            if before.replace(item.is_inbound) != Some(item.is_inbound) {
                line.word(if item.is_inbound { "rx" } else { "tx" });
            }
            line.value(&item.rule);
        }
    }
}

/// Delete a policy, and remove it from interfaces
#[derive(Command)]
#[command("npol policy del")]
struct RemovePolicy {
    /// index
    #[positional]
    id: u32,
}

/// An interface by name, or by number with or without `sw_if_index` in front.
fn interface(args: &mut Args<'_>) -> Result<InterfaceIndex, Error> {
    args.keyword("sw_if_index");
    match args.optional::<u32>() {
        Some(number) => Ok(InterfaceIndex(number)),
        None => args.value("interface"),
    }
}

/// `npol interface configure`.
#[derive(Debug, PartialEq)]
struct Configure {
    interface: InterfaceIndex,
    applied: Applied,
}

/// The words of the defaults, in the order of [`Applied`].
const DEFAULTS: [&str; 4] = ["rx-policy-def", "tx-policy-def", "rx-profile-def", "tx-profile-def"];

impl Command for Configure {
    const PATHS: &'static [&'static str] = &["npol interface configure"];
    const ABOUT: &'static str = "Set the policies of an interface: for received packets, for \
        transmitted ones, then profiles";
    const USAGE: &'static str = "[sw_if_index] <interface> [rx <count>] [tx <count>] \
        [rx-policy-def <allow|deny|pass>] [tx-policy-def <allow|deny|pass>] \
        [rx-profile-def <allow|deny>] [tx-profile-def <allow|deny>] [invert] <policy> ...";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let interface = interface(args)?;
        let (mut counts, mut defaults, mut all) = ([0usize; 2], [Verdict::Deny; 4], Vec::new());
        let mut is_inverted = false;
        while !args.is_empty() {
            if args.keyword("rx") {
                counts[0] = args.value("number of policies")?;
            } else if args.keyword("tx") {
                counts[1] = args.value("number of policies")?;
            } else if args.keyword("invert") {
                is_inverted = true;
            } else if let Some(at) = DEFAULTS.iter().position(|word| args.keyword(word)) {
                let found = VERDICTS.into_iter().find(|(word, _)| args.keyword(word));
                let found = found.ok_or_else(|| args.error("expected allow, deny or pass"))?;
                defaults[at] = found.1;
            } else {
                all.push(args.value("number of a policy")?);
            }
        }
        let profiles = counts[0]
            .checked_add(counts[1])
            .filter(|count| *count <= all.len())
            .map(|count| all.split_off(count))
            .ok_or_else(|| args.error("fewer policies than rx and tx require"))?;
        let tx = all.split_off(counts[0]);
        let [rx_policy, tx_policy, rx_profile, tx_profile] = defaults;
        let applied = Applied {
            is_set: true,
            policies: [all, tx],
            profiles,
            policy_defaults: [rx_policy, tx_policy],
            profile_defaults: [rx_profile, tx_profile],
            is_inverted,
        };
        Ok(Self { interface, applied })
    }
}

impl Print for Configure {
    const STAGE: Stage = Stage::Attachments;
    const UNDO: &'static str = "=npol interface clear {1}";
    fn print(&self, line: &mut Line<'_>) {
        let Applied { policies: [rx, tx], profiles, is_inverted, .. } = &self.applied;
        line.value(&self.interface);
        line.option("rx", Some(&rx.len())).option("tx", Some(&tx.len()));
        let defaults = [self.applied.policy_defaults, self.applied.profile_defaults].concat();
        for (word, verdict) in DEFAULTS.iter().zip(defaults) {
            line.word(word).word(VERDICTS[verdict as usize].0);
        }
        line.flag("invert", *is_inverted).values(rx).values(tx).values(profiles);
    }
}

/// `npol interface clear`.
struct Clear(InterfaceIndex);

impl Command for Clear {
    const PATHS: &'static [&'static str] = &["npol interface clear"];
    const ABOUT: &'static str = "Remove the policies of an interface";
    const USAGE: &'static str = "[sw_if_index] <interface>";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        interface(args).map(Self)
    }
}

/// `npol match`.
struct Match {
    interface: InterfaceIndex,
    is_sent: bool,
    packet: Packet,
}

impl Command for Match {
    const PATHS: &'static [&'static str] = &["npol match"];
    const ABOUT: &'static str = "Show the verdict on a packet received (inbound) or transmitted \
        (outbound) on an interface; for ICMP, the ports are type and code";
    const USAGE: &'static str = "[sw_if_index] <interface> [inbound|outbound] [ip4|ip6] \
        [tcp|udp|sctp|icmp|icmp6|proto <protocol>] <address;port->address;port>";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut on, mut is_sent, mut version) = (None, None, None);
        let packet = packet(args, |args| {
            if args.keyword("inbound") {
                is_sent = Some(false);
            } else if args.keyword("outbound") {
                is_sent = Some(true);
            } else if args.keyword("ip4") {
                version = Some(4);
            } else if args.keyword("ip6") {
                version = Some(6);
            } else if on.is_none() {
                on = Some(interface(args)?);
            } else {
                return Err(args.unknown());
            }
            Ok(())
        })?;
        if version.is_some_and(|version| (version == 4) != packet.src.0.is_ipv4()) {
            return Err("the addresses are not of the IP version given".into());
        }
        let interface = on.ok_or_else(|| args.error("expected an interface"))?;
        let is_sent = is_sent.ok_or_else(|| args.error("expected inbound or outbound"))?;
        Ok(Self { interface, is_sent, packet })
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let npol = router.own::<Npol>();
    for (id, set) in &npol.sets {
        let empty = KINDS.iter().find(|(word, _)| *word == set.word());
        if let Some((_, make)) = empty {
            lines.push(&AddSet { id: Some(*id), set: make() });
        }
        for members in set.members().chunks(CHUNK) {
            lines.push(&AddMembers(Members { id: *id, members: members.to_vec() }));
        }
    }
    for (id, rule) in &npol.rules {
        lines.push(&AddRule { id: Some(*id), rule: rule.clone() });
    }
    for (id, items) in &npol.policies {
        lines.push(&AddPolicy { id: Some(*id), items: items.clone() });
    }
    for (interface, applied) in router.settings::<Applied>() {
        lines.push(&Configure { interface, applied: applied.clone() });
    }
}

/// The number of what was made, as operators see it.
fn made(id: u32) -> Output {
    Output::text(format!("{id}\n"))
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: AddSet| {
        let is_named = c.id.is_some();
        let id = super::add_set(router, c.id, c.set);
        Ok(if is_named { Output::none() } else { made(id) })
    });
    cli.command(|router: &mut Router, AddMembers(m): AddMembers| {
        Ok(super::change_set(router, m.id, &m.members, true)?)
    });
    cli.command(|router: &mut Router, RemoveMembers(m): RemoveMembers| {
        Ok(super::change_set(router, m.id, &m.members, false)?)
    });
    cli.command(|router: &mut Router, c: RemoveSet| Ok(super::remove_set(router, c.id)?));
    cli.command(|router: &mut Router, c: AddRule| {
        let is_named = c.id.is_some();
        let id = super::set_rule(router, c.id, c.rule)?;
        Ok(if is_named { Output::none() } else { made(id) })
    });
    cli.command(|router: &mut Router, c: RemoveRule| Ok(super::remove_rule(router, c.id)?));
    cli.command(|router: &mut Router, c: AddPolicy| {
        let is_named = c.id.is_some();
        let id = super::set_policy(router, c.id, c.items)?;
        Ok(if is_named { Output::none() } else { made(id) })
    });
    cli.command(|router: &mut Router, c: RemovePolicy| Ok(super::remove_policy(router, c.id)?));
    cli.command(|router: &mut Router, c: Configure| {
        Ok(super::apply(router, c.interface, c.applied)?)
    });
    cli.command(|router: &mut Router, Clear(interface): Clear| {
        Ok(super::apply(router, interface, Applied::default())?)
    });
    cli.command(|router: &mut Router, c: Match| {
        router.interfaces.at(c.interface).ok_or(super::Error::NoInterface)?;
        let (passes, rule) = super::judge(router, c.interface, c.is_sent, &c.packet);
        let rule = rule.map_or_else(|| "default".to_owned(), |rule| format!("rule {rule}"));
        let action = if passes { "ALLOW" } else { "DENY" };
        Ok(Output::text(format!("matched:{rule} action:{action}\n")))
    });
    super::show::register(cli);
}
