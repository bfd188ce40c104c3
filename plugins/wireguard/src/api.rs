//! Messages of the module `wireguard`.

use control::Secret;
use control::api::Record;
use control::api::types::{Address, Prefix};
use net::InterfaceReply;
use net::prelude::*;

use super::noise::{Identity, random};
use super::peer::{self, NewPeer, Peer};
use super::{Error, Interface, New, Wireguard, interface};

control::numbers! {
    /// Peer status.
    pub enum WireguardPeerFlags: u8 = "wireguard_peer_flags" in "" {
        STATUS_DEAD = 1 => "WIREGUARD_PEER_STATUS_DEAD",
        ESTABLISHED = 2 => "WIREGUARD_PEER_ESTABLISHED",
    }
}

/// An interface.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct WireguardInterface {
    /// instance number in the name; 4294967295 for the first free one
    #[preset(4294967295)]
    pub user_instance: u32,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// private key
    pub private_key: Secret<[u8; 32]>,
    /// public key
    pub public_key: [u8; 32],
    /// port
    pub port: u16,
    /// local address
    pub src_ip: Address,
}

/// A peer.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct WireguardPeer {
    /// index
    pub peer_index: u32,
    /// public key
    pub public_key: [u8; 32],
    /// endpoint port
    pub port: u16,
    /// persistent keepalive interval in seconds; 0 for none
    pub persistent_keepalive: u16,
    /// table to reach the endpoint in
    pub table_id: u32,
    /// endpoint address; unspecified until known
    pub endpoint: Address,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// flags
    pub flags: WireguardPeerFlags,
    /// allowed IP prefixes
    #[counted(n_allowed_ips: u8)]
    pub allowed_ips: Vec<Prefix>,
}

/// A peer with a preshared key.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct WireguardPeerV2 {
    /// index
    pub peer_index: u32,
    /// the secret
    pub preshared_key: Secret<[u8; 32]>,
    /// true if there is a preshared key
    pub preshared_key_set: bool,
    /// public key
    pub public_key: [u8; 32],
    /// endpoint port
    pub port: u16,
    /// persistent keepalive interval in seconds; 0 for none
    pub persistent_keepalive: u16,
    /// table to reach the endpoint in
    pub table_id: u32,
    /// endpoint address; unspecified until known
    pub endpoint: Address,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// flags
    pub flags: WireguardPeerFlags,
    /// allowed IP prefixes
    #[counted(n_allowed_ips: u8)]
    pub allowed_ips: Vec<Prefix>,
}

/// Create a WireGuard interface.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct WireguardInterfaceCreate {
    /// interface
    pub interface: WireguardInterface,
    /// generate the key pair
    pub generate_key: bool,
}

