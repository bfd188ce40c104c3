//! Changes of profiles, for commands and messages.

use net::prelude::*;
use net::punt::Reason;

use super::codec::number::auth;
use super::codec::{Id, Selector};
use super::crypto::certificate;
use super::crypto::group::Group;
use super::crypto::keys::Hidden;
use super::crypto::signature::PrivateKey;
use super::crypto::suite::{EspWish, IkeWish};
use super::machine::{Auth, Lifetime, NATT_PORT, PORT, Profile, Responder};
use super::{Error, Ikev2, NODES, acts, install};

/// Longest profile name in bytes.
const LONGEST_NAME: usize = 63;
/// Longest identity in bytes; messages have room for no more.
pub(super) const LONGEST_ID: usize = 64;

/// A change of a profile.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    /// Authentication: method, key or file name, and whether the key was given in hexadecimal.
    Auth(u8, Hidden, bool),
    LocalId(Id),
    RemoteId(Id),
    LocalTs(Selector),
    RemoteTs(Selector),
    Responder(Responder),
    Tunnel(u32),
    Ike(IkeWish),
    Esp(EspWish),
    Lifetime(Lifetime),
    Udp,
    Port(Option<u16>),
    NoNatt,
    /// Resets a part to its default.
    Unset(Part),
}

/// A part of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Auth,
    LocalId,
    RemoteId,
    LocalTs,
    RemoteTs,
    Responder,
    Tunnel,
    Ike,
    Esp,
    Lifetime,
    Udp,
    Port,
    Natt,
}

fn unset(profile: &mut Profile, part: Part) {
    match part {
        Part::Auth => profile.auth = None,
        Part::LocalId => profile.local_id = None,
        Part::RemoteId => profile.remote_id = None,
        Part::LocalTs => profile.local_ts = None,
        Part::RemoteTs => profile.remote_ts = None,
        Part::Responder => profile.responder = None,
        Part::Tunnel => profile.tunnel = None,
        Part::Ike => profile.ike = IkeWish::default(),
        Part::Esp => profile.esp = EspWish::default(),
        Part::Lifetime => profile.lifetime = Lifetime::default(),
        Part::Udp => profile.has_udp = false,
        Part::Port => profile.udp_port = None,
        Part::Natt => profile.is_natt_off = false,
    }
}

/// Creates a profile.
///
/// # Errors
/// [`Error`].
pub(super) fn add(router: &mut Router, name: &str) -> Result<(), Error> {
    if name.is_empty() {
        return Err(Error::NoName);
    }
    if name.len() > LONGEST_NAME {
        return Err(Error::LongName(LONGEST_NAME));
    }
    if !control::cli::is_word(name) {
        return Err(Error::NoWord(name.to_owned()));
    }
    if router.own::<Ikev2>().machine.profiles.contains_key(name) {
        return Err(Error::Exists(name.to_owned()));
    }
    listen(router)?;
    let new = Profile { name: name.to_owned(), ..Profile::default() };
    router.own_mut::<Ikev2>().machine.profiles.insert(name.to_owned(), new);
    Ok(())
}

/// Deletes a profile and its associations.
///
/// # Errors
/// [`Error::NoProfile`].
pub(super) fn remove(router: &mut Router, name: &str) -> Result<(), Error> {
    let now = router.now();
    let all = router.own_mut::<Ikev2>();
    if all.machine.profiles.remove(name).is_none() {
        return Err(Error::NoProfile(name.to_owned()));
    }
    let mine: Vec<_> =
        all.machine.sas().filter(|sa| sa.profile == name).map(|sa| sa.index).collect();
    mine.into_iter().for_each(|index| all.machine.delete(now, index));
    all.found.retain(|(profile, _)| profile != name);
    acts::carry_out(router);
    install::hold(router);
    if router.own::<Ikev2>().machine.profiles.is_empty() {
        stop(router);
    }
    Ok(())
}

/// Changes a profile.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub(super) fn change(router: &mut Router, name: &str, change: Change) -> Result<(), Error> {
    let is_trial = router.is_trial();
    let all = router.own_mut::<Ikev2>();
    let found = all.machine.profiles.get_mut(name);
    let profile = found.ok_or_else(|| Error::NoProfile(name.to_owned()))?;
    match change {
        Change::Auth(method, data, is_hex) => {
            let certificates = match method {
                auth::SHARED_KEY => Vec::new(),
                auth::RSA if is_trial => Vec::new(),
                auth::RSA => certificates(&data)?,
                _ => return Err(Error::Method),
            };
            profile.auth = Some(Auth { method, data, is_hex, certificates });
        }
        Change::LocalId(id) => profile.local_id = Some(checked(id)?),
        Change::RemoteId(id) => profile.remote_id = Some(checked(id)?),
        Change::LocalTs(ts) => profile.local_ts = Some(ts),
        Change::RemoteTs(ts) => profile.remote_ts = Some(ts),
        Change::Responder(responder) => profile.responder = Some(responder),
        Change::Tunnel(interface) => {
            profile.tunnel = Some(interface).filter(|tunnel| *tunnel != u32::MAX);
            install::hold(router);
        }
        Change::Ike(wish) => {
            profile.ike = wish;
            if let Some(group) = Group::of(wish.group) {
                all.machine.prepare(group);
            }
            acts::carry_out(router);
        }
        Change::Esp(wish) => profile.esp = wish,
        Change::Lifetime(lifetime) => profile.lifetime = lifetime,
        Change::Udp => profile.has_udp = true,
        Change::Port(port) => profile.udp_port = port,
        Change::NoNatt => profile.is_natt_off = true,
        Change::Unset(part) => {
            unset(profile, part);
            install::hold(router);
        }
    }
    Ok(())
}

