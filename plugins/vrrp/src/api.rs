//! Messages of the module `vrrp`.

use control::api::Record;
use control::api::types::Address;
use net::prelude::*;

use super::machine::{self, State};
use super::table::Key;
use super::virtual_router::{self, Settings, VirtualRouter};
use super::{Error, Vrrp, virtual_routers};

/// All interfaces; no number yet.
const ALL: u32 = u32::MAX;

control::numbers! {
    /// Virtual router flags.
    pub enum VrrpVrFlags: u32 = "vrrp_vr_flags" in "" {
        PREEMPT = 1 => "VRRP_API_VR_PREEMPT",
        ACCEPT = 2 => "VRRP_API_VR_ACCEPT",
        UNICAST = 4 => "VRRP_API_VR_UNICAST",
        IPV6 = 8 => "VRRP_API_VR_IPV6",
    }
    /// Virtual router states.
    pub enum VrrpVrState: u32 = "vrrp_vr_state" in "" {
        INIT = 0 => "VRRP_API_VR_STATE_INIT",
        BACKUP = 1 => "VRRP_API_VR_STATE_BACKUP",
        MASTER = 2 => "VRRP_API_VR_STATE_MASTER",
        INTF_DOWN = 3 => "VRRP_API_VR_STATE_INTF_DOWN",
    }
}

/// Identification of a virtual router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
pub struct VrrpVrKey {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// index
    pub vr_id: u8,
    /// true for IPv6
    pub is_ipv6: u8,
}

/// Configuration of a virtual router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
pub struct VrrpVrConf {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// index
    pub vr_id: u8,
    /// priority
    pub priority: u8,
    /// advertisement interval in hundredths of a second
    pub interval: u16,
    /// flags
    pub flags: VrrpVrFlags,
}

/// State of interface tracking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
pub struct VrrpVrTracking {
    /// priority decrement of interfaces that are down
    pub interfaces_dec: u32,
    /// current priority
    pub priority: u8,
}

/// State of a virtual router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
pub struct VrrpVrRuntime {
    /// state
    pub state: VrrpVrState,
    /// advertisement interval of the master, in hundredths of a second
    pub master_adv_int: u16,
    /// skew time
    pub skew: u16,
    /// master down interval
    pub master_down_int: u16,
    /// MAC address
    pub mac: MacAddr,
    /// tracked interfaces
    pub tracking: VrrpVrTracking,
}

/// A tracked interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
pub struct VrrpVrTrackIf {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// priority decrement
    pub priority: u8,
}

/// Add or delete a virtual router.
#[derive(Message)]
pub struct VrrpVrAddDel {
    /// true to add, false to delete
    pub is_add: u8,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// index
    pub vr_id: u8,
    /// priority
    pub priority: u8,
    /// advertisement interval in hundredths of a second
    pub interval: u16,
    /// flags
    pub flags: VrrpVrFlags,
    /// addresses
    #[counted(n_addrs: u8)]
    pub addrs: Vec<Address>,
}

/// Add or update a virtual router.
#[derive(Message)]
#[reply(VrrpVrUpdateReply)]
pub struct VrrpVrUpdate {
    /// virtual router index; all ones for a new one
    pub vrrp_index: u32,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// index
    pub vr_id: u8,
    /// priority
    pub priority: u8,
    /// advertisement interval in hundredths of a second
    pub interval: u16,
    /// flags
    pub flags: VrrpVrFlags,
    /// addresses
    #[counted(n_addrs: u8)]
    pub addrs: Vec<Address>,
}

/// Reply: success.
#[derive(Debug, Message)]
pub struct VrrpVrUpdateReply {
    /// virtual router index
    pub vrrp_index: u32,
}

/// Delete a virtual router.
#[derive(Message)]
pub struct VrrpVrDel {
    /// virtual router index
    pub vrrp_index: u32,
}

