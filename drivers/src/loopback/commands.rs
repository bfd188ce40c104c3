//! Making and deleting loopback interfaces.

use std::sync::{Arc, OnceLock};

use control::cli::{Cli, Command, Error, Word};
use net::Router;
use net::interface::{Kind, NewInterface, Offloads};
use wire::MacAddr;

use super::tx::LoopbackTx;

/// Hardware class of loopbacks.
pub(super) const HARDWARE: &str = "Loopback";
/// Instances are below this.
const INSTANCES: u32 = 16384;
const MTU: u32 = 9000;

/// Create a loopback interface.
#[derive(Command)]
#[command("create loopback interface", "loopback create-interface")]
struct Create {
    /// its address; de:ad:00:00:<instance> if not given
    mac: Option<MacAddr>,
    /// number in its name; the lowest free one if not given
    instance: Option<u32>,
}

/// Delete a loopback interface.
#[derive(Command)]
#[command("delete loopback interface", "loopback delete-interface")]
struct Delete {
    /// its name
    #[values("interface")]
    intfc: Word,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(create).command(delete);
}

fn create(router: &mut Router, c: Create) -> Result<String, Error> {
    let is_free = |n: &u32| router.interfaces.named(&format!("loop{n}")).is_none();
    let instance = match c.instance {
        Some(n) if n >= INSTANCES => {
            return Err(Error::new(format!("instance {n} is not below {INSTANCES}")));
        }
        Some(n) if !is_free(&n) => return Err(Error::new(format!("instance {n} is in use"))),
        Some(n) => n,
        None => (0..INSTANCES).find(is_free).ok_or("all instances are in use")?,
    };
    let [.., high, low] = instance.to_be_bytes();
    let mac = c.mac.unwrap_or(MacAddr([0xde, 0xad, 0, 0, high, low]));
    if mac.is_multicast() || mac == MacAddr::ZERO {
        return Err(Error::new(format!("{mac} is no address of one interface")));
    }
    let name = format!("loop{instance}");
    let new = NewInterface {
        name: name.clone(),
        kind: Kind::Ethernet,
        hardware: HARDWARE,
        mac,
        mtu: MTU,
        // Nothing leaves the router here, so nothing needs to be completed.
        offloads: Offloads { checksum: true, gso: true },
        link_follows_admin: true,
    };
    let index = Arc::new(OnceLock::new());
    let tx = LoopbackTx::new(Arc::clone(&index), &router.interfaces);
    let made = router.add_interface(new, tx).map_err(|e| Error::new(e.to_string()))?;
    index.set(made).expect("set here only");
    Ok(name)
}

fn delete(router: &mut Router, c: Delete) -> Result<(), Error> {
    let interface = router.interfaces.named(&c.intfc);
    let interface = interface.ok_or_else(|| c.intfc.unknown("interface"))?;
    if interface.hardware != HARDWARE {
        return Err(Error::new(format!("{} is not a loopback interface", interface.name)));
    }
    let index = interface.index;
    router.remove_interface(index);
    Ok(())
}