fn checked(id: Id) -> Result<Id, Error> {
    match (1..=LONGEST_ID).contains(&id.data.len()) {
        true => Ok(id),
        false => Err(Error::Id(LONGEST_ID)),
    }
}

/// Largest key or certificate file in bytes.
const LONGEST_FILE: u64 = 1 << 20;

/// Contents of a regular file. Other files, such as pipes, are refused: reading could block.
fn read(file: &str) -> Result<Vec<u8>, Error> {
    let failed = |why: String| Error::File(file.to_owned(), why);
    let about = std::fs::metadata(file).map_err(|e| failed(e.to_string()))?;
    if !about.is_file() {
        return Err(failed("not a regular file".to_owned()));
    }
    if about.len() > LONGEST_FILE {
        return Err(failed(format!("longer than {LONGEST_FILE} bytes")));
    }
    std::fs::read(file).map_err(|e| failed(e.to_string()))
}

fn certificates(file: &Hidden) -> Result<Vec<certificate::Certificate>, Error> {
    let file = String::from_utf8_lossy(&file.0).trim_end_matches('\0').to_owned();
    let said = |why: &str| Error::File(file.clone(), why.to_owned());
    let all = certificate::read_all(&read(&file)?).map_err(said)?;
    if all.is_empty() {
        return Err(said("no certificate in the file"));
    }
    Ok(all)
}

/// Word for no file.
const NO_FILE: &str = "none";

/// Loads the local private key, and any certificates, from a file; `none` removes the key.
///
/// # Errors
/// [`Error::File`].
pub(super) fn set_key(router: &mut Router, file: &str) -> Result<(), Error> {
    if file == NO_FILE {
        let all = router.own_mut::<Ikev2>();
        (all.machine.key, all.key_file) = (None, None);
        all.machine.certificates.clear();
        return Ok(());
    }
    // A dry run opens no files.
    if router.is_trial() {
        router.own_mut::<Ikev2>().key_file = Some(file.to_owned());
        return Ok(());
    }
    let said = |why: &str| Error::File(file.to_owned(), why.to_owned());
    let pem = Hidden(read(file)?);
    let key = PrivateKey::read(&pem.0).map_err(said)?;
    let certificates = certificate::read_all(&pem.0).map_err(said)?;
    let all = router.own_mut::<Ikev2>();
    all.machine.key = Some(Arc::new(key));
    all.machine.certificates = certificates;
    all.key_file = Some(file.to_owned());
    Ok(())
}

/// IP versions (true for IPv6) and the node that messages on the UDP ports of IKE are sent to.
const LED: [(bool, &str); 2] = [(false, NODES[0]), (true, NODES[2])];
const PUNTED: [(&str, &str); 2] =
    [("ipsec4-spi-o-udp-0", NODES[1]), ("ipsec6-spi-o-udp-0", NODES[2])];

/// Registers the IKE nodes for the UDP ports.
fn listen(router: &mut Router) -> Result<(), Error> {
    if router.own::<Ikev2>().is_listening {
        return Ok(());
    }
    for (is_6, node) in LED {
        let version = wire::IpVersion::six(is_6);
        if let Err(why) = router.lead_tunnel_port(version, PORT, Some(node)) {
            if is_6 {
                let _ = router.lead_tunnel_port(wire::IpVersion::V4, PORT, None);
            }
            return Err(Error::Ports(why.to_string()));
        }
    }
    punt(router, true);
    router.own_mut::<Ikev2>().is_listening = true;
    Ok(())
}

fn punt(router: &mut Router, is_on: bool) {
    for (reason, node) in PUNTED {
        let reason = router.punt_reason_named(reason).unwrap_or(Reason(0));
        let _ = router.give_to(reason, node, is_on);
    }
    for is_6 in [false, true] {
        ipsec::listen(router, (is_6, NATT_PORT), is_on);
    }
}

fn stop(router: &mut Router) {
    if std::mem::take(&mut router.own_mut::<Ikev2>().is_listening) {
        punt(router, false);
        for (is_6, _) in LED {
            let _ = router.lead_tunnel_port(wire::IpVersion::six(is_6), PORT, None);
        }
    }
}
