//! `bfd …`, and the configuration of the feature.

use control::Secret;
use control::cli::Hex;
use net::prelude::*;
use wire::bfd::{Sha1, State};

use super::{Key, Parameters, keys};

/// A session by name.
#[derive(Arguments, Clone, Copy, Debug, PartialEq)]
struct Named {
    /// multihop
    multihop: bool,
    /// interface, for single-hop sessions
    interface: Option<InterfaceIndex>,
    /// local address
    local_addr: IpAddr,
    /// peer address
    peer_addr: IpAddr,
}

impl Named {
    fn of(key: Key) -> Self {
        let Key { interface, local: local_addr, peer: peer_addr } = key;
        Self { multihop: interface.is_none(), interface, local_addr, peer_addr }
    }
    fn key(self) -> Result<Key, Error> {
        let why = match (self.multihop, self.interface) {
            (true, Some(_)) => "interface cannot be specified when multihop is enabled",
            (false, None) => "interface must be set if not multihop",
            _ => {
                let Self { interface, local_addr: local, peer_addr: peer, .. } = self;
                return Ok(Key { interface, local, peer });
            }
        };
        Err(Error::new(format!("Incompatible parameter combination, {why}")))
    }
}

/// Parameters of a session.
#[derive(Arguments, Clone, Copy, Debug, PartialEq)]
struct Intervals {
    /// desired minimum transmit interval in microseconds
    desired_min_tx: u32,
    /// required minimum receive interval in microseconds
    required_min_rx: u32,
    /// detection multiplier
    detect_mult: u8,
}

impl Intervals {
    fn of(parameters: Parameters) -> Self {
        let Parameters { desired_min_tx_us, required_min_rx_us, detect_mult } = parameters;
        let [desired_min_tx, required_min_rx] = [desired_min_tx_us, required_min_rx_us];
        Self { desired_min_tx, required_min_rx, detect_mult }
    }
    fn parameters(self) -> Parameters {
        Parameters {
            desired_min_tx_us: self.desired_min_tx,
            required_min_rx_us: self.required_min_rx,
            detect_mult: self.detect_mult,
        }
    }
}

/// Create a session
#[derive(Command, Print, Debug, PartialEq)]
#[command("bfd udp session add")]
#[stage(Routes)]
#[undo(
    "bfd udp session del interface {interface} local-addr {local-addr} peer-addr {peer-addr}|\
     bfd udp session del multihop local-addr {local-addr} peer-addr {peer-addr}"
)]
struct Add {
    #[flatten]
    named: Named,
    #[flatten]
    intervals: Intervals,
    /// configured key ID
    conf_key_id: Option<u32>,
    /// key ID in packets
    bfd_key_id: Option<u8>,
}

/// Change the parameters of a session
#[derive(Command, Print, Debug, PartialEq)]
#[command("bfd udp session mod")]
#[stage(Routes)]
struct Modify {
    #[flatten]
    named: Named,
    #[flatten]
    intervals: Intervals,
}

/// Delete a session
#[derive(Command)]
#[command("bfd udp session del")]
struct Remove {
    #[flatten]
    named: Named,
}

/// Whether a session is up.
#[derive(Words, Clone, Copy, Debug, PartialEq, Eq)]
enum Admin {
    /// Administratively up.
    Up,
    /// Down.
    Down,
}

/// Set a session up or down
#[derive(Command, Print, Debug, PartialEq)]
#[command("bfd udp session set-flags")]
#[undo(
    "=bfd udp session set-flags interface {interface} local-addr {local-addr} \
     peer-addr {peer-addr} admin up|\
     bfd udp session set-flags multihop local-addr {local-addr} peer-addr {peer-addr} admin up"
)]
#[stage(State)]
struct SetFlags {
    #[flatten]
    named: Named,
    /// administrative state
    #[words]
    admin: Admin,
}

/// Whether something waits.
#[derive(Words, Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// It does.
    Yes,
    /// It does not.
    No,
}