/// Delete a WireGuard interface and its peers.
#[derive(Message)]
pub struct WireguardInterfaceDelete {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// List WireGuard interfaces.
#[derive(Message)]
#[details(WireguardInterfaceDetails)]
pub struct WireguardInterfaceDump {
    /// include private keys
    pub show_private_key: bool,
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// A WireGuard interface.
#[derive(Debug, Message)]
pub struct WireguardInterfaceDetails {
    /// interface
    pub interface: WireguardInterface,
}

/// Register or unregister for peer events.
#[derive(Message)]
#[events(WireguardPeerEvent)]
pub struct WantWireguardPeerEvents {
    /// only peers of this interface; 4294967295 for all
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
    /// only this peer; 4294967295 for all
    #[preset(4294967295)]
    pub peer_index: u32,
    /// 0 to disable
    pub enable_disable: u32,
    /// client process ID
    pub pid: u32,
}

/// The status of a peer changed.
#[derive(Debug, PartialEq, Message)]
pub struct WireguardPeerEvent {
    /// peer
    pub peer_index: u32,
    /// flags
    pub flags: WireguardPeerFlags,
}

/// Add a peer.
#[derive(Message)]
#[option("deprecated")]
#[reply(WireguardPeerAddReply)]
pub struct WireguardPeerAdd {
    /// peer
    pub peer: WireguardPeer,
}

/// Reply: index of the peer.
#[derive(Debug, Message)]
#[option("deprecated")]
pub struct WireguardPeerAddReply {
    /// index
    pub peer_index: u32,
}

/// Add a peer with a preshared key.
#[derive(Message)]
#[option("in_progress")]
#[reply(WireguardPeerAddV2Reply)]
#[name("wireguard_peer_add_v2")]
pub struct WireguardPeerAddV2 {
    /// peer
    pub peer: WireguardPeerV2,
}

/// Reply: index of the peer.
#[derive(Debug, Message)]
#[option("in_progress")]
pub struct WireguardPeerAddV2Reply {
    /// index
    pub peer_index: u32,
}

/// Remove a peer.
#[derive(Message)]
pub struct WireguardPeerRemove {
    /// index
    pub peer_index: u32,
}

/// List peers.
#[derive(Message)]
#[option("deprecated")]
#[details(WireguardPeersDetails)]
pub struct WireguardPeersDump {
    /// only this one; 4294967295 for all
    #[preset(4294967295)]
    pub peer_index: u32,
}

/// A peer.
#[derive(Debug, Message)]
#[option("deprecated")]
pub struct WireguardPeersDetails {
    /// peer
    pub peer: WireguardPeer,
}

/// List peers, with whether they have a preshared key.
#[derive(Message)]
#[option("in_progress")]
#[details(WireguardPeersV2Details)]
pub struct WireguardPeersV2Dump {
    /// only this one; 4294967295 for all
    #[preset(4294967295)]
    pub peer_index: u32,
}

/// A peer.
#[derive(Debug, Message)]
#[option("in_progress")]
pub struct WireguardPeersV2Details {
    /// peer
    pub peer: WireguardPeerV2,
}

/// Set asynchronous encryption; accepted: packets are always encrypted at once, on the peer's
/// thread.
#[derive(Message)]
pub struct WgSetAsyncMode {
    /// asynchronous
    #[preset(false)]
    pub async_enable: bool,
}

/// A client that wants to know of the status of peers.
pub(super) struct Subscription {
    client: u32,
    pid: u32,
    /// Only peers of this interface.
    interface: Option<InterfaceIndex>,
    /// This one only.
    pub peer: Option<u32>,
}

/// Subscriptions there may be.
const MOST_SUBSCRIPTIONS: usize = 4096;

/// Tells clients the status of a peer.
pub(super) fn announce(router: &mut Router, number: u32) {
    let all = router.own::<Wireguard>();
    let Some(peer) = all.peers.get(&number) else { return };
    let event = WireguardPeerEvent { peer_index: number, flags: peer.flags() };
    let is_wanted = |s: &&Subscription| {
        s.interface.is_none_or(|interface| interface == peer.interface)
            && s.peer.is_none_or(|peer| peer == number)
    };
    let wanted = all.subscriptions.iter().filter(is_wanted);
    let gone = wanted.filter(|s| !router.clients.send_to(s.client, s.pid, &event));
    let gone: Vec<_> = gone.map(|s| s.client).collect();
    let all = router.own_mut::<Wireguard>();
    all.subscriptions.retain(|s| !gone.contains(&s.client));
}

fn subscribe(router: &mut Router, client: u32, m: &WantWireguardPeerEvents) -> Result<(), Retval> {
    let interface = Some(m.sw_if_index).filter(|i| i.0 != u32::MAX);
    let peer = Some(m.peer_index).filter(|peer| *peer != u32::MAX);
    let all = router.own_mut::<Wireguard>();
    if interface.is_some_and(|i| !all.interfaces.contains_key(&i)) {
        return Err(Error::NoInterface.into());
    }
    if let Some(peer) = peer.filter(|peer| !all.peers.contains_key(peer)) {
        return Err(Error::NoPeer(peer).into());
    }
    let before = all.subscriptions.len();
    let is_it = |s: &Subscription| (s.client, s.interface, s.peer) == (client, interface, peer);
    all.subscriptions.retain(|s| !is_it(s));
    if m.enable_disable == 0 {
        return match before == all.subscriptions.len() {
            true => Err(Retval::INVALID_REGISTRATION),
            false => Ok(()),
        };
    }
    if all.subscriptions.len() >= MOST_SUBSCRIPTIONS {
        return Err(Retval::LIMIT_EXCEEDED);
    }
    all.subscriptions.push(Subscription { client, pid: m.pid, interface, peer });
    Ok(())
}

fn create(router: &mut Router, m: &WireguardInterfaceCreate) -> Result<InterfaceIndex, Retval> {
    let WireguardInterface { user_instance, private_key, port, src_ip, .. } = m.interface;
    let key = match m.generate_key {
        true => random().ok_or(super::Error::NoRandom)?,
        false => private_key.0,
    };
    let key = Identity::from(key);
    let instance = Some(user_instance).filter(|instance| *instance != u32::MAX);
    Ok(interface::add(router, New { instance, key, port, src: src_ip.native()? })?)
}

fn interfaces(router: &Router, m: &WireguardInterfaceDump) -> Vec<WireguardInterfaceDetails> {
    let is_wanted = |i: &InterfaceIndex| m.sw_if_index.0 == u32::MAX || m.sw_if_index == *i;
    let row = |(index, own): (&InterfaceIndex, &Interface)| WireguardInterfaceDetails {
        interface: WireguardInterface {
            user_instance: own.instance,
            sw_if_index: *index,
            private_key: Secret(if m.show_private_key {
                own.key.private.to_bytes()
            } else {
                [0; 32]
            }),
            public_key: own.key.public.to_bytes(),
            port: own.port,
            src_ip: own.src.into(),
        },
    };
    let all = router.own::<Wireguard>().interfaces.iter();
    all.filter(|(index, _)| is_wanted(index)).map(row).collect()
}

impl WireguardPeerV2 {
    /// A peer in the older format.
    fn of_v1(old: WireguardPeer) -> Self {
        Self {
            peer_index: old.peer_index,
            preshared_key: Secret([0; 32]),
            preshared_key_set: false,
            public_key: old.public_key,
            port: old.port,
            persistent_keepalive: old.persistent_keepalive,
            table_id: old.table_id,
            endpoint: old.endpoint,
            sw_if_index: old.sw_if_index,
            flags: old.flags,
            allowed_ips: old.allowed_ips,
        }
    }
    fn native(self) -> Result<NewPeer, Retval> {
        let addr = self.endpoint.native()?;
        let allowed = self.allowed_ips.into_iter().map(Prefix::native);
        Ok(NewPeer {
            interface: self.sw_if_index,
            public: self.public_key,
            preshared: if self.preshared_key_set { self.preshared_key.0 } else { [0; 32] },
            endpoint: (!addr.is_unspecified()).then_some((addr, self.port)),
            table: self.table_id,
            allowed: allowed.collect::<Result<_, _>>()?,
            keepalive: self.persistent_keepalive,
        })
    }
    fn of(router: &Router, number: u32, peer: &Peer) -> Self {
        let unknown = (IpAddr::from([0; 4]), 0);
        let (addr, port) = peer.endpoint.unwrap_or(unknown);
        let own = router.own::<Wireguard>().interfaces.get(&peer.interface);
        let table = own.and_then(|own| router.table_id_of(Link::of(own.src), peer.table));
        Self {
            peer_index: number,
            preshared_key: Secret([0; 32]),
            preshared_key_set: peer.preshared != [0; 32],
            public_key: peer.public.to_bytes(),
            port,
            persistent_keepalive: peer.keepalive,
            table_id: table.unwrap_or_default(),
            endpoint: addr.into(),
            sw_if_index: peer.interface,
            flags: peer.flags(),
            allowed_ips: peer.allowed.iter().map(|prefix| (*prefix).into()).collect(),
        }
    }
}

impl From<WireguardPeerV2> for WireguardPeer {
    fn from(new: WireguardPeerV2) -> Self {
        Self {
            peer_index: new.peer_index,
            public_key: new.public_key,
            port: new.port,
            persistent_keepalive: new.persistent_keepalive,
            table_id: new.table_id,
            endpoint: new.endpoint,
            sw_if_index: new.sw_if_index,
            flags: new.flags,
            allowed_ips: new.allowed_ips,
        }
    }
}

fn peers(router: &Router, wanted: u32) -> Vec<WireguardPeerV2> {
    let all = router.own::<Wireguard>().peers.iter();
    let all = all.filter(|(number, _)| wanted == u32::MAX || wanted == **number);
    all.map(|(number, peer)| WireguardPeerV2::of(router, *number, peer)).collect()
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("wireguard", "1.4.0")
        .call(|router: &mut Router, m: WireguardInterfaceCreate| {
            Ok(InterfaceReply { sw_if_index: create(router, &m)? })
        })
        .call(|router, m: WireguardInterfaceDelete| Ok(interface::remove(router, m.sw_if_index)?))
        .dump(|router, m: WireguardInterfaceDump| interfaces(router, &m))
        .call_by(|router, caller, m: WantWireguardPeerEvents| subscribe(router, caller.client, &m))
        .call(|router, m: WireguardPeerAdd| {
            let new = WireguardPeerV2::of_v1(m.peer).native()?;
            Ok(WireguardPeerAddReply { peer_index: peer::add(router, new)? })
        })
        .call(|router, m: WireguardPeerAddV2| {
            Ok(WireguardPeerAddV2Reply { peer_index: peer::add(router, m.peer.native()?)? })
        })
        .call(|router, m: WireguardPeerRemove| Ok(peer::remove(router, m.peer_index)?))
        .dump(|router, m: WireguardPeersDump| {
            let all = peers(router, m.peer_index).into_iter();
            all.map(|peer| WireguardPeersDetails { peer: peer.into() }).collect()
        })
        .dump(|router, m: WireguardPeersV2Dump| {
            let all = peers(router, m.peer_index).into_iter();
            all.map(|peer| WireguardPeersV2Details { peer }).collect()
        })
        .call(|router, m: WgSetAsyncMode| {
            router.own_mut::<Wireguard>().is_async = m.async_enable;
            Ok(())
        });
}
