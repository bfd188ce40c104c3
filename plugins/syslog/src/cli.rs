//! `set syslog sender`, `set syslog filter` and what shows them.

use std::str::FromStr;

use net::prelude::*;

use super::{Facility, LONGEST, Message, PORT, Sender, Severity, Structured};

/// Set the syslog destination.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set syslog sender")]
#[undo("=set syslog sender disable")]
#[stage(Attachments)]
struct SetSender {
    /// collector address
    collector: Ipv4Addr,
    /// port
    port: Option<u16>,
    /// source address
    src: Ipv4Addr,
    /// table
    vrf_id: Option<u32>,
    /// maximum message length in bytes
    max_msg_size: Option<u32>,
}

/// Set the minimum severity of events sent.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set syslog filter")]
#[undo("=set syslog filter severity info")]
#[stage(Settings)]
struct SetFilter {
    /// severity
    severity: Named,
}

/// A severity by its short name, or by the words of RFC 5424 table 2.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Named(Severity);

impl FromStr for Named {
    type Err = ();
    fn from_str(word: &str) -> Result<Self, ()> {
        Ok(Self(match word {
            "emergency" => Severity::Emerg,
            "critical" => Severity::Crit,
            "error" => Severity::Err,
            "warning" => Severity::Warn,
            "informational" => Severity::Info,
            "debug" => Severity::Dbg,
            short => short.parse()?,
        }))
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Severity::Emerg => "emergency",
            Severity::Alert => "alert",
            Severity::Crit => "critical",
            Severity::Err => "error",
            Severity::Warn => "warning",
            Severity::Notice => "notice",
            Severity::Info => "informational",
            Severity::Dbg => "debug",
        })
    }
}

/// Stop sending messages.
#[derive(Command)]
#[command("set syslog sender disable")]
struct RemoveSender;

/// Show the syslog destination.
#[derive(Command)]
#[command("show syslog sender")]
struct ShowSender;

/// Show the minimum severity of events sent.
#[derive(Command)]
#[command("show syslog filter")]
struct ShowFilter;

/// `test syslog`: an event.
struct Test {
    facility: Facility,
    severity: Severity,
    application: String,
    id: String,
    data: Vec<Element>,
    text: String,
}

/// An element of structured data: its name and parameters.
struct Element {
    id: String,
    parameters: Vec<[String; 2]>,
}

impl Element {
    fn shown(&self) -> Vec<(&str, &dyn fmt::Display)> {
        self.parameters.iter().map(|[name, value]| (name.as_str(), value as _)).collect()
    }
}

impl Command for Test {
    const PATHS: &'static [&'static str] = &["test syslog"];
    const ABOUT: &'static str = "Send an event to the collector";
    const USAGE: &'static str = "<facility> <severity> <application> <message-id> \
        [sd-id <id> [sd-param <name> <value>]...]... [<text>...]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut test = Self {
            facility: args.value("facility")?,
            severity: args.value::<Named>("severity")?.0,
            application: args.value("application")?,
            id: args.value("message-id")?,
            data: Vec::new(),
            text: String::new(),
        };
        loop {
            if args.keyword("sd-id") {
                test.data.push(Element { id: args.value("id")?, parameters: Vec::new() });
                continue;
            }
            let place = *args;
            if !args.keyword("sd-param") {
                break;
            }
            let element =
                test.data.last_mut().ok_or_else(|| place.error("missing sd-id before"))?;
            element.parameters.push([args.value("name")?, args.value("value")?]);
        }
        args.rest().clone_into(&mut test.text);
        Ok(test)
    }
}

impl Test {
    fn send(&self, router: &mut Router) {
        let parameters: Vec<_> = self.data.iter().map(Element::shown).collect();
        let elements = self.data.iter().zip(&parameters);
        let data: Vec<_> =
            elements.map(|(e, parameters)| Structured { id: &e.id, parameters }).collect();
        let Self { facility, severity, application, id, text, .. } = self;
        let (facility, severity) = (*facility, *severity);
        super::send(router, &Message { facility, severity, application, id, data: &data, text });
    }
}

#[derive(Serialize)]
struct Shown {
    collector: Ipv4Addr,
    port: u16,
    src: Ipv4Addr,
    vrf_id: Option<u32>,
    max_msg_size: u32,
}

#[derive(Serialize)]
struct ShownSender {
    sender: Option<Shown>,
}

impl fmt::Display for ShownSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Shown { collector, port, src, vrf_id, max_msg_size }) = &self.sender else {
            return f.write_str("syslog sender is disabled\n");
        };
        write!(f, "collector {collector}:{port}, src address {src}, ")?;
        match vrf_id {
            Some(id) => write!(f, "VRF ID {id}")?,
            None => f.write_str("VRF ID -1")?,
        }
        writeln!(f, ", max-msg-size {max_msg_size}")
    }
}

#[derive(Serialize)]
struct ShownFilter {
    severity: String,
}

impl fmt::Display for ShownFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "severity-filter: {}", self.severity)
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    if let Some(Sender { collector, port, src, vrf, longest }) = super::sender(router) {
        lines.push(&SetSender {
            collector,
            port: Some(port).filter(|port| *port != PORT),
            src,
            vrf_id: vrf,
            max_msg_size: Some(longest).filter(|longest| *longest != LONGEST),
        });
    }
    let severity = super::filter(router);
    if severity != Severity::default() {
        lines.push(&SetFilter { severity: Named(severity) });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetSender| {
        let sender = Sender {
            collector: c.collector,
            port: c.port.unwrap_or(PORT),
            src: c.src,
            vrf: c.vrf_id,
            longest: c.max_msg_size.unwrap_or(LONGEST),
        };
        Ok(super::set_sender(router, sender)?)
    });
    cli.command(|router: &mut Router, _: RemoveSender| {
        super::remove_sender(router);
        Ok(())
    });
    cli.command(|router: &mut Router, c: SetFilter| {
        super::set_filter(router, c.severity.0);
        Ok(())
    });
    cli.command(|router: &mut Router, test: Test| {
        test.send(router);
        Ok(())
    });
    cli.command(|router: &mut Router, _: ShowSender| {
        let sender = super::sender(router).map(|s| Shown {
            collector: s.collector,
            port: s.port,
            src: s.src,
            vrf_id: s.vrf,
            max_msg_size: s.longest,
        });
        Ok(Output::of(ShownSender { sender }))
    });
    cli.command(|router: &mut Router, _: ShowFilter| {
        Ok(Output::of(ShownFilter { severity: Named(super::filter(router)).to_string() }))
    });
}
