//! Commands about WireGuard.

use std::str::FromStr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use control::Secret;
use control::cli::{Error as CliError, hex};
use net::prelude::*;
use serde::Serializer;

use super::noise::{Identity, random};
use super::peer::{self, NewPeer, Peer};
use super::{Interface, New, Wireguard, interface};

/// A key as operators write it: 32 bytes in base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key([u8; 32]);

impl FromStr for Key {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = BASE64_STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or("a key is 32 bytes in base64")
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE64_STANDARD.encode(self.0))
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Create a WireGuard interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("wireguard create")]
#[stage(Interfaces)]
struct Create {
    /// port
    #[alias("port")]
    listen_port: u16,
    /// private key
    private_key: Option<Secret<Key>>,
    /// local address
    src: IpAddr,
    /// generate a private key
    generate_key: bool,
    /// instance number in the interface name
    instance: Option<u32>,
}

/// Delete a WireGuard interface and its peers.
#[derive(Command)]
#[command("wireguard delete")]
struct Delete {
    /// interface
    #[positional]
    interface: InterfaceIndex,
}

/// Add a peer to a WireGuard interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("wireguard peer add")]
#[stage(Attachments)]
#[undo("wireguard peer remove interface {1} public-key {public-key}")]
struct AddPeer {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// preshared key
    preshared_key: Option<Secret<Key>>,
    /// public key of the peer
    public_key: Key,
    /// endpoint address
    endpoint: Option<IpAddr>,
    /// allowed IP prefixes
    allowed_ip: Vec<Prefix>,
    /// endpoint port
    #[alias("port")]
    dst_port: Option<u16>,
    /// persistent keepalive interval in seconds
    persistent_keepalive: Option<u16>,
    /// table to reach the endpoint in
    table_id: Option<u32>,
}

/// Remove a peer, by index or by interface and key.
#[derive(Command)]
#[command("wireguard peer remove")]
struct RemovePeer {
    /// index
    #[positional]
    index: Option<u32>,
    /// interface
    interface: Option<InterfaceIndex>,
    /// public key of the peer
    public_key: Option<Key>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
enum OnOff {
    On,
    Off,
}

/// Set asynchronous encryption; accepted: packets are always encrypted at once, on the peer's
/// thread.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set wireguard async mode")]
#[undo("=set wireguard async mode off")]
struct SetAsync {
    /// asynchronous
    #[positional]
    #[words]
    mode: OnOff,
}

/// Show WireGuard interfaces.
#[derive(Command)]
#[command("show wireguard interface")]
struct ShowInterfaces;

/// Show the encryption mode.
#[derive(Command)]
#[command("show wireguard mode")]
struct ShowMode;

/// Show WireGuard peers.
#[derive(Command)]
#[command("show wireguard peer")]
struct ShowPeers;

#[derive(Serialize)]
struct InterfaceRow {
    number: u32,
    interface: String,
    src: IpAddr,
    port: u16,
    public_key: Key,
}

fn write_interface_rows(rows: &[InterfaceRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|row| {
        let InterfaceRow { number, interface, src, port, public_key } = row;
        let digits = hex(&public_key.0);
        writeln!(f, "[{number}] {interface} src:{src} port:{port} public-key:{public_key} {digits}")
    })
}

#[derive(Serialize)]
struct Mode {
    is_async: bool,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Wireguard mode\nasync: {}", if self.is_async { "on" } else { "off" })
    }
}

/// A session in use.
#[derive(Serialize)]
struct Session {
    /// Seconds since its handshake.
    age: f64,
    is_initiator: bool,
}

#[derive(Serialize)]
struct PeerRow {
    number: u32,
    interface: String,
    src: Option<(IpAddr, u16)>,
    endpoint: Option<(IpAddr, u16)>,
    public_key: Key,
    has_preshared_key: bool,
    keepalive: u16,
    is_established: bool,
    is_dead: bool,
    session: Option<Session>,
    allowed: Vec<String>,
}

