//! Rules as nodes have them: without names, and ready for lookups that cost the same however many
//! rules there are.
//!
//! What finds the first of many rules is that of access lists ([`acl::List`]); here a rule is all
//! combinations of its addresses and services.

use acl::rule::Rule as Pattern;
use acl::{List, ListBuilder};
use infra::counter::Rows;
use wire::Prefix;

use super::Error;
use super::object::{Addresses, Member, Service, Span};
use super::policy::{Action, Entry, Known, Policy, Rule, Terms};

/// Combinations of addresses and services of a policy's rules at most.
pub const MOST_PATTERNS: usize = 1 << 17;

/// The verdict on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The action.
    pub action: Action,
    /// The place of the rule; `None` where no rule is about it.
    pub rule: Option<u32>,
    /// The counter.
    pub counter: u32,
    /// Whether it is logged.
    pub log: bool,
}

/// A policy that is ready.
#[derive(Debug)]
pub struct Ready {
    /// The number of its counters.
    pub number: u16,
    /// Settings.
    pub terms: Terms,
    /// For packets that no rule is about.
    pub default: Verdict,
    list: List,
    /// Verdicts of the list's combinations.
    verdicts: Vec<u32>,
    rules: Vec<Verdict>,
}

impl Ready {
    /// The verdict about a packet.
    #[inline(always)]
    pub fn judge<V: acl::Matched>(&self, tuple: &V::Tuple) -> Verdict {
        let found = V::find(&self.list, tuple);
        let rule = found.and_then(|found| self.verdicts.get(found.rule as usize));
        rule.and_then(|rule| self.rules.get(*rule as usize)).copied().unwrap_or(self.default)
    }
    /// Combinations of addresses and services.
    pub fn patterns(&self) -> usize {
        self.verdicts.len()
    }
}

/// A rule without names.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Sources.
    pub from: Vec<Span>,
    /// Destinations.
    pub to: Vec<Span>,
    /// Services.
    pub services: Vec<Service>,
}

impl Resolved {
    /// Of a rule.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn of(rule: &Rule, known: &Known) -> Result<Self, Error> {
        let spans = |members: &[Member<Addresses>]| -> Result<Vec<Span>, Error> {
            if members.is_empty() {
                return Ok(vec![Span::all(false), Span::all(true)]);
            }
            let found = known.addresses.resolve(members, MOST_PATTERNS)?;
            Ok(found.iter().map(Addresses::span).collect())
        };
        let services = match &rule.services[..] {
            [] => vec![Service::ANY],
            members => known.services.resolve(members, MOST_PATTERNS)?,
        };
        Ok(Self { from: spans(&rule.from)?, to: spans(&rule.to)?, services })
    }
    /// Prefixes of sources, of destinations, and services of a version of IP.
    fn parts(&self, is_6: bool) -> (Vec<Prefix>, Vec<Prefix>, Vec<&Service>) {
        let of = |spans: &[Span]| -> Vec<Prefix> {
            spans.iter().filter(|s| s.is_6 == is_6).flat_map(Span::prefixes).collect()
        };
        let services = self.services.iter().filter(|service| service.is_of(is_6)).collect();
        (of(&self.from), of(&self.to), services)
    }
    /// The number of combinations; 0 for a rule that can be about no packet.
    pub fn count(&self) -> usize {
        let of = |is_6| {
            let (from, to, services) = self.parts(is_6);
            from.len().saturating_mul(to.len()).saturating_mul(services.len())
        };
        of(false).saturating_add(of(true))
    }
    /// Adds all combinations, for packets of one version of IP.
    fn add_patterns(&self, is_6: bool, out: &mut Vec<Pattern>) {
        let (from, to, services) = self.parts(is_6);
        for src in &from {
            for dst in &to {
                out.extend(services.iter().map(|service| Pattern {
                    action: acl::Action::Permit,
                    src: *src,
                    dst: *dst,
                    protocol: service.protocol,
                    src_ports: service.first,
                    dst_ports: service.second,
                    tcp_flags: (0, 0),
                }));
            }
        }
    }
}

/// A policy that is made ready in slices.
pub(super) struct Preparing {
    builder: ListBuilder,
    verdicts: Vec<u32>,
    rules: Vec<Verdict>,
    number: u16,
    terms: Terms,
    counter: u32,
}

impl Preparing {
    /// Of a policy whose rules were checked.
    pub fn of(policy: &Policy, known: &Known) -> Self {
        let (mut patterns, mut verdicts, mut rules) = (Vec::new(), Vec::new(), Vec::new());
        for (place, Entry { rule, counter, .. }) in &policy.rules {
            // What cannot be resolved was refused when it was set.
            let Ok(resolved) = Resolved::of(rule, known) else { continue };
            resolved.add_patterns(false, &mut patterns);
            resolved.add_patterns(true, &mut patterns);
            verdicts.resize(patterns.len(), rules.len() as u32);
            let (action, log, counter) = (rule.action, rule.log, *counter);
            rules.push(Verdict { action, rule: Some(*place), counter, log });
        }
        let builder = ListBuilder::new(patterns);
        let Policy { number, terms, counter, .. } = *policy;
        Self { builder, verdicts, rules, number, terms, counter }
    }
    /// Does a slice; whether that was all.
    pub fn step(&mut self) -> bool {
        self.builder.step()
    }
    /// The policy, after the last slice.
    pub fn finish(self) -> Ready {
        let Self { builder, verdicts, rules, number, terms, counter } = self;
        let list = builder.finish(String::new(), Rows::of(Vec::new()));
        let Terms { default: action, log, .. } = terms;
        let default = Verdict { action, rule: None, counter, log };
        Ready { number, terms, default, list, verdicts, rules }
    }
}
