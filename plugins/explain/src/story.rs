//! Fate of a packet, as text and as values.

use graph::NodeIndex;
use graph::explain::{End, ExplainedPacket, Step};
use net::prelude::*;

use super::headers::{self, Change, Header};

/// The explanation of a packet.
#[derive(Serialize)]
pub struct Story {
    interface: String,
    length: usize,
    /// The packet itself, and what nodes made of it.
    packets: Vec<Told>,
}

/// One packet.
#[derive(Serialize)]
struct Told {
    /// From 1.
    number: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    made_by: Option<Maker>,
    headers: Vec<Header>,
    steps: Vec<Visit>,
    fate: Fate,
}

/// The node that made a packet.
#[derive(Serialize)]
struct Maker {
    node: String,
    /// The packet that it had.
    packet: usize,
}

/// One node.
#[derive(Serialize)]
struct Visit {
    node: String,
    /// Tables it looked up, and results.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    said: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changed: Vec<Change>,
    /// Counters that it would raise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    counts: Vec<Counter>,
}

/// A counter of a node.
#[derive(Serialize)]
struct Counter {
    node: String,
    name: &'static str,
    text: &'static str,
    by: u64,
}

/// The end of a packet.
#[derive(Serialize)]
struct Fate {
    kind: Kind,
    node: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    interface: Option<String>,
    /// The counter of the drop: its node and its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    counted_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The packet as it ended.
    headers: Vec<Header>,
}

/// Ends of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// It would leave by an interface.
    Sent,
    /// It would be dropped.
    Dropped,
    /// No handler in control.
    Punted,
    /// A node keeps it, or has taken from it what it wanted.
    Kept,
    /// A node would have to be run that keeps state.
    Unknown,
}

/// Tells what the engine found.
pub fn tell(
    router: &Router,
    interface: String,
    length: usize,
    packets: &[ExplainedPacket],
) -> Story {
    let packets = packets.iter().enumerate().map(|(at, p)| told(router, at + 1, p));
    Story { interface, length, packets: packets.collect() }
}

fn told(router: &Router, number: usize, packet: &ExplainedPacket) -> Told {
    let name = |node: NodeIndex| router.engine.name_of(node).to_owned();
    let made_by = packet.made.map(|m| Maker { node: name(m.node), packet: m.packet + 1 });
    let first = packet.steps.first();
    let headers = first.map_or(Vec::new(), |s| headers::read(&s.before, &name(s.node)));
    // The last node is not run where the explanation ends before it.
    let ran = match packet.end {
        End::Stopped | End::TooLong => packet.steps.len().saturating_sub(1),
        End::Ended | End::Unknown(_) => packet.steps.len(),
    };
    let steps = packet.steps[..ran].iter().map(|s| visit(router, s)).collect();
    Told { number, made_by, headers, steps, fate: fate(router, packet) }
}

fn visit(router: &Router, step: &Step) -> Visit {
    let node = router.engine.name_of(step.node).to_owned();
    let said = step.records.iter().flat_map(|r| graph::explained(r.as_ref(), router)).collect();
    let changed = match (&step.after, step.next) {
        (Some(after), Some(next)) => {
            let had = headers::read(&step.before, &node);
            let has = headers::read(after, router.engine.name_of(next));
            headers::changes((&step.before, &had), (after, &has))
        }
        _ => Vec::new(),
    };
    let counts = step.counted.iter().filter_map(|c| {
        let (node, text) = router.engine.counter_text(c.index)?;
        Some(Counter { node: node.to_owned(), name: text.name, text: text.text, by: c.by })
    });
    Visit { node, said, changed, counts: counts.collect() }
}

fn fate(router: &Router, packet: &ExplainedPacket) -> Fate {
    let Some(last) = packet.steps.last() else {
        let node = String::new();
        let (interface, counted_at, reason) = (None, None, None);
        return Fate { kind: Kind::Unknown, node, interface, counted_at, reason, headers: vec![] };
    };
    let node = router.engine.name_of(last.node).to_owned();
    let headers = headers::read(&last.before, &node);
    let mut fate =
        Fate { kind: Kind::Kept, node, interface: None, counted_at: None, reason: None, headers };
    match packet.end {
        End::Stopped => match router.interfaces.iter().find(|i| i.tx == last.node) {
            Some(interface) => {
                (fate.kind, fate.interface) = (Kind::Sent, Some(interface.name.clone()));
            }
            None => {
                fate.kind = Kind::Unknown;
                fate.reason = Some(
                    "the node keeps state or hands packets on, and cannot say what it would do \
                     without doing it"
                        .to_owned(),
                );
            }
        },
        End::Unknown(why) => (fate.kind, fate.reason) = (Kind::Unknown, Some(why.to_owned())),
        End::TooLong => {
            let why = "it goes on and on: a loop, or more copies than are followed";
            (fate.kind, fate.reason) = (Kind::Unknown, Some(why.to_owned()));
        }
        End::Ended => match fate.node.as_str() {
            "drop" => {
                fate.kind = Kind::Dropped;
                if let Some((node, text)) = router.engine.counter_text(last.before.error) {
                    fate.counted_at = Some(node.to_owned());
                    fate.reason = Some(text.text.to_owned());
                }
            }
            "punt" => fate.kind = Kind::Punted,
            _ => {}
        },
    }
    fate
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.reason.as_deref().unwrap_or("no reason is known");
        match (self.kind, &self.interface) {
            (Kind::Sent, Some(interface)) => {
                write!(f, "sent on {interface}")?;
                self.headers.iter().try_for_each(|header| write!(f, "\n    {header}"))
            }
            (Kind::Dropped, _) => {
                let node = self.counted_at.as_deref().unwrap_or(&self.node);
                write!(f, "dropped: {reason} (counted at {node})")
            }
            (Kind::Punted, _) => f.write_str(
                "addressed to this router, but no listener is \
                registered (punt)",
            ),
            (Kind::Unknown, _) => write!(f, "unknown beyond {}: {reason}", self.node),
            _ => write!(f, "ends at {}, which holds or consumes it", self.node),
        }
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { interface, length, packets } = self;
        writeln!(f, "A packet of {length} bytes on {interface}; it is not sent or counted.")?;
        packets.iter().try_for_each(|packet| write!(f, "{packet}"))
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\nPacket {}", self.number)?;
        if let Some(Maker { node, packet }) = &self.made_by {
            write!(f, ", created by {node} from packet {packet}")?;
        }
        writeln!(f)?;
        self.headers.iter().try_for_each(|header| writeln!(f, "    {header}"))?;
        for Visit { node, said, changed, counts } in &self.steps {
            writeln!(f, "  {node}")?;
            said.iter().try_for_each(|line| writeln!(f, "    {line}"))?;
            changed.iter().try_for_each(|change| writeln!(f, "    {change}"))?;
            for Counter { node, text, by, .. } in counts {
                let times = if *by > 1 { format!(" {by} times") } else { String::new() };
                writeln!(f, "    counts {node}: {text}{times}")?;
            }
        }
        writeln!(f, "  => {}", self.fate)
    }
}
