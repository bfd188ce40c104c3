//! `ipsec sa`, `ipsec sa bind`, `test ipsec sa`.

use control::Secret;
use control::cli::Hex;
use crypto::{CIPHERS, Hidden, MACS};
use net::prelude::*;
use net::tunnel::command::Copied;
use net::tunnel::{EncapDecapFlags, Outer};

use crate::sa::{self, Config};

/// Default UDP port.
const NAT_T: u16 = 4500;
/// Default window size.
const WINDOW: u32 = 64;

/// `ipsec sa [add|del] <id> …`.
#[derive(Clone, Debug, PartialEq)]
struct SetSa {
    is_del: bool,
    id: u32,
    spi: u32,
    is_ah: bool,
    cipher: u32,
    cipher_key: Secret<Hex>,
    mac: u32,
    mac_key: Secret<Hex>,
    salt: u32,
    has_esn: bool,
    has_anti_replay: bool,
    is_inbound: bool,
    is_async: bool,
    udp: Option<(u16, u16)>,
    src: Option<IpAddr>,
    dst: Option<IpAddr>,
    table: u32,
    flags: u8,
    dscp: u8,
    hop_limit: u8,
    window: u32,
}

/// Parses an algorithm; each has one or more names.
fn algorithm<const N: usize>(
    args: &mut Args<'_>,
    names: impl Iterator<Item = [&'static str; N]>,
) -> Result<u32, Error> {
    let names: Vec<_> = names.collect();
    let found = names.iter().position(|all| all.iter().any(|name| args.keyword(name)));
    found.map(|at| at as u32).ok_or_else(|| {
        let firsts: Vec<_> = names.iter().filter_map(|all| all.first().copied()).collect();
        args.error(format!("expected one of {}", firsts.join(", ")))
    })
}

/// Parses a salt, decimal or hexadecimal with `0x`.
fn salt(args: &mut Args<'_>) -> Result<u32, Error> {
    let Some(digits) = args.peek().and_then(|word| word.strip_prefix("0x")) else {
        return args.value("salt");
    };
    let salt = u32::from_str_radix(digits, 16).map_err(|e| args.error(format!("salt: {e}")))?;
    args.word();
    Ok(salt)
}

impl SetSa {
    fn new(is_del: bool, id: u32) -> Self {
        Self {
            is_del,
            id,
            spi: 0,
            is_ah: false,
            cipher: 0,
            cipher_key: Secret::default(),
            mac: 0,
            mac_key: Secret::default(),
            salt: 0,
            has_esn: false,
            has_anti_replay: false,
            is_inbound: false,
            is_async: false,
            udp: None,
            src: None,
            dst: None,
            table: 0,
            flags: 0,
            dscp: 0,
            hop_limit: 0,
            window: WINDOW,
        }
    }
    /// Parses one argument; returns whether it was known.
    fn take(&mut self, args: &mut Args<'_>) -> Result<bool, Error> {
        if args.keyword("spi") {
            self.spi = args.value("spi")?;
        } else if args.keyword("crypto-alg") {
            self.cipher = algorithm(args, CIPHERS.iter().map(|c| [c.sa_name, c.name]))?;
        } else if args.keyword("crypto-key") {
            self.cipher_key = args.value("crypto-key")?;
        } else if args.keyword("integ-alg") {
            self.mac = algorithm(args, MACS.iter().map(|m| [m.name]))?;
        } else if args.keyword("integ-key") {
            self.mac_key = args.value("integ-key")?;
        } else if args.keyword("salt") {
            self.salt = salt(args)?;
        } else if args.keyword("udp-src-port") {
            self.udp = Some((args.value("udp-src-port")?, self.udp.map_or(NAT_T, |udp| udp.1)));
        } else if args.keyword("udp-dst-port") {
            self.udp = Some((self.udp.map_or(NAT_T, |udp| udp.0), args.value("udp-dst-port")?));
        } else if args.keyword("anti-replay-size") {
            self.window = args.value("anti-replay-size")?;
            self.has_anti_replay = true;
        } else if args.keyword("window-size") {
            self.window = args.value("window-size")?;
        } else {
            return Ok(self.take_tunnel(args)? || self.take_flag(args));
        }
        Ok(true)
    }
    fn take_tunnel(&mut self, args: &mut Args<'_>) -> Result<bool, Error> {
        if args.keyword("tunnel-src") || args.keyword("src") {
            self.src = Some(args.value("tunnel-src")?);
        } else if args.keyword("tunnel-dst") || args.keyword("dst") {
            self.dst = Some(args.value("tunnel-dst")?);
        } else if args.keyword("table-id") {
            self.table = args.value("table-id")?;
        } else if args.keyword("copy-flags") {
            self.flags = args.value("copy-flags")?;
        } else if args.keyword("dscp") {
            self.dscp = args.value("dscp")?;
        } else if args.keyword("hop-limit") {
            self.hop_limit = args.value("hop-limit")?;
        } else {
            return Ok(self.take_field(args));
        }
        Ok(true)
    }
    /// Parses the name of a copied field, or a keyword without effect.
    fn take_field(&mut self, args: &mut Args<'_>) -> bool {
        if ["tunnel", "p2p", "p2mp", "mp"].iter().any(|word| args.keyword(word)) {
            return true;
        }
        let start = *args;
        let Ok(field) = args.value::<Copied>("copied field") else {
            *args = start;
            return false;
        };
        self.flags |= EncapDecapFlags::from(field).0;
        true
    }
    fn take_flag(&mut self, args: &mut Args<'_>) -> bool {
        if args.keyword("ah") {
            self.is_ah = true;
        } else if args.keyword("udp-encap") {
            self.udp = self.udp.or(Some((NAT_T, NAT_T)));
        } else if args.keyword("use-esn") || args.keyword("esn") {
            self.has_esn = true;
        } else if args.keyword("use-anti-replay") || args.keyword("anti-replay") {
            self.has_anti_replay = true;
        } else if args.keyword("inbound") {
            self.is_inbound = true;
        } else if args.keyword("async") {
            self.is_async = true;
        } else {
            return args.keyword("esp");
        }
        true
    }
    fn native(self, router: &Router) -> Result<Config, Error> {
        let tunnel = match (self.src, self.dst) {
            (Some(src), Some(dst)) => {
                let outer = Outer::new(src, dst, router.tunnel_table(src, self.table)?);
                let (flags, dscp) = (EncapDecapFlags(self.flags), self.dscp);
                Some(Outer { flags, dscp, hop_limit: self.hop_limit, ..outer })
            }
            (None, None) => None,
            _ => return Err(Error::new("tunnel-src and tunnel-dst are both needed")),
        };
        Ok(Config {
            id: self.id,
            spi: self.spi,
            protocol: if self.is_ah { Protocol::AH } else { Protocol::ESP },
            cipher: self.cipher,
            cipher_key: Hidden(self.cipher_key.0.0),
            mac: self.mac,
            mac_key: Hidden(self.mac_key.0.0),
            salt: self.salt,
            has_esn: self.has_esn,
            has_anti_replay: self.has_anti_replay,
            is_inbound: self.is_inbound,
            is_async: self.is_async,
            udp: self.udp,
            tunnel,
            window: self.window,
            selectors: None,
            is_derived: false,
        })
    }
    fn of(router: &Router, c: &Config) -> Self {
        let t = c.tunnel.as_ref();
        Self {
            is_del: false,
            id: c.id,
            spi: c.spi,
            is_ah: c.protocol == Protocol::AH,
            cipher: c.cipher,
            cipher_key: Secret(Hex(c.cipher_key.0.clone())),
            mac: c.mac,
            mac_key: Secret(Hex(c.mac_key.0.clone())),
            salt: c.salt,
            has_esn: c.has_esn,
            has_anti_replay: c.has_anti_replay,
            is_inbound: c.is_inbound,
            is_async: c.is_async,
            udp: c.udp,
            src: t.map(|t| t.src),
            dst: t.map(|t| t.dst),
            table: t.map_or(0, |t| router.tunnel_table_id(t)),
            flags: t.map_or(0, |t| t.flags.0),
            dscp: t.map_or(0, |t| t.dscp),
            hop_limit: t.map_or(0, |t| t.hop_limit),
            window: c.window,
        }
    }
}

impl Command for SetSa {
    const PATHS: &'static [&'static str] = &["ipsec sa"];
    const ABOUT: &'static str = "Add or delete a security association";
    const USAGE: &'static str = "[add|del] <id> [spi <n>] [esp|ah] [crypto-alg <name>] \
        [crypto-key <hex>] [integ-alg <name>] [integ-key <hex>] [salt <n>] [use-esn] \
        [use-anti-replay] [window-size|anti-replay-size <n>] [inbound] [async] [udp-encap] \
        [udp-src-port <n>] [udp-dst-port <n>] [tunnel] [tunnel-src|src <address>] \
        [tunnel-dst|dst <address>] [table-id <n>] [copy-flags <n>] \
        [encap-copy-df|encap-set-df|encap-copy-dscp|encap-copy-ecn|decap-copy-ecn|\
        encap-copy-hop-limit|encap-copy-flow-label]... [dscp <n>] [hop-limit <n>] [p2p|p2mp|mp]";
    const SECRETS: &'static [&'static str] = &["crypto-key", "integ-key"];
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut new, mut id) = (Self::new(false, 0), None);
        while !args.is_empty() {
            if args.keyword("add") {
                new.is_del = false;
            } else if args.keyword("del") {
                new.is_del = true;
            } else if !new.take(args)? {
                if id.is_some() {
                    return Err(args.unknown());
                }
                id = Some(args.value("id")?);
            }
        }
        new.id = id.ok_or_else(|| args.error("expected an id"))?;
        Ok(new)
    }
}

