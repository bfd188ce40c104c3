//! Handlers for the messages of the module `ikev2`.

mod convert;
mod messages;
mod types;

use net::prelude::*;

pub use messages::*;
pub use types::*;

use super::codec::{Id, Selector};
use super::configure::{self, Change};
use super::crypto::keys::Hidden;
use super::crypto::suite::{EspWish, IkeWish};
use super::machine::{At, Child, Lifetime, Machine, Responder, Sa};
use super::{Error, Ikev2, acts, initiate};

/// Runs a request on the child SA with the given initiator SPI.
///
/// # Errors
/// [`Error::NoSa`].
pub(super) fn on_child(
    router: &mut Router,
    spi: u32,
    work: impl FnOnce(&mut Machine, f64, (u32, u32)),
) -> Result<(), Error> {
    let now = router.now();
    let machine = &mut router.own_mut::<Ikev2>().machine;
    let child = machine.child_of_spi(spi).ok_or(Error::NoSa)?;
    work(machine, now, child);
    acts::carry_out(router);
    Ok(())
}

/// Deletes the association with the given initiator SPI.
///
/// # Errors
/// [`Error::NoSa`].
pub(super) fn delete(router: &mut Router, spi: u64) -> Result<(), Error> {
    let now = router.now();
    let machine = &mut router.own_mut::<Ikev2>().machine;
    let index = machine.sa_of_spi(spi).ok_or(Error::NoSa)?;
    machine.delete(now, index);
    acts::carry_out(router);
    Ok(())
}

/// Sets the interval of the timer process.
///
/// # Errors
/// [`Error::Sleep`].
pub(super) fn set_sleep(router: &mut Router, seconds: f64) -> Result<(), Error> {
    if !(0.001..=86_400.0).contains(&seconds) {
        return Err(Error::Sleep);
    }
    router.own_mut::<Ikev2>().sleep = seconds;
    router.processes.signal(super::PROCESS, 0);
    Ok(())
}

pub(super) fn set_liveness(router: &mut Router, period: u32, retries: u32) {
    let settings = &mut router.own_mut::<Ikev2>().machine.settings;
    (settings.period, settings.retries, settings.asks_silent) = (period, retries, true);
}

fn set_auth(router: &mut Router, m: Ikev2ProfileSetAuth) -> Result<(), Retval> {
    let data = m.data.iter().map(|byte| byte.0).collect();
    let change = Change::Auth(m.auth_method, Hidden(data), m.is_hex);
    Ok(configure::change(router, &m.name.to_string(), change)?)
}

fn set_id(router: &mut Router, m: Ikev2ProfileSetId) -> Result<(), Retval> {
    let id = Id { kind: m.id_type, data: m.data };
    let change = if m.is_local { Change::LocalId(id) } else { Change::RemoteId(id) };
    Ok(configure::change(router, &m.name.to_string(), change)?)
}

fn set_ts(router: &mut Router, m: &Ikev2ProfileSetTs) -> Result<(), Retval> {
    let ts = &m.ts;
    let addrs = (ts.start_addr.native()?, ts.end_addr.native()?);
    if addrs.0.is_ipv4() != addrs.1.is_ipv4() {
        return Err(Error::Families.into());
    }
    let (ports, protocol) = ((ts.start_port, ts.end_port), ts.protocol_id);
    let selector = Selector { protocol, ports, addrs };
    let change = if ts.is_local { Change::LocalTs(selector) } else { Change::RemoteTs(selector) };
    Ok(configure::change(router, &m.name.to_string(), change)?)
}

fn set_responder(router: &mut Router, m: &Ikev2SetResponder) -> Result<(), Retval> {
    let at = At::Addr(m.responder.addr.native()?);
    let responder = Responder { interface: m.responder.sw_if_index.0, at };
    Ok(configure::change(router, &m.name.to_string(), Change::Responder(responder))?)
}