/// List virtual routers.
#[derive(Message)]
#[details(VrrpVrDetails)]
pub struct VrrpVrDump {
    /// interface; all ones for all
    pub sw_if_index: InterfaceIndex,
}

/// A virtual router.
#[derive(Debug, Message)]
pub struct VrrpVrDetails {
    /// configuration
    pub config: VrrpVrConf,
    /// unchanged
    pub runtime: VrrpVrRuntime,
    /// addresses
    #[counted(n_addrs: u8)]
    pub addrs: Vec<Address>,
}

/// Start or stop a virtual router.
#[derive(Message)]
pub struct VrrpVrStartStop {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// index
    pub vr_id: u8,
    /// true for IPv6
    pub is_ipv6: u8,
    /// true to start, false to stop
    pub is_start: u8,
}

/// Set the unicast peers of a virtual router.
#[derive(Message)]
pub struct VrrpVrSetPeers {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// index
    pub vr_id: u8,
    /// true for IPv6
    pub is_ipv6: u8,
    /// addresses
    #[counted(n_addrs: u8)]
    pub addrs: Vec<Address>,
}

/// List unicast peers.
#[derive(Message)]
#[details(VrrpVrPeerDetails)]
pub struct VrrpVrPeerDump {
    /// interface; all ones for all
    pub sw_if_index: InterfaceIndex,
    /// true for IPv6
    pub is_ipv6: u8,
    /// index
    pub vr_id: u8,
}

/// Unicast peers of a virtual router.
#[derive(Debug, Message)]
#[head(request)]
pub struct VrrpVrPeerDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// index
    pub vr_id: u8,
    /// true for IPv6
    pub is_ipv6: u8,
    /// peers
    #[counted(n_peer_addrs: u8)]
    pub peer_addrs: Vec<Address>,
}

/// Add or delete tracked interfaces of a virtual router.
#[derive(Message)]
pub struct VrrpVrTrackIfAddDel {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// true for IPv6
    pub is_ipv6: u8,
    /// index
    pub vr_id: u8,
    /// true to add, false to delete
    pub is_add: u8,
    /// interfaces
    #[counted(n_ifs: u8)]
    pub ifs: Vec<VrrpVrTrackIf>,
}

/// List tracked interfaces.
#[derive(Message)]
#[details(VrrpVrTrackIfDetails)]
pub struct VrrpVrTrackIfDump {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// true for IPv6
    pub is_ipv6: u8,
    /// index
    pub vr_id: u8,
    /// of all virtual routers
    pub dump_all: u8,
}

/// Tracked interfaces of a virtual router.
#[derive(Debug, Message)]
#[head(request)]
pub struct VrrpVrTrackIfDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// index
    pub vr_id: u8,
    /// true for IPv6
    pub is_ipv6: u8,
    /// interfaces
    #[counted(n_ifs: u8)]
    pub ifs: Vec<VrrpVrTrackIf>,
}

/// A virtual router changed state.
#[derive(Debug, PartialEq, Message)]
pub struct VrrpVrEvent {
    /// virtual router
    pub vr: VrrpVrKey,
    /// old state
    pub old_state: VrrpVrState,
    /// new state
    pub new_state: VrrpVrState,
}

/// Register or unregister for state events.
#[derive(Message)]
#[events(VrrpVrEvent)]
pub struct WantVrrpVrEvents {
    /// true to register, false to unregister
    pub enable_disable: bool,
    /// client process ID
    pub pid: u32,
}

impl From<State> for VrrpVrState {
    fn from(state: State) -> Self {
        match state {
            State::Init => Self::INIT,
            State::Backup => Self::BACKUP,
            State::Master => Self::MASTER,
            State::InterfaceDown => Self::INTF_DOWN,
        }
    }
}