impl Print for SetSa {
    const STAGE: Stage = Stage::Objects;
    fn print(&self, line: &mut Line<'_>) {
        line.word(if self.is_del { "del" } else { "add" }).value(&self.id);
        line.keyword("spi", &self.spi).word(if self.is_ah { "ah" } else { "esp" });
        let named = |n: u32, name: Option<&'static str>| name.filter(|_| n > 0);
        let cipher = CIPHERS.get(self.cipher as usize).map(|c| c.sa_name);
        let mac = MACS.get(self.mac as usize).map(|m| m.name);
        line.option("crypto-alg", named(self.cipher, cipher).as_ref());
        line.option("crypto-key", Some(&self.cipher_key).filter(|key| !key.0.0.is_empty()));
        line.option("integ-alg", named(self.mac, mac).as_ref());
        line.option("integ-key", Some(&self.mac_key).filter(|key| !key.0.0.is_empty()));
        line.option("salt", Some(&self.salt).filter(|salt| **salt > 0));
        line.flag("use-esn", self.has_esn).flag("use-anti-replay", self.has_anti_replay);
        line.option("window-size", Some(&self.window).filter(|window| **window != WINDOW));
        line.flag("inbound", self.is_inbound).flag("async", self.is_async);
        if let Some((src, dst)) = self.udp {
            line.word("udp-encap").keyword("udp-src-port", &src).keyword("udp-dst-port", &dst);
        }
        line.option("tunnel-src", self.src.as_ref()).option("tunnel-dst", self.dst.as_ref());
        line.option("table-id", Some(&self.table).filter(|n| **n > 0));
        line.option("copy-flags", Some(&self.flags).filter(|n| **n > 0));
        line.option("dscp", Some(&self.dscp).filter(|n| **n > 0));
        line.option("hop-limit", Some(&self.hop_limit).filter(|n| **n > 0));
    }
}

