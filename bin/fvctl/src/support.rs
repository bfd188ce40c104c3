//! `fvctl support`: a support bundle as one text file, without keys.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Arg;

use crate::doctor;
use crate::link::{Link, Outcome};

/// Commands to the router.
const COMMANDS: &[&str] = &[
    "show version verbose",
    "show health verbose",
    "show drops verbose",
    "show errors",
    "show interface",
    "show interface address",
    "show hardware-interfaces",
    "show threads",
    "show runtime",
    "show buffers",
    "show memory verbose",
    "show ip fib summary",
    "show ip6 fib summary",
    "show ip neighbors",
    "show plugins",
    "show configuration",
    "show configuration diff",
    "show configuration history",
    "show logging",
];

/// Files of the machine.
const FILES: &[&str] =
    &["/etc/os-release", "/proc/version", "/proc/cmdline", "/proc/meminfo", "/proc/loadavg"];

/// Most bytes of one answer: a big configuration is cut.
const MOST: usize = 4 << 20;

/// Runs `fvctl support` with these arguments; false if no router answers.
pub fn run(socket: Option<&str>, words: &[&str]) -> io::Result<bool> {
    let options = clap::Command::new("fvctl support")
        .about("Writes a support bundle to a file, without keys")
        .arg(Arg::new("file").value_name("FILE").help("file name; `-' for standard output"));
    let given = crate::given(options, words);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let file = given.get_one::<String>("file").cloned();
    let file = file.unwrap_or_else(|| format!("ferrovia-support-{now}.txt"));
    let (text, answers) = collect(socket);
    if file == "-" {
        io::stdout().lock().write_all(text.as_bytes())?;
        return Ok(answers);
    }
    let at = |e: io::Error| io::Error::new(e.kind(), format!("{file}: {e}"));
    // Host names and addresses are private.
    let mut options = OpenOptions::new();
    let mut out = options.write(true).create_new(true).mode(0o600).open(&file).map_err(at)?;
    out.write_all(text.as_bytes()).map_err(at)?;
    println!("{file}: {} bytes; read it before you send it", text.len());
    Ok(answers)
}

fn collect(socket: Option<&str>) -> (String, bool) {
    let mut text = String::new();
    let mut add = |title: &str, part: &str| {
        text += &format!("==== {title}\n{part}");
        text += if part.is_empty() || part.ends_with('\n') { "\n" } else { "\n\n" };
    };
    let answers = match Link::open(socket) {
        Ok(mut link) => {
            for command in COMMANDS {
                add(command, &without_keys(&ask(&mut link, command)));
            }
            true
        }
        Err(why) => {
            add("the router", &format!("{why}\n"));
            false
        }
    };
    add("fvctl doctor", &doctor::text(&doctor::findings(socket)));
    for file in FILES.iter().filter(|file| Path::new(file).exists()) {
        add(file, &fs::read_to_string(file).unwrap_or_else(|e| format!("{e}\n")));
    }
    (text, answers)
}

fn ask(link: &mut Link, command: &str) -> String {
    let (mut text, mut is_cut) = (String::new(), false);
    let outcome = link.run(command, false, &mut |part| {
        if text.len() + part.len() <= MOST {
            text += part;
        } else {
            is_cut = true;
        }
        Ok(())
    });
    if is_cut {
        text += "\n(there is more)\n";
    }
    match outcome {
        Ok(Outcome::Done) => text,
        Ok(Outcome::Failed(why)) => format!("{text}failed: {why}\n"),
        Ok(Outcome::SessionRequest(_)) => text,
        Err(why) => format!("{text}no answer: {why}\n"),
    }
}

/// Text in which `***` stands for each word behind one that announces a key.
fn without_keys(text: &str) -> String {
    let is_secret = |word: &str| {
        let word = word.trim_end_matches(':').to_ascii_lowercase();
        let is_key = ["crypto-key", "integ-key", "private-key", "preshared-key"].contains(&&*word);
        is_key || ["secret", "password", "passphrase", "psk", "token"].contains(&&*word)
    };
    let mut hides = false;
    let mut clean = String::with_capacity(text.len());
    for piece in text.split_inclusive([' ', '\n']) {
        let word = piece.trim_end_matches([' ', '\n']);
        clean += if hides && !word.is_empty() { "***" } else { word };
        clean += &piece[word.len()..];
        let is_still = is_secret(word) || (hides && word.is_empty());
        hides = is_still && !piece.ends_with('\n');
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_not_in_it() {
        for (line, clean) in [
            (
                "ipsec sa add 1 spi 2 esp crypto-alg aes-gcm-128 crypto-key 4a50 salt 0x1\n",
                "ipsec sa add 1 spi 2 esp crypto-alg aes-gcm-128 crypto-key *** salt 0x1\n",
            ),
            (
                "wireguard create private-key  AbC= port 5\n",
                "wireguard create private-key  *** port 5\n",
            ),
            (
                "bfd key set conf-key-id 1 secret ff00\nnext\n",
                "bfd key set conf-key-id 1 secret ***\nnext\n",
            ),
            ("wireguard peer add public-key AbC=", "wireguard peer add public-key AbC="),
            ("ends with secret\nnext line", "ends with secret\nnext line"),
        ] {
            assert_eq!(without_keys(line), clean);
        }
    }
}
