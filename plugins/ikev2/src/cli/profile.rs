//! `ikev2 profile`: creates, changes and deletes profiles.

use control::Secret;
use control::cli::{Hex, PrintValue, Text, is_word};
use net::prelude::*;

use super::super::codec::number::{auth, id};
use super::super::codec::{Id, Selector};
use super::super::configure::{self, Change, Part};
use super::super::crypto::keys::Hidden;
use super::super::crypto::suite::{EspWish, IkeWish};
use super::super::crypto::{CIPHERS_BY_NAME, GROUPS_BY_NAME, MACS_BY_NAME, PRFS_BY_NAME, name_of};
use super::super::machine::{At, Lifetime, Profile, Responder, on_wire};

/// Types of identities.
pub(in super::super) const IDS: [(u8, &str); 7] = [
    (id::IP4, "ip4-addr"),
    (id::FQDN, "fqdn"),
    (id::RFC822, "rfc822"),
    (id::IP6, "ip6-addr"),
    (id::DN, "der-asn1-dn"),
    (id::GN, "der-asn1-gn"),
    (id::KEY_ID, "key-id"),
];

/// Creation, deletion or change of a profile.
#[derive(Debug, PartialEq)]
pub(super) enum SetProfile {
    Add(String),
    Del(String),
    Set(String, Change),
}

fn named(args: &mut Args<'_>, names: &[(u16, &'static str)], what: &str) -> Result<u16, Error> {
    let start = *args;
    let word: String = args.value(what)?;
    let found = names.iter().find(|(_, name)| *name == word).map(|(id, _)| *id);
    let number = || word.parse().ok();
    found.or_else(number).ok_or_else(|| start.error(format!("unknown {what} `{word}'")))
}

fn expect(args: &mut Args<'_>, word: &str) -> Result<(), Error> {
    let start = *args;
    args.keyword(word).then_some(()).ok_or_else(|| start.error(format!("expected {word}")))
}

fn secret(args: &mut Args<'_>) -> Result<Change, Error> {
    if args.keyword("hex") {
        let key: Secret<Hex> = args.value("key")?;
        return Ok(Change::Auth(auth::SHARED_KEY, Hidden(key.0.0), true));
    }
    expect(args, "string")?;
    let key: Secret<Text> = args.value("key")?;
    Ok(Change::Auth(auth::SHARED_KEY, Hidden(key.0.0.into_bytes()), false))
}

fn identity(args: &mut Args<'_>) -> Result<Id, Error> {
    let start = *args;
    let word: String = args.value("type of identity")?;
    let found = IDS.iter().find(|(_, name)| *name == word).map(|(kind, _)| *kind);
    let kind = found.ok_or_else(|| start.error(format!("unknown type of identity `{word}'")))?;
    let at = *args;
    if args.peek().is_some_and(|word| word.starts_with("0x")) {
        let hex: Hex = args.value("identity")?;
        return Ok(Id { kind, data: hex.0 });
    }
    let text: Text = args.value("identity")?;
    let id = Id { kind, data: text.0.into_bytes() };
    let is_addr = matches!(kind, id::IP4 | id::IP6);
    match is_addr && on_wire(&id) == id {
        true => Err(at.error("expected an address")),
        false => Ok(id),
    }
}

fn range<T: control::cli::Value>(args: &mut Args<'_>, what: &str) -> Result<(T, T), Error> {
    let (first, last) = args.range(what)?;
    let last = last.map_or_else(|| args.value(what), Ok)?;
    Ok((first, last))
}

fn selector(args: &mut Args<'_>) -> Result<Selector, Error> {
    expect(args, "ip-range")?;
    let start = *args;
    let addrs: (IpAddr, IpAddr) = range(args, "address")?;
    if addrs.0.is_ipv4() != addrs.1.is_ipv4() {
        return Err(start.error("addresses of different families"));
    }
    let mut ts = Selector { protocol: 0, ports: (0, u16::MAX), addrs };
    if args.keyword("port-range") {
        ts.ports = range(args, "port")?;
    }
    if args.keyword("protocol") {
        ts.protocol = args.value("protocol")?;
    }
    Ok(ts)
}

