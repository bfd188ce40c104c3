//! The command line: any text, and words that may follow each other.

use control::cli::{Output, Run, Step};
use net::Assembly;

use crate::Target;
use crate::mutate::Random;

/// Slices of work that one text may take before it is cancelled.
const MAX_STEPS: usize = 50;
/// Texts with these words, in full or cut short, would leave the router: files, devices, other
/// programs.
const OUTSIDE: [&str; 15] = [
    "exec", "tap", "host-i", "pcap", "save", "file", "replay", "socket", "dump", "log", "graphviz",
    "memif", "vhost", "af_xdp", "netmap",
];
/// Values to put where no word is known.
const VALUES: [&str; 22] = [
    "pg0",
    "pg1",
    "local0",
    "loop0",
    "0",
    "1",
    "7",
    "255",
    "65535",
    "4294967295",
    "10.0.0.0/24",
    "10.0.1.2",
    "255.255.255.255/33",
    "2001:db8::1",
    "fe80::1",
    "::/0",
    "02:00:00:00:00:cc",
    "via",
    "table",
    "del",
    "all",
    "{ x }",
];

/// Input is a text of lines; a line that starts with `!` is a seed for words that the command line
/// itself says may come next.
pub struct Commands {
    parts: Assembly,
    count: u64,
}

impl Commands {
    /// A router with two interfaces.
    pub fn new() -> Self {
        let mut parts = super::router(1);
        super::set_up(&mut parts);
        Self { parts, count: 0 }
    }

    /// A line that is right, or nearly.
    fn grown(&self, seed: &str) -> String {
        let seed = seed.bytes().fold(0_u64, |n, b| n.wrapping_mul(31).wrapping_add(b.into()));
        let mut random = Random::new(seed);
        let mut line = String::new();
        for _ in 0..2 + random.below(8) {
            let words = self.parts.cli.complete(&self.parts.router, &line);
            if words.is_empty() || random.below(3) == 0 && line.contains(' ') {
                line += random.pick::<&str>(&VALUES);
            } else {
                line += &random.pick(&words).word;
            }
            line.push(' ');
        }
        line
    }

    fn carry_out(&mut self, text: &str) -> Result<(), String> {
        let is_short = |word: &str| word.len() > 1 && OUTSIDE.iter().any(|o| o.starts_with(word));
        if OUTSIDE.iter().any(|word| text.contains(word)) || text.split(' ').any(is_short) {
            return Ok(());
        }
        let Assembly { router, cli, .. } = &mut self.parts;
        let mut run = Run::new(text);
        let mut output = Output::none();
        for _ in 0..MAX_STEPS {
            let step = run.step(cli, router, &mut output);
            router.engine.run_inline(2);
            if let Step::Done(result) = step {
                // Both forms can be made.
                let _ = (output.to_text(), output.to_json());
                return match result.map_err(|e| e.to_string()) {
                    Err(why) if why.is_empty() => Err("refused without a reason".to_owned()),
                    Err(why) if why.contains("internal error") => Err(why),
                    _ => Ok(()),
                };
            }
        }
        run.cancel(router, &mut Output::none());
        Ok(())
    }
}

impl Default for Commands {
    fn default() -> Self {
        Self::new()
    }
}

impl Target for Commands {
    const NAME: &'static str = "commands";

    fn seeds(&self) -> Vec<Vec<u8>> {
        let grown = (0..64).map(|n| format!("!{n}"));
        let lines = super::SETUP.lines().map(str::to_owned);
        let shows =
            ["show interface", "show ip fib", "show trace", "show runtime", "show int addr"];
        let more = shows.iter().map(|s| (*s).to_owned());
        grown.chain(lines).chain(more).map(String::into_bytes).collect()
    }

    fn take(&mut self, input: &[u8]) -> Result<(), String> {
        self.count += 1;
        // What was configured by chance is thrown away now and then.
        if self.count.is_multiple_of(20_000) {
            *self = Self { count: self.count, ..Self::new() };
        }
        let text = String::from_utf8_lossy(input);
        if let Some(seed) = text.strip_prefix('!') {
            let line = self.grown(seed);
            self.parts.cli.run(&mut self.parts.router, &format!("{line} ?"));
            return self.carry_out(&line).map_err(|why| format!("{line}: {why}"));
        }
        self.parts.cli.complete(&self.parts.router, &text);
        self.carry_out(&text)
    }
}
