//! `fvctl capture`: live packets of the router, to a file or a pipe.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::thread;

use clap::{Arg, ArgAction, ArgMatches};
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::Value;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use crate::link::{Link, Outcome};

/// Bytes that are passed on at once.
const BURST: usize = 1 << 16;

/// Packets to capture, as options of this program say.
#[derive(Default)]
pub struct Wish {
    /// Only packets of these interfaces.
    pub interfaces: Vec<String>,
    /// `rx`, `tx`, `both`, or nothing of these.
    pub direction: Option<String>,
    /// At these nodes.
    pub nodes: Vec<String>,
    /// On these arcs.
    pub arcs: Vec<String>,
    /// Dropped ones, and for which reasons.
    pub drop: bool,
    /// The reasons.
    pub reasons: Vec<String>,
    /// Limits: keyword of the router's command and value.
    pub limits: Vec<(&'static str, String)>,
    /// In the language of tcpdump; empty for all.
    pub filter: String,
}

impl Wish {
    /// The router's command.
    fn command(&self) -> String {
        let mut words = vec!["capture start stream".to_owned()];
        words.extend(match self.direction.as_deref() {
            Some("both") => Some("rx tx".to_owned()),
            other => other.map(str::to_owned),
        });
        if self.drop {
            words.push("drop".to_owned());
        }
        let lists = [
            ("interface", &self.interfaces),
            ("node", &self.nodes),
            ("arc", &self.arcs),
            ("reason", &self.reasons),
        ];
        for (keyword, values) in lists {
            words.extend(values.iter().map(|value| format!("{keyword} {value}")));
        }
        words.extend(self.limits.iter().map(|(keyword, value)| format!("{keyword} {value}")));
        if !self.filter.trim().is_empty() {
            words.push(format!("filter {{ {} }}", self.filter.trim()));
        }
        words.join(" ")
    }
}

fn options() -> clap::Command {
    let text = |id: &'static str, value: &'static str, help: &'static str| {
        Arg::new(id).long(id).value_name(value).help(help)
    };
    let many = |id, value, help| text(id, value, help).action(ArgAction::Append);
    clap::Command::new("fvctl capture")
        .about(
            "Captures packets of the router as pcapng, by default received and transmitted ones:\n\
             fvctl capture -i eth0 tcp port 80 | wireshark -k -i -",
        )
        .arg(many("interface", "NAME", "only packets of this interface").short('i'))
        .arg(
            text("direction", "WHICH", "packets received, transmitted, or both")
                .short('Q')
                .value_parser(["rx", "tx", "both"]),
        )
        .arg(many("node", "NAME", "packets entering this node"))
        .arg(many("arc", "NAME", "packets entering this feature arc"))
        .arg(Arg::new("drop").long("drop").action(ArgAction::SetTrue).help("dropped packets"))
        .arg(many("reason", "NODE.REASON", "packets dropped for this reason, or by this node"))
        .arg(text("packets", "COUNT", "stop after this many packets").short('c'))
        .arg(text("bytes", "COUNT", "end after so many bytes"))
        .arg(text("seconds", "COUNT", "end after so much time"))
        .arg(text("snap-length", "BYTES", "maximum bytes per packet").short('s'))
        .arg(text("write", "FILE", "file to write; - for standard output").short('w'))
        .arg(
            Arg::new("filter")
                .value_name("FILTER")
                .num_args(0..)
                .help("only packets that this chooses: pcap-filter(7)"),
        )
}

/// Runs `fvctl capture` with these arguments; false if it failed.
pub fn run(socket: Option<&str>, words: &[&str]) -> io::Result<bool> {
    let given = crate::given(options(), words);
    let all = |id: &str| -> Vec<String> {
        given.get_many::<String>(id).into_iter().flatten().cloned().collect()
    };
    let wish = Wish {
        interfaces: all("interface"),
        direction: all("direction").pop(),
        nodes: all("node"),
        arcs: all("arc"),
        drop: given.get_flag("drop"),
        reasons: all("reason"),
        limits: limits(&given),
        filter: all("filter").join(" "),
    };
    match given.get_one::<String>("write").map(String::as_str) {
        None | Some("-") if io::stdout().is_terminal() => {
            eprintln!("fvctl: packets are not for terminals: | wireshark -k -i -, or -w FILE");
            Ok(false)
        }
        None | Some("-") => live(socket, &wish, &mut io::stdout().lock()),
        Some(path) => {
            // Packets are for the one who captures them; a pipe or device is written to as well.
            let mut options = File::options();
            let options = options.write(true).create(true).truncate(true).mode(0o600);
            live(socket, &wish, &mut options.open(path)?)
        }
    }
}

