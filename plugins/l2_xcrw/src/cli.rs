//! Commands about cross-connects with a rewrite.

use control::cli::{Hex, hex};
use net::prelude::*;

use super::Rewritten;

/// Send all frames of an interface to a node, with bytes prepended, or stop.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface l2 xcrw")]
#[stage(Attachments)]
struct Set {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// node
    next: Option<String>,
    /// bytes to prepend, in hexadecimal
    rw: Option<Hex>,
    /// delete
    del: bool,
}

/// Show interfaces whose frames go to a node.
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

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (interface, rewrite) in router.settings::<Rewritten>() {
        let Some(rewrite) = &rewrite.0 else { continue };
        let rw = Some(Hex(rewrite.front.to_vec())).filter(|rw| !rw.0.is_empty());
        lines.push(&Set { interface, next: Some(rewrite.node(router)), rw, del: false });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Set| {
        if c.del {
            return Ok(super::unset(router, c.interface)?);
        }
        let node = c.next.ok_or_else(|| Error::new("missing next"))?;
        Ok(super::set(router, c.interface, &node, &c.rw.unwrap_or_default().0)?)
    });
    cli.command(|router: &mut Router, _: Show| {
        let row = |(interface, rewrite): (InterfaceIndex, &Rewritten)| {
            let rewrite = rewrite.0.as_ref()?;
            Some(Row {
                interface: router.interfaces.name(interface.0).to_owned(),
                next: rewrite.node(router),
                rewrite: hex(&rewrite.front),
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