fn set_lifetime(router: &mut Router, m: &Ikev2SetSaLifetime) -> Result<(), Retval> {
    let lifetime = Lifetime {
        seconds: m.lifetime,
        jitter: m.lifetime_jitter,
        handover: m.handover,
        most_bytes: m.lifetime_maxdata,
    };
    Ok(configure::change(router, &m.name.to_string(), Change::Lifetime(lifetime))?)
}

fn bits(size: u32) -> u16 {
    u16::try_from(size).unwrap_or(u16::MAX)
}

fn set_ike(router: &mut Router, m: &Ikev2SetIkeTransforms) -> Result<(), Retval> {
    let wish = IkeWish {
        encr: m.tr.crypto_alg.into(),
        bits: bits(m.tr.crypto_key_size),
        integ: m.tr.integ_alg.into(),
        prf: m.tr.prf_alg.into(),
        group: m.tr.dh_group.into(),
    };
    Ok(configure::change(router, &m.name.to_string(), Change::Ike(wish))?)
}

fn set_esp(router: &mut Router, m: &Ikev2SetEspTransforms) -> Result<(), Retval> {
    let (encr, integ) = (m.tr.crypto_alg.into(), m.tr.integ_alg.into());
    let wish = EspWish { encr, bits: bits(m.tr.crypto_key_size), integ };
    Ok(configure::change(router, &m.name.to_string(), Change::Esp(wish))?)
}

fn add_del(router: &mut Router, m: &Ikev2ProfileAddDel) -> Result<(), Retval> {
    let name = m.name.to_string();
    Ok(if m.is_add { configure::add(router, &name) } else { configure::remove(router, &name) }?)
}

fn rows<R>(router: &Router, row: impl Fn(&Router, &Sa) -> R) -> Vec<R> {
    router.own::<Ikev2>().machine.sas().map(|sa| row(router, sa)).collect()
}

fn children<R>(router: &Router, index: u32, row: impl Fn(&Sa, &Child) -> R) -> Vec<R> {
    let Some(sa) = router.own::<Ikev2>().machine.sa(index) else { return Vec::new() };
    sa.live().map(|child| row(sa, child)).collect()
}

fn nonce(router: &Router, m: &Ikev2NonceGet) -> Result<Ikev2NonceGetReply, Retval> {
    let sa = router.own::<Ikev2>().machine.sa(m.sa_index).ok_or(Retval::NO_SUCH_ENTRY)?;
    let nonces = &sa.nonces;
    let nonce = if m.is_initiator { nonces.0.clone() } else { nonces.1.clone() };
    Ok(Ikev2NonceGetReply { nonce })
}

fn selectors(router: &Router, m: &Ikev2TrafficSelectorDump) -> Vec<Ikev2TrafficSelectorDetails> {
    let of = children(router, m.sa_index, |_, child| child.clone());
    let Some(child) = of.into_iter().find(|child| child.id == m.child_sa_index) else {
        return Vec::new();
    };
    let all = if m.is_initiator { child.ts.0 } else { child.ts.1 };
    let row = |ts: &Selector| Ikev2TrafficSelectorDetails {
        retval: 0,
        ts: Ikev2Ts::of(ts, (m.sa_index, m.child_sa_index), m.is_initiator),
    };
    all.iter().map(row).collect()
}

