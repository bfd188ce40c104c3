//! `session rule`, `show session rules`.

use std::fmt;

use control::cli::{Args, Cli, Command, Error, Line, Output, Print};
use control::configuration::{Lines, Stage};
use net::Router;
use serde::Serialize;
use wire::Prefix;

use super::super::Place;
use super::super::filters::{self, RuleRow, RuleRows, Scope};
use super::super::namespaces::{self, DEFAULT};
use super::super::published::Transport;
use super::super::rules::{ALLOW, DROP, Match, NONE, Rule};

/// The action of a rule as text.
fn action_word(action: u32) -> String {
    match action {
        NONE => "none".to_owned(),
        DROP => "drop".to_owned(),
        ALLOW => "allow".to_owned(),
        app => app.to_string(),
    }
}

/// Parses an action: a keyword, the number of an application, or -1 to -3 for the keywords.
fn take_action(args: &mut Args<'_>) -> Result<u32, Error> {
    let words = [("none", NONE), ("drop", DROP), ("allow", ALLOW)];
    if let Some((_, action)) = words.into_iter().find(|(word, _)| args.keyword(word)) {
        return Ok(action);
    }
    let start = *args;
    let number: i64 = args.value("action")?;
    let action =
        u32::try_from(number).ok().or_else(|| i32::try_from(number).ok().map(|n| n as u32));
    action.ok_or_else(|| start.error("expected drop, allow, none or an application index"))
}

fn take_transport(args: &mut Args<'_>) -> Result<Transport, Error> {
    let found = Transport::ALL.into_iter().find(|transport| args.keyword(transport.word()));
    found.ok_or_else(|| args.error("expected tcp or udp"))
}

/// Parses prefix and port of one end.
fn take_end(args: &mut Args<'_>, what: [&str; 2]) -> Result<(Prefix, u16), Error> {
    Ok((args.value(what[0])?, args.value(what[1])?))
}

fn take_ends(args: &mut Args<'_>) -> Result<([Prefix; 2], [u16; 2]), Error> {
    let (local, local_port) = take_end(args, ["local prefix", "local port"])?;
    let (remote, remote_port) = take_end(args, ["remote prefix", "remote port"])?;
    Ok(([local, remote], [local_port, remote_port]))
}

/// `session rule [add|del] appns ID scope S proto P L/len PORT R/len PORT action N tag T`.
#[derive(Debug, PartialEq)]
struct Set {
    is_add: bool,
    namespace: String,
    scope: Scope,
    found: Match,
    rule: Rule,
}

impl Command for Set {
    const PATHS: &'static [&'static str] = &["session rule"];
    const ABOUT: &'static str = "Add or delete a session rule";
    const USAGE: &'static str = "[add|del] [appns <namespace>] [scope global|local|all] \
         proto tcp|udp <local-prefix> <local-port> <remote-prefix> <remote-port> \
         [action <action>] [tag <tag>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut is_add, mut namespace, mut scope) = (true, None, Scope::Global);
        let (mut transport, mut ends, mut rule) = (None, None, Rule::default());
        rule.action = NONE;
        while !args.is_empty() {
            if args.keyword("add") {
                is_add = true;
            } else if args.keyword("del") {
                is_add = false;
            } else if args.keyword("appns") {
                namespace = Some(args.value("namespace")?);
            } else if args.keyword("scope") {
                scope = args.value("scope")?;
            } else if args.keyword("proto") {
                transport = Some(take_transport(args)?);
            } else if args.keyword("action") {
                rule.action = take_action(args)?;
            } else if args.keyword("tag") {
                rule.tag = args.value("tag")?;
            } else if ends.is_none() {
                ends = Some(take_ends(args)?);
            } else {
                return Err(args.unknown());
            }
        }
        let transport = transport.ok_or_else(|| args.error("expected proto tcp or udp"))?;
        let (prefixes, ports) = ends.ok_or_else(|| args.error("expected a local prefix"))?;
        let found = Match::new(transport, prefixes, ports)?;
        let namespace = namespace.unwrap_or_else(|| DEFAULT.to_owned());
        Ok(Self { is_add, namespace, scope, found, rule })
    }
}

impl Print for Set {
    const STAGE: Stage = Stage::State;
    fn print(&self, line: &mut Line<'_>) {
        let Match { transport, local, remote, ports } = &self.found;
        line.word(if self.is_add { "add" } else { "del" });
        line.keyword("appns", &self.namespace).keyword("scope", &self.scope);
        line.keyword("proto", &transport.word());
        line.value(local).value(&ports[0]).value(remote).value(&ports[1]);
        line.keyword("action", &action_word(self.rule.action));
        line.option("tag", Some(&self.rule.tag).filter(|tag| !tag.is_empty()));
    }
}

