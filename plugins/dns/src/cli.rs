//! Commands about the resolver of names.

use control::cli::Error as CliError;
use net::prelude::*;

use super::cache::Answer;
use super::message::{Data, Question, code, kind};
use super::resolver::Pending;
use super::{Dns, add_server, add_static, clear, enable, forget, remove_server, set_clients};

/// Enable or disable the DNS resolver.
#[derive(Command, Print, Debug, PartialEq)]
#[command("dns")]
#[stage(State)]
#[undo("dns disable")]
struct Enable {
    /// enable
    enable: bool,
    /// disable
    disable: bool,
}

/// Add or delete names of the DNS cache, or clear it.
#[derive(Command, Print, Debug, PartialEq)]
#[command("dns cache")]
#[undo("dns cache del {2}")]
struct ChangeCache {
    /// add a name
    add: bool,
    /// delete a name
    del: bool,
    /// clear the cache
    clear: bool,
    /// name
    #[positional]
    name: Option<String>,
    /// addresses
    #[positional]
    addrs: Vec<IpAddr>,
}

/// Add or delete a name server.
#[derive(Command, Print, Debug, PartialEq)]
#[command("dns name-server")]
struct NameServer {
    /// address of the server
    #[positional]
    server: IpAddr,
    /// delete
    del: bool,
}

/// Answer only hosts of these networks, or every host while there are none.
#[derive(Command, Print, Debug, PartialEq)]
#[command("dns clients")]
struct Clients {
    /// network of hosts that get answers
    #[positional]
    prefix: Prefix,
    /// delete
    del: bool,
}

/// Show the DNS cache.
#[derive(Command)]
#[command("show dns cache")]
struct ShowCache {
    /// include records
    verbose: bool,
    /// verbosity; ignored
    #[positional]
    level: Option<u32>,
    /// only this one
    name: Option<String>,
}

/// Show name servers.
#[derive(Command)]
#[command("show dns servers")]
struct ShowServers;

#[derive(Serialize)]
struct Row {
    /// `S` of the operator, `V` of a name server, `P` where it is asked.
    state: &'static str,
    name: String,
    kind: String,
    records: Vec<String>,
    /// Seconds for which it is good still.
    left: Option<f64>,
    /// How often name servers were asked.
    asked: Option<usize>,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}: {}", self.state, self.name, self.kind)?;
        self.records.iter().try_for_each(|record| write!(f, " {record}"))?;
        self.left.iter().try_for_each(|seconds| write!(f, " TTL left {seconds:.0}"))?;
        self.asked.iter().try_for_each(|count| write!(f, " asked {count} times"))
    }
}

#[derive(Serialize)]
struct Cache {
    is_on: bool,
    count: usize,
    pending: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rows: Vec<Row>,
}

impl fmt::Display for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_on {
            writeln!(f, "The DNS cache is disabled...")?;
        } else if self.count == 0 {
            return writeln!(f, "The DNS cache is empty...");
        }
        writeln!(f, "{} names, {} are asked for", self.count, self.pending)?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}

fn write_servers(rows: &[IpAddr], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if rows.is_empty() {
        return writeln!(f, "No name servers configured...");
    }
    for (family, is_4) in [("ip4", true), ("ip6", false)] {
        let mut meant = rows.iter().filter(|addr| addr.is_ipv4() == is_4).peekable();
        if meant.peek().is_some() {
            writeln!(f, "{family} name servers:")?;
        }
        meant.try_for_each(|addr| writeln!(f, "{addr}"))?;
    }
    Ok(())
}

fn kind_name(of: u16) -> String {
    match of {
        kind::A => "A".to_owned(),
        kind::AAAA => "AAAA".to_owned(),
        kind::CNAME => "CNAME".to_owned(),
        kind::PTR => "PTR".to_owned(),
        other => format!("type {other}"),
    }
}

