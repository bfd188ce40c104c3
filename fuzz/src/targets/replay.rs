//! Declared state: a router prints all settings made by command or message, and a fresh router with
//! this configuration prints and forwards the same.

use std::collections::BTreeSet;

use control::cli::{Output, Run, Step};
use control::configuration::Row;
use net::Assembly;

use super::edits;
use super::messages::Messages;
use crate::Target;
use crate::mutate::Random;

/// Commands that an error names at most.
const NAMED: usize = 5;
/// Plugins whose edits one input tries.
const PLUGINS: usize = 3;
/// Edits of one input, and environment variable for another number.
const EDITS: usize = 40;
const EDITS_FROM: &str = "FERROVIA_FUZZ_EDITS";
/// Inputs to begin with, others for each `FERROVIA_FUZZ_SEED`.
const INPUTS: u64 = 64;
/// Edits after which others are chosen from.
const AT_ONCE: usize = 40;
/// Messages side by side that one input tries: those of a feature, mostly.
const MESSAGES: usize = 16;
/// Small numbers, so that edits meet.
const NUMBERS: [&str; 4] = ["1", "2", "3", "4"];
const TABLES: [&str; 3] = ["0", "1", "2"];
/// Networks that packets are for: 16 to each.
const NETWORKS: [&str; 6] = ["10.0.0", "10.1.0", "10.2.0", "10.3.0", "16.0.0", "18.0.0"];
/// Nodes that packets of the streams may end at, or leave by.
const ENDS: [&str; 7] =
    ["ip4-rewrite", "ip4-arp", "ip4-glean", "ip4-drop", "ip4-local", "ip4-punt", "null-node"];
const SHOWN: [&str; 8] = [
    "show ip table",
    "show ip6 table",
    "show interface address",
    "show ip neighbor-config",
    "show arp proxy",
    "show urpf",
    "show ip pmtu",
    "show interface tcp-mss-clamp",
];

/// Input chooses edits by its bytes.
#[derive(Default)]
pub struct Replay {
    /// Edits that were run.
    edits: usize,
    /// Features whose configuration was replayed.
    features: BTreeSet<&'static str>,
}

impl Drop for Replay {
    fn drop(&mut self) {
        let (edits, features) = (self.edits, &self.features);
        println!(
            "replay: {edits} edits, configuration of {} features: {features:?}",
            features.len()
        );
    }
}

/// Edits for an input: half of them those of the core, the others those of some plugins.
fn chosen(random: &mut Random) -> Vec<&'static [&'static str]> {
    let core = std::iter::repeat_n(edits::OF_CORE.as_slice(), PLUGINS);
    let plugins = (0..PLUGINS).map(|_| random.pick(&edits::OF_PLUGINS).as_slice());
    core.chain(plugins).collect()
}

/// A line out of a template.
fn grown(edits: &[&[&str]], parts: &Assembly, random: &mut Random) -> String {
    let edits = *random.pick(edits);
    written(random.pick::<&str>(edits), parts, random)
}

/// A template with values.
fn written(template: &str, parts: &Assembly, random: &mut Random) -> String {
    let mut line = String::new();
    for word in template.split(' ') {
        let choices: Vec<&str> = word.split('|').collect();
        let mut word = (*random.pick(&choices)).to_owned();
        while let Some(at) = word.find('{').filter(|_| word.contains('}')) {
            let end = word.find('}').expect("there is one");
            let value = match &word[at + 1..end] {
                "if" => {
                    let all: Vec<_> = parts.router.interfaces.iter().map(|i| &i.name).collect();
                    (*random.pick(&all)).clone()
                }
                "n" => (*random.pick(&NUMBERS)).to_owned(),
                "t" => (*random.pick(&TABLES)).to_owned(),
                "net" => match random.below(3) {
                    0 => format!("2001:db8:{}::1/64", random.below(4)),
                    1 => format!("10.{}.0.0/16", random.below(4)),
                    _ => format!("10.{}.0.1/24", random.below(4)),
                },
                "addr" => match random.below(3) {
                    0 => format!("2001:db8:{}::{}", random.below(4), 1 + random.below(4)),
                    _ => format!("10.{}.0.{}", random.below(4), 1 + random.below(4)),
                },
                "ip4" => format!("10.{}.0.{}", random.below(4), 1 + random.below(4)),
                "ip6" => format!("2001:db8:{}::{}", random.below(4), 1 + random.below(4)),
                other => panic!("no values for {other}"),
            };
            word.replace_range(at..=end, &value);
        }
        line += &word.replace('~', " ");
        line.push(' ');
    }
    line
}

/// The configuration, with its secrets and what takes it back.
fn rows(parts: &Assembly) -> Vec<Row> {
    let mut all = parts.router.collect();
    while all.advance(&parts.router) {}
    all.rows()
}

fn commands(parts: &Assembly) -> String {
    rows(parts).into_iter().map(|row| row.command + "\n").collect()
}