fn ike(args: &mut Args<'_>) -> Result<Change, Error> {
    let mut wish = IkeWish { encr: named(args, CIPHERS_BY_NAME, "cipher")?, ..IkeWish::default() };
    wish.bits = args.optional().unwrap_or(0);
    loop {
        if args.keyword("ike-integ-alg") {
            wish.integ = named(args, MACS_BY_NAME, "hash")?;
        } else if args.keyword("ike-prf-alg") {
            wish.prf = named(args, PRFS_BY_NAME, "pseudorandom function")?;
        } else if args.keyword("ike-dh") {
            wish.group = named(args, GROUPS_BY_NAME, "group")?;
        } else {
            return Ok(Change::Ike(wish));
        }
    }
}

fn esp(args: &mut Args<'_>) -> Result<Change, Error> {
    let mut wish = EspWish { encr: named(args, CIPHERS_BY_NAME, "cipher")?, ..EspWish::default() };
    wish.bits = args.optional().unwrap_or(0);
    if args.keyword("esp-integ-alg") {
        wish.integ = named(args, MACS_BY_NAME, "hash")?;
    }
    Ok(Change::Esp(wish))
}

fn change(args: &mut Args<'_>) -> Result<Change, Error> {
    let start = *args;
    if args.keyword("auth") {
        if args.keyword("rsa-sig") {
            expect(args, "cert-file")?;
            let file: String = args.value("file")?;
            return Ok(Change::Auth(auth::RSA, Hidden(file.into_bytes()), false));
        }
        expect(args, "shared-key-mic")?;
        return secret(args);
    }
    if args.keyword("id") {
        let is_local = args.keyword("local");
        if !is_local {
            expect(args, "remote")?;
        }
        let id = identity(args)?;
        return Ok(if is_local { Change::LocalId(id) } else { Change::RemoteId(id) });
    }
    if args.keyword("traffic-selector") {
        let is_local = args.keyword("local");
        if !is_local {
            expect(args, "remote")?;
        }
        let ts = selector(args)?;
        return Ok(if is_local { Change::LocalTs(ts) } else { Change::RemoteTs(ts) });
    }
    if args.keyword("responder") {
        let interface: InterfaceIndex = args.value("interface")?;
        let word: String = args.value("address or name")?;
        let at = word.parse().map_or_else(|_| At::Name(word.clone()), At::Addr);
        return Ok(Change::Responder(Responder { interface: interface.0, at }));
    }
    if args.keyword("tunnel") {
        let interface: InterfaceIndex = args.value("interface")?;
        return Ok(Change::Tunnel(interface.0));
    }
    if args.keyword("ike-crypto-alg") {
        return ike(args);
    }
    if args.keyword("esp-crypto-alg") {
        return esp(args);
    }
    if args.keyword("sa-lifetime") {
        let (seconds, jitter) = (args.value("seconds")?, args.value("jitter")?);
        let (handover, most_bytes) = (args.value("handover")?, args.value("bytes")?);
        return Ok(Change::Lifetime(Lifetime { seconds, jitter, handover, most_bytes }));
    }
    if args.keyword("udp-encap") {
        return Ok(Change::Udp);
    }
    if args.keyword("ipsec-over-udp") {
        expect(args, "port")?;
        return Ok(Change::Port(Some(args.value("port")?)));
    }
    if args.keyword("disable") {
        expect(args, "natt")?;
        return Ok(Change::NoNatt);
    }
    Err(start.unknown())
}

/// Parts of a profile, by the keywords that set them.
const PARTS: [(&str, Part); 9] = [
    ("auth", Part::Auth),
    ("responder", Part::Responder),
    ("tunnel", Part::Tunnel),
    ("ike-crypto-alg", Part::Ike),
    ("esp-crypto-alg", Part::Esp),
    ("sa-lifetime", Part::Lifetime),
    ("udp-encap", Part::Udp),
    ("ipsec-over-udp", Part::Port),
    ("disable", Part::Natt),
];

