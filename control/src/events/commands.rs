//! `event-logger …`, `show event-logger`.

use std::fmt;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde::Serialize;
use serde_json::json;

use super::{Event, EventLog, TOPICS, Topic};
use crate::cli::{Cli, Command, Error, Output, io_text};
use crate::private_file;

/// Folder of saved logs; the names that the command takes have none.
const FOLDER: &str = "/tmp";
/// Events shown by default.
const SHOWN: usize = 250;
/// Most events that may be kept.
const MAX_SIZE: usize = 1 << 24;

/// Show the latest events.
#[derive(Command)]
#[command("show event-logger")]
struct Show {
    /// all events kept
    all: bool,
    /// number of events
    #[positional]
    count: Option<usize>,
}

/// Clear all events.
#[derive(Command)]
#[command("event-logger clear")]
struct Clear;

/// Stop recording events.
#[derive(Command)]
#[command("event-logger stop")]
struct Stop;

/// Resume recording events.
#[derive(Command)]
#[command("event-logger restart")]
struct Restart;

/// Set the number of events kept.
#[derive(Command)]
#[command("event-logger resize")]
struct Resize {
    /// number of events
    #[positional]
    size: usize,
}

/// Save the events below /tmp, as JSON for trace viewers such as Perfetto.
#[derive(Command)]
#[command("event-logger save")]
struct Save {
    /// file name, without a directory
    #[positional]
    filename: String,
}

/// Record control-plane activity; without arguments, show the kinds being recorded.
#[derive(Command)]
#[command("event-logger trace")]
struct Trace {
    /// binary API requests
    api: bool,
    /// commands, session starts and session ends
    cli: bool,
    /// runs of control processes (for packets at nodes: pcap dispatch trace)
    dispatch: bool,
    /// timer expiries
    #[keyword("tw_timer")]
    #[alias("timers")]
    tw_timer: bool,
    /// accepted; nothing stops all threads here, so there is nothing to record
    barrier: bool,
    /// all of these
    all: bool,
    /// stop recording these
    #[alias("off")]
    #[opposite("on")]
    #[opposite("enable")]
    disable: bool,
}

/// Output of `show event-logger`.
#[derive(Serialize)]
struct Shown {
    kept: usize,
    size: usize,
    running: bool,
    noted: Vec<Topic>,
    events: Vec<Event>,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.running { "running" } else { "stopped" };
        writeln!(f, "{} of {} events in buffer, logger {state}", self.kept, self.size)?;
        self.events.iter().try_for_each(|event| writeln!(f, "{event}"))
    }
}

pub(super) fn register<C: 'static>(log: &EventLog, cli: &mut Cli<C>) {
    let events = log.clone();
    cli.command(move |_, show: Show| {
        let most = if show.all { usize::MAX } else { show.count.unwrap_or(SHOWN) };
        Ok(Output::of(events.shown(most)))
    });
    let events = log.clone();
    cli.command(move |_, _: Clear| {
        events.0.borrow_mut().forget(0);
        Ok(())
    });
    let events = log.clone();
    cli.command(move |_, _: Stop| {
        events.0.borrow_mut().is_running = false;
        Ok("Stopped the event logger...")
    });
    let events = log.clone();
    cli.command(move |_, _: Restart| {
        events.0.borrow_mut().is_running = true;
        Ok("Restarted the event logger...")
    });
    let events = log.clone();
    cli.command(move |_, Resize { size }: Resize| {
        if !(1..=MAX_SIZE).contains(&size) {
            return Err(Error::new(format!("size {size} is not 1 to {MAX_SIZE}")));
        }
        events.0.borrow_mut().resize(size);
        Ok(())
    });
    let events = log.clone();
    cli.command(move |_, save: Save| events.save(&save.filename));
    let events = log.clone();
    cli.command(move |_, trace: Trace| Ok(events.trace(&trace)));
}

impl EventLog {
    fn shown(&self, most: usize) -> Shown {
        let events = self.newest(most);
        let ring = self.0.borrow();
        let noted = TOPICS.iter().map(|(topic, _)| *topic).filter(|k| ring.is_noted[*k as usize]);
        let (kept, size, running) = (ring.events.len(), ring.size, ring.is_running);
        Shown { kept, size, running, noted: noted.collect(), events }
    }

    /// Selects the recorded topics, and returns them.
    fn trace(&self, trace: &Trace) -> Output {
        let chosen = [
            (Topic::Api, trace.api),
            (Topic::Cli, trace.cli),
            (Topic::Dispatch, trace.dispatch),
            (Topic::Timer, trace.tw_timer),
        ];
        // What takes away takes all of it when it names nothing.
        let names_none = !trace.barrier && chosen.iter().all(|(_, named)| !named);
        let all = trace.all || (trace.disable && names_none);
        let mut ring = self.0.borrow_mut();
        for (topic, _) in chosen.iter().filter(|(_, named)| *named || all) {
            ring.is_noted[*topic as usize] = !trace.disable;
        }
        let noted = TOPICS.map(|(topic, word)| (word, ring.is_noted[topic as usize]));
        let line = |(word, is_on): &(&str, bool)| {
            format!("{word:<10} {}\n", if *is_on { "on" } else { "off" })
        };
        let text: String = noted.iter().map(line).collect();
        let names_one = all || !names_none || trace.barrier;
        if names_one {
            return Output::none();
        }
        Output::both(text, noted.into_iter().collect::<std::collections::BTreeMap<_, _>>())
    }

    /// Writes all events to a new file, in the Trace Event Format: times are microseconds.
    fn save(&self, name: &str) -> Result<String, Error> {
        if name.contains('/') || name.contains("..") {
            return Err(Error::new(format!("illegal characters in filename '{name}'")));
        }
        let path = Path::new(FOLDER).join(name);
        let failed = |e| Error::new(format!("`{}': {}", path.display(), io_text(&e)));
        let file = private_file::create(&path).map_err(failed)?;
        let mut file = BufWriter::new(file);
        let ring = self.0.borrow();
        let mut write = || {
            write!(file, "{{\"traceEvents\":[")?;
            for (at, event) in ring.newest(usize::MAX).enumerate() {
                let Event { time, topic, text } = event;
                let comma = if at == 0 { "" } else { "," };
                let json = json!({
                    "name": text, "cat": topic, "ph": "i", "s": "g", "ts": time * 1e6,
                    "pid": std::process::id(), "tid": 0,
                });
                write!(file, "{comma}\n{json}")?;
            }
            writeln!(file, "\n]}}")?;
            file.flush()
        };
        write().map_err(failed)?;
        let count = ring.events.len();
        Ok(format!("{count} of {} events saved to {}", ring.size, path.display()))
    }
}
