//! `show bfd`.

use net::prelude::*;

use super::properties::Row;
use super::{AuthKey, EchoSource};

/// Parts of what is shown.
#[derive(Words, Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Keys.
    Keys,
    /// Sessions.
    Sessions,
    /// Where echo packets come from.
    EchoSource,
}

/// Show BFD sessions, keys or the echo source
#[derive(Command)]
#[command("show bfd")]
struct Show {
    /// only this part
    #[positional]
    #[words]
    part: Option<Part>,
}

#[derive(Serialize)]
struct KeyRow {
    conf_key_id: u32,
    #[serde(rename = "type")]
    kind: &'static str,
    use_count: u32,
}

#[derive(Serialize)]
struct Source {
    interface: String,
    ip4: Option<String>,
    ip6: Option<String>,
}

#[derive(Serialize)]
struct Shown {
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<Vec<KeyRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<Vec<Row>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    echo_source: Option<Option<Source>>,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(keys) = &self.keys {
            let [id, kind, count] =
                [("Configurat", 10), ("Type", 25), ("Use Count", 10)].map(|(n, w)| centred(n, w));
            writeln!(f, "{id} {kind} {count}")?;
            for KeyRow { conf_key_id, kind, use_count } in keys {
                writeln!(f, "{conf_key_id:>10} {kind:<25} {use_count:>10}")?;
            }
            writeln!(f, "\nNumber of configured BFD keys: {}", keys.len())?;
        }
        if let Some(sessions) = &self.sessions {
            let names = ["Index", "Property", "Local value", "Remote value"];
            let [index, property] = [centred(names[0], 10), centred(names[1], 32)];
            let [ours, theirs] = [centred(names[2], 20), centred(names[3], 20)];
            writeln!(f, "{index} {property} {ours} {theirs}")?;
            sessions.iter().try_for_each(|row| row.fmt(f))?;
            writeln!(f, "Number of configured BFD sessions: {}", sessions.len())?;
        }
        let Some(source) = &self.echo_source else { return Ok(()) };
        let Some(Source { interface, ip4, ip6 }) = source else {
            return writeln!(f, "UDP echo source is not set.");
        };
        let [ip4, ip6] = [ip4, ip6].map(|addr| addr.as_deref().unwrap_or("none"));
        writeln!(f, "UDP echo source is: {interface}")?;
        writeln!(f, "IPv4 address usable as echo source: {ip4}")?;
        writeln!(f, "IPv6 address usable as echo source: {ip6}")
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, show: Show| {
        let has = |part| show.part.is_none_or(|only| only == part);
        let key = |(conf_key_id, key): (u32, &AuthKey)| KeyRow {
            conf_key_id,
            kind: if key.secret.is_meticulous() { "Meticulous Keyed SHA1" } else { "Keyed SHA1" },
            use_count: key.use_count,
        };
        let source = |EchoSource { interface, ip4, ip6 }: EchoSource| Source {
            interface: router.interfaces.name(interface.0).to_owned(),
            ip4: ip4.map(|addr| addr.to_string()),
            ip6: ip6.map(|addr| addr.to_string()),
        };
        let sessions = || super::sessions(router).map(|s| Row::of(router, s)).collect();
        Ok(Output::of(Shown {
            keys: has(Part::Keys).then(|| super::keys(router).iter().map(key).collect()),
            sessions: has(Part::Sessions).then(sessions),
            echo_source: has(Part::EchoSource).then(|| super::echo_source(router).map(source)),
        }))
    });
}
