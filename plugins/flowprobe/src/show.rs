//! `show flowprobe …`.

use std::fmt::Write;

use net::prelude::*;
use sessions::Walked;
use sessions::slices::{self, Gather};

use crate::change::{DIRECTIONS, Direction, Flowprobe, Probed, WHICH};
use crate::cli::{FORMATS, GROUPS};
use crate::flow::{FlowKey, IP6, Kind};

macro_rules! shows {
    ($($(#[$doc:meta])* $name:ident, $path:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Command)]
        #[command($path)]
        struct $name {}
    )*};
}

shows! {
    /// Show interfaces with flow recording
    ShowFeature, "show flowprobe feature";
    /// Show the recorded fields and the timers
    ShowParams, "show flowprobe params";
    /// Show the number of flows and of exported records
    ShowStatistics, "show flowprobe statistics";
    /// Show flows
    ShowTable, "show flowprobe table";
}

/// Lines of text, in JSON a list of them.
fn shown(lines: &[String]) -> Output {
    let text = lines.iter().fold(String::new(), |all, line| all + line + "\n");
    Output::both(text, lines)
}

/// The word for a direction.
pub fn word(direction: Direction) -> &'static str {
    DIRECTIONS[direction as usize].0
}

fn feature(router: &Router) -> Vec<String> {
    let mut lines = Vec::new();
    for (interface, Probed(probed)) in router.settings::<Probed>() {
        let name = router.interfaces.name(interface.0);
        for (which, direction) in probed.iter().enumerate() {
            if let Some(direction) = *direction {
                lines.push(format!(" {name} {} {}", WHICH[which], word(direction)));
            }
        }
    }
    lines
}

fn params(router: &Router) -> Vec<String> {
    let params = router.own::<Flowprobe>().params.current();
    let groups = GROUPS.into_iter().filter(|(_, group)| params.has(*group));
    let groups = groups.fold(String::new(), |all, (word, _)| all + " " + word);
    let (active, passive) = (params.active, params.passive);
    let format = FORMATS.into_iter().filter(|(.., is_on)| is_on(&params.format));
    let format =
        format.fold(String::new(), |all, (word, value, _)| all + " " + word + ": " + value);
    vec![format!("{groups} active: {active} passive: {passive}{format}")]
}

fn statistics(router: &mut Router) -> Vec<String> {
    let flows = router.own::<Flowprobe>().flows.clone();
    let usage = flows.usage(router).unwrap_or_default();
    let mut lines = vec!["IPFIX table statistics".to_owned()];
    for (thread, row) in usage.iter().enumerate().filter(|(_, row)| row.made > 0) {
        let (sessions, limit) = (row.sessions, row.limit);
        lines.push(format!("  thread {thread}: {sessions} flows of {limit}, {} made", row.made));
    }
    lines.push(format!("  {} records exported", router.own::<Flowprobe>().exported));
    lines
}

/// A flow in words.
fn flow(key: &FlowKey) -> String {
    let is_ip6 = Kind::ALL
        .iter()
        .any(|kind| *kind as u8 == key.kind && (kind.which() == IP6 || *kind == Kind::L2Ip6));
    let addr = |bytes: &[u8; 16]| match (is_ip6, *bytes) {
        (true, bytes) => Ipv6Addr::from(bytes).to_string(),
        (false, [a, b, c, d, ..]) => Ipv4Addr::new(a, b, c, d).to_string(),
    };
    let way = if key.direction == 0 { "rx" } else { "tx" };
    let mut text = format!("{way} in {} out {}", key.rx, key.tx);
    if key.ethertype != 0 {
        let [src, dst] = [key.src_mac, key.dst_mac].map(wire::MacAddr);
        let _ = write!(text, " {src} -> {dst} type 0x{:04x}", key.ethertype);
    }
    if key.protocol != 0 {
        let (src, dst) = (addr(&key.src), addr(&key.dst));
        let _ = write!(text, " {src} -> {dst} protocol {}", key.protocol);
    }
    if key.ports != [0; 2] {
        let _ = write!(text, " ports {} -> {}", key.ports[0], key.ports[1]);
    }
    text
}

fn table(router: &Router) -> Gather<String, Result<Output, Error>> {
    let all = router.own::<Flowprobe>().flows.slices(|thread, flow| {
        Walked::keep(Some((thread, flow.forward, flow.packets, flow.bytes)))
    });
    let line = |_: &Router, (thread, key, packets, bytes): (usize, FlowKey, u64, u64)| {
        format!(" thread {thread} {} packets {packets} bytes {bytes}", flow(&key))
    };
    Gather::first(slices::map(all, line), |_, lines| {
        Ok(shown(&lines.map_err(|_| Error::bare("a thread does not answer"))?))
    })
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, ShowFeature {}| Ok(shown(&feature(router))));
    cli.command(|router: &mut Router, ShowParams {}| Ok(shown(&params(router))));
    cli.command(|router: &mut Router, ShowStatistics {}| Ok(shown(&statistics(router))));
    cli.task(|router: &mut Router, ShowTable {}| Ok(Box::new(table(router)) as _));
}