/// Enable authentication of a session
#[derive(Command, Print, Debug, PartialEq)]
#[command("bfd udp session auth activate")]
#[stage(State)]
struct Activate {
    #[flatten]
    named: Named,
    /// configured key ID
    conf_key_id: u32,
    /// key ID in packets
    bfd_key_id: u8,
    /// once the peer does
    #[words]
    delayed: Option<Answer>,
}

/// Disable authentication of a session
#[derive(Command, Print, Debug, PartialEq)]
#[command("bfd udp session auth deactivate")]
#[stage(State)]
struct Deactivate {
    #[flatten]
    named: Named,
    /// once the peer does
    #[words]
    delayed: Option<Answer>,
}

/// Kinds of authentication.
#[derive(Words, Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The sequence number grows now and then.
    #[word("keyed-sha1")]
    Keyed,
    /// The sequence number grows with each packet.
    #[word("meticulous-keyed-sha1")]
    Meticulous,
}

/// Set a key; it must not be in use
#[derive(Command, Print, Debug, PartialEq)]
#[command("bfd key set")]
#[undo("=bfd key del conf-key-id {conf-key-id}")]
#[stage(Objects)]
struct SetKey {
    /// index
    conf_key_id: u32,
    /// authentication type
    #[keyword("type")]
    #[words]
    kind: Kind,
    /// key: 1 to 20 bytes in hexadecimal
    secret: Secret<Hex>,
}

/// Delete a key; it must not be in use
#[derive(Command)]
#[command("bfd key del")]
struct UnsetKey {
    /// index
    conf_key_id: u32,
}

/// Set the interface whose network is the source of echo packets
#[derive(Command, Print, Debug, PartialEq)]
#[command("bfd udp echo-source set")]
#[undo("=bfd udp echo-source del")]
#[stage(Attachments)]
struct SetEchoSource {
    /// interface
    interface: InterfaceIndex,
}

/// Stop sending echo packets
#[derive(Command)]
#[command("bfd udp echo-source del")]
struct RemoveEchoSource;

/// Set the DSCP and ECN byte of packets
#[derive(Command, Print, Debug, PartialEq)]
#[command("bfd udp tos")]
#[stage(Settings)]
struct SetTos {
    /// type of service, or traffic class
    #[positional]
    tos: u8,
}

/// Accept multihop packets without sessions
#[derive(Command, Print, Debug, PartialEq)]
#[command("bfd udp multihop enable")]
#[undo("bfd udp multihop disable")]
#[stage(Settings)]
struct EnableMultihop;

/// Drop multihop packets that took more hops, as forged ones from afar do
#[derive(Command, Print, Debug, PartialEq)]
#[command("bfd udp multihop hops")]
#[undo("=bfd udp multihop hops 255")]
#[stage(Settings)]
struct SetHops {
    /// hops, from 1; default 255
    #[positional]
    hops: u8,
}

/// Accept multihop packets only for sessions
#[derive(Command)]
#[command("bfd udp multihop disable")]
struct DisableMultihop;