fn write_peer_rows(rows: &[PeerRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let end = |end: Option<(IpAddr, u16)>| match end {
        Some((addr, port)) => format!("{addr}:{port}"),
        None => "unknown".to_owned(),
    };
    rows.iter().try_for_each(|row| {
        let flags = [(row.is_dead, "dead"), (row.is_established, "established")];
        let flags: Vec<_> = flags.iter().filter(|flag| flag.0).map(|flag| flag.1).collect();
        write!(f, "[{}] endpoint:[{}->{}]", row.number, end(row.src), end(row.endpoint))?;
        write!(f, " {} keep-alive:{}", row.interface, row.keepalive)?;
        writeln!(f, " flags: [{}]", flags.join(", "))?;
        writeln!(f, "  public key:{} {}", row.public_key, hex(&row.public_key.0))?;
        if row.has_preshared_key {
            writeln!(f, "  with a preshared key")?;
        }
        if let Some(Session { age, is_initiator }) = row.session {
            let whose = if is_initiator { "here" } else { "by the peer" };
            writeln!(f, "  session: {age:.0} s old, begun {whose}")?;
        }
        writeln!(f, "  allowed-ips: {}", row.allowed.join(", "))
    })
}

fn interface_rows(router: &Router) -> Vec<InterfaceRow> {
    let row = |(index, own): (&InterfaceIndex, &Interface)| InterfaceRow {
        number: own.instance,
        interface: router.interfaces.name(index.0).to_owned(),
        src: own.src,
        port: own.port,
        public_key: Key(own.key.public.to_bytes()),
    };
    router.own::<Wireguard>().interfaces.iter().map(row).collect()
}

fn peer_rows(router: &Router) -> Vec<PeerRow> {
    let (all, now) = (router.own::<Wireguard>(), router.now());
    let row = |(number, peer): (&u32, &Peer)| PeerRow {
        number: *number,
        interface: router.interfaces.name(peer.interface.0).to_owned(),
        src: all.interfaces.get(&peer.interface).map(|own| (own.src, own.port)),
        endpoint: peer.endpoint,
        public_key: Key(peer.public.to_bytes()),
        has_preshared_key: peer.preshared != [0; 32],
        keepalive: peer.keepalive,
        is_established: peer.is_established,
        is_dead: peer.is_dead,
        session: peer
            .current
            .as_ref()
            .map(|keypair| Session { age: now - keypair.born, is_initiator: keypair.is_initiator }),
        allowed: peer.allowed.iter().map(ToString::to_string).collect(),
    };
    all.peers.iter().map(row).collect()
}

fn create(router: &mut Router, c: &Create) -> Result<Output, CliError> {
    let key = match (c.private_key, c.generate_key) {
        (Some(Secret(Key(key))), false) => Identity::from(key),
        (None, true) => Identity::from(random::<32>().ok_or(super::Error::NoRandom)?),
        _ => return Err(CliError::new("missing private-key or generate-key")),
    };
    let new = New { instance: c.instance, key, port: c.listen_port, src: c.src };
    let made = interface::add(router, new)?;
    Ok(Output::text(format!("{}\n", router.interfaces.name(made.0))))
}

fn add_peer(router: &mut Router, c: AddPeer) -> Result<(), CliError> {
    let endpoint = match (c.endpoint.filter(|addr| !addr.is_unspecified()), c.dst_port) {
        (Some(addr), Some(port)) => Some((addr, port)),
        (None, None | Some(0)) => None,
        (Some(_), None) => return Err(CliError::new("missing dst-port of the endpoint")),
        (None, Some(_)) => return Err(CliError::new("dst-port without endpoint")),
    };
    peer::add(
        router,
        NewPeer {
            interface: c.interface,
            public: c.public_key.0,
            preshared: c.preshared_key.map_or([0; 32], |key| key.0.0),
            endpoint,
            table: c.table_id.unwrap_or_default(),
            allowed: c.allowed_ip,
            keepalive: c.persistent_keepalive.unwrap_or_default(),
        },
    )?;
    Ok(())
}

fn added(router: &Router, peer: &Peer) -> AddPeer {
    let own = router.own::<Wireguard>().interfaces.get(&peer.interface);
    let table = own.and_then(|own| router.table_id_of(Link::of(own.src), peer.table));
    AddPeer {
        interface: peer.interface,
        preshared_key: Some(Secret(Key(peer.preshared))).filter(|key| key.0.0 != [0; 32]),
        public_key: Key(peer.public.to_bytes()),
        endpoint: peer.configured.map(|(addr, _)| addr),
        allowed_ip: peer.allowed.to_vec(),
        dst_port: peer.configured.map(|(_, port)| port),
        persistent_keepalive: Some(peer.keepalive).filter(|seconds| *seconds > 0),
        table_id: table.filter(|id| *id > 0),
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let all = router.own::<Wireguard>();
    if all.is_async {
        lines.push(&SetAsync { mode: OnOff::On });
    }
    for (index, own) in &all.interfaces {
        let create = Create {
            listen_port: own.port,
            private_key: Some(Secret(Key(own.key.private.to_bytes()))),
            src: own.src,
            generate_key: false,
            instance: Some(own.instance),
        };
        lines.push_interface((Stage::Interfaces, index.0), &create);
    }
    for (number, peer) in &all.peers {
        lines.push_at(*number, &added(router, peer));
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| create(router, &c));
    cli.command(|router: &mut Router, c: Delete| {
        Ok::<_, CliError>(interface::remove(router, c.interface)?)
    });
    cli.command(|router: &mut Router, c: AddPeer| add_peer(router, c));
    cli.command(|router: &mut Router, c: RemovePeer| {
        let all = &router.own::<Wireguard>().peers;
        let is_it = |peer: &Peer| {
            let key = c.public_key.as_ref().is_some_and(|key| key.0 == peer.public.to_bytes());
            key && c.interface == Some(peer.interface)
        };
        let found = all.iter().find(|(_, peer)| is_it(peer)).map(|(number, _)| *number);
        let number = c.index.or(found);
        let number = number.ok_or_else(|| CliError::new("no peer with that interface and key"))?;
        Ok::<_, CliError>(peer::remove(router, number)?)
    });
    cli.command(|router: &mut Router, c: SetAsync| {
        router.own_mut::<Wireguard>().is_async = c.mode == OnOff::On;
        Ok(())
    });
    cli.command(|router: &mut Router, _: ShowInterfaces| {
        Ok(Output::rows(interface_rows(router), write_interface_rows))
    });
    cli.command(|router: &mut Router, _: ShowMode| {
        Ok(Output::of(Mode { is_async: router.own::<Wireguard>().is_async }))
    });
    cli.command(|router: &mut Router, _: ShowPeers| {
        Ok(Output::rows(peer_rows(router), write_peer_rows))
    });
}
