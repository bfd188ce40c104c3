//! `create vhost-user`, `delete vhost-user`.
#![forbid(unsafe_code)]

use control::cli::{Cli, Command, Error, Print, Word};
use control::configuration::Lines;
use net::Router;
use wire::MacAddr;

use super::interface::{self, Vhost, Vhosts, Wanted};
use super::session::Offer;
use crate::host::Which;

/// Create a vhost-user interface to a virtual machine or container.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create vhost-user")]
#[undo("delete vhost-user VirtualEthernet0/0/{renumber}")]
#[stage(Interfaces)]
struct Create {
    /// path of the socket
    #[values("socket-filename")]
    socket: String,
    /// listen on the socket; default connect
    server: bool,
    /// features that may be offered, in hexadecimal
    #[values("hex")]
    feature_mask: Option<Word>,
    /// MAC address; by default one that is stable across restarts
    hwaddr: Option<MacAddr>,
    /// instance number in the name; by default the lowest free one
    renumber: Option<u32>,
    /// checksum and segmentation offload
    gso: bool,
    /// packed rings
    packed: bool,
    /// event index: interrupts only on request
    event_idx: bool,
}

/// Delete a vhost-user interface.
#[derive(Command)]
#[command("delete vhost-user")]
struct Delete {
    #[flatten]
    which: Which,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(create).command(delete);
}

/// Lets `work` at the interfaces and the router.
pub(super) fn with<R>(
    router: &mut Router,
    work: impl FnOnce(&mut Vhosts, &mut Router) -> Result<R, interface::Error>,
) -> Result<R, interface::Error> {
    let done = router.with(work);
    router.processes.signal(super::process::NAME, 0);
    done.unwrap_or_else(|| Err(interface::Error::Refused("not now".to_owned())))
}

fn bits(word: &Word) -> Result<u64, Error> {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let wrong = |_| Error::new(format!("feature-mask is not a hexadecimal number: `{word}'"));
    u64::from_str_radix(digits, 16).map_err(wrong)
}

fn create(router: &mut Router, c: Create) -> Result<String, Error> {
    let mask = c.feature_mask.as_ref().map_or(Ok(u64::MAX), bits)?;
    let wanted = Wanted {
        instance: c.renumber,
        socket: c.socket,
        is_server: c.server,
        offer: Offer { gso: c.gso, packed: c.packed, event_idx: c.event_idx, hidden: !mask },
        mac: c.hwaddr,
    };
    let made = with(router, |all, router| all.create(router, wanted))?;
    Ok(router.interfaces.name(made.0).to_owned())
}

fn delete(router: &mut Router, c: Delete) -> Result<(), Error> {
    let index = c.which.index()?;
    Ok(with(router, |all, router| all.delete(router, index))?)
}

impl Create {
    fn of(vhost: &Vhost) -> Self {
        let (wanted, offer) = (&vhost.wanted, vhost.wanted.offer);
        let mask = Some(!offer.hidden).filter(|mask| *mask != u64::MAX);
        Self {
            socket: wanted.socket.clone(),
            server: wanted.is_server,
            feature_mask: mask.map(|mask| format!("{mask:#x}").as_str().into()),
            hwaddr: wanted.mac,
            renumber: wanted.instance,
            gso: offer.gso,
            packed: offer.packed,
            event_idx: offer.event_idx,
        }
    }
}

/// The interfaces there are.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for vhost in &router.own::<Vhosts>().list {
        lines.push_at(vhost.index.0, &Create::of(vhost));
    }
}
