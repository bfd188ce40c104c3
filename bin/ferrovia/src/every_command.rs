//! Properties of every command of the daemon.

use std::fmt::Write;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use control::cli::{Candidate, Cli, Reply};
use control::config::Config;
use infra::order::Order;
use net::{Assembly, Router};
use rustix::fs::inotify;
use serde_json::Value;

use crate::assemble;

/// Something of each kind for `show` commands to show.
const SETUP: &str = "
create packet-generator interface pg0
set interface state pg0 up
set interface ip address pg0 10.0.0.1/24
set interface ip address pg0 2001:db8::1/64
create loopback interface
ip table add 7
ip route add 10.1.0.0/16 via 10.0.0.2 pg0
ip route add 2001:db8:1::/48 via 2001:db8::2 pg0
ip neighbor pg0 10.0.0.2 02:00:00:00:00:02
ip neighbor pg0 2001:db8::2 02:00:00:00:00:02
set ip pmtu 10.0.0.2 1400
set ip source-and-port-range-check vrf 7 10.0.0.0/24 port 80
packet-generator new name x limit 1 source pg0 data { hex 0x00 }
";

/// Values for arguments that a command needs, where they are not their first live name.
const VALUES: &[(&str, &str)] = &[
    ("<table-id>", "7"),
    ("<address>", "10.0.0.1"),
    ("<ip-addr>", "10.0.0.1"),
    ("<prefix>", "10.1.0.0/16"),
];

/// A router with all features and something in it.
struct Whole {
    parts: Assembly,
}

impl Whole {
    fn new() -> Self {
        let text =
            "buffers { buffers-per-numa 4096 } plugins { plugin ip6_dad_autoremove { enable } }";
        let config = Config::parse(text, &[]).unwrap();
        let mut whole = Self { parts: assemble::router(&config).unwrap() };
        let reply = whole.run(SETUP);
        assert!(reply.result.is_ok(), "{}", reply.text());
        whole
    }

    fn paths(&self) -> Vec<String> {
        let mut paths = self.parts.cli.paths();
        paths.order();
        paths
    }

    fn run(&mut self, line: &str) -> Reply {
        let Assembly { router, cli, .. } = &mut self.parts;
        cli.run(router, line)
    }

    fn words(&self, line: &str) -> Vec<String> {
        let (cli, router): (&Cli<Router>, &Router) = (&self.parts.cli, &self.parts.router);
        cli.complete(router, line).into_iter().map(|Candidate { word, .. }| word).collect()
    }

    /// Help for a line: usage, and the possible next words, values as `<name>`.
    fn help(&mut self, line: &str) -> (String, Vec<String>) {
        let help = self.run(&format!("help {line}")).output.to_json();
        let next = help["arguments"].as_array().into_iter().flatten();
        let next = next.map(|a| a["word"].as_str().unwrap().to_owned()).collect();
        (help["usage"].as_str().unwrap_or_default().to_owned(), next)
    }
}

#[test]
fn every_show_command_answers_in_json() {
    let mut whole = Whole::new();
    let mut wrong = String::new();
    let paths = whole.paths().into_iter().filter(|path| path.starts_with("show "));
    // There is neither a terminal here nor a file of recorded requests nor a session; `control` and
    // the plugin test these, and words of an entry are not made up.
    let others = [
        "show terminal",
        "show history",
        "show api dump",
        "show acl-plugin decode 5tuple",
        "show sfdp session-detail",
    ];
    for path in paths.filter(|path| !others.contains(&&**path)) {
        let mut line = path.clone();
        let mut reply = whole.run(&line);
        // What is missing is made up from what exists.
        for _ in 0..3 {
            if reply.result.is_ok() {
                break;
            }
            let value =
                VALUES.iter().find(|(name, _)| whole.help(&line).1.iter().any(|n| n == name));
            let live = whole.words(&format!("{line} ")).into_iter().next();
            let Some(word) = value.map(|v| v.1.to_owned()).or(live) else { break };
            line = format!("{line} {word}");
            reply = whole.run(&line);
        }
        let json = reply.output.to_json();
        match (&reply.result, &json) {
            (Err(error), _) => writeln!(wrong, "{line}: {error}"),
            (Ok(()), Value::Object(_) | Value::Array(_)) => Ok(()),
            (Ok(()), _) => writeln!(wrong, "{line}: {json}"),
        }
        .unwrap();
    }
    assert_eq!(wrong, "");
}

#[test]
fn every_command_says_which_words_it_takes() {
    let mut whole = Whole::new();
    let mut wrong = String::new();
    for path in whole.paths() {
        let (usage, _) = whole.help(&path);
        assert!(usage.starts_with(&path), "{path}: {usage}");
        if usage == path {
            // One that says nothing takes nothing.
            let text = whole.run(&format!("{path} xyzzy")).text();
            if !text.contains("unknown input `xyzzy'") {
                writeln!(wrong, "{path}: {text}").unwrap();
            }
        }
    }
    assert_eq!(wrong, "");
}