/// `ipsec sa bind [unbind] <sa-id> <worker>`.
#[derive(Debug, PartialEq)]
struct Bind {
    is_unbind: bool,
    id: u32,
    worker: Option<u32>,
}

impl Command for Bind {
    const PATHS: &'static [&'static str] = &["ipsec sa bind"];
    const ABOUT: &'static str = "Bind a security association to a worker, or unbind it";
    const USAGE: &'static str = "[unbind] <id> [<worker>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut is_unbind, mut id, mut worker) = (false, None, None);
        while !args.is_empty() {
            if args.keyword("unbind") {
                is_unbind = true;
            } else if id.is_none() {
                id = Some(args.value("id")?);
            } else if worker.is_none() {
                worker = Some(args.value("worker")?);
            } else {
                return Err(args.unknown());
            }
        }
        let id = id.ok_or_else(|| Error::new("missing id"))?;
        if !is_unbind && worker.is_none() {
            return Err(Error::new("missing worker"));
        }
        Ok(Self { is_unbind, id, worker })
    }
}

/// Set the sequence numbers of a security association.
#[derive(Command)]
#[command("test ipsec sa")]
struct SetNumbers {
    /// security association
    #[positional]
    id: u32,
    /// last sequence number sent and received, decimal or hexadecimal with 0x
    seq: String,
}

fn set_numbers(router: &mut Router, c: &SetNumbers) -> Result<(), Error> {
    let number = match c.seq.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => c.seq.parse(),
    };
    let number = number.map_err(|e| Error::new(format!("seq {}: {e}", c.seq)))?;
    let index = sa::index(router, c.id)?;
    if let Some((_, found)) = sa::all(router).find(|(at, _)| *at == index) {
        found.state.sent.set(number);
        found.state.received.set(number);
    }
    Ok(())
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (_, sa) in sa::all(router).filter(|(_, sa)| !sa.config.is_derived) {
        lines.push(&SetSa::of(router, &sa.config));
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetSa| {
        if c.is_del {
            return Ok::<_, Error>(sa::remove(router, c.id)?);
        }
        let config = c.native(router)?;
        sa::add(router, config)?;
        Ok(())
    });
    cli.command(|router: &mut Router, c: Bind| {
        let worker = c.worker.filter(|_| !c.is_unbind);
        Ok::<_, Error>(sa::bind(router, c.id, worker)?)
    });
    cli.command(|router: &mut Router, c: SetNumbers| set_numbers(router, &c));
}
