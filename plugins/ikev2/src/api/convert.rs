//! Conversion of profiles, associations and children to API messages.

use control::Secret;
use control::api::types::Address;
use net::{InterfaceIndex, Router};

use super::super::Ikev2;
use super::super::codec::number::{id, transform};
use super::super::codec::{Id, Selector};
use super::super::crypto::keys::{ChildKey, Hidden, Keys, prf_len};
use super::super::crypto::suite::{Encr, gmac, integ};
use super::super::machine::{At, Child, Profile, Sa, State};
use super::types::*;

fn secret(key: &Hidden) -> (Secret<[u8; 64]>, u8) {
    let mut bytes = [0; 64];
    let len = key.0.len().min(64);
    bytes[..len].copy_from_slice(&key.0[..len]);
    (Secret(bytes), len as u8)
}

impl Ikev2Keys {
    fn of(all: [&Hidden; 7]) -> Self {
        let [d, ai, ar, ei, er, pi, pr] = all.map(secret);
        Self {
            sk_d: d.0,
            sk_d_len: d.1,
            sk_ai: ai.0,
            sk_ai_len: ai.1,
            sk_ar: ar.0,
            sk_ar_len: ar.1,
            sk_ei: ei.0,
            sk_ei_len: ei.1,
            sk_er: er.0,
            sk_er_len: er.1,
            sk_pi: pi.0,
            sk_pi_len: pi.1,
            sk_pr: pr.0,
            sk_pr_len: pr.1,
        }
    }
    fn of_sa(keys: &Keys) -> Self {
        let Keys { d, ai, ar, ei, er, pi, pr } = keys;
        Self::of([d, ai, ar, ei, er, pi, pr])
    }
    fn of_child((i, r): &(ChildKey, ChildKey)) -> Self {
        let none = Hidden::default();
        Self::of([&none, &i.integ, &r.integ, &i.encr, &r.encr, &none, &none])
    }
}

impl Ikev2Id {
    fn of(found: Option<&Id>) -> Self {
        let Some(found) = found else { return Self::default() };
        let text = match (found.kind, found.data.len()) {
            (id::IP4, 4) => <[u8; 4]>::try_from(&found.data[..])
                .map(|b| std::net::IpAddr::from(b).to_string())
                .unwrap_or_default(),
            (id::IP6, 16) if std::str::from_utf8(&found.data).is_err() => {
                <[u8; 16]>::try_from(&found.data[..])
                    .map(|b| std::net::IpAddr::from(b).to_string())
                    .unwrap_or_default()
            }
            _ => String::from_utf8_lossy(&found.data).into_owned(),
        };
        let data_len = found.data.len().min(255) as u8;
        Self { kind: found.kind, data_len, data: text.into() }
    }
}

impl Ikev2Ts {
    pub(super) fn of(ts: &Selector, (sa, child): (u32, u32), is_local: bool) -> Self {
        Self {
            sa_index: sa,
            child_sa_index: child,
            is_local,
            protocol_id: ts.protocol,
            start_port: ts.ports.0,
            end_port: ts.ports.1,
            start_addr: ts.addrs.0.into(),
            end_addr: ts.addrs.1.into(),
        }
    }
}

impl Ikev2Profile {
    pub(super) fn of(p: &Profile) -> Self {
        let none = std::net::IpAddr::from([0; 4]);
        let all = Selector { protocol: 0, ports: (0, 0), addrs: (none, none) };
        let ts = |ts: Option<Selector>, is_local| Ikev2Ts::of(&ts.unwrap_or(all), (0, 0), is_local);
        let (interface, addr) = match &p.responder {
            None => (u32::MAX, none),
            Some(r) => match r.at {
                At::Addr(addr) => (r.interface, addr),
                At::Name(_) => (r.interface, none),
            },
        };
        let byte = |number: u16| u8::try_from(number).unwrap_or(u8::MAX);
        let auth = p.auth.as_ref();
        let data = auth.map(|a| a.data.0.iter().copied().map(Secret).collect());
        Self {
            name: p.name.clone().into(),
            loc_id: Ikev2Id::of(p.local_id.as_ref()),
            rem_id: Ikev2Id::of(p.remote_id.as_ref()),
            loc_ts: ts(p.local_ts, true),
            rem_ts: ts(p.remote_ts, false),
            responder: Ikev2Responder { sw_if_index: InterfaceIndex(interface), addr: addr.into() },
            ike_ts: Ikev2IkeTransforms {
                crypto_alg: byte(p.ike.encr),
                crypto_key_size: p.ike.bits.into(),
                integ_alg: byte(p.ike.integ),
                prf_alg: byte(p.ike.prf),
                dh_group: byte(p.ike.group),
            },
            esp_ts: Ikev2EspTransforms {
                crypto_alg: byte(p.esp.encr),
                crypto_key_size: p.esp.bits.into(),
                integ_alg: byte(p.esp.integ),
            },
            lifetime: p.lifetime.seconds,
            lifetime_maxdata: p.lifetime.most_bytes,
            lifetime_jitter: p.lifetime.jitter,
            handover: p.lifetime.handover,
            ipsec_over_udp_port: p.udp_port.unwrap_or_default(),
            tun_itf: p.tunnel.unwrap_or(u32::MAX),
            udp_encap: p.has_udp,
            natt_disabled: p.is_natt_off,
            auth: Ikev2Auth {
                method: auth.map_or(0, |a| a.method),
                hex: auth.is_some_and(|a| a.is_hex).into(),
                data: data.unwrap_or_default(),
            },
        }
    }
}