/// `show session rules [PROTO appns ID L/len PORT R/len PORT [scope S]]`.
struct Show(Option<(String, Scope, Match)>);

impl Command for Show {
    const PATHS: &'static [&'static str] = &["show session rules"];
    const ABOUT: &'static str = "Show session rules, or the rule that a connection matches";
    const USAGE: &'static str = "[tcp|udp appns <namespace> <local-prefix> <local-port> \
         <remote-prefix> <remote-port> [scope global|local]]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        if args.is_empty() {
            return Ok(Self(None));
        }
        let transport = take_transport(args)?;
        let (mut namespace, mut scope, mut ends) = (None, Scope::Global, None);
        while !args.is_empty() {
            if args.keyword("appns") {
                namespace = Some(args.value("namespace")?);
            } else if args.keyword("scope") {
                scope = args.value("scope")?;
            } else if ends.is_none() {
                ends = Some(take_ends(args)?);
            } else {
                return Err(args.unknown());
            }
        }
        let (prefixes, ports) = ends.ok_or_else(|| args.error("expected a local prefix"))?;
        let flow = Match::new(transport, prefixes, ports)?;
        Ok(Self(Some((namespace.unwrap_or_else(|| DEFAULT.to_owned()), scope, flow))))
    }
}

#[derive(Serialize)]
struct Row {
    scope: &'static str,
    version: &'static str,
    table_id: Option<u32>,
    namespaces: Vec<String>,
    proto: &'static str,
    local: String,
    remote: String,
    action: String,
    tag: String,
}

/// Prefix and port as text; `*` for any.
fn end(prefix: Prefix, port: u16) -> String {
    if port == 0 { format!("{prefix}:*") } else { format!("{prefix}:{port}") }
}

impl Row {
    fn of(router: &Router, row: RuleRow) -> Self {
        let RuleRow { place, found, rule, namespaces } = row;
        let id = |index: &u32| {
            let found = namespaces::at(router, *index);
            found.map_or_else(|_| index.to_string(), |found| found.of.id.clone())
        };
        let (scope, table_id) = match place {
            Place::Global(version, table) => ("global", router.fib.table_id_for(version, table)),
            Place::Local(_) => ("local", None),
        };
        Self {
            scope,
            version: found.version().name(),
            table_id,
            namespaces: namespaces.iter().map(id).collect(),
            proto: found.transport.word(),
            local: end(found.local, found.ports[0]),
            remote: end(found.remote, found.ports[1]),
            action: action_word(rule.action),
            tag: rule.tag,
        }
    }
    fn title(&self) -> String {
        let of = self.namespaces.join(" ");
        match self.table_id {
            Some(id) => format!("{} table {id}, appns {of}", self.version),
            None => format!("local table of appns {of}"),
        }
    }
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut title = String::new();
    for row in rows {
        if row.title() != title {
            title = row.title();
            writeln!(f, "{title}")?;
        }
        let Row { proto, local, remote, action, tag, .. } = row;
        let line = format!("  {proto} {local:<30} {remote:<30} action {action:<10} {tag}");
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

fn show(router: &Router, c: Show) -> Result<Output, Error> {
    let Some((namespace, scope, flow)) = c.0 else {
        let mut all = RuleRows::of(router);
        let rows = std::iter::from_fn(|| all.next(router)).map(|row| Row::of(router, row));
        return Ok(Output::rows(rows, write_rows));
    };
    let index = namespaces::index_of(router, &namespace)?;
    Ok(match filters::rule_of(router, index, scope, &flow)? {
        Some((found, rule)) => {
            let (local, remote) =
                (end(found.local, found.ports[0]), end(found.remote, found.ports[1]));
            let (proto, action) = (found.transport.word(), action_word(rule.action));
            Output::text(format!("{proto} {local} {remote} action {action} {}\n", rule.tag))
        }
        None => Output::text("no rule: action none\n"),
    })
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (place, namespaces) in filters::rule_tables(router) {
        let first = namespaces.first().and_then(|index| namespaces::at(router, *index).ok());
        let Some(namespace) = first.map(|found| found.of.id.clone()) else { continue };
        let scope = match place {
            Place::Global(..) => Scope::Global,
            Place::Local(_) => Scope::Local,
        };
        for (found, rule) in filters::rules_at(router, place) {
            if found == Match::any(found.version(), found.transport) && rule.action == NONE {
                continue;
            }
            lines.push(&Set { is_add: true, namespace: namespace.clone(), scope, found, rule });
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Set| -> Result<(), Error> {
        let namespace = namespaces::index_of(router, &c.namespace)?;
        match c.is_add {
            true => filters::add_rule(router, namespace, c.scope, (c.found, c.rule))?,
            false => filters::remove_rule(router, namespace, c.scope, c.found)?,
        }
        Ok(())
    });
    cli.command(|router: &mut Router, c: Show| show(router, c));
}
