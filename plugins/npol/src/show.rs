//! `show npol …`.

use net::prelude::*;

use super::words::{action_word, member_words, words_of};
use super::{Applied, Npol, VERDICTS, Verdict};

/// Show IP sets
#[derive(Command)]
#[command("show npol ipsets")]
struct ShowSets {}

/// Show rules
#[derive(Command)]
#[command("show npol rules")]
struct ShowRules {}

/// Show policies
#[derive(Command)]
#[command("show npol policies")]
struct ShowPolicies {
    /// include rules
    verbose: bool,
}

/// Show attached policies
#[derive(Command)]
#[command("show npol interfaces")]
struct ShowInterfaces {}

#[derive(Serialize)]
struct Set {
    id: u32,
    kind: &'static str,
    members: Vec<String>,
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[ipset#{} {}: {}]", self.id, self.kind, self.members.join(", "))
    }
}

#[derive(Serialize)]
struct Rule {
    id: u32,
    action: &'static str,
    compares: Vec<String>,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[rule#{} {}", self.id, self.action)?;
        self.compares.iter().try_for_each(|text| write!(f, " {text}"))?;
        writeln!(f, "]")
    }
}

#[derive(Serialize)]
struct Policy {
    id: u32,
    rx: Vec<u32>,
    tx: Vec<u32>,
    rules: Vec<Rule>,
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[policy#{}] rx: {:?} tx: {:?}", self.id, self.rx, self.tx)?;
        self.rules.iter().try_for_each(|rule| write!(f, "  {rule}"))
    }
}

#[derive(Serialize)]
struct Interface {
    interface: String,
    invert: bool,
    rx: Vec<u32>,
    tx: Vec<u32>,
    profiles: Vec<u32>,
    /// Of policies and profiles, each of received and sent packets.
    defaults: [&'static str; 4],
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { interface, rx, tx, profiles, .. } = self;
        let [rx_policy, tx_policy, rx_profile, tx_profile] = self.defaults;
        writeln!(f, "[{interface}{}]", if self.invert { " invert" } else { "" })?;
        writeln!(f, "  rx: {rx:?} default {rx_policy}, profiles {rx_profile}")?;
        writeln!(f, "  tx: {tx:?} default {tx_policy}, profiles {tx_profile}")?;
        writeln!(f, "  profiles: {profiles:?}")
    }
}

fn rule((id, rule): (&u32, &super::Rule)) -> Rule {
    Rule { id: *id, action: action_word(rule.action), compares: words_of(rule) }
}

fn policies(router: &Router, verbose: bool) -> Vec<Policy> {
    let npol = router.own::<Npol>();
    let row = |(id, items): (&u32, &Vec<super::Item>)| {
        let of = |is_inbound| {
            let items = items.iter().filter(move |item| item.is_inbound == is_inbound);
            items.map(|item| item.rule).collect()
        };
        let rules = items.iter().filter(|_| verbose);
        let rules = rules.filter_map(|item| npol.rules.get_key_value(&item.rule)).map(rule);
        Policy { id: *id, rx: of(true), tx: of(false), rules: rules.collect() }
    };
    npol.policies.iter().map(row).collect()
}

fn interfaces(router: &Router) -> Vec<Interface> {
    let word = |verdict: Verdict| VERDICTS[verdict as usize].0;
    let row = |(interface, a): (net::InterfaceIndex, &Applied)| {
        let [policies, profiles] = [a.policy_defaults, a.profile_defaults];
        Interface {
            interface: router.interfaces.name(interface.0).to_owned(),
            invert: a.is_inverted,
            rx: a.policies[0].clone(),
            tx: a.policies[1].clone(),
            profiles: a.profiles.clone(),
            defaults: [policies[0], policies[1], profiles[0], profiles[1]].map(word),
        }
    };
    router.settings::<Applied>().map(row).collect()
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, ShowSets {}| {
        let row = |(id, set): (&u32, &super::Set)| Set {
            id: *id,
            kind: set.word(),
            members: set.members().iter().map(member_words).collect(),
        };
        Ok(Output::list(router.own::<Npol>().sets.iter().map(row)))
    });
    cli.command(|router: &mut Router, ShowRules {}| {
        Ok(Output::list(router.own::<Npol>().rules.iter().map(rule)))
    });
    cli.command(|router: &mut Router, c: ShowPolicies| {
        Ok(Output::list(policies(router, c.verbose)))
    });
    cli.command(|router: &mut Router, ShowInterfaces {}| Ok(Output::list(interfaces(router))));
}