fn part(args: &mut Args<'_>) -> Result<Part, Error> {
    let start = *args;
    if let Some((_, part)) = PARTS.iter().find(|(word, _)| args.keyword(word)) {
        return Ok(*part);
    }
    let (local, remote) = match (args.keyword("id"), args.keyword("traffic-selector")) {
        (true, _) => (Part::LocalId, Part::RemoteId),
        (_, true) => (Part::LocalTs, Part::RemoteTs),
        _ => return Err(start.unknown()),
    };
    if args.keyword("local") {
        return Ok(local);
    }
    expect(args, "remote").map(|()| remote)
}

impl Command for SetProfile {
    const PATHS: &'static [&'static str] = &["ikev2 profile"];
    const ABOUT: &'static str = "Create, change or delete a profile";
    const USAGE: &'static str = "add|del|set <name> [auth shared-key-mic string|hex <key>|\
        auth rsa-sig cert-file <file>|id local|remote <type> <identity>|\
        traffic-selector local|remote ip-range <address> - <address> [port-range <n> - <n>] \
        [protocol <n>]|responder <interface> <address>|tunnel <interface>|\
        ike-crypto-alg <cipher> [<bits>] [ike-integ-alg <hash>] [ike-prf-alg <prf>] \
        [ike-dh <group>]|esp-crypto-alg <cipher> [<bits>] [esp-integ-alg <hash>]|\
        sa-lifetime <seconds> <jitter> <handover> <bytes>|udp-encap|ipsec-over-udp port <n>|\
        disable natt]|unset <name> auth|id local|remote|traffic-selector local|remote|responder|\
        tunnel|ike-crypto-alg|esp-crypto-alg|sa-lifetime|udp-encap|ipsec-over-udp|disable";
    const SECRETS: &'static [&'static str] = &["string", "hex"];
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let start = *args;
        if args.keyword("add") {
            return Ok(Self::Add(args.value("name")?));
        }
        if args.keyword("del") {
            return Ok(Self::Del(args.value("name")?));
        }
        if args.keyword("unset") {
            let name = args.value("name")?;
            return Ok(Self::Set(name, Change::Unset(part(args)?)));
        }
        if !args.keyword("set") {
            return Err(start.unknown());
        }
        let name = args.value("name")?;
        Ok(Self::Set(name, change(args)?))
    }
}

/// Prints an algorithm, and its key length if that is part of its name.
fn print_cipher(line: &mut Line<'_>, keyword: &str, (id, bits): (u16, u16)) {
    line.word(keyword).word(name_of(CIPHERS_BY_NAME, id));
    if bits > 0 {
        line.word(bits);
    }
}

fn print_id(line: &mut Line<'_>, side: &str, id: &Id) {
    let kind = IDS.iter().find(|(kind, _)| *kind == id.kind);
    line.word("id").word(side).word(kind.map_or("key-id", |(_, name)| name));
    match std::str::from_utf8(&id.data).ok().filter(|text| is_word(text)) {
        Some(text) => line.word(text),
        None => line.word(format_args!("0x{}", control::cli::hex(&id.data))),
    };
}

fn print_ts(line: &mut Line<'_>, side: &str, ts: &Selector) {
    line.word("traffic-selector").word(side).word("ip-range");
    line.word(ts.addrs.0).word("-").word(ts.addrs.1);
    line.word("port-range").word(ts.ports.0).word("-").word(ts.ports.1);
    line.word("protocol").word(ts.protocol);
}

