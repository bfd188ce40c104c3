//! `fvctl doctor`: the set-up of this machine, what it costs and how to mend it.

mod checks;
mod machine;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use clap::{Arg, ArgAction};
use serde_json::{Value, json};

use crate::link::{Link, Outcome};
use machine::Machine;

/// Judgement of a part of the set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As it should be.
    Good,
    /// Worth knowing.
    Note,
    /// A problem to be repaired.
    Bad,
}

/// Something about the machine.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Its part of the set-up.
    pub topic: &'static str,
    pub state: State,
    /// The state of things.
    pub found: String,
    /// Cost; empty where there is none.
    pub cost: &'static str,
    /// Remedy.
    pub mend: String,
}

impl Finding {
    pub fn good(topic: &'static str, found: impl Into<String>) -> Self {
        Self { topic, state: State::Good, found: found.into(), cost: "", mend: String::new() }
    }
    pub fn note(topic: &'static str, found: impl Into<String>, cost: &'static str) -> Self {
        Self { state: State::Note, cost, ..Self::good(topic, found) }
    }
    pub fn bad(topic: &'static str, found: impl Into<String>, cost: &'static str) -> Self {
        Self { state: State::Bad, cost, ..Self::good(topic, found) }
    }
    pub fn mend(mut self, how: impl Into<String>) -> Self {
        self.mend = how.into();
        self
    }
}

/// A router that runs here.
#[derive(Clone, Debug, Default)]
pub struct Running {
    /// Its data-plane threads' CPUs.
    pub cpus: BTreeSet<u32>,
    /// Its process.
    pub process: Option<u64>,
}

/// Runs `fvctl doctor` with these arguments; false if something is to be fixed.
pub fn run(socket: Option<&str>, words: &[&str], json: bool) -> io::Result<bool> {
    let options = clap::Command::new("fvctl doctor")
        .about("Looks at the set-up of this machine: what it costs and how to mend it")
        .arg(Arg::new("json").short('j').long("json").action(ArgAction::SetTrue).help("as JSON"));
    let given = crate::given(options, words);
    let findings = findings(socket);
    let mut out = io::stdout().lock();
    if json || given.get_flag("json") {
        writeln!(out, "{}", to_json(&findings))?;
    } else {
        out.write_all(text(&findings).as_bytes())?;
    }
    Ok(findings.iter().all(|f| f.state != State::Bad))
}

/// All findings about this machine.
pub fn findings(socket: Option<&str>) -> Vec<Finding> {
    let machine = Machine::here();
    let (running, mut findings) = match running(socket) {
        Ok(running) => (Some(running), vec![Finding::good("router", "it answers")]),
        Err(e) => {
            let mend = "systemctl start ferrovia, or -s SOCKET";
            (None, vec![Finding::note("router", e.to_string(), "").mend(mend)])
        }
    };
    // The router's sockets are in one folder, unless a configuration says otherwise.
    let cli = socket.map(Path::new).filter(|path| path.exists());
    let folder = cli.and_then(Path::parent).unwrap_or(Path::new("/run/vpp"));
    findings.extend(checks::all(&machine, running.as_ref(), folder));
    findings
}

fn running(socket: Option<&str>) -> io::Result<Running> {
    let mut text = String::new();
    let outcome = Link::open(socket)?.run("show threads", true, &mut |piece| {
        text.push_str(piece);
        Ok(())
    })?;
    let threads: Value = match outcome {
        Outcome::Done => serde_json::from_str(&text).map_err(io::Error::other)?,
        _ => Value::Null,
    };
    let threads = threads.as_array().cloned().unwrap_or_default();
    let cpu = |thread: &Value| thread["cpu"].as_u64().and_then(|cpu| cpu.try_into().ok());
    Ok(Running {
        cpus: threads.iter().filter_map(cpu).collect(),
        process: threads.iter().find_map(|thread| thread["lwp"].as_u64()),
    })
}

/// The findings for people.
pub fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { topic, state, found, cost, mend } in findings {
        let mark = match state {
            State::Good => "good",
            State::Note => "note",
            State::Bad => "BAD ",
        };
        text += &format!("{mark}  {topic:<16} {found}\n");
        if !cost.is_empty() {
            text += &format!("{:24}cost: {cost}\n", "");
        }
        if !mend.is_empty() {
            text += &format!("{:24}fix: {mend}\n", "");
        }
    }
    text
}

fn to_json(findings: &[Finding]) -> Value {
    let one = |f: &Finding| {
        let state = match f.state {
            State::Good => "good",
            State::Note => "note",
            State::Bad => "bad",
        };
        json!({"topic": f.topic, "state": state, "found": f.found, "cost": f.cost, "mend": f.mend})
    };
    findings.iter().map(one).collect()
}