fn limits(given: &ArgMatches) -> Vec<(&'static str, String)> {
    let of = |id| given.get_one::<String>(id).map(|value| (id, value.clone()));
    ["packets", "bytes", "seconds", "snap-length"].into_iter().filter_map(of).collect()
}

/// Starts a capture in the router and copies it until the capture ends, a signal arrives or the
/// reader closes.
pub fn live(socket: Option<&str>, wish: &Wish, out: &mut dyn Write) -> io::Result<bool> {
    let mut link = Link::open(socket)?;
    let (mut interrupts, signal) = UnixStream::pair()?;
    pipe::register(SIGTERM, signal.try_clone()?)?;
    pipe::register(SIGINT, signal)?;
    let mut answer = String::new();
    let outcome = link.run(&wish.command(), true, &mut |text| {
        answer.push_str(text);
        Ok(())
    })?;
    if outcome != Outcome::Done {
        return Ok(crate::report(&outcome));
    }
    let answer: Value = serde_json::from_str(&answer).map_err(io::Error::other)?;
    let (name, path) = (text(&answer["name"]), text(&answer["to"]));
    let mut packets = UnixStream::connect(&path).map_err(|e| {
        let why = "packets come by a socket of the router's machine: run fvctl there, over ssh";
        io::Error::other(format!("{path}: {e}; {why}"))
    })?;
    let stop = move |mut link: Link| {
        let mut text = String::new();
        let outcome = link.run(&format!("capture stop {name}"), false, &mut |piece| {
            text.push_str(piece);
            Ok(())
        })?;
        Ok::<_, io::Error>((outcome, text))
    };
    let mut link = Some(link);
    let mut stopping = None;
    let mut bytes = vec![0; BURST];
    loop {
        if stopping.is_none() && wait(&interrupts, &packets)? {
            let _ = interrupts.read(&mut [0; 64]);
            // What is under way still comes, and has to be read for the capture to end.
            let (stop, link) = (stop.clone(), link.take());
            stopping = link.map(|link| thread::spawn(move || stop(link)));
        }
        let count = packets.read(&mut bytes)?;
        let is_passed_on = count > 0 && out.write_all(&bytes[..count]).is_ok();
        if !is_passed_on || out.flush().is_err() {
            break;
        }
    }
    drop(packets);
    let (outcome, text) = match (stopping, link) {
        (Some(stopping), _) => {
            stopping.join().map_err(|_| io::Error::other("a thread failed"))??
        }
        (None, Some(link)) => stop(link)?,
        (None, None) => return Ok(true),
    };
    match outcome {
        Outcome::Done => eprint!("{text}"),
        // Who was not read any more is gone already.
        _ => return Ok(true),
    }
    Ok(true)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Waits for packets (false) or a signal (true).
fn wait(interrupts: &UnixStream, packets: &UnixStream) -> io::Result<bool> {
    loop {
        let mut both = [interrupts, packets].map(|of| PollFd::new(of, PollFlags::IN));
        match poll(&mut both, None) {
            Err(rustix::io::Errno::INTR) => continue,
            other => other?,
        };
        return Ok(!both[0].revents().is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_usable_and_become_a_command() {
        options().debug_assert();
        let wish = Wish {
            interfaces: vec!["eth0".into(), "eth1".into()],
            direction: Some("both".into()),
            drop: true,
            reasons: vec!["ip4-input.time_expired".into()],
            limits: vec![("packets", "10".into())],
            filter: "tcp port 80".into(),
            ..Wish::default()
        };
        assert_eq!(
            wish.command(),
            "capture start stream rx tx drop interface eth0 interface eth1 \
             reason ip4-input.time_expired packets 10 filter { tcp port 80 }"
        );
        assert_eq!(Wish::default().command(), "capture start stream");
    }
}