/// Output of a command that ran to its end.
fn run(parts: &mut Assembly, text: &str) -> Result<String, String> {
    let Assembly { router, cli, .. } = parts;
    let (mut run, mut output) = (Run::new(text), Output::none());
    loop {
        match run.step(cli, router, &mut output) {
            Step::Done(result) => {
                router.engine.run_inline(2);
                return result.map(|()| output.to_text()).map_err(|e| e.to_string());
            }
            _ => router.engine.run_inline(2),
        }
    }
}

/// Packets that reached each of [`ENDS`] of what pg0 received.
fn forwarded(parts: &mut Assembly) -> Result<Vec<String>, String> {
    let pg0 = parts.router.interfaces.named("pg0");
    if pg0.is_none_or(|i| i.hardware != "pg" || i.is_sub()) {
        return Ok(Vec::new());
    }
    for to in NETWORKS {
        let stream = format!(
            "packet-generator new {{ name {to} limit 16 size 64-64 interface pg0 node ip4-input \
             data {{ UDP: 10.0.0.2 -> {to}.0-{to}.15 UDP: 1 -> 2 incrementing 8 }} }}"
        );
        run(parts, &stream)?;
    }
    run(parts, "clear runtime")?;
    run(parts, "packet-generator enable-stream")?;
    parts.router.engine.run_inline(200);
    let runtime = run(parts, "show runtime")?;
    let vectors = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let is_end = words.first().is_some_and(|name| ENDS.contains(name));
        is_end.then(|| format!("{} {}", words[0], words.get(3).copied().unwrap_or_default()))
    };
    let rows: Vec<_> = runtime.lines().filter_map(vectors).collect();
    if rows.is_empty() { Err(format!("no packet was seen in\n{runtime}")) } else { Ok(rows) }
}

impl Target for Replay {
    const NAME: &'static str = "replay";

    fn seeds(&self) -> Vec<Vec<u8>> {
        let first = crate::number("FERROVIA_FUZZ_SEED", 1) * INPUTS;
        (first..first + INPUTS).map(|n| n.to_be_bytes().to_vec()).collect()
    }

    fn take(&mut self, input: &[u8]) -> Result<(), String> {
        let seed = input.iter().fold(0_u64, |n, b| n.wrapping_mul(131).wrapping_add((*b).into()));
        let mut random = Random::new(seed);
        let mut told = Messages::new();
        let mut history = Vec::new();
        let (mut edits, mut first) = (Vec::new(), 0);
        for n in 0..crate::number(EDITS_FROM, EDITS as u64) as usize {
            if n.is_multiple_of(AT_ONCE) {
                (edits, first) = (chosen(&mut random), random.below(told.count()));
            }
            match random.below(8) {
                0..=2 => {
                    let place = first + random.below(MESSAGES);
                    let (name, message) = told.at(place, &mut random);
                    told.send(&message)?;
                    history.push(format!("{name} {message:02x?}"));
                }
                _ => {
                    let line = grown(&edits, told.parts(), &mut random);
                    if run(told.parts(), &line).is_ok() {
                        history.push(line);
                    }
                }
            }
        }
        self.edits += history.len();
        self.features.extend(rows(told.parts()).iter().map(|row| row.feature));
        let why = |what: String| format!("{what}\nafter\n{}", history.join("\n"));
        compare(told.parts()).and_then(|()| replace(told.parts(), &mut random)).map_err(why)
    }
}

/// Replaces the configuration of a differently configured router with this one, by the differences:
/// all of it, or all but the parts that no command undoes, which are named then.
fn replace(told: &mut Assembly, random: &mut Random) -> Result<(), String> {
    let (printed, secret) = (run(told, "show configuration")?, commands(told));
    let (mut other, edits) = (super::router(1), chosen(random));
    for _ in 0..EDITS / 4 {
        let line = grown(&edits, &other, random);
        // Refused or not, it is another router.
        let _ = run(&mut other, &line);
    }
    let before = run(&mut other, "show configuration")?;
    let name = format!("ferrovia-replace-{}", std::process::id());
    let file = std::env::temp_dir().join(format!("{name}-{:?}", std::thread::current().id()));
    std::fs::write(&file, &secret).map_err(|e| e.to_string())?;
    let replaced = run(&mut other, &format!("configure replace {}", file.display()));
    // It may be gone already.
    let _ = std::fs::remove_file(file);
    let after = run(&mut other, "show configuration")?;
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let (wanted, text) = match &replaced {
        Ok(_) => (lines(&printed), "replaced".to_owned()),
        Err(why) => (lines(&before), format!("not replaced, {why}")),
    };
    if lines(&after) == wanted {
        return Ok(());
    }
    let (after, wanted) = (lines(&after), wanted);
    let more: Vec<_> = after.difference(&wanted).collect();
    let less: Vec<_> = wanted.difference(&after).collect();
    let named = text.split_once("no command undoes ").map_or("", |(_, named)| named);
    let is_named = |line: &&&String| named.contains(&format!("`{line}'"));
    let count = more.iter().filter(is_named).count();
    if replaced.is_err() && less.is_empty() && count == more.len().min(NAMED) {
        return Ok(());
    }
    Err(format!("{text}: {more:#?} instead of {less:#?}, from\n{before}\nto\n{printed}"))
}