/// Tells clients that a virtual router has another state.
pub(super) fn tell(router: &Router, key: Key, old: State, new: State) {
    let vr = VrrpVrKey {
        sw_if_index: key.on,
        vr_id: key.id,
        is_ipv6: (key.version == IpVersion::V6).into(),
    };
    let event = VrrpVrEvent { vr, old_state: old.into(), new_state: new.into() };
    router.clients.send(&event);
}

fn key(on: InterfaceIndex, id: u8, is_ip6: bool) -> Key {
    Key { on, id, version: IpVersion::six(is_ip6) }
}

fn native(addrs: &[Address]) -> Result<Vec<IpAddr>, Retval> {
    addrs.iter().map(|addr| addr.native()).collect()
}

fn settings(
    (priority, interval): (u8, u16),
    flags: VrrpVrFlags,
    addrs: &[Address],
) -> Result<Settings, Retval> {
    Ok(Settings {
        priority,
        interval,
        preempt: flags.contains(VrrpVrFlags::PREEMPT),
        accept: flags.contains(VrrpVrFlags::ACCEPT),
        unicast: flags.contains(VrrpVrFlags::UNICAST),
        addrs: native(addrs)?.into(),
    })
}

fn add_del(router: &mut Router, m: &VrrpVrAddDel) -> Result<(), Retval> {
    let key = key(m.sw_if_index, m.vr_id, m.flags.contains(VrrpVrFlags::IPV6));
    if m.is_add == 0 {
        router.interfaces.at(m.sw_if_index).ok_or(Error::NoInterface)?;
        return Ok(virtual_router::remove(router, key)?);
    }
    let settings = settings((m.priority, m.interval), m.flags, &m.addrs)?;
    virtual_router::add(router, key, settings)?;
    Ok(())
}

fn key_at(router: &Router, index: u32) -> Result<Key, Error> {
    let of = router.own::<Vrrp>().all.get(index as usize).and_then(Option::as_ref);
    of.map(|of| of.key).ok_or(Error::NoVirtualRouter)
}

fn update(router: &mut Router, m: &VrrpVrUpdate) -> Result<VrrpVrUpdateReply, Retval> {
    let key = key(m.sw_if_index, m.vr_id, m.flags.contains(VrrpVrFlags::IPV6));
    let settings = settings((m.priority, m.interval), m.flags, &m.addrs)?;
    if m.vrrp_index == ALL {
        let vrrp_index = virtual_router::add(router, key, settings)?;
        return Ok(VrrpVrUpdateReply { vrrp_index });
    }
    if key_at(router, m.vrrp_index)? != key {
        return Err(Error::OtherName.into());
    }
    virtual_router::update(router, key, settings)?;
    Ok(VrrpVrUpdateReply { vrrp_index: m.vrrp_index })
}

fn details(router: &Router, of: &VirtualRouter) -> VrrpVrDetails {
    let Settings { priority, interval, preempt, accept, unicast, addrs } = &of.settings;
    let named = [
        (*preempt, VrrpVrFlags::PREEMPT),
        (*accept, VrrpVrFlags::ACCEPT),
        (*unicast, VrrpVrFlags::UNICAST),
        (of.key.version == IpVersion::V6, VrrpVrFlags::IPV6),
    ];
    let flags = named.into_iter().filter(|(is_set, _)| *is_set);
    let now = machine::priority(router, of.key);
    let short = |hundredths: u32| hundredths.min(u16::MAX.into()) as u16;
    VrrpVrDetails {
        config: VrrpVrConf {
            sw_if_index: of.key.on,
            vr_id: of.key.id,
            priority: *priority,
            interval: *interval,
            flags: VrrpVrFlags(flags.fold(0, |all, (_, flag)| all | flag.0)),
        },
        runtime: VrrpVrRuntime {
            state: of.state.into(),
            master_adv_int: of.master_interval,
            skew: short(of.skew(now)),
            master_down_int: short(of.master_down(now)),
            mac: of.key.mac(),
            tracking: VrrpVrTracking {
                interfaces_dec: machine::decrement(router, of.key),
                priority: now,
            },
        },
        addrs: addrs.iter().map(|addr| (*addr).into()).collect(),
    }
}