fn register_profiles(api: &mut Api<Router>) {
    api.plugin("ikev2", "1.0.1")
        .call(|_: &mut Router, _: Ikev2PluginGetVersion| {
            Ok(Ikev2PluginGetVersionReply { major: 1, minor: 0 })
        })
        .call(|router, m: Ikev2PluginSetSleepInterval| Ok(set_sleep(router, m.timeout)?))
        .call(|router, _: Ikev2GetSleepInterval| {
            Ok(Ikev2GetSleepIntervalReply { sleep_interval: router.own::<Ikev2>().sleep })
        })
        .call(|router, m: Ikev2ProfileAddDel| add_del(router, &m))
        .call(|router, m: Ikev2ProfileSetAuth| set_auth(router, m))
        .call(|router, m: Ikev2ProfileSetId| set_id(router, m))
        .call(|router, m: Ikev2ProfileDisableNatt| {
            Ok(configure::change(router, &m.name.to_string(), Change::NoNatt)?)
        })
        .call(|router, m: Ikev2ProfileSetTs| set_ts(router, &m))
        .call(|router, m: Ikev2SetLocalKey| {
            Ok(configure::set_key(router, &m.key_file.to_string())?)
        })
        .call(|router, m: Ikev2SetTunnelInterface| {
            let change = Change::Tunnel(m.sw_if_index.0);
            Ok(configure::change(router, &m.name.to_string(), change)?)
        })
        .call(|router, m: Ikev2SetResponder| set_responder(router, &m))
        .call(|router, m: Ikev2SetResponderHostname| {
            let at = At::Name(m.hostname.to_string());
            let change = Change::Responder(Responder { interface: m.sw_if_index.0, at });
            Ok(configure::change(router, &m.name.to_string(), change)?)
        })
        .call(|router, m: Ikev2SetIkeTransforms| set_ike(router, &m))
        .call(|router, m: Ikev2SetEspTransforms| set_esp(router, &m))
        .call(|router, m: Ikev2SetSaLifetime| set_lifetime(router, &m))
        .call(|router, m: Ikev2ProfileSetUdpEncap| {
            Ok(configure::change(router, &m.name.to_string(), Change::Udp)?)
        })
        .call(|router, m: Ikev2ProfileSetIpsecUdpPort| {
            let port = (m.is_set != 0).then_some(m.port);
            Ok(configure::change(router, &m.name.to_string(), Change::Port(port))?)
        })
        .call(|router, m: Ikev2ProfileSetLiveness| {
            set_liveness(router, m.period, m.max_retries);
            Ok(())
        })
        .dump(|router, _: Ikev2ProfileDump| {
            let all = router.own::<Ikev2>().machine.profiles.values();
            all.map(|p| Ikev2ProfileDetails { profile: Ikev2Profile::of(p) }).collect()
        });
}

pub(super) fn register(api: &mut Api<Router>) {
    register_profiles(api);
    api.plugin("ikev2", "1.0.1")
        .call(|router: &mut Router, m: Ikev2InitiateSaInit| {
            Ok(initiate::begin(router, &m.name.to_string())?)
        })
        .call(|router, m: Ikev2InitiateDelIkeSa| Ok(delete(router, m.ispi)?))
        .call(|router, m: Ikev2InitiateDelChildSa| {
            Ok(on_child(router, m.ispi, |machine, now, child| machine.delete_child(now, child))?)
        })
        .call(|router, m: Ikev2InitiateRekeyChildSa| {
            Ok(on_child(router, m.ispi, |machine, now, child| machine.rekey_child(now, child))?)
        })
        .dump(|router, _: Ikev2SaDump| {
            rows(router, |r, sa| Ikev2SaDetails { retval: 0, sa: Ikev2Sa::of(r, sa) })
        })
        .dump(|router, _: Ikev2SaV2Dump| {
            rows(router, |r, sa| Ikev2SaV2Details { retval: 0, sa: Ikev2SaV2::of(r, sa) })
        })
        .dump(|router, _: Ikev2SaV3Dump| {
            rows(router, |r, sa| Ikev2SaV3Details { retval: 0, sa: Ikev2SaV3::of(r, sa) })
        })
        .dump(|router, m: Ikev2ChildSaDump| {
            children(router, m.sa_index, |sa, child| Ikev2ChildSaDetails {
                retval: 0,
                child_sa: Ikev2ChildSa::of(sa, child),
            })
        })
        .dump(|router, m: Ikev2ChildSaV2Dump| {
            let now = router.now();
            children(router, m.sa_index, |sa, child| Ikev2ChildSaV2Details {
                retval: 0,
                child_sa: Ikev2ChildSaV2::of(sa, child, now),
            })
        })
        .call(|router, m: Ikev2NonceGet| nonce(router, &m))
        .dump(|router, m: Ikev2TrafficSelectorDump| selectors(router, &m));
}
