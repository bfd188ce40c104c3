//! Commands about policies and their rules.

use net::prelude::*;

use super::object::{Member, Name, Plain};
use super::policy::{Action, Rule, Terms};

/// `firewall policy FROM TO [default ACTION] [log] [limit N] [del]`.
#[derive(Debug, PartialEq)]
pub(super) struct SetPolicy {
    pub from: Name,
    pub to: Name,
    pub terms: Terms,
    pub del: bool,
}

impl Command for SetPolicy {
    const PATHS: &'static [&'static str] = &["firewall policy"];
    const ABOUT: &'static str = "Add or delete a policy between two zones";
    const USAGE: &'static str =
        "<from-zone> <to-zone> [default permit|reject|drop] [log] [limit <sessions>] [del]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (from, to) = zones(args)?;
        let (mut terms, mut del) = (Terms::default(), false);
        while !args.is_empty() {
            if args.keyword("default") {
                terms.default = action(args)?;
            } else if args.keyword("log") {
                terms.log = true;
            } else if args.keyword("limit") {
                terms.limit = args.value("number of sessions")?;
            } else if args.keyword("del") {
                del = true;
            } else {
                return Err(args.unknown());
            }
        }
        Ok(Self { from, to, terms, del })
    }
}

impl Print for SetPolicy {
    const STAGE: Stage = Stage::Objects;
    const UNDO: &'static str = "=firewall policy {1} {2} del";
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.from).value(&self.to);
        if self.terms.default != Action::Drop {
            line.keyword("default", &self.terms.default);
        }
        line.flag("log", self.terms.log);
        line.option("limit", Some(&self.terms.limit).filter(|limit| **limit > 0));
        line.flag("del", self.del);
    }
}

fn zones(args: &mut Args<'_>) -> Result<(Name, Name), Error> {
    Ok((args.value("name of a zone")?, args.value("name of a zone")?))
}

fn action(args: &mut Args<'_>) -> Result<Action, Error> {
    args.optional().ok_or_else(|| args.error(format_args!("expected {}", Action::VALUES)))
}

/// `firewall rule FROM TO PLACE ACTION … | del`.
#[derive(Debug, PartialEq)]
pub(super) struct SetRule {
    pub from: Name,
    pub to: Name,
    pub place: u32,
    /// None deletes it.
    pub rule: Option<Rule>,
}

/// Words that begin another part of a rule.
const PARTS: [&str; 5] = ["from", "to", "service", "log", "description"];

/// The members behind a word, up to the next part.
fn members<T: Plain>(args: &mut Args<'_>, what: &str) -> Result<Vec<Member<T>>, Error> {
    if args.keyword("any") {
        return Ok(Vec::new());
    }
    let mut members = Vec::new();
    while args.peek().is_some_and(|word| !PARTS.contains(&word)) {
        members.push(args.value(what)?);
    }
    if members.is_empty() {
        return Err(args.error(format_args!("expected {what}")));
    }
    Ok(members)
}

impl Command for SetRule {
    const PATHS: &'static [&'static str] = &["firewall rule"];
    const ABOUT: &'static str = "Add or delete a rule of a policy";
    const USAGE: &'static str = "<from-zone> <to-zone> <place> {del | {permit|reject|drop} \
        [from {any|<address> ...}] [to {any|<address> ...}] [service {any|<service> ...}] \
        [log] [description <text>]}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (from, to) = zones(args)?;
        let place = args.value("place of the rule")?;
        if args.keyword("del") {
            return Ok(Self { from, to, place, rule: None });
        }
        Ok(Self { from, to, place, rule: Some(rule(args)?) })
    }
}

/// Reads a rule from its action on, to the end.
pub(super) fn rule(args: &mut Args<'_>) -> Result<Rule, Error> {
    let mut rule = Rule {
        action: action(args)?,
        from: Vec::new(),
        to: Vec::new(),
        services: Vec::new(),
        log: false,
        description: String::new(),
    };
    while !args.is_empty() {
        if args.keyword("from") {
            rule.from = members(args, "address")?;
        } else if args.keyword("to") {
            rule.to = members(args, "address")?;
        } else if args.keyword("service") {
            rule.services = members(args, "service")?;
        } else if args.keyword("log") {
            rule.log = true;
        } else if args.keyword("description") {
            rule.description = args.rest().trim().to_owned();
        } else {
            return Err(args.unknown());
        }
    }
    Ok(rule)
}

/// Writes a rule in the words of commands.
pub(super) fn print_rule(rule: &Rule, line: &mut Line<'_>) {
    line.value(&rule.action);
    if !rule.from.is_empty() {
        line.word("from").values(&rule.from);
    }
    if !rule.to.is_empty() {
        line.word("to").values(&rule.to);
    }
    if !rule.services.is_empty() {
        line.word("service").values(&rule.services);
    }
    line.flag("log", rule.log);
    if !rule.description.is_empty() {
        line.keyword("description", &rule.description);
    }
}

impl Print for SetRule {
    const STAGE: Stage = Stage::Objects;
    const UNDO: &'static str = "=firewall rule {1} {2} {3} del";
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.from).value(&self.to).value(&self.place);
        match &self.rule {
            Some(rule) => print_rule(rule, line),
            None => drop(line.word("del")),
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetPolicy| {
        let pair = super::pair(router, &c.from, &c.to)?;
        if c.del {
            return Ok(super::remove_policy(router, pair)?);
        }
        Ok(super::put_policy(router, pair, c.terms)?)
    });
    cli.command(|router: &mut Router, c: SetRule| {
        let pair = super::pair(router, &c.from, &c.to)?;
        match c.rule {
            Some(rule) => Ok(super::put_rule(router, pair, c.place, rule)?),
            None => Ok(super::remove_rule(router, pair, c.place)?),
        }
    });
}