fn track(router: &mut Router, m: &VrrpVrTrackIfAddDel) -> Result<(), Retval> {
    let key = key(m.sw_if_index, m.vr_id, m.is_ipv6 != 0);
    let ifs: Vec<_> = m.ifs.iter().map(|of| (of.sw_if_index, of.priority)).collect();
    if m.is_add != 0 {
        return Ok(virtual_router::track(router, key, &ifs)?);
    }
    let ifs: Vec<_> = ifs.into_iter().map(|(on, _)| on).collect();
    Ok(virtual_router::untrack(router, key, &ifs)?)
}

fn tracked(of: &VirtualRouter) -> VrrpVrTrackIfDetails {
    let one = |(on, priority): (&InterfaceIndex, &u8)| VrrpVrTrackIf {
        sw_if_index: *on,
        priority: *priority,
    };
    VrrpVrTrackIfDetails {
        sw_if_index: of.key.on,
        vr_id: of.key.id,
        is_ipv6: (of.key.version == IpVersion::V6).into(),
        ifs: of.tracked.iter().map(one).collect(),
    }
}

fn peers(of: &VirtualRouter) -> VrrpVrPeerDetails {
    VrrpVrPeerDetails {
        sw_if_index: of.key.on,
        vr_id: of.key.id,
        is_ipv6: (of.key.version == IpVersion::V6).into(),
        peer_addrs: of.peers.iter().map(|addr| (*addr).into()).collect(),
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("vrrp", "1.1.1")
        .call(|router: &mut Router, m: VrrpVrAddDel| add_del(router, &m))
        .call(|router, m: VrrpVrUpdate| update(router, &m))
        .call(|router, m: VrrpVrDel| {
            let key = key_at(router, m.vrrp_index)?;
            Ok(virtual_router::remove(router, key)?)
        })
        .dump(|router, m: VrrpVrDump| {
            let is_it = |on| m.sw_if_index.0 == ALL || m.sw_if_index == on;
            let all = virtual_routers(router).filter(|(_, of)| is_it(of.key.on));
            all.map(|(_, of)| details(router, of)).collect()
        })
        .call(|router, m: VrrpVrStartStop| {
            let key = key(m.sw_if_index, m.vr_id, m.is_ipv6 != 0);
            match m.is_start != 0 {
                true => Ok(virtual_router::start(router, key)?),
                false => Ok(virtual_router::stop(router, key)?),
            }
        })
        .call(|router, m: VrrpVrSetPeers| {
            let key = key(m.sw_if_index, m.vr_id, m.is_ipv6 != 0);
            Ok(virtual_router::set_peers(router, key, native(&m.addrs)?)?)
        })
        .dump(|router, m: VrrpVrPeerDump| {
            let wanted = key(m.sw_if_index, m.vr_id, m.is_ipv6 != 0);
            let is_it = |key| m.sw_if_index.0 == ALL || wanted == key;
            let all = virtual_routers(router).filter(|(_, of)| is_it(of.key));
            all.filter(|(_, of)| !of.peers.is_empty()).map(|(_, of)| peers(of)).collect()
        })
        .call(|router, m: VrrpVrTrackIfAddDel| track(router, &m))
        .dump(|router, m: VrrpVrTrackIfDump| {
            let wanted = key(m.sw_if_index, m.vr_id, m.is_ipv6 != 0);
            let all = virtual_routers(router).filter(|(_, of)| !of.tracked.is_empty());
            let all = all.filter(|(_, of)| m.dump_all != 0 || of.key == wanted);
            all.map(|(_, of)| tracked(of)).collect()
        })
        .call_by(|router, caller, m: WantVrrpVrEvents| {
            router.clients.want::<VrrpVrEvent>(caller.client, m.pid, m.enable_disable)
        });
}