#[test]
fn every_command_completes_its_words_and_the_names_of_interfaces_and_tables() {
    let mut whole = Whole::new();
    let mut wrong = String::new();
    for path in whole.paths() {
        let (start, last) =
            path.rsplit_once(' ').map_or(("", &*path), |(start, last)| (start, last));
        let half = &last[..last.len().div_ceil(2)];
        assert!(whole.words(&format!("{start} {half}")).iter().any(|w| w == last), "{path}");
        // Two words deep, each keyword is offered by its first letter and live names are there.
        let mut lines = vec![path];
        for _ in 0..2 {
            let mut longer = Vec::new();
            for line in lines {
                let mut values = 0;
                for next in whole.help(&format!("{line} ")).1 {
                    // Help lists all positions, of which the first comes next.
                    values += usize::from(next.starts_with('<'));
                    if next.starts_with('<') && values > 1 {
                        continue;
                    }
                    // Help shows keywords with their aliases and values.
                    let known = match next.split(' ').next().unwrap_or_default() {
                        value if value.ends_with("interface>") => "pg0",
                        value if value.ends_with("table-id>") => "7",
                        value if value.starts_with('<') => continue,
                        keyword => keyword,
                    };
                    let found = whole.words(&format!("{line} {}", &known[..1]));
                    if !found.iter().any(|w| w == known) {
                        writeln!(wrong, "{line} {known}: {found:?}").unwrap();
                    }
                    longer.push(format!("{line} {known}"));
                }
            }
            lines = longer;
        }
    }
    assert_eq!(wrong, "");
}

#[test]
fn every_command_is_known_to_make_a_configuration_or_not() {
    let unknown = |path: &String| configure::makes_configuration(path).is_none();
    let unknown: Vec<_> = Whole::new().paths().into_iter().filter(unknown).collect();
    assert_eq!(unknown, [""; 0], "list them in plugins/configure/src/allowed.rs");
}

/// Events in a folder since the last call: files opened, made, changed or removed.
fn events(watch: &OwnedFd) -> usize {
    let mut room = [MaybeUninit::uninit(); 4096];
    let mut reader = inotify::Reader::new(watch, &mut room);
    std::iter::from_fn(|| reader.next().ok().map(drop)).count()
}

/// Words between a command and the name of a file.
const BEFORE_FILES: &[&str] = &[
    "",
    "file",
    "filename",
    "save",
    "save-json",
    "dump",
    "pcap",
    "socket",
    "rx file",
    "on file",
    "name z file",
    "name z pcap",
    "id 7 filename",
    "pg0 pcap",
    "source pg0 pcap",
    "max 5 file",
];

#[test]
fn no_command_of_a_trial_touches_files() {
    let mut whole = Whole::new();
    let folder = std::env::temp_dir().join(format!("ferrovia-trial-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let (there, fresh) = (folder.join("there"), folder.join("fresh"));
    std::fs::write(&there, "canary:*:20228\n").unwrap();
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    inotify::add_watch(&watch, &folder, inotify::WatchFlags::ALL_EVENTS).unwrap();
    std::fs::read(&there).unwrap();
    assert!(events(&watch) > 0, "files that are read are seen");

    let mut text = String::new();
    for path in whole.paths() {
        let keywords = whole.help(&format!("{path} ")).1;
        let keywords = keywords.iter().filter_map(|next| next.split(' ').next());
        let keywords = keywords.filter(|word| !word.contains(['<', '{', '}']));
        for before in BEFORE_FILES.iter().copied().chain(keywords) {
            for file in [&there, &fresh] {
                writeln!(text, "{path} {before} {}", file.display()).unwrap();
            }
        }
    }
    let maps = || std::fs::read_to_string("/proc/self/maps").unwrap().matches(".so").count();
    let loaded = maps();
    let files = [("all".to_owned(), text)];
    let mut trial = configure::Trial::new(&whole.parts.router, &files, &[]).unwrap();
    let mut refused = 0;
    loop {
        match trial.step() {
            Ok(None) => {}
            Ok(Some(_)) => break,
            Err(error) => {
                let error = error.to_string();
                assert!(!error.contains("canary"), "{error}");
                refused += usize::from(error.contains("is not a configuration command"));
            }
        }
    }
    drop(trial);
    assert_eq!(events(&watch), 0, "a file was touched");
    assert_eq!(maps(), loaded, "an object was loaded");
    assert!(refused > 1000, "{refused}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Head of `docs/reference/commands.md`.
const HEAD: &str = "# Commands

Output of `help` for each command, generated by a test (`FERROVIA_BLESS=1` updates it). `[ ]` is
optional, `|` a choice, `{ }` a group, `<name>` a value, `...` a repetition. Words may be shortened
while they are unique; keywords may stand in any order, and so may values of different types. An
interface is given by name, or as `sw_if_index` and a number; numbers may be hexadecimal (`0x10`).
Missing commands of the original, with reasons, are in [commands-missing.md](commands-missing.md).
";

/// Text that no reader of Markdown takes for tags.
fn plain(text: &str) -> String {
    text.replace('<', "\\<")
}

/// All commands, as `docs/reference/commands.md` describes them.
fn manual(cli: &Cli<Router>) -> String {
    let mut text = HEAD.to_owned();
    let mut section = String::new();
    for page in cli.manual() {
        let first = page.path.split(' ').next().unwrap_or_default();
        if first != section {
            section = first.to_owned();
            writeln!(text, "\n## {section}").unwrap();
        }
        let line = format!("{} {}", page.path, page.usage);
        writeln!(text, "\n### {}\n\n{}\n\n    {}", page.path, plain(page.about), line.trim_end())
            .unwrap();
        for (at, Candidate { word, help }) in page.arguments.iter().enumerate() {
            let gap = if at == 0 { "\n" } else { "" };
            let colon = if help.is_empty() { "" } else { ": " };
            writeln!(text, "{gap}- `{word}`{colon}{}", plain(help)).unwrap();
        }
    }
    text
}

#[test]
fn every_command_is_described() {
    let now = manual(&Whole::new().parts.cli);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/commands.md");
    if std::env::var_os("FERROVIA_BLESS").is_some() {
        std::fs::write(path, &now).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    let differs = written.lines().zip(now.lines()).find(|(a, b)| a != b);
    assert!(
        written == now,
        "docs/reference/commands.md differs: {differs:?}\n\
         FERROVIA_BLESS=1 cargo test -p ferrovia every_command_is_described updates it"
    );
}
