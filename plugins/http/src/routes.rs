//! The endpoints: name, parameters and function. Most run one command and answer with its JSON.

use crate::request::Input;
use crate::work::Form;

/// An endpoint.
pub struct Route {
    /// `GET`, `POST` or `DELETE`.
    pub method: &'static str,
    /// Its path.
    pub path: &'static str,
    /// Its description, for the OpenAPI document.
    pub about: &'static str,
    /// Its parameters: in the query of `GET` and `DELETE`, in the JSON object of `POST`.
    pub takes: &'static [Param],
    /// Whether it changes something: not for tokens that may only look.
    pub changes: bool,
    /// Schema of the answer in the OpenAPI document; empty for the JSON of a command.
    pub answer: &'static str,
    /// The work.
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

/// The work of a request.
#[derive(Debug, PartialEq)]
pub enum Plan {
    /// The caller and the version.
    Version,
    /// The OpenAPI document.
    Document,
    /// Prometheus metrics.
    Metrics,
    /// State of the router in numbers.
    Overview,
    /// The last hour: of an interface, or of the router.
    History(Option<String>),
    /// Words that may follow in a command.
    Complete(String),
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
    /// Path of the capture file.
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
    get("/api/v1/version", "The router's version, and the rights of this token", |_| {
        Ok(Plan::Version)
    })
    .answers("Version"),
    get("/api/v1/openapi.json", "This document", |_| Ok(Plan::Document)).answers("Document"),
    post("/api/v1/cli", "Run one command, or several lines of commands", cli)
        .takes(&[
            needs("command", Kind::Text, "the command"),
            may("format", Kind::Choice(&["json", "text"]), "output format; default json"),
        ])
        .answers("CliAnswer"),
    get("/api/v1/statistics", "Current threads, nodes, edges, interfaces and counters", |_| {
        Ok(Plan::Sample)
    })
    .answers("Sample"),
    get(
        "/api/v1/statistics/live",
        "The same once a second, as server-sent events called `sample`, with rates since the one \
         before. All clients share the samples",
        |_| Ok(Plan::Live),
    )
    .answers("Live"),
    get(
        "/api/v1/overview",
        "State of the router as a whole: routes, neighbours, sessions and their limits, protocols, \
         health, by name of the family in /metrics",
        |_| Ok(Plan::Overview),
    )
    .answers("Overview"),
    get(
        "/api/v1/history",
        "Rates of the last hour every five seconds, of the router or of an interface: packets and \
         bytes received and sent, drops; of the router also processors in use, the share of the \
         buffers that is, sessions, and packets a call",
        |i| Ok(Plan::History(Some(i.word("interface").to_owned()).filter(|name| !name.is_empty()))),
    )
    .takes(&[may("interface", Kind::Word, "only this one")])
    .answers("History"),
    get("/api/v1/interfaces", "Interfaces with their counters", |i| {
        Ok(Plan::Command(format!("show interface {}", i.word("name"))))
    })
    .takes(&[may("name", Kind::Word, "only this one")]),
    get("/api/v1/interfaces/addresses", "Addresses of interfaces", |_| {
        command("show interface address")
    }),
    get("/api/v1/node", "A node of the graph with its next and previous nodes", |i| {
        Ok(Plan::Command(format!("show node {}", i.word("name"))))
    })
    .takes(&[needs("name", Kind::Word, "the node")]),
    get("/api/v1/runtime", "Clocks and vectors of nodes, by thread", |_| command("show runtime")),
    get("/api/v1/errors", "Nonzero node counters", |_| command("show errors")),
    get("/api/v1/drops", "Dropped packets by node and reason", |_| {
        Ok(Plan::Optional("show drops", String::new()))
    }),
    get("/api/v1/health", "Current problems", |_| Ok(Plan::Optional("show health", String::new()))),
    get("/api/v1/fib", "Routes of a table, or those that match an address or prefix", fib).takes(
        &[
            may("family", Kind::Choice(&["ip4", "ip6"]), "address family; default ip4"),
            may("table", Kind::Number, "table ID"),
            may("address", Kind::Word, "address or prefix; default all routes"),
            may("summary", Kind::Flag, "only the number of routes by prefix length"),
            may("after", Kind::Word, "only those behind this prefix, in order"),
            may("count", Kind::Number, "how many at most"),
        ],
    ),
    get("/api/v1/neighbors", "Neighbors", |i| {
        Ok(Plan::Command(format!("show ip neighbors {}", i.word("interface"))))
    })
    .takes(&[may("interface", Kind::Word, "only on this interface")]),
    get("/api/v1/sessions", "NAT and ACL sessions", |i| {
        let kind = i.word("kind");
        let found = SESSIONS.iter().find(|(of, _)| *of == kind).map(|(_, command)| *command);
        Ok(Plan::Optional(found.unwrap_or_default(), String::new()))
    })
    .takes(&[needs("kind", Kind::Choice(SESSION_KINDS), "which")]),
    get("/api/v1/sessions/tables", "Tables of sessions, and how full they are", |_| {
        Ok(Plan::Optional("show session tables", String::new()))
    }),
    get("/api/v1/sessions/list", "Sessions of a table, a page at a time", session_list).takes(&[
        needs("table", Kind::Word, "its name"),
        may("from", Kind::Word, "`next` of the page before"),
        may("count", Kind::Number, "how many at most; 100"),
        may("address", Kind::Word, "only those with this address"),
        may("port", Kind::Number, "only those with this port"),
        may("protocol", Kind::Word, "only those of this protocol: tcp, udp, icmp, or a number"),
    ]),
    get("/api/v1/complete", "Words that may follow in a command, with their help", |i| {
        Ok(Plan::Complete(i.word("line").to_owned()))
    })
    .takes(&[needs("line", Kind::Line, "the command so far")])
    .answers("Words"),
    get("/api/v1/trace", "Traced packets", |i| {
        Ok(Plan::Command(format!("show trace{}", i.with("max", "max"))))
    })
    .takes(&[may("max", Kind::Number, "maximum number")]),
    post("/api/v1/trace", "Trace the next packets of an input node", |i| {
        Ok(Plan::Command(format!("trace add {} {}", i.word("node"), i.or("count", "10"))))
    })
    .takes(&[
        needs("node", Kind::Word, "input node"),
        may("count", Kind::Number, "packets per thread; default 10"),
    ]),
    get("/api/v1/trace", "Clear the packet trace", |_| command("clear trace")).method("DELETE"),
    post("/api/v1/explain", "Explain how the router would handle a packet", explain)
        .takes(&[
            needs("interface", Kind::Word, "receive interface"),
            needs("packet", Kind::Line, "packet, in the syntax of `explain`"),
        ])
        .only_looks(),
    get("/api/v1/capture", "Whether packets are captured", |_| Ok(Plan::CaptureState)),
    post("/api/v1/capture", "Start a packet capture", capture).takes(&[
        may("rx", Kind::Flag, "received packets"),
        may("tx", Kind::Flag, "transmitted packets"),
        may("drop", Kind::Flag, "dropped packets"),
        may("interface", Kind::Word, "only on this interface"),
        may("filter", Kind::Line, "only packets that this chooses, in the language of tcpdump"),
        may("max", Kind::Number, "maximum packets; default 1000"),
        may("bytes", Kind::Number, "bytes captured per packet; default 512"),
    ]),
    get("/api/v1/capture", "End the capture", |_| Ok(Plan::CaptureEnd)).method("DELETE"),
    get("/api/v1/capture/file", "Packets of the last capture, once it has stopped", |_| {
        Ok(Plan::CaptureFile)
    })
    .answers("Capture"),
    get("/api/v1/configuration", "The configuration, as commands", |_| {
        command("show configuration")
    }),
    get("/api/v1/configuration/history", "Committed configurations", |_| {
        command("show configuration history")
    }),
    get("/api/v1/configuration/diff", "Differences since a revision", |i| {
        Ok(Plan::Command(format!("show configuration diff {}", i.or("revision", "0"))))
    })
    .takes(&[may("revision", Kind::Number, "revision; 0 is the last commit")]),
    post("/api/v1/configuration/diff", "Differences to another configuration", |i| {
        Ok(Plan::Configuration("show configuration diff {}".to_owned(), i.word("text").to_owned()))
    })
    .takes(&[needs("text", Kind::Text, "commands, one per line")])
    .only_looks(),
    post("/api/v1/configuration/check", "Check whether a configuration could be applied", |i| {
        Ok(Plan::Configuration("configure check {}".to_owned(), i.word("text").to_owned()))
    })
    .takes(&[needs("text", Kind::Text, "commands, one per line")])
    .only_looks(),
    post(
        "/api/v1/configuration/replace",
        "Replace the configuration by applying the differences",
        |i| {
            let words = format!("configure replace {{}}{}", i.with("confirm", "confirm"));
            Ok(Plan::Configuration(words, i.word("text").to_owned()))
        },
    )
    .takes(&[
        needs("text", Kind::Text, "commands, one per line"),
        may("confirm", Kind::Number, "minutes until rollback unless committed"),
    ]),
    get("/api/v1/configuration/hash", "The hash of the configuration", |_| {
        command("show configuration hash")
    }),
    post(
        "/api/v1/configuration/patch",
        "Remove and add lines of the configuration, all or none",
        |i| {
            let (base, confirm) = (i.with("if", "if"), i.with("confirm", "confirm"));
            let id = i.with("id", "id");
            let words = format!("configure patch {{}}{base}{confirm}{id}");
            Ok(Plan::Configuration(words, i.word("text").to_owned()))
        },
    )
    .takes(&[
        needs("text", Kind::Text, "lines: `+ COMMAND` adds one, `- COMMAND` removes one"),
        may("if", Kind::Word, "hash that the configuration must have; status 409 if not"),
        may("confirm", Kind::Number, "minutes until rollback unless committed"),
        may("id", Kind::Word, "name of the change: only a commit with it confirms the change"),
    ]),
    post("/api/v1/configuration/commit", "Commit the running configuration", commit).takes(&[
        may("reason", Kind::Line, "comment in `show configuration history`"),
        may("confirm", Kind::Number, "minutes until rollback unless committed"),
        may("id", Kind::Word, "confirm the change with this name, and commit nothing else"),
    ]),
    post("/api/v1/configuration/rollback", "Roll back to a revision", |i| {
        let confirm = i.with("confirm", "confirm");
        Ok(Plan::Command(format!("configure rollback {}{confirm}", i.word("revision"))))
    })
    .takes(&[
        needs("revision", Kind::Number, "revision"),
        may("confirm", Kind::Number, "minutes until rollback unless committed"),
    ]),
    post("/api/v1/configuration/save", "Save to the file that is loaded at start", |_| {
        command("save")
    }),
    get("/metrics", "Prometheus metrics", |_| Ok(Plan::Metrics)).answers("Metrics"),
];

fn explain(i: &Input) -> Result<Plan, String> {
    let packet = i.word("packet");
    if packet.split_whitespace().any(|word| word == "pcap") {
        return Err("`packet' must be headers or hex: files are not read".to_owned());
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
    let page = i.with("after", "after") + &i.with("count", "count");
    Ok(Plan::Command(format!("show {family} fib{table}{summary}{page} {}", i.word("address"))))
}

fn session_list(i: &Input) -> Result<Plan, String> {
    let mut words = i.word("table").to_owned();
    for name in ["from", "count", "address", "port", "protocol"] {
        words.push_str(&i.with(name, name));
    }
    Ok(Plan::Optional("show session list", words))
}

fn capture(i: &Input) -> Result<Plan, String> {
    let mut words = String::new();
    for side in ["rx", "tx", "drop"].into_iter().filter(|side| i.is(side)) {
        words.push(' ');
        words.push_str(side);
    }
    if words.is_empty() {
        return Err("one of rx, tx and drop must be true".to_owned());
    }
    words.push_str(&i.with("interface", "interface"));
    let filter = i.word("filter");
    if filter.contains(['{', '}']) {
        return Err("`filter' is in the language of tcpdump, without braces".to_owned());
    }
    if !filter.is_empty() {
        words.push_str(&format!(" filter {{ {filter} }}"));
    }
    words.push_str(&format!(" packets {}", i.or("max", "1000")));
    words.push_str(&format!(" snap-length {}", i.or("bytes", "512")));
    Ok(Plan::Capture(words))
}

fn commit(i: &Input) -> Result<Plan, String> {
    match (i.word("confirm"), i.word("reason"), i.word("id")) {
        ("", reason, "") => Ok(Plan::Command(format!("commit {reason}"))),
        (minutes, "", "") => Ok(Plan::Command(format!("commit confirm {minutes}"))),
        ("", "", id) => Ok(Plan::Command(format!("commit id {id}"))),
        _ => Err("`confirm', `reason' and `id' exclude each other".to_owned()),
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
        let all = [("table", "nat44-ed"), ("count", "50"), ("port", "443")];
        match plan("GET", "/api/v1/sessions/list", &all) {
            Ok(Plan::Optional("show session list", words)) => {
                assert_eq!(words, "nat44-ed count 50 port 443");
            }
            other => panic!("{other:?}"),
        }
        let all = [("table", "0"), ("after", "10.0.0.0/8"), ("count", "100")];
        let page = "show ip fib table 0 after 10.0.0.0/8 count 100 ";
        assert_eq!(words("GET", "/api/v1/fib", &all), page);
        let words_of_capture =
            " rx drop interface pg0 filter { tcp port 443 } packets 5 snap-length 512";
        let filter = ("filter", "tcp port 443");
        let all = [("rx", "true"), ("drop", "true"), ("interface", "pg0"), filter, ("max", "5")];
        assert_eq!(words("POST", "/api/v1/capture", &all), words_of_capture);
        let all = [("confirm", "2.5")];
        assert_eq!(words("POST", "/api/v1/configuration/commit", &all), "commit confirm 2.5");
        assert!(plan("POST", "/api/v1/capture", &[("rx", "false")]).is_err());
        let two = [("rx", "true"), ("filter", "icmp } file /tmp/x { tcp")];
        assert!(plan("POST", "/api/v1/capture", &two).unwrap_err().contains("filter"));
        assert!(plan("GET", "/api/v1/sessions", &[("kind", "x")]).unwrap_err().contains("kind"));
        let two = [("node", "pg-input 5\nshow version")];
        assert!(plan("POST", "/api/v1/trace", &two).unwrap_err().contains("node"));
    }
}
