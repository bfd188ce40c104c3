//! The command line.

use std::path::PathBuf;

/// Scenarios and groups of them, in the order they run.
pub const ALL: [&str; 49] = [
    "ip4-1",
    "ip4-255k",
    "ip4-1m",
    "ip4-8m",
    "bgp4-1m",
    "ip4-rand1m",
    "ip4-rand1m-one",
    "ip6-1",
    "bgp6-220k",
    "acl-50",
    "acl-1k",
    "acl-100k",
    "nat44-15k",
    "nat44-1m-sessions",
    "nat44-setup",
    "vlan-1",
    "vlan-4k",
    "xconnect",
    "l2bd-1",
    "l2bd-100k",
    "l2bd-1m",
    "vxlan-encap",
    "gre",
    "mpls-push",
    "mpls-swap",
    "mpls-1m",
    "ipsec-gcm",
    "ipsec-gcm-512",
    "ipsec-gcm-1400",
    "ipsec-cbc-sha1",
    "ipsec-cbc-sha1-1400",
    "ipsec-10k",
    "ipsec-gcm-in",
    "ipsec-gcm-512-in",
    "ipsec-gcm-1400-in",
    "ipsec-cbc-sha1-in",
    "ipsec-cbc-sha1-1400-in",
    "ipsec-10k-in",
    "flatness",
    "curve",
    "curve-rules",
    "curve-sessions",
    "load",
    "memory",
    "churn",
    "workers-ip4",
    "workers-l2bd",
    "workers-acl",
    "workers-nat44",
];

/// Options of a measurement.
#[derive(Clone, Debug)]
pub struct Options {
    /// The daemon and its command-line client.
    pub ours: Programs,
    /// Another daemon that understands the same commands, measured in turns.
    pub other: Option<Programs>,
    /// Windows of each scenario.
    pub windows: usize,
    /// Length of a window in seconds.
    pub seconds: f64,
    /// The processor the daemon gets.
    pub core: usize,
    /// Folder of results and traffic.
    pub folder: PathBuf,
    /// Names of the scenarios to run.
    pub names: Vec<String>,
}

/// A daemon and what talks to it.
#[derive(Clone, Debug)]
pub struct Programs {
    /// Name in the results.
    pub name: &'static str,
    /// The daemon.
    pub daemon: PathBuf,
    /// Its command-line client: `CTL -s SOCKET LINE`.
    pub ctl: PathBuf,
}

/// Words of the command line.
pub fn usage() -> String {
    format!(
        "usage: bench [options] [SCENARIO...]\n\
         --bin PATH --ctl PATH      the daemon and its client (target/release)\n\
         --vs PATH --vs-ctl PATH    another daemon, measured in turns\n\
         --windows N                windows of each scenario (5)\n\
         --secs S                   length of a window (1)\n\
         --core N                   processor of the daemon (the last)\n\
         --out FOLDER               results and traffic (target/bench)\n\
         --help                     these lines\n\
         scenarios: {}",
        ALL.join(" ")
    )
}

impl Options {
    /// Reads the words of the command line.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let cores = infra::cpu::allowed().map_err(|e| e.to_string())?;
        let programs = |name, folder: &str| Programs {
            name,
            daemon: format!("{folder}/ferrovia").into(),
            ctl: format!("{folder}/fvctl").into(),
        };
        let mut options = Self {
            ours: programs("ferrovia", "target/release"),
            other: None,
            windows: 5,
            seconds: 1.0,
            core: cores.last().copied().unwrap_or(0),
            folder: "target/bench".into(),
            names: Vec::new(),
        };
        let (mut vs, mut vs_ctl) = (None, None);
        let mut words = words;
        while let Some(word) = words.next() {
            if ALL.contains(&word.as_str()) {
                options.names.push(word);
                continue;
            }
            let known = ["--bin", "--ctl", "--vs", "--vs-ctl", "--windows", "--secs", "--core"];
            if word != "--out" && !known.contains(&word.as_str()) {
                return Err(format!("bench: {word}: unknown\n{}", usage()));
            }
            let value = words.next().ok_or_else(|| format!("bench: {word} needs a value"))?;
            let bad = || format!("bench: {word} {value}: not a number it can be");
            match word.as_str() {
                "--bin" => options.ours.daemon = value.into(),
                "--ctl" => options.ours.ctl = value.into(),
                "--vs" => vs = Some(value.into()),
                "--vs-ctl" => vs_ctl = Some(value.into()),
                "--windows" => options.windows = value.parse().map_err(|_| bad())?,
                "--secs" => options.seconds = value.parse().map_err(|_| bad())?,
                "--core" => options.core = value.parse().map_err(|_| bad())?,
                _ => options.folder = value.into(),
            }
        }
        options.other = match (vs, vs_ctl) {
            (Some(daemon), Some(ctl)) => Some(Programs { name: "other", daemon, ctl }),
            (None, None) => None,
            _ => return Err("bench: --vs and --vs-ctl belong together".to_owned()),
        };
        if options.names.is_empty() {
            options.names = ALL.map(str::to_owned).to_vec();
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn words_are_scenarios_or_options() {
        let options = parse("--secs 0.5 ip4-1 churn --vs a --vs-ctl b").unwrap();
        assert_eq!((options.seconds, options.names.len()), (0.5, 2));
        assert_eq!(options.other.unwrap().daemon, PathBuf::from("a"));
        assert_eq!(parse("").unwrap().names.len(), ALL.len());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, part) in [
            ("ip4-2", "ip4-2"),
            ("--windows x", "--windows x"),
            ("--core", "--core needs"),
            ("--vs a", "--vs-ctl"),
        ] {
            assert!(parse(line).unwrap_err().contains(part), "{line}");
        }
    }
}
