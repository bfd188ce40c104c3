//! Making and deleting loopback interfaces.

use control::cli::{Cli, Command, Error, Word};
use net::Router;
use wire::MacAddr;

use super::interface;

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

impl From<interface::Error> for Error {
    fn from(e: interface::Error) -> Self {
        let (text, retval) = (e.to_string(), control::api::Retval::from(e));
        Self::new(text).with_code(retval.0)
    }
}

fn create(router: &mut Router, c: Create) -> Result<String, Error> {
    let made = interface::create(router, c.mac, c.instance)?;
    Ok(router.interfaces.name(made.0).to_owned())
}

fn delete(router: &mut Router, c: Delete) -> Result<(), Error> {
    let found = router.interfaces.named(&c.intfc).map(|i| i.index);
    let index = found.ok_or_else(|| c.intfc.unknown("interface"))?;
    Ok(interface::delete(router, index)?)
}