fn known((question, answer): (&Question, &Answer), now: f64) -> Row {
    let text = |data: &Data| match data {
        Data::Addr(addr) => addr.to_string(),
        Data::Alias(name) | Data::Name(name) => name.clone(),
        Data::Other(kind, bytes) => format!("{} of {} bytes", kind_name(*kind), bytes.len()),
    };
    let mut records: Vec<_> = answer.records.iter().map(|record| text(&record.data)).collect();
    if answer.code == code::NO_NAME {
        records.push("no such name".to_owned());
    }
    Row {
        state: if answer.is_static() { "S" } else { "V" },
        name: question.name.clone(),
        kind: kind_name(question.kind),
        records,
        left: answer.until.is_finite().then_some((answer.until - now).max(0.0)),
        asked: None,
    }
}

fn asked((question, pending): (&Question, &Pending)) -> Row {
    Row {
        state: "P",
        name: question.name.clone(),
        kind: kind_name(question.kind),
        records: Vec::new(),
        left: None,
        asked: Some(pending.asked.len()),
    }
}

fn show_cache(router: &Router, c: &ShowCache) -> Output {
    let now = router.now();
    let dns = router.own::<Dns>();
    let good = dns.cache.iter().filter(|(_, answer)| now < answer.until);
    let rows = good.map(|entry| known(entry, now)).chain(dns.pending.iter().map(asked));
    let chosen = |row: &Row| c.name.as_ref().is_none_or(|name| row.name.eq_ignore_ascii_case(name));
    let is_listed = c.verbose || c.level.is_some() || c.name.is_some();
    Output::of(Cache {
        is_on: dns.is_on,
        count: dns.cache.len(),
        pending: dns.pending.len(),
        rows: if is_listed { rows.filter(chosen).collect() } else { Vec::new() },
    })
}

fn change_cache(router: &mut Router, c: &ChangeCache) -> Result<(), CliError> {
    match (c.add, c.del, c.clear, &c.name) {
        (true, false, false, Some(name)) => Ok(add_static(router, name, &c.addrs)?),
        (false, true, false, Some(name)) => Ok(forget(router, name)?),
        (false, false, true, None) => {
            clear(router);
            Ok(())
        }
        _ => Err(CliError::new("expected `add' or `del' and a name, or `clear'")),
    }
}

fn set(router: &mut Router, c: &Enable) -> Result<(), CliError> {
    match (c.enable, c.disable) {
        (true, false) => Ok(enable(router, true)?),
        (false, true) => Ok(enable(router, false)?),
        _ => Err(CliError::new("expected either `enable' or `disable'")),
    }
}

/// Servers and names that the operator gave, not what was learned.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let dns = router.own::<Dns>();
    for server in &dns.servers {
        lines.push(&NameServer { server: *server, del: false });
    }
    for prefix in &dns.clients {
        lines.push(&Clients { prefix: *prefix, del: false });
    }
    for (question, answer) in dns.cache.iter().filter(|(_, answer)| answer.is_static()) {
        let addrs = answer.records.iter().filter_map(|record| match record.data {
            Data::Addr(addr) => Some(addr),
            _ => None,
        });
        let (name, addrs) = (Some(question.name.clone()), addrs.collect());
        lines.push(&ChangeCache { add: true, del: false, clear: false, name, addrs });
    }
    if dns.is_on {
        lines.push(&Enable { enable: true, disable: false });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Enable| set(router, &c));
    cli.command(|router: &mut Router, c: ChangeCache| change_cache(router, &c));
    cli.command(|router: &mut Router, c: NameServer| match c.del {
        true => Ok(remove_server(router, c.server)?),
        false => Ok(add_server(router, c.server)?),
    });
    cli.command(|router: &mut Router, c: Clients| {
        Ok(set_clients(router, c.prefix.network(), !c.del)?)
    });
    cli.command(|router: &mut Router, c: ShowCache| Ok(show_cache(router, &c)));
    cli.command(|router: &mut Router, _: ShowServers| {
        Ok(Output::rows(router.own::<Dns>().servers.clone(), write_servers))
    });
}