fn print_change(line: &mut Line<'_>, change: &Change) {
    match change {
        Change::Auth(auth::SHARED_KEY, key, is_hex) => {
            line.word("auth").word("shared-key-mic");
            let text = std::str::from_utf8(&key.0).ok().and_then(Text::printed);
            match text.filter(|_| !is_hex) {
                Some(text) => Secret(text).print(line.word("string")),
                None => Secret(Hex(key.0.clone())).print(line.word("hex")),
            }
        }
        Change::Auth(_, file, _) => {
            let file = String::from_utf8_lossy(&file.0).into_owned();
            line.word("auth").word("rsa-sig").word("cert-file").word(file);
        }
        Change::LocalId(id) => print_id(line, "local", id),
        Change::RemoteId(id) => print_id(line, "remote", id),
        Change::LocalTs(ts) => print_ts(line, "local", ts),
        Change::RemoteTs(ts) => print_ts(line, "remote", ts),
        Change::Responder(responder) => {
            line.word("responder").value(&InterfaceIndex(responder.interface));
            match &responder.at {
                At::Addr(addr) => line.word(addr),
                At::Name(name) => line.word(name),
            };
        }
        Change::Tunnel(interface) => {
            line.word("tunnel").value(&InterfaceIndex(*interface));
        }
        Change::Ike(wish) => {
            print_cipher(line, "ike-crypto-alg", (wish.encr, wish.bits));
            if wish.integ > 0 {
                line.word("ike-integ-alg").word(name_of(MACS_BY_NAME, wish.integ));
            }
            if wish.prf > 0 {
                line.word("ike-prf-alg").word(name_of(PRFS_BY_NAME, wish.prf));
            }
            line.word("ike-dh").word(name_of(GROUPS_BY_NAME, wish.group));
        }
        Change::Esp(wish) => {
            print_cipher(line, "esp-crypto-alg", (wish.encr, wish.bits));
            if wish.integ > 0 {
                line.word("esp-integ-alg").word(name_of(MACS_BY_NAME, wish.integ));
            }
        }
        Change::Lifetime(l) => {
            line.word("sa-lifetime").word(l.seconds).word(l.jitter).word(l.handover);
            line.word(l.most_bytes);
        }
        Change::Udp => drop(line.word("udp-encap")),
        Change::Port(port) => {
            line.word("ipsec-over-udp").word("port").word(port.unwrap_or_default());
        }
        Change::NoNatt => drop(line.word("disable").word("natt")),
        // Never part of a saved configuration.
        Change::Unset(_) => (),
    }
}

impl Print for SetProfile {
    const STAGE: Stage = Stage::Attachments;
    const UNDO: &'static str = "=ikev2 profile {?add} del {add}|\
        ikev2 profile {?id} unset {2} id {4}|\
        ikev2 profile {?traffic-selector} unset {2} traffic-selector {4}|\
        ikev2 profile unset {2} {3}";
    fn print(&self, line: &mut Line<'_>) {
        match self {
            Self::Add(name) => drop(line.word("add").word(name)),
            Self::Del(name) => drop(line.word("del").word(name)),
            Self::Set(name, change) => print_change(line.word("set").word(name), change),
        }
    }
}

/// The changes that turn an empty profile into `p`.
fn changes(p: &Profile) -> Vec<Change> {
    let mut all = Vec::new();
    all.extend(p.auth.iter().map(|a| Change::Auth(a.method, a.data.clone(), a.is_hex)));
    all.extend(p.local_id.clone().map(Change::LocalId));
    all.extend(p.remote_id.clone().map(Change::RemoteId));
    all.extend(p.local_ts.map(Change::LocalTs));
    all.extend(p.remote_ts.map(Change::RemoteTs));
    all.extend(p.responder.clone().map(Change::Responder));
    all.extend(p.tunnel.map(Change::Tunnel));
    if p.ike != IkeWish::default() {
        all.push(Change::Ike(p.ike));
    }
    if p.esp != EspWish::default() {
        all.push(Change::Esp(p.esp));
    }
    if p.lifetime != Lifetime::default() {
        all.push(Change::Lifetime(p.lifetime));
    }
    all.extend(p.has_udp.then_some(Change::Udp));
    all.extend(p.udp_port.map(|port| Change::Port(Some(port))));
    all.extend(p.is_natt_off.then_some(Change::NoNatt));
    all
}

pub(super) fn configuration(profile: &Profile, lines: &mut Lines<'_>) {
    lines.push(&SetProfile::Add(profile.name.clone()));
    for change in changes(profile) {
        lines.push(&SetProfile::Set(profile.name.clone(), change));
    }
}

pub(super) fn set(router: &mut Router, c: SetProfile) -> Result<(), super::super::Error> {
    match c {
        SetProfile::Add(name) => configure::add(router, &name),
        SetProfile::Del(name) => configure::remove(router, &name),
        SetProfile::Set(name, change) => configure::change(router, &name, change),
    }
}
