//! The endpoints: what each is called, takes and does. Most carry out one command and answer with
//! its JSON.

use crate::request::Input;
use crate::work::Form;

/// An endpoint.
pub struct Route {
    /// `GET`, `POST` or `DELETE`.
    pub method: &'static str,
    /// Its path.
    pub path: &'static str,
    /// What it does, for the OpenAPI document.
    pub about: &'static str,
    /// What it takes: in the query of `GET` and `DELETE`, in the JSON object of `POST`.
    pub takes: &'static [Param],
    /// Whether it changes something: not for tokens that may only look.
    pub changes: bool,
    /// Schema of the answer in the OpenAPI document; empty for the JSON of a command.
    pub answer: &'static str,
    /// What is to be done.
    pub plan: fn(&Input) -> Result<Plan, String>,
}

/// A parameter.
pub struct Param {
    pub name: &'static str,
    pub kind: Kind,
    pub required: bool,
    pub about: &'static str,
}

/// The values of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A word of a command: no blanks.
    Word,
    /// One line.
    Line,
    /// Any text.
    Text,
    /// A number from 0 on, with a fraction or without.
    Number,
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// What is to be done for a request.
#[derive(Debug, PartialEq)]
pub enum Plan {
    /// Who asks, and what is asked.
    Version,
    /// The OpenAPI document.
    Document,
    /// The statistics for Prometheus.
    Metrics,
    /// A sample of statistics.
    Sample,
    /// Samples as they come.
    Live,
    /// A command of the client's own words.
    Cli(String, Form),
    /// A command of ours; the answer is its JSON.
    Command(String),
    /// A command of a plugin that may not be there: its path, and the words behind it.
    Optional(&'static str, String),
    /// A command about a configuration that the client sent, in place of `{}`.
    Configuration(String, String),
    /// Begins a capture, with these words.
    Capture(String),
    /// Ends it.
    CaptureEnd,
    /// Whether there is a capture.
    CaptureState,
    /// Its file.
    CaptureFile,
}

const fn needs(name: &'static str, kind: Kind, about: &'static str) -> Param {
    Param { name, kind, required: true, about }
}

const fn may(name: &'static str, kind: Kind, about: &'static str) -> Param {
    Param { name, kind, required: false, about }
}

const fn get(path: &'static str, about: &'static str, plan: Planner) -> Route {
    Route { method: "GET", path, about, takes: &[], changes: false, answer: "", plan }
}

const fn post(path: &'static str, about: &'static str, plan: Planner) -> Route {
    Route { method: "POST", path, about, takes: &[], changes: true, answer: "", plan }
}

type Planner = fn(&Input) -> Result<Plan, String>;

impl Route {
    const fn takes(self, takes: &'static [Param]) -> Self {
        Self { takes, ..self }
    }
    const fn answers(self, answer: &'static str) -> Self {
        Self { answer, ..self }
    }
    const fn only_looks(self) -> Self {
        Self { changes: false, ..self }
    }
    const fn method(self, method: &'static str) -> Self {
        Self { method, ..self }
    }
}

fn command(words: &str) -> Result<Plan, String> {
    Ok(Plan::Command(words.to_owned()))
}

/// Sessions by kind, and the commands that show them.
const SESSIONS: &[(&str, &str)] = &[
    ("nat44", "show nat44 sessions"),
    ("nat44-ei", "show nat44 ei sessions detail"),
    ("nat64", "show nat64 session table all"),
    ("det44", "show det44 sessions"),
    ("dslite", "show dslite sessions"),
    ("acl", "show acl-plugin sessions"),
];
const SESSION_KINDS: &[&str] = &["nat44", "nat44-ei", "nat64", "det44", "dslite", "acl"];

/// All of them, in the order of the document.
pub const ROUTES: &[Route] = &[
    get("/api/v1/version", "The router's version, and what this token may do", |_| {
        Ok(Plan::Version)
    })
    .answers("Version"),
    get("/api/v1/openapi.json", "This document", |_| Ok(Plan::Document)).answers("Document"),
    post("/api/v1/cli", "Carry out a command, or several lines of them", cli)
        .takes(&[
            needs("command", Kind::Text, "the command"),
            may("format", Kind::Choice(&["json", "text"]), "form of its output; json"),
        ])
        .answers("CliAnswer"),
    get(
        "/api/v1/statistics",
        "Threads, nodes, edges, interfaces and counters at this moment",
        |_| Ok(Plan::Sample),
    )
    .answers("Sample"),
    get(
        "/api/v1/statistics/live",
        "The same once a second, as server-sent events called `sample`, with rates since the one \
         before. All clients share the samples",
        |_| Ok(Plan::Live),
    )
    .answers("Live"),
    get("/api/v1/interfaces", "Interfaces with their counters", |_| command("show interface")),
    get("/api/v1/interfaces/addresses", "Addresses of interfaces", |_| {
        command("show interface address")
    }),
    get("/api/v1/node", "A node of the graph, its edges and what leads to it", |i| {
        Ok(Plan::Command(format!("show node {}", i.word("name"))))
    })
    .takes(&[needs("name", Kind::Word, "the node")]),
    get("/api/v1/runtime", "Clocks and vectors of nodes, by thread", |_| command("show runtime")),
    get("/api/v1/errors", "Counters of nodes that are not zero", |_| command("show errors")),
    get("/api/v1/drops", "Where packets are dropped, and why", |_| {
        Ok(Plan::Optional("show drops", String::new()))
    }),
    get("/api/v1/health", "What needs an operator's attention", |_| {
        Ok(Plan::Optional("show health", String::new()))
    }),
    get("/api/v1/fib", "Routes: of a table, or those that an address or prefix finds", fib).takes(
        &[
            may("family", Kind::Choice(&["ip4", "ip6"]), "ip4 unless given"),
            may("table", Kind::Number, "the table's number"),
            may("address", Kind::Word, "an address or a prefix; all routes without"),
            may("summary", Kind::Flag, "only how many there are, by length"),
        ],
    ),
    get("/api/v1/neighbors", "Neighbours that are known", |i| {
        Ok(Plan::Command(format!("show ip neighbors {}", i.word("interface"))))
    })
    .takes(&[may("interface", Kind::Word, "only those on this one")]),
    get("/api/v1/sessions", "Sessions of translation and of ACLs", |i| {
        let kind = i.word("kind");
        let found = SESSIONS.iter().find(|(of, _)| *of == kind).map(|(_, command)| *command);
        Ok(Plan::Optional(found.unwrap_or_default(), String::new()))
    })
    .takes(&[needs("kind", Kind::Choice(SESSION_KINDS), "which")]),
    get("/api/v1/trace", "Traced packets", |i| {
        Ok(Plan::Command(format!("show trace{}", i.with("max", "max"))))
    })
    .takes(&[may("max", Kind::Number, "how many at most")]),
    post("/api/v1/trace", "Trace the next packets that an input node brings in", |i| {
        Ok(Plan::Command(format!("trace add {} {}", i.word("node"), i.or("count", "10"))))
    })
    .takes(&[
        needs("node", Kind::Word, "an input node"),
        may("count", Kind::Number, "packets, on each thread; 10"),
    ]),
    get("/api/v1/trace", "Forget the traced packets", |_| command("clear trace")).method("DELETE"),
    post("/api/v1/explain", "What the router would do with a packet", explain)
        .takes(&[
            needs("interface", Kind::Word, "the interface it comes in on"),
            needs("packet", Kind::Line, "the packet, as `explain` reads it"),
        ])
        .only_looks(),
    get("/api/v1/capture", "Whether packets are captured", |_| Ok(Plan::CaptureState)),
    post("/api/v1/capture", "Begin to capture packets", capture).takes(&[
        may("rx", Kind::Flag, "packets that come in"),
        may("tx", Kind::Flag, "packets that go out"),
        may("drop", Kind::Flag, "packets that are dropped"),
        may("interface", Kind::Word, "only those of this one"),
        may("max", Kind::Number, "packets at most; 1000"),
        may("bytes", Kind::Number, "bytes of a packet at most; 512"),
    ]),
    get("/api/v1/capture", "End the capture", |_| Ok(Plan::CaptureEnd)).method("DELETE"),
    get("/api/v1/capture/file", "The packets of the last capture, once it has ended", |_| {
        Ok(Plan::CaptureFile)
    })
    .answers("Capture"),
    get("/api/v1/configuration", "The configuration, as the commands that make it again", |_| {
        command("show configuration")
    }),
    get("/api/v1/configuration/history", "Configurations that were committed", |_| {
        command("show configuration history")
    }),
    get("/api/v1/configuration/diff", "What has changed since a revision", |i| {
        Ok(Plan::Command(format!("show configuration diff {}", i.or("revision", "0"))))
    })
    .takes(&[may("revision", Kind::Number, "its number in the history; 0, the last one")]),
    post("/api/v1/configuration/diff", "What would change with another configuration", |i| {
        Ok(Plan::Configuration("show configuration diff {}".to_owned(), i.word("text").to_owned()))
    })
    .takes(&[needs("text", Kind::Text, "commands, one a line")])
    .only_looks(),
    post("/api/v1/configuration/check", "Whether a configuration could be carried out", |i| {
        Ok(Plan::Configuration("configure check {}".to_owned(), i.word("text").to_owned()))
    })
    .takes(&[needs("text", Kind::Text, "commands, one a line")])
    .only_looks(),
    post(
        "/api/v1/configuration/replace",
        "Go to another configuration, by what is different",
        |i| {
            let words = format!("configure replace {{}}{}", i.with("confirm", "confirm"));
            Ok(Plan::Configuration(words, i.word("text").to_owned()))
        },
    )
    .takes(&[
        needs("text", Kind::Text, "commands, one a line"),
        may("confirm", Kind::Number, "minutes after which it is undone unless a commit comes"),
    ]),
    post("/api/v1/configuration/commit", "Keep the configuration, to go back to", commit).takes(&[
        may("reason", Kind::Line, "what for"),
        may("confirm", Kind::Number, "minutes until it is undone unless a commit comes"),
    ]),
    post("/api/v1/configuration/rollback", "Go back to a revision", |i| {
        let confirm = i.with("confirm", "confirm");
        Ok(Plan::Command(format!("configure rollback {}{confirm}", i.word("revision"))))
    })
    .takes(&[
        needs("revision", Kind::Number, "its number in the history"),
        may("confirm", Kind::Number, "minutes after which this is undone unless a commit comes"),
    ]),
    post("/api/v1/configuration/save", "Save to the file that is loaded at start", |_| {
        command("save")
    }),
    get("/metrics", "The statistics for Prometheus", |_| Ok(Plan::Metrics)).answers("Metrics"),
];

fn explain(i: &Input) -> Result<Plan, String> {
    let packet = i.word("packet");
    if packet.split_whitespace().any(|word| word == "pcap") {
        return Err("`packet' has to be in words or hex: no file is read".to_owned());
    }
    Ok(Plan::Optional("explain", format!("{} {packet}", i.word("interface"))))
}

fn cli(i: &Input) -> Result<Plan, String> {
    let form = if i.word("format") == "text" { Form::Text } else { Form::Json };
    Ok(Plan::Cli(i.word("command").to_owned(), form))
}

fn fib(i: &Input) -> Result<Plan, String> {
    let family = if i.word("family") == "ip6" { "ip6" } else { "ip" };
    let summary = if i.is("summary") { " summary" } else { "" };
    let table = i.with("table", "table");
    Ok(Plan::Command(format!("show {family} fib{table}{summary} {}", i.word("address"))))
}

fn capture(i: &Input) -> Result<Plan, String> {
    let mut words = String::new();
    for side in ["rx", "tx", "drop"].into_iter().filter(|side| i.is(side)) {
        words.push(' ');
        words.push_str(side);
    }
    if words.is_empty() {
        return Err("one of rx, tx and drop has to be true".to_owned());
    }
    words.push_str(&i.with("interface", "intfc"));
    words.push_str(&i.with("max", "max"));
    words.push_str(&i.with("bytes", "max-bytes-per-pkt"));
    Ok(Plan::Capture(words))
}

fn commit(i: &Input) -> Result<Plan, String> {
    match (i.word("confirm"), i.word("reason")) {
        ("", reason) => Ok(Plan::Command(format!("commit {reason}"))),
        (minutes, "") => Ok(Plan::Command(format!("commit confirm {minutes}"))),
        _ => Err("a reason belongs to the commit that confirms".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_there_once_and_looking_changes_nothing() {
        let mut all: Vec<_> = ROUTES.iter().map(|r| (r.path, r.method)).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(SESSIONS.iter().map(|(kind, _)| *kind).eq(SESSION_KINDS.iter().copied()));
    }

    fn plan(method: &str, path: &str, given: &[(&str, &str)]) -> Result<Plan, String> {
        let route = ROUTES.iter().find(|r| r.method == method && r.path == path).unwrap();
        (route.plan)(&Input::of(route.takes, given)?)
    }

    #[test]
    fn parameters_become_words() {
        let words = |method, path, given: &[_]| match plan(method, path, given) {
            Ok(Plan::Command(text) | Plan::Capture(text)) => text,
            other => panic!("{other:?}"),
        };
        let all = [("family", "ip6"), ("table", "7"), ("address", "2001:db8::/32")];
        assert_eq!(words("GET", "/api/v1/fib", &all), "show ip6 fib table 7 2001:db8::/32");
        let all = [("rx", "true"), ("drop", "true"), ("interface", "pg0"), ("max", "5")];
        assert_eq!(words("POST", "/api/v1/capture", &all), " rx drop intfc pg0 max 5");
        let all = [("confirm", "2.5")];
        assert_eq!(words("POST", "/api/v1/configuration/commit", &all), "commit confirm 2.5");
        assert!(plan("POST", "/api/v1/capture", &[("rx", "false")]).is_err());
        assert!(plan("GET", "/api/v1/sessions", &[("kind", "x")]).unwrap_err().contains("kind"));
        let two = [("node", "pg-input 5\nshow version")];
        assert!(plan("POST", "/api/v1/trace", &two).unwrap_err().contains("node"));
    }
}
