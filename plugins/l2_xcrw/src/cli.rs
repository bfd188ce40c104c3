//! Commands about cross-connects with a rewrite.

use std::fmt;

use control::cli::{Cli, Command, Error, Output, Print};
use control::configuration::Lines;
use net::{InterfaceIndex, Router};
use serde::Serialize;

use super::Rewritten;

/// Have all frames of an interface go to a node, with bytes in front, or no longer.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface l2 xcrw")]
#[stage(Attachments)]
struct Set {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// the node
    next: Option<String>,
    /// bytes that are put in front, in hexadecimal digits
    rw: Option<String>,
    /// no longer
    del: bool,
}

/// Show whose frames go to a node, with bytes in front.
#[derive(Command)]
#[command("show l2xcrw")]
struct Show {}

#[derive(Serialize)]
struct Row {
    interface: String,
    next: String,
    rewrite: String,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>26} -> {} {}", self.interface, self.next, self.rewrite)
    }
}

/// Bytes of hexadecimal digits.
fn bytes(digits: &str) -> Result<Vec<u8>, Error> {
    let wrong = || Error::new(format!("expected pairs of hexadecimal digits, not `{digits}'"));
    if !digits.len().is_multiple_of(2) || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    let pairs = (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16));
    pairs.collect::<Result<_, _>>().map_err(|_| wrong())
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (interface, way) in router.settings::<Rewritten>() {
        let Some(way) = &way.0 else { continue };
        let rw = (!way.front.is_empty()).then(|| digits(&way.front));
        lines.push(&Set { interface, next: Some(way.node.clone()), rw, del: false });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Set| {
        if c.del {
            return Ok(super::unset(router, c.interface)?);
        }
        let node = c.next.ok_or_else(|| Error::new("missing next"))?;
        let front = bytes(c.rw.as_deref().unwrap_or_default())?;
        Ok(super::set(router, c.interface, &node, &front)?)
    });
    cli.command(|router: &mut Router, _: Show| {
        let row = |(interface, way): (InterfaceIndex, &Rewritten)| {
            let way = way.0.as_ref()?;
            Some(Row {
                interface: router.interfaces.name(interface.0).to_owned(),
                next: way.node.clone(),
                rewrite: digits(&way.front),
            })
        };
        let all: Vec<_> = router.settings::<Rewritten>().filter_map(row).collect();
        let text = match all.is_empty() {
            true => "No interface has frames cross-connected with a rewrite\n".to_owned(),
            false => all.iter().map(ToString::to_string).collect(),
        };
        Ok::<_, Error>(Output::both(text, all))
    });
}
