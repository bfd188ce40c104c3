//! The text formats: 0.0.4 of Prometheus and OpenMetrics 1.0.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::families::{Family, Kind};

/// The format of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' own, version 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    /// Type of content that OpenMetrics is asked for with.
    pub const OPEN_METRICS: &'static str = "application/openmetrics-text";

    /// Value of the header `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Writes families by name.
pub(super) fn write(families: &BTreeMap<String, Family>, format: Format) -> String {
    let mut text = String::new();
    for (name, family) in families {
        family_text(&mut text, name, family, format).expect("writing to a string cannot fail");
    }
    if format == Format::OpenMetrics {
        text.push_str("# EOF\n");
    }
    text
}

fn family_text(text: &mut String, name: &str, family: &Family, format: Format) -> std::fmt::Result {
    let (kind, suffix) = match family.kind {
        Kind::Counter => ("counter", "_total"),
        Kind::Gauge => ("gauge", ""),
    };
    // OpenMetrics names a counter without what its samples end in.
    let head = if format == Format::OpenMetrics { "" } else { suffix };
    writeln!(text, "# HELP {name}{head} {}", family.help)?;
    writeln!(text, "# TYPE {name}{head} {kind}")?;
    for (labels, value) in &family.samples {
        write!(text, "{name}{suffix}")?;
        for (i, (label, of)) in labels.iter().enumerate() {
            let open = if i == 0 { '{' } else { ',' };
            write!(text, "{open}{label}=\"{}\"", escaped(of))?;
        }
        writeln!(text, "{} {value}", if labels.is_empty() { "" } else { "}" })?;
    }
    Ok(())
}

/// The value of a label, as it stands between quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
