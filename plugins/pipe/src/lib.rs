//! Pipes: two interfaces, `pipeN.0` and `pipeN.1`, each of which receives what the other one sends.
//!
//! The pipe itself, `pipeN`, carries nothing: it sets both ends up and down. A pipe has exactly two
//! ends, so an end needs no address resolution: packets of layer 3 are for the other one.
#![forbid(unsafe_code)]

mod api;
mod node;

use std::sync::OnceLock;

use control::cli::Error as CliError;
use net::interface::{DEVICE_INPUT, Error as InterfaceError, Kind, NewInterface, Offloads};
use net::prelude::*;

pub use api::*;
pub use node::{Receive, Transmit};

/// Hardware class of pipes and their ends.
const HARDWARE: &str = "Pipe";
const MTU: u32 = 9000;

/// A pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipe {
    /// Instance number in the name.
    pub instance: u32,
    /// Its two interfaces; each receives the packets that the other one sends.
    pub ends: [InterfaceIndex; 2],
}

/// The pipes, by interface.
#[derive(Default)]
struct Pipes(BTreeMap<InterfaceIndex, Pipe>);

/// Reason why a pipe is not made or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such pipe
    #[retval(INVALID_SW_IF_INDEX)]
    Unknown,
    /// instance {0} is in use
    #[retval(INSTANCE_IN_USE)]
    InUse(u32),
    /// {0}
    #[retval(LIMIT_EXCEEDED)]
    Interface(InterfaceError),
}

/// Makes a pipe, down; with the lowest free number if none is given.
///
/// # Errors
/// [`Error::InUse`], [`Error::Interface`]; nothing is made then.
pub fn create(router: &mut Router, instance: Option<u32>) -> Result<InterfaceIndex, Error> {
    let pipes = &router.own::<Pipes>().0;
    let is_used = |n: &u32| pipes.values().any(|pipe| pipe.instance == *n);
    let instance = match instance {
        Some(n) if is_used(&n) => return Err(Error::InUse(n)),
        Some(n) => n,
        None => (0..).find(|n| !is_used(n)).expect("fewer pipes than numbers"),
    };
    let [a, b, c, d] = instance.to_be_bytes();
    let mac = MacAddr([0x02, 0x70, a, b, c, d]);
    let new = |name| NewInterface {
        name,
        kind: Kind::Ethernet,
        hardware: HARDWARE,
        mac,
        mtu: MTU,
        // Nothing leaves the router here, so nothing needs to be completed.
        offloads: Offloads { checksum: true, gso: true, tunnels: true },
        link_follows_admin: true,
    };
    let others = [0, 1].map(|_| Arc::new(OnceLock::new()));
    let mut made = Vec::new();
    let nobody = Arc::new(OnceLock::new());
    // An end sends to the other one.
    for (name, to) in [
        (format!("pipe{instance}"), &nobody),
        (format!("pipe{instance}.0"), &others[1]),
        (format!("pipe{instance}.1"), &others[0]),
    ] {
        match router.add_interface(new(name), Transmit::new(Arc::clone(to))) {
            Ok(index) => made.push(index),
            Err(why) => {
                made.into_iter().for_each(|index| router.remove_interface(index));
                return Err(Error::Interface(why));
            }
        }
    }
    let ends = [made[1], made[2]];
    for (other, end) in others.iter().zip(ends) {
        other.set(end).expect("set here only");
        router.interfaces.set_far_end(end, Some(mac));
    }
    router.own_mut::<Pipes>().0.insert(made[0], Pipe { instance, ends });
    Ok(made[0])
}

/// Deletes a pipe with its ends.
///
/// # Errors
/// [`Error::Unknown`] for what is no pipe.
pub fn delete(router: &mut Router, pipe: InterfaceIndex) -> Result<(), Error> {
    let gone = router.own_mut::<Pipes>().0.remove(&pipe).ok_or(Error::Unknown)?;
    gone.ends.into_iter().chain([pipe]).for_each(|index| router.remove_interface(index));
    Ok(())
}

/// Ends are on while their pipe is.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    let Some(pipe) = router.own::<Pipes>().0.get(&interface).copied() else { return };
    let Some(i) = router.interfaces.at(interface).filter(|_| change == Change::State) else {
        return;
    };
    let is_up = i.admin_up;
    pipe.ends.into_iter().for_each(|end| router.set_admin(end, is_up));
}

/// Create a pipe: a pair of connected interfaces.
#[derive(Command, Print, Debug, PartialEq)]
#[command("pipe create")]
#[undo("pipe delete pipe{instance}")]
#[stage(Interfaces)]
struct Create {
    /// instance number in the name; by default the lowest free one
    instance: Option<u32>,
}

/// Delete a pipe and its interfaces.
#[derive(Command)]
#[command("pipe delete")]
struct Delete {
    /// pipe
    #[positional]
    interface: InterfaceIndex,
}

fn commands(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| -> Result<Output, CliError> {
        let made = create(router, c.instance)?;
        Ok(Output::text(format!("{}\n", router.interfaces.name(made.0))))
    });
    cli.command(|router: &mut Router, c: Delete| Ok(delete(router, c.interface)?));
}

fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (made, pipe) in &router.own::<Pipes>().0 {
        lines.push_at(made.0, &Create { instance: Some(pipe.instance) });
    }
}

/// Pipes.
pub const FEATURE: Feature = Feature {
    name: "pipe",
    about: "Pipes: pairs of interfaces, each of which receives what the other one sends",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ethernet"],
    register,
    configuration: Configuration::Commands(configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let receive = Receive { counters: router.interfaces.counters() };
    let node = router.engine.add(receive).map_err(refuse)?;
    router.engine.starts(node, &DEVICE_INPUT).map_err(refuse)?;
    router.insert(Pipes::default());
    router.interfaces.observe(follow);
    commands(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