/// Replays the configuration of a router into a fresh one and compares the two.
fn compare(told: &mut Assembly) -> Result<(), String> {
    let printed = commands(told);
    let mut fresh = super::router(1);
    if !printed.is_empty() {
        run(&mut fresh, &printed).map_err(|why| format!("{why} of\n{printed}"))?;
    }
    let again = commands(&fresh);
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    // Interfaces may have other numbers, and another order then.
    if sorted(&again) != sorted(&printed) {
        let (was, is) = (sorted(&printed), sorted(&again));
        let gone: Vec<_> = was.iter().filter(|line| !is.contains(line)).collect();
        let new: Vec<_> = is.iter().filter(|line| !was.contains(line)).collect();
        return Err(format!("{new:#?} instead of {gone:#?} of\n{printed}"));
    }
    for command in SHOWN {
        let [mut a, mut b] = [run(told, command)?, run(&mut fresh, command)?].map(|text| {
            // Numbers in brackets are positions, chosen by the router.
            let lines = text.lines().map(|line| line.split_once("] ").map_or(line, |(_, l)| l));
            lines.map(str::to_owned).collect::<Vec<_>>()
        });
        a.sort();
        b.sort();
        if a != b {
            return Err(format!("{command}: {a:#?}, then {b:#?} of\n{printed}"));
        }
    }
    let (a, b) = (forwarded(told)?, forwarded(&mut fresh)?);
    if a != b {
        return Err(format!("forwarded {a:?}, then {b:?} of\n{printed}"));
    }
    take_back(&mut fresh)
}

/// Takes back what is configured, the last first. What is in use may be refused, but the words of
/// each command are right.
fn take_back(parts: &mut Assembly) -> Result<(), String> {
    for Row { command, undo, .. } in rows(parts).into_iter().rev() {
        let Some(undo) = undo else { continue };
        match run(parts, &undo.command) {
            Err(why) if why.contains("unknown input") || why.contains("unknown command") => {
                return Err(format!("{why}: `{}' takes back `{command}'", undo.command));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use control::configuration::Configuration;

    use super::*;

    /// Features whose configuration is not tried, and why.
    const NOT_TRIED: &[(&str, &str)] = &[
        ("engine", "threads and variants of nodes are the machine's"),
        ("handoff", "needs threads of workers"),
        ("loader", "needs files, or takes features away"),
        ("af_packet", "devices of the machine"),
        ("af_xdp", "devices of the machine"),
        ("netmap", "devices of the machine"),
        ("tap", "devices of the machine"),
        ("memif", "files of the machine"),
        ("vhost", "files of the machine"),
        ("dpdk", "devices of the machine"),
    ];

    #[test]
    fn each_edit_is_carried_out_sometimes_and_each_feature_has_configuration_then() {
        let mut random = Random::new(7);
        let with_commands =
            |f: &&net::Feature| matches!(f.configuration, Configuration::Commands(_));
        let mut untried: Vec<_> = plugins::features().filter(with_commands).collect();
        let mut never = Vec::new();
        for templates in edits::OF_PLUGINS.iter().chain([&*edits::OF_CORE]) {
            let mut waiting: Vec<_> = templates.iter().map(|t| (*t, String::new())).collect();
            for _ in 0..60 {
                let mut told = Messages::new();
                for _ in 0..12 * templates.len() {
                    let template = *random.pick(templates);
                    let line = written(template, told.parts(), &mut random);
                    match run(told.parts(), &line) {
                        Ok(_) => {
                            waiting.retain(|(t, _)| *t != template);
                            let router = &told.parts().router;
                            untried.retain(|f| f.configuration.first(router).is_none());
                        }
                        Err(why) => {
                            let open = waiting.iter_mut().find(|(t, _)| *t == template);
                            open.into_iter().for_each(|(_, last)| *last = format!("{line}: {why}"));
                        }
                    }
                }
                if waiting.is_empty() {
                    break;
                }
            }
            // The many of the core rarely meet all that they need.
            if templates.len() < edits::OF_CORE.len() {
                never.extend(waiting.into_iter().map(|(_, last)| last));
            }
        }
        assert!(never.is_empty(), "never carried out: {never:#?}");
        let missing: Vec<_> = untried
            .iter()
            .map(|feature| feature.name)
            .filter(|name| NOT_TRIED.iter().all(|(known, _)| known != name))
            .collect();
        assert!(missing.is_empty(), "features without an edit in edits.rs: {missing:?}");
    }
}