impl Ikev2SaTransform {
    fn cipher(encr: Encr) -> Self {
        let algorithm = encr.algorithm();
        Self {
            transform_type: transform::ENCR,
            transform_id: encr.id,
            key_len: algorithm.key as u16,
            block_size: algorithm.block as u16,
            ..Self::default()
        }
    }
    fn hash(id: Option<u16>) -> Self {
        let Some(id) = id else { return Self::default() };
        let lens = integ(id).map(|(key, icv, _)| (key, icv));
        let (key, icv) = lens.or_else(|| gmac(id).map(|(key, _)| (key, 16))).unwrap_or_default();
        Self {
            transform_type: transform::INTEG,
            transform_id: id,
            key_len: key as u16,
            key_trunc: icv as u16,
            ..Self::default()
        }
    }
}

/// Fields common to all versions of the association message.
struct Common {
    addrs: (Address, Address),
    keys: Ikev2Keys,
    ids: (Ikev2Id, Ikev2Id),
    encryption: Ikev2SaTransform,
    integrity: Ikev2SaTransform,
    prf: Ikev2SaTransform,
    dh: Ikev2SaTransform,
    stats: Ikev2SaStats,
}

impl Common {
    fn of(sa: &Sa) -> Self {
        let (local, remote) = (sa.ends.local.0.into(), sa.ends.remote.0.into());
        let prf = sa.suite.map(|suite| suite.prf);
        let group = sa.suite.map(|suite| suite.group.number());
        let stats = sa.stats;
        Self {
            addrs: if sa.is_initiator { (local, remote) } else { (remote, local) },
            keys: Ikev2Keys::of_sa(&sa.keys),
            ids: (Ikev2Id::of(sa.ids.0.as_ref()), Ikev2Id::of(sa.ids.1.as_ref())),
            encryption: sa.suite.map(|s| Ikev2SaTransform::cipher(s.encr)).unwrap_or_default(),
            integrity: Ikev2SaTransform::hash(sa.suite.and_then(|suite| suite.integ)),
            prf: Ikev2SaTransform {
                transform_type: transform::PRF,
                transform_id: prf.unwrap_or_default(),
                key_len: prf.map_or(0, prf_len) as u16,
                ..Ikev2SaTransform::default()
            },
            dh: Ikev2SaTransform {
                transform_type: transform::GROUP,
                transform_id: group.unwrap_or_default(),
                dh_group: group.unwrap_or_default() as u8,
                ..Ikev2SaTransform::default()
            },
            stats: Ikev2SaStats {
                n_keepalives: stats.keepalives,
                n_rekey_req: stats.rekeys,
                n_sa_init_req: stats.inits,
                n_sa_auth_req: stats.auths,
                n_retransmit: stats.retransmits,
                n_init_sa_retransmit: stats.init_retransmits,
            },
        }
    }
}

fn state(sa: &Sa) -> Ikev2State {
    match sa.state {
        State::Init => Ikev2State::SA_INIT,
        State::Established | State::Replaced => Ikev2State::AUTHENTICATED,
        State::Failed => Ikev2State::AUTH_FAILED,
        State::Closing | State::Dead => Ikev2State::DELETED,
    }
}

macro_rules! associations {
    ($($of:ident { $($field:ident : $value:expr),* };)*) => {
        $(impl $of {
            pub(super) fn of(router: &Router, sa: &Sa) -> Self {
                let common = Common::of(sa);
                Self {
                    sa_index: sa.index,
                    $($field: $value(router, sa),)*
                    ispi: sa.spis.0,
                    rspi: sa.spis.1,
                    iaddr: common.addrs.0,
                    raddr: common.addrs.1,
                    keys: common.keys,
                    i_id: common.ids.0,
                    r_id: common.ids.1,
                    encryption: common.encryption,
                    integrity: common.integrity,
                    prf: common.prf,
                    dh: common.dh,
                    stats: common.stats,
                }
            }
        })*
    };
}

fn place(router: &Router, sa: &Sa) -> u32 {
    let mut all = router.own::<Ikev2>().machine.profiles.keys();
    all.position(|name| *name == sa.profile).map_or(u32::MAX, |at| at as u32)
}

associations! {
    Ikev2Sa { profile_index: place };
    Ikev2SaV2 {
        profile_name: |_: &Router, sa: &Sa| sa.profile.clone().into(),
        state: |_: &Router, sa: &Sa| state(sa)
    };
    Ikev2SaV3 {
        profile_name: |_: &Router, sa: &Sa| sa.profile.clone().into(),
        state: |_: &Router, sa: &Sa| state(sa),
        uptime: |router: &Router, sa: &Sa| router.now() - sa.born
    };
}

impl Ikev2ChildSa {
    pub(super) fn of(sa: &Sa, child: &Child) -> Self {
        let (i_spi, r_spi) = child.spis();
        Self {
            sa_index: sa.index,
            child_sa_index: child.id,
            i_spi,
            r_spi,
            keys: Ikev2Keys::of_child(&child.keys),
            encryption: Ikev2SaTransform::cipher(child.suite.encr),
            integrity: Ikev2SaTransform::hash(child.suite.integ),
            esn: Ikev2SaTransform {
                transform_type: transform::ESN,
                transform_id: child.suite.has_esn.into(),
                ..Ikev2SaTransform::default()
            },
        }
    }
}

impl Ikev2ChildSaV2 {
    pub(super) fn of(sa: &Sa, child: &Child, now: f64) -> Self {
        let first = Ikev2ChildSa::of(sa, child);
        Self {
            sa_index: first.sa_index,
            child_sa_index: first.child_sa_index,
            i_spi: first.i_spi,
            r_spi: first.r_spi,
            keys: first.keys,
            encryption: first.encryption,
            integrity: first.integrity,
            esn: first.esn,
            uptime: now - child.born,
        }
    }
}