/// A refusal as programs that read the original's texts know it: with the name of the call.
fn refused(call: &'static str) -> impl Fn(super::Error) -> Error {
    move |why| {
        let retval = Retval::from(why);
        if !(-104..=-101).contains(&retval.0) {
            return why.into();
        }
        let text = retval.text();
        let message = format!("`{call}' API call failed, rv={}:{text}", retval.0);
        Error::new(message).with_code(retval.0)
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (conf_key_id, key) in super::keys(router).iter() {
        let keys::Secret { kind, bytes, len } = &*key.secret;
        let kind = if *kind == Sha1::METICULOUS { Kind::Meticulous } else { Kind::Keyed };
        let secret = Secret(Hex(bytes[..usize::from(*len)].to_vec()));
        lines.push(&SetKey { conf_key_id, kind, secret });
    }
    if super::tos(router) != super::TOS {
        lines.push(&SetTos { tos: super::tos(router) });
    }
    if super::is_multihop_enabled(router) {
        lines.push(&EnableMultihop);
    }
    let hops = super::hops(router);
    if hops != u8::MAX {
        lines.push(&SetHops { hops });
    }
    if let Some(source) = super::echo_source(router) {
        lines.push(&SetEchoSource { interface: source.interface });
    }
    for s in super::sessions(router) {
        let (named, by) = (Named::of(s.key), s.configured());
        lines.push(&Add {
            named,
            intervals: Intervals::of(s.machine.parameters),
            conf_key_id: by.map(|by| by.conf_key_id),
            bfd_key_id: by.map(|by| by.key_id),
        });
        if s.machine.state == State::AdminDown {
            lines.push(&SetFlags { named, admin: Admin::Down });
        }
    }
}

fn register_sessions(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Add| {
        let by = match (c.conf_key_id, c.bfd_key_id) {
            (Some(conf), Some(id)) => Some((conf, id)),
            (None, None) => None,
            _ => {
                return Err(Error::new(
                    "Incompatible parameter combination, conf-key-id and bfd-key-id go together",
                ));
            }
        };
        let done = super::add(router, c.named.key()?, c.intervals.parameters(), by);
        done.map(drop).map_err(refused("bfd_add_add_session"))
    });
    cli.command(|router: &mut Router, c: Modify| {
        let done = super::modify(router, &c.named.key()?, c.intervals.parameters());
        done.map(drop).map_err(refused("bfd_udp_mod_session"))
    });
    cli.command(|router: &mut Router, c: Remove| {
        super::remove(router, &c.named.key()?).map_err(refused("bfd_udp_del_session"))
    });
    cli.command(|router: &mut Router, c: SetFlags| {
        let done = super::set_admin(router, &c.named.key()?, c.admin == Admin::Up);
        done.map_err(refused("bfd_udp_session_set_flags"))
    });
}

pub(super) fn register(cli: &mut Cli<Router>) {
    register_sessions(cli);
    cli.command(|router: &mut Router, c: Activate| {
        let (key, is_delayed) = (c.named.key()?, c.delayed == Some(Answer::Yes));
        let done = super::activate(router, &key, (c.conf_key_id, c.bfd_key_id), is_delayed);
        done.map_err(refused("bfd_udp_auth_activate"))
    });
    cli.command(|router: &mut Router, c: Deactivate| {
        let done = super::deactivate(router, &c.named.key()?, c.delayed == Some(Answer::Yes));
        done.map_err(refused("bfd_udp_auth_deactivate"))
    });
    cli.command(|router: &mut Router, c: SetKey| {
        let kind = if c.kind == Kind::Meticulous { Sha1::METICULOUS } else { Sha1::KEYED };
        let done = super::set_key(router, c.conf_key_id, kind, &c.secret.0.0);
        done.map_err(refused("bfd_auth_set_key"))
    });
    cli.command(|router: &mut Router, c: UnsetKey| {
        super::unset_key(router, c.conf_key_id).map_err(refused("bfd_auth_del_key"))
    });
    cli.command(|router: &mut Router, c: SetTos| {
        super::set_tos(router, c.tos);
        Ok(())
    });
    cli.command(|router: &mut Router, c: SetHops| {
        if c.hops == 0 {
            return Err(Error::new("hops must be 1 to 255"));
        }
        super::set_hops(router, c.hops);
        Ok(())
    });
    cli.command(|router: &mut Router, _: EnableMultihop| Ok(super::set_multihop(router, true)?));
    cli.command(|router: &mut Router, _: DisableMultihop| Ok(super::set_multihop(router, false)?));
    cli.command(|router: &mut Router, c: SetEchoSource| {
        Ok(super::set_echo_source(router, c.interface)?)
    });
    cli.command(|router: &mut Router, _: RemoveEchoSource| {
        super::remove_echo_source(router);
        Ok(())
    });
}
